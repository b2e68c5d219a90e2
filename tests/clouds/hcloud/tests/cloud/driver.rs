//! The driver's journeys, in Go with Hetzner's own client library. They find this cloud by an environment variable,
//! and set faults themselves, below `/test`.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use hetzner::{Hetzner, Options};

/// Runs the journeys, with these effects of faults; all of them if the text is empty.
fn journeys(options: Options, effects: &str) {
    let cloud = Hetzner::start(options).expect("a cloud");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../plugins/hcloud");
    let output = Command::new("go")
        .args(["test", "-count=1", "-v", "-run", "^TestJourney", "./internal/machine"])
        .current_dir(folder)
        .env("HETZNER_TESTS_URL", cloud.url())
        .env("HETZNER_TESTS_EFFECTS", effects)
        .output()
        .expect("go is installed: https://go.dev/dl/");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(text.matches("--- PASS: TestJourney").count(), 3, "{text}");
    println!("{text}");
    assert_eq!(cloud.leftovers(), hetzner::Leftovers::default());
}

#[test]
fn every_answer_may_be_lost_once_and_there_is_one_server_and_nothing_is_left() {
    journeys(Options { requests_per_hour: 3_600_000, ..Options::default() }, "");
}

#[test]
fn the_same_with_actions_that_take_time_and_reads_that_lag() {
    let options = Options {
        requests_per_hour: 3_600_000,
        action_time: Duration::from_millis(15),
        creation_lag: Duration::from_millis(10),
        ..Options::default()
    };
    journeys(options, "lost-answer,error-after-work");
}
