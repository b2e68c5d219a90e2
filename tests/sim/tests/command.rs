//! The command as somebody uses it: a failure says how it is repeated, and that repeats it.

use std::process::{Command, Output};

fn sim(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sim")).args(arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Returns the output about the failure of the first seed.
fn failure(said: &str) -> &str {
    said.lines().find(|line| line.starts_with("seed ") && line.contains(" failed: ")).unwrap()
}

#[test]
fn the_command_that_a_failure_names_repeats_it() {
    let first = sim(&["--seeds", "3", "--machines", "3", "--hours", "0.3", "--plant", "creates-twice"]);
    assert!(!first.status.success());
    let first = said(&first);
    let command = first.lines().last().unwrap().strip_prefix("repeat it with: cargo xtask sim ").unwrap();
    let again = sim(&command.split(' ').collect::<Vec<_>>());
    assert!(!again.status.success());
    let again = said(&again);
    assert_eq!(failure(&first), failure(&again));
    assert!(failure(&first).contains("OneVm"), "{}", failure(&first));
}

#[test]
fn runs_without_failure_end_with_a_sentence_and_with_figures_for_programs() {
    let output = sim(&["--seeds", "2", "--machines", "2", "--hours", "0.2", "--json"]);
    let said = said(&output);
    assert!(output.status.success(), "{said}");
    let mut last = said.lines().rev();
    let figures: serde_json::Value = serde_json::from_str(last.next().unwrap()).unwrap();
    assert_eq!((figures["seeds"].as_u64(), figures["failed"].as_u64()), (Some(2), Some(0)));
    assert!(figures["machineHours"].as_f64().unwrap() > 0.4, "{figures}");
    let sentence = last.next().unwrap();
    assert!(sentence.starts_with("2 seeds in ") && sentence.ends_with("and all rules held"), "{sentence}");
}
