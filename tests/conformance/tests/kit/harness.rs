//! A run of the kit, in words of tests.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use machinist_conformance::{CompileSettings, Options, Profile, Report, Selection, run};

/// The text of a file of the repository.
pub(crate) fn file(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub(crate) fn options(component: impl Into<Bytes>, profile: &str) -> Options {
    // Fails only when another test was first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Options {
        component: component.into(),
        profile: Profile::parse(profile).expect("a profile"),
        cloud: None,
        admin: None,
        selection: Selection::default(),
        compiling: CompileSettings {
            compiler: PathBuf::from(env!("CARGO_BIN_EXE_conformance-compile")),
            compiler_args: Vec::<OsString>::new(),
            cache_dir: Path::new(env!("CARGO_TARGET_TMPDIR")).join("code"),
            cache_key: [7; 32],
        },
        nonce: "t".to_owned(),
    }
}

/// One run at a time: some checks give a call two seconds, and a driver that is compiled beside them takes a core.
static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

pub(crate) async fn report(options: Options) -> Report {
    let _turn = TURN.lock().await;
    run(options, |_, _| {})
        .await
        .unwrap_or_else(|error| panic!("{error}: {:?}", std::error::Error::source(&error)))
}

/// For drivers that are still being optimised while they are called: a check that fails and needs much of a processor
/// is asked once more. A driver that is wrong fails again.
pub(crate) async fn unhurried_report(component: Vec<u8>, profile: &str) -> Report {
    let component = Bytes::from(component);
    unhurried_report_of(|| options(component.clone(), profile)).await
}

/// The same with these options.
pub(crate) async fn unhurried_report_of(options: impl Fn() -> Options) -> Report {
    let mut first = report(options()).await;
    let is_late = |id: &String| id.starts_with("deadline/") || id == "malformed/deep";
    let late: Vec<String> = first.failures().into_iter().filter(is_late).collect();
    if !late.is_empty() {
        let mut again = options();
        again.selection = Selection::of(&late).expect("they exist");
        for result in report(again).await.results {
            let known = first.results.iter_mut().find(|known| known.id() == result.id());
            *known.expect("it was asked before") = result;
        }
    }
    first
}

/// A driver passes all checks that apply, against a cloud that runs. `admin` is for the profile's `{admin}`.
pub(crate) async fn passes(component: Vec<u8>, profile: &str, cloud: String, admin: Option<String>) {
    let report = unhurried_report_of(|| {
        let mut options = options(component.clone(), profile);
        options.cloud = Some(cloud.clone());
        options.admin.clone_from(&admin);
        options
    })
    .await;
    println!("{}", report.text());
    assert_eq!(report.failures(), Vec::<String>::new(), "{}", report.text());
}
