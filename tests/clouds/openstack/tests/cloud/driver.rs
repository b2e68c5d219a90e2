//! The driver's own tests in Go, natively, against this cloud.

use std::path::Path;

use serde_json::json;

use crate::support::cloud;

/// Minutes: a hundred machines, each with a loss at another request.
const LIMIT: &str = "-timeout=20m";

fn go_test(facts: &str, arguments: &[&str]) -> (bool, String) {
    let plugin = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../plugins/openstack");
    let output = std::process::Command::new("go")
        .args(["test", "-count=1", "-parallel=4", LIMIT, "./life"])
        .args(arguments)
        .current_dir(plugin)
        .env("MACHINIST_OPENSTACK", facts)
        .output()
        .expect("go runs: install it from https://go.dev/dl/");
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    (output.status.success(), text.concat())
}

async fn run(arguments: &'static [&'static str]) {
    let cloud = cloud().await;
    let facts = json!({ "url": cloud.url(), "secret": cloud.password_secret(), "facts": cloud.facts() });
    let facts = facts.to_string();
    let work = tokio::task::spawn_blocking(move || go_test(&facts, arguments));
    let (is_good, text) = work.await.expect("it ends");
    assert!(is_good && !text.contains("no tests to run"), "{text}");
    let left = cloud.named("life.").await.expect("a listing");
    assert_eq!(left, openstack::Leftovers::default(), "the tests leave something");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "nightly: starts the services of OpenStack, which takes minutes the first time"]
async fn the_driver_makes_one_server_of_each_class_and_leaves_nothing() {
    run(&["-run", "EachKind|Carries|BothLogins|Resources|Requests"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "nightly: starts the services of OpenStack, which takes minutes the first time"]
async fn the_driver_translates_what_the_services_refuse() {
    run(&["-run", "Refusal|FullQuota|Logins|Revoked|UserData"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "nightly: starts the services of OpenStack, which takes minutes the first time"]
async fn the_driver_touches_nothing_foreign() {
    run(&["-run", "OfTwo|Foreign|Adopted|ByHand|NeedsNeither"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "nightly: a server for each request that can be lost, minutes"]
async fn the_driver_survives_the_loss_of_each_request() {
    run(&["-run", "Whatever|Survives"]).await;
}
