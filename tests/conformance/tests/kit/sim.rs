//! The driver of the simulated cloud, and how the kit meets what is no driver.

use machinist_conformance::{Profile, Selection, Stop, list, run};

use crate::harness::{file, options, report};

const PROFILE: &str = "plugins/sim/conformance.yaml";

fn sim() -> Vec<u8> {
    guests::bytes("sim-driver").expect("the driver builds")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_driver_of_the_simulated_cloud_passes_all_checks() {
    let report = report(options(sim(), &file(PROFILE))).await;
    println!("{}", report.text());
    let (score, checks) = (report.score(), list().len());
    assert_eq!((score.passed, score.failed, score.skipped), (checks, 0, 0), "{}", report.text());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_idempotency_keys_all_checks_pass_but_those_that_need_keys() {
    let mut options = options(sim(), &file(PROFILE));
    let settings = &mut options.profile.settings;
    settings.insert("idempotencyKeys".to_owned(), false.into());
    settings.insert("consistencyWindowMs".to_owned(), 2_000.into());
    let report = report(options).await;
    println!("{}", report.text());
    assert_eq!(report.failures(), Vec::<String>::new(), "{}", report.text());
    let reason = |result: &machinist_conformance::report::Result| match &result.verdict {
        Err(Stop::Skipped(why)) => Some((result.id(), why.clone())),
        Ok(()) | Err(Stop::Failed(_) | Stop::Broken(_)) => None,
    };
    let skipped: Vec<(String, String)> = report.results.iter().filter_map(reason).collect();
    let ids: Vec<&str> = skipped.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids, ["create/at-once", "lag/create"], "{}", report.text());
    for (id, why) in &skipped {
        assert!(why.contains("no capability idempotency-key"), "{id}: {why}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_cloud_only_what_needs_none_is_checked() {
    let text = file(PROFILE).replace("cloud: simulated", "");
    let report = report(options(sim(), &text)).await;
    let score = report.score();
    assert!(score.failed == 0 && score.passed > 5 && score.skipped > 50, "{}", report.text());
    let is_reported = |result: &machinist_conformance::report::Result| matches!(&result.verdict, Err(Stop::Skipped(why)) if why.contains("no cloud"));
    assert!(report.results.iter().any(is_reported), "{}", report.text());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_check_or_one_group_can_be_chosen() {
    let names = ["volumes".to_owned(), "class/valid".to_owned()];
    let mut options = options(sim(), &file(PROFILE));
    options.selection = Selection::of(&names).expect("they exist");
    let report = report(options).await;
    let ids: Vec<String> = report.results.iter().map(machinist_conformance::report::Result::id).collect();
    assert_eq!(ids, ["class/valid", "volumes/ids", "volumes/no-json"]);
    let error = Selection::of(&["volumes/idz".to_owned()]).unwrap_err().to_string();
    assert!(error.contains("volumes/idz") && error.contains("--list"), "{error}");
}

#[tokio::test]
async fn what_is_no_driver_is_refused_before_anything_is_checked() {
    for component in [b"no component".to_vec(), guests::bytes("policy-default").expect("builds")] {
        let error = run(options(component, &file(PROFILE)), |_, _| {}).await.unwrap_err().to_string();
        assert!(error.contains("driver"), "{error}");
    }
}

#[test]
fn profiles_of_the_repository_are_sound() {
    for driver in ["aws", "azure", "gcp", "hcloud", "lxd", "openstack", "sim"] {
        let path = format!("plugins/{driver}/conformance.yaml");
        Profile::parse(&file(&path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    }
}
