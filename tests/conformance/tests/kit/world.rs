//! A run of the kit, in words of tests.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use machinist_conformance::{Options, Profile, Report, Selection, Workshop, run};

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
        workshop: Workshop {
            compiler: PathBuf::from(env!("CARGO_BIN_EXE_conformance-compile")),
            compiler_args: Vec::<OsString>::new(),
            cache_dir: Path::new(env!("CARGO_TARGET_TMPDIR")).join("code"),
            cache_key: [7; 32],
        },
        nonce: "t".to_owned(),
    }
}

pub(crate) async fn report(options: Options) -> Report {
    run(options, |_, _| {})
        .await
        .unwrap_or_else(|error| panic!("{error}: {:?}", std::error::Error::source(&error)))
}
