//! New projects of `machinist driver new` pass the kit with their own profiles, without an edit.

use machinist_author::language::Language;
use machinist_conformance::list;

use crate::harness::{file, unhurried_report};

async fn passes(component: Vec<u8>, profile: &str) {
    let report = unhurried_report(component, profile).await;
    let score = report.score();
    assert_eq!((score.passed, score.failed), (list().len() - score.skipped, 0), "{}", report.text());
    assert!(score.passed >= 89, "{}", report.text());
}

async fn a_new_project_passes(language: Language) {
    let (component, profile) = guests::new_project(language).expect("a new project builds");
    passes(component, &profile).await;
}

/// A member of this workspace, so that it is compiled once; a test of `sdk/author` compares it with the templates.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_project_in_rust_passes() {
    let component = guests::bytes("templated-driver").expect("the driver builds");
    let profile = file("sdk/author/templates/shared/conformance.yaml.in").replace("@name@", "templated");
    passes(component, &profile).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "nightly: half a minute; the example in this language passes the kit on each change"]
async fn a_new_project_in_go_passes() {
    a_new_project_passes(Language::Go).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "nightly: half a minute; the example in this language passes the kit on each change"]
async fn a_new_project_in_javascript_passes() {
    a_new_project_passes(Language::JavaScript).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "nightly: half a minute; the example in this language passes the kit on each change"]
async fn a_new_project_in_python_passes() {
    a_new_project_passes(Language::Python).await;
}
