//! Each check bites: a driver that has the fault fails the check.

use std::collections::{BTreeMap, BTreeSet};

use machinist_conformance::{Options, Selection, Stop, list, run};
use serde_json::{Value, json};

use crate::harness::{file, options, report};

/// Which fault each check has to find. It befalls the machines of this check only, so that a check that fails for
/// another reason than its own shows here as well.
const BITES: &[(&str, &str)] = &[
    ("class/valid", "refuses"),
    ("class/invalid", "accepts-all"),
    ("class/field", "vague"),
    ("class/no-json", "panics"),
    ("class/create", "asks-first"),
    ("create/one", "forgets-uid"),
    ("create/again", "second-vm"),
    ("create/after-crash", "second-vm"),
    ("create/at-once", "second-vm"),
    ("create/class-changed", "second-vm"),
    ("create/two", "same-id"),
    ("create/after-delete", "undead"),
    ("create/user-data", "drops-user-data"),
    ("create/namesake", "adopts-namesake"),
    ("status/by-id", "not-by-id"),
    ("status/by-uid", "only-by-id"),
    ("status/same", "other-name"),
    ("status/absent", "invents"),
    ("status/gone", "invents"),
    ("status/foreign", "believes-id"),
    ("status/unmarked", "believes-id"),
    ("status/changes-nothing", "creates-when-looking"),
    ("status/odd-id", "panics"),
    ("delete/removes", "only-says"),
    ("delete/again", "absent-is-error"),
    ("delete/absent", "absent-is-error"),
    ("delete/by-uid", "only-by-id"),
    ("delete/poor-class", "reads-class"),
    ("delete/neighbour", "sweeps"),
    ("delete/foreign", "believes-id"),
    ("delete/unmarked", "believes-id"),
    ("delete/namesake", "sweeps-name"),
    ("list/own", "nameless"),
    ("list/foreign", "lists-all"),
    ("list/unmarked", "lists-all"),
    ("list/empty", "empty-is-error"),
    ("list/gone", "lists-dead"),
    ("list/pages", "first-page"),
    ("list/endless", "first-page"),
    ("duplicates/status", "takes-first"),
    ("duplicates/delete", "takes-first"),
    ("delete-by-id/one", "sweeps-both"),
    ("delete-by-id/kept", "believes-id"),
    ("delete-by-id/foreign", "believes-id"),
    ("initialize/twice", "refuses-later"),
    ("initialize/absent", "invents"),
    ("reboot/keeps", "reboot-deletes"),
    ("reboot/absent", "invents"),
    ("node-id/same", "random-id"),
    ("node-id/own", "same-node"),
    ("placement/there", "places-elsewhere"),
    ("placement/same", "random-spec"),
    ("placement/nowhere", "places-elsewhere"),
    ("interruption/class", "undecided"),
    ("capacity/class", "no-memory"),
    ("capacity/invalid", "guesses"),
    ("lost/create", "second-vm"),
    ("lost/create-says-so", "nothing-happened"),
    ("lost/create-half", "nothing-happened"),
    ("lost/request", "repeats-itself"),
    ("lost/delete", "absent-is-error"),
    ("lost/status", "failure-is-absence"),
    ("throttle/create", "forgets-pause"),
    ("throttle/status", "forgets-pause"),
    ("throttle/delete", "forgets-pause"),
    ("throttle/list", "forgets-pause"),
    ("throttle/patience", "insists"),
    ("outage/create", "nothing-happened"),
    ("outage/create-done", "second-vm"),
    ("outage/status", "failure-is-absence"),
    ("outage/delete", "failure-is-deleted"),
    ("outage/list", "failure-is-empty"),
    ("outage/second-page", "failure-is-empty"),
    ("outage/patience", "insists"),
    ("outage/unreachable", "all-happened"),
    ("malformed/create", "nothing-happened"),
    ("malformed/status", "failure-is-absence"),
    ("malformed/empty", "failure-is-absence"),
    ("malformed/page-404", "failure-is-absence"),
    ("malformed/delete-404", "failure-is-deleted"),
    ("malformed/list", "failure-is-empty"),
    ("malformed/half", "failure-is-empty"),
    ("malformed/flood", "panics-on-error"),
    ("malformed/deep", "panics-on-error"),
    ("lag/create", "second-vm"),
    ("lag/delete", "believes-reads"),
    ("deadline/create", "waits"),
    ("deadline/status", "waits"),
    ("deadline/delete", "waits"),
    ("deadline/list", "waits"),
    ("deadline/repeated", "second-vm"),
    ("refusal/code", "all-internal"),
    ("refusal/terminal", "wrong-terminal"),
    ("refusal/nothing-happened", "all-happened"),
    ("refusal/no-secret", "anonymous"),
    ("refusal/message", "quotes-all"),
    ("clock/ahead", "trusts-clock"),
    ("clock/behind", "trusts-clock"),
    ("host/granted", "asks-elsewhere"),
    ("host/offline", "online"),
    ("secrets/messages", "tells-secret"),
    ("secrets/logs", "logs-placeholder"),
    ("secrets/answers", "keeps-secret"),
];

/// Faults of calls that know no class: they befall every check of the run.
const ALWAYS: &[(&str, &str)] = &[
    ("describe/schema", "bad-schema"),
    ("describe/window", "long-window"),
    ("describe/name", "long-name"),
    ("create/window", "no-keys"),
    ("host/declared", "no-hosts"),
    ("volumes/ids", "sorts-volumes"),
    ("volumes/no-json", "invents-volumes"),
];

/// Faults as drivers really have them, everywhere, and all checks that find them.
const EVERYWHERE: &[(&str, &[&str])] = &[
    ("forgets-pause", &["throttle/create", "throttle/status", "throttle/delete", "throttle/list"]),
    ("reads-class", &["delete/poor-class"]),
    ("other-name", &["status/same"]),
    ("drops-user-data", &["create/user-data"]),
    ("quotes-all", &["refusal/message"]),
    ("trusts-clock", &["clock/ahead", "clock/behind"]),
];

fn faulty(faults: &BTreeMap<String, &str>, always: &[&str]) -> Options {
    let component = guests::bytes("faulty-driver").expect("the driver builds");
    let mut options = options(component, &file("plugins/sim/conformance.yaml"));
    let profile = &mut options.profile;
    profile.settings.insert("faults".to_owned(), json!(faults));
    profile.settings.insert("always".to_owned(), json!(always));
    // With it a driver can tell what it must not.
    profile.grants.insert("reveal".to_owned(), json!(["token"]));
    options
}

fn names(failures: Vec<String>) -> BTreeSet<String> {
    failures.into_iter().collect()
}

#[test]
fn every_check_has_a_driver_that_fails_it() {
    let proven: BTreeSet<&str> = BITES.iter().chain(ALWAYS).map(|(check, _)| *check).collect();
    let checks = list();
    let checks: BTreeSet<&str> = checks.iter().map(|check| check.id.as_str()).collect();
    assert_eq!(proven, checks);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_fault_the_broken_driver_passes() {
    let report = report(faulty(&BTreeMap::new(), &[])).await;
    assert_eq!(report.failures(), Vec::<String>::new(), "{}", report.text());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_check_finds_the_fault_of_its_machines() {
    let faults =
        BITES.iter().map(|(check, fault)| (format!("-{}", check.replace('/', "-")), *fault)).collect();
    let report = report(faulty(&faults, &[])).await;
    let expected = BITES.iter().map(|(check, _)| (*check).to_owned()).collect();
    assert_eq!(names(report.failures()), expected, "{}", report.text());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fault_of_calls_without_a_class_is_found_by_its_check_and_no_other() {
    for (check, fault) in ALWAYS {
        let report = report(faulty(&BTreeMap::new(), &[fault])).await;
        assert_eq!(report.failures(), [*check], "{fault}: {}", report.text());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fault_of_all_machines_is_found_by_the_checks_that_look_for_it() {
    for (fault, checks) in EVERYWHERE {
        let report = report(faulty(&BTreeMap::from([(String::new(), *fault)]), &[])).await;
        assert_eq!(report.failures(), *checks, "{fault}: {}", report.text());
    }
}

/// The checks that a driver fails which puts user data into JSON as it is; `user_data` is instead of the kit's own.
async fn failures_of_plain_user_data(user_data: Option<&str>) -> Vec<String> {
    let mut options = faulty(&BTreeMap::from([(String::new(), "plain-user-data")]), &[]);
    options.selection = Selection::of(&["create/user-data".to_owned()]).expect("it exists");
    // The simulated cloud takes `userData` in base64 only, and a tag as a text.
    let places = options.profile.grants["secrets"][1]["places"].as_array_mut().expect("a list");
    places.push(json!({ "json": "/tags/boot" }));
    if let Some(text) = user_data {
        text.clone_into(&mut options.profile.user_data);
    }
    report(options).await.failures()
}

/// A quote in it ends the JSON string, so that the host refuses the request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn user_data_with_a_quote_finds_a_driver_without_json_escape_and_user_data_without_one_does_not() {
    assert_eq!(failures_of_plain_user_data(None).await, ["create/user-data"]);
    assert_eq!(failures_of_plain_user_data(Some("#cloud-config")).await, Vec::<String>::new());
}

/// `describe` knows no class and cannot name a host from one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_only_classes_name_is_declared_by_the_endpoint_of_the_profile() {
    let rows: [(Option<&str>, &[&str]); 2] = [(None, &["host/declared"]), (Some("/cloudUrl"), &[])];
    for (endpoint, failures) in rows {
        let mut options = faulty(&BTreeMap::new(), &["no-hosts"]);
        options.selection = Selection::of(&["host/declared".to_owned()]).expect("it exists");
        options.profile.class.valid["cloudUrl"] = json!("http://cloud.test:8080");
        options.profile.class.endpoint = endpoint.map(str::to_owned);
        let report = report(options).await;
        assert_eq!(report.failures(), failures, "{endpoint:?}: {}", report.text());
    }
}

/// The broken driver sends a text of its own where a credential would be, and needs no Secret.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_driver_of_a_cloud_without_credentials_passes_and_one_check_is_skipped() {
    let token = simcloud::Token { token: "nobody".to_owned(), role: simcloud::Role::ReadWrite };
    let account = simcloud::AccountConfig { name: "anybody".to_owned(), tokens: vec![token], quota: None };
    let latency = simcloud::Latency::ZERO;
    let config = simcloud::Config { accounts: vec![account], latency, ..simcloud::Config::default() };
    let cloud = simcloud::Server::start(config).expect("the cloud starts");
    let mut options = faulty(&BTreeMap::from([(String::new(), "anonymous")]), &[]);
    options.cloud = Some(cloud.url());
    let profile = &mut options.profile;
    profile.secrets.clear();
    let looks = profile.look.iter_mut().map(|look| &mut look.headers);
    let plants = profile.plant.iter_mut().chain(&mut profile.unmarked).map(|plant| &mut plant.headers);
    for headers in looks.chain(plants) {
        headers.insert("authorization".to_owned(), "Bearer nobody".to_owned());
    }
    let report = report(options).await;
    assert_eq!(report.failures(), Vec::<String>::new(), "{}", report.text());
    let why = |result: &machinist_conformance::report::Result| match &result.verdict {
        Err(Stop::Skipped(why)) => Some((result.id(), why.clone())),
        Ok(()) | Err(Stop::Failed(_) | Stop::Broken(_)) => None,
    };
    let skipped: Vec<(String, String)> = report.results.iter().filter_map(why).collect();
    let expected = ("refusal/no-secret".to_owned(), "the profile has no secrets".to_owned());
    assert_eq!(skipped, [expected], "{}", report.text());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_profile_chooses_among_the_providers_of_a_driver() {
    let serving_two = |provider: Option<&str>| {
        // Classes of the first one are refused.
        let mut options = faulty(&BTreeMap::from([("provider:sim".to_owned(), "refuses")]), &[]);
        options.profile.settings.insert("providers".to_owned(), json!(["sim-edge", "sim"]));
        options.profile.provider = provider.map(str::to_owned);
        options.selection = Selection::of(&["class/valid".to_owned()]).expect("it exists");
        options
    };
    let rows: [(Option<&str>, &str, &[&str]); 3] = [
        (None, "sim", &["class/valid"]),
        (Some("sim"), "sim", &["class/valid"]),
        (Some("sim-edge"), "sim-edge", &[]),
    ];
    for (provider, named, failures) in rows {
        let report = report(serving_two(provider)).await;
        assert_eq!(report.failures(), failures, "{provider:?}: {}", report.text());
        assert_eq!(report.provider, named);
    }
    let error = run(serving_two(Some("another")), |_, _| {}).await.unwrap_err().to_string();
    assert!(error.contains("\"another\"") && error.contains("sim, sim-edge"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_never_repeats_a_secret_from_a_driver() {
    let mut options = faulty(&BTreeMap::from([(String::new(), "tells-secret")]), &[]);
    options.selection = Selection::of(&["secrets".to_owned()]).expect("it exists");
    let token: Value = json!(options.profile.secrets["token"]);
    let backwards: String = token.as_str().expect("a text").chars().rev().collect();
    let report = report(options).await;
    assert_eq!(report.failures(), ["secrets/messages"]);
    assert!(!report.text().contains(&backwards) && !report.junit().contains(&backwards));
}
