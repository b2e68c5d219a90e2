//! Each rule bites: a bug that breaks it is found, within a few seeds.

use std::time::Duration;

use sim::{Plan, Planted, run};

/// Finds a bug, or says what was found instead.
fn hunt(bug: Planted) -> Result<(), String> {
    let mut found = Vec::new();
    for seed in 1..=25 {
        let report = run(&Plan::new(seed, 4, Duration::from_hours(2)).with(bug)).unwrap();
        match report.violation {
            Some(violation) if violation.rule == bug.breaks() => return Ok(()),
            Some(violation) => found.push(format!("seed {seed}: {violation}")),
            None => found.push(format!("seed {seed}: nothing")),
        }
    }
    Err(format!("{bug:?} was not found as {:?}:\n{}", bug.breaks(), found.join("\n")))
}

#[test]
fn every_planted_bug_is_found_as_what_it_breaks() {
    let missed: Vec<String> = Planted::ALL.into_iter().filter_map(|bug| hunt(bug).err()).collect();
    assert!(missed.is_empty(), "{}", missed.join("\n\n"));
}
