//! `machinist driver test`, as it is typed.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn driver_test(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_machinist"))
        .args(["driver", "test"])
        .args(arguments)
        .output()
        .expect("the binary starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

fn sim() -> String {
    guests::component("sim-driver").expect("builds").display().to_string()
}

fn profile() -> String {
    repository("plugins/sim/conformance.yaml").display().to_string()
}

#[test]
fn the_checks_are_listed_without_a_component() {
    let output = driver_test(&["--list"]);
    let listed = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(listed.lines().count() > 90 && listed.contains("lost/create "), "{listed}");
}

#[test]
fn a_driver_that_passes_is_reported_as_text_as_xml_and_as_a_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let junit = folder.path().join("report.xml");
    let xml = junit.display().to_string();
    let page = folder.path().join("report.md");
    let output = driver_test(&[
        &sim(),
        "--profile",
        &profile(),
        "--only",
        "volumes",
        "--only",
        "create/one",
        "--junit",
        &xml,
        "--report",
        &page.display().to_string(),
    ]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report = text(&output.stdout);
    assert!(report.contains("3 of 3 checks passed, 0 failed, 0 skipped; score 100 %"), "{report}");
    let xml = std::fs::read_to_string(&junit).expect("a report");
    assert!(xml.contains("<testcase classname=\"create\" name=\"one\""), "{xml}");
    let page = std::fs::read_to_string(&page).expect("a report");
    assert!(page.contains("| component | `sha256:") && page.contains("100 %: 3 of 3 checks"), "{page}");
    assert!(
        page.contains("## create") && page.contains("| one | ") && page.contains(" | passed |"),
        "{page}"
    );
}

/// A cloud that runs already, with a token that no file has: so it is with a real account.
#[test]
fn a_driver_is_tested_against_a_running_cloud_with_a_credential_of_the_environment() {
    let token = simcloud::Token { token: "token-of-an-account".to_owned(), role: simcloud::Role::ReadWrite };
    let account = simcloud::AccountConfig { name: "own".to_owned(), tokens: vec![token], quota: None };
    let config = simcloud::Config { accounts: vec![account], ..simcloud::Config::default() };
    let cloud = simcloud::Server::start(config).expect("the cloud starts");
    let folder = tempfile::tempdir().expect("a folder");
    let [path, page] = ["conformance.yaml", "report.md"].map(|name| folder.path().join(name));
    let text_of = std::fs::read_to_string(profile()).expect("a profile");
    let own = text_of
        .replace("cloud: simulated", "")
        .replace("secrets: { token: sim-token }", "secrets: { token: { env: TOKEN_OF_THE_TEST } }")
        .replace("Bearer sim-token", "\"Bearer {secret.token}\"");
    assert!(!own.contains("sim-token"), "{own}");
    std::fs::write(&path, own).expect("writable");
    let run = |token: Option<&str>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_machinist"));
        command.args(["driver", "test", &sim(), "--against", &cloud.url(), "--only", "create/one"]);
        command.args(["--only", "status/foreign", "--profile"]).arg(&path).arg("--report").arg(&page);
        match token {
            Some(token) => command.env("TOKEN_OF_THE_TEST", token),
            None => command.env_remove("TOKEN_OF_THE_TEST"),
        };
        command.output().expect("the binary starts")
    };

    let output = run(Some("token-of-an-account"));
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    assert!(cloud.stats().created >= 2, "the driver's VM and the one that the kit plants are there");
    let page = std::fs::read_to_string(&page).expect("a report");
    assert!(page.contains("2 of 2 checks passed") && page.contains("| provider | sim |"), "{page}");
    assert!(!page.contains("token-of-an-account"), "{page}");

    let output = run(Some("another-token"));
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    let output = run(None);
    let errors = text(&output.stderr);
    assert!(!output.status.success() && errors.contains("export TOKEN_OF_THE_TEST="), "{errors}");
}

#[test]
fn a_driver_that_fails_a_check_ends_with_an_error_and_says_which() {
    let folder = tempfile::tempdir().expect("a folder");
    let text_of = std::fs::read_to_string(profile()).expect("a profile");
    let path = folder.path().join("conformance.yaml");
    // The class that the profile calls invalid is valid, so the driver accepts it.
    let wrong = "{ field: zone, spec: { zone: sim-1a, type: sim.small, image: linux-1 } }";
    std::fs::write(
        &path,
        text_of.replace("{ field: zone, spec: { type: sim.small, image: linux-1 } }", wrong),
    )
    .expect("writable");
    let output = driver_test(&[&sim(), "--profile", &path.display().to_string(), "--only", "class"]);
    assert_eq!(output.status.code(), Some(1));
    let report = text(&output.stdout);
    assert!(report.contains("FAILED   invalid") && report.contains("says that it succeeded"), "{report}");
    assert!(text(&output.stderr).contains("checks failed"), "{}", text(&output.stderr));
}

#[test]
fn what_is_typed_wrongly_is_said_before_anything_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, bytes: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("writable");
        path.display().to_string()
    };
    let (nonsense, none) = (file("nonsense.wasm", "no component"), file("p.yaml", "clowd: simulated"));
    let missing = folder.path().join("missing.wasm").display().to_string();
    let (sim, profile) = (sim(), profile());
    let table: [(&[&str], &str); 7] = [
        (&[], "FILE"),
        (&[&sim, "--profile", &profile, "--only", "create/ones"], "there is no check \"create/ones\""),
        (&[&nonsense], "/conformance.yaml and no conformance.yaml: name the driver's profile with --profile"),
        (&[&missing], "missing.wasm"),
        (&[&nonsense, "--profile", &profile], "component"),
        (&[&sim, "--profile", &none], "clowd"),
        (&[&sim, "--profile", &profile, "--junit", "/no/such/folder/x.xml"], "/no/such/folder/x.xml"),
    ];
    for (arguments, words) in table {
        let output = driver_test(arguments);
        let said = text(&output.stderr);
        assert!(!output.status.success(), "{arguments:?} succeeds");
        assert!(
            said.contains(words) && !said.contains("panicked"),
            "{arguments:?}: {words:?} is not in {said}"
        );
    }
    let mut here = Command::new(env!("CARGO_BIN_EXE_machinist"));
    here.args(["driver", "test", "nonsense.wasm"]).current_dir(folder.path());
    let said = text(&here.output().expect("the binary starts").stderr);
    assert!(said.contains("there is no conformance.yaml: name"), "{said}");
}
