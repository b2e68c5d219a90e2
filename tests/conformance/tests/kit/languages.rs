//! One driver in four languages: what the one in Rust passes, the others pass.

use std::collections::BTreeSet;

use guests::Script;
use machinist_conformance::Report;
use tokio::sync::OnceCell;

use crate::harness::{file, options, report, unhurried_report};

const PROFILE: &str = "plugins/sim/conformance.yaml";

fn passed(report: &Report) -> BTreeSet<String> {
    report
        .results
        .iter()
        .filter(|result| result.verdict.is_ok())
        .map(machinist_conformance::report::Result::id)
        .collect()
}

/// The SDK for Python lacks this interface.
const NOT_IN_PYTHON: &[&str] = &["delete-by-id/"];

/// The report of the driver in Rust, which all others are compared with.
async fn of_rust() -> &'static Report {
    static REPORT: OnceCell<Report> = OnceCell::const_new();
    let measure = async || {
        let component = guests::bytes("sim-driver").expect("the driver in Rust builds");
        report(options(component, &file(PROFILE))).await
    };
    REPORT.get_or_init(measure).await
}

/// A check that is skipped is missed just as one that fails, unless its interface is one that the language lacks.
async fn passes_what_rust_passes(component: Vec<u8>, lacking: &[&str]) {
    let profile = file(PROFILE);
    let rust = of_rust().await;
    let other = unhurried_report(component, &profile).await;
    let missed = passed(rust).difference(&passed(&other)).cloned().collect::<Vec<_>>();
    let is_lacking = |check: &String| lacking.iter().any(|interface| check.starts_with(interface));
    let missed: Vec<String> = missed.into_iter().filter(|check| !is_lacking(check)).collect();
    assert!(passed(rust).len() > 90, "{}", rust.text());
    assert_eq!(missed, Vec::<String>::new(), "{}", other.text());
    assert_eq!(other.failures(), Vec::<String>::new(), "{}", other.text());
    assert_eq!(other.driver, rust.driver);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_driver_in_go_passes_what_the_one_in_rust_passes() {
    let component = guests::go_bytes("examples/driver-sim").expect("the driver in Go builds");
    passes_what_rust_passes(component, &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_driver_in_javascript_passes_what_the_one_in_rust_passes() {
    let component = guests::sim_driver(Script::JavaScript).expect("the driver in JavaScript builds");
    passes_what_rust_passes(component, &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_driver_in_python_passes_what_the_one_in_rust_passes() {
    let component = guests::sim_driver(Script::Python).expect("the driver in Python builds");
    passes_what_rust_passes(component, NOT_IN_PYTHON).await;
}
