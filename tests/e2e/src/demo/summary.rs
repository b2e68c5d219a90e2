//! The result of the demo, and whether it held.

use std::time::Duration;

use super::stages::Stage;
use crate::cloud::Made;
use crate::metrics::Metrics;

/// The facts at the end.
pub(super) struct Summary {
    /// Machines that were made.
    pub(super) machines: usize,
    /// Time to Running, sorted.
    pub(super) running: Vec<Duration>,
    pub(super) stages: Vec<Stage>,
    /// After the rollback, all Machines were of the first class again.
    pub(super) is_back: bool,
    /// Nothing was deleted, as the user wished.
    pub(super) is_kept: bool,
    pub(super) metrics: Metrics,
    pub(super) versions: [&'static str; 2],
    /// Driver calls that had ended when the second version was seen to serve.
    pub(super) calls_before_swap: f64,
    pub(super) made: Made,
    pub(super) duplicates_ever: u64,
    pub(super) vms_left: usize,
    pub(super) nodes_left: Vec<String>,
    pub(super) tokens_left: Vec<String>,
}

/// A thing that was to hold, whether it did, and what was found.
pub(super) type Check = (String, bool, String);

impl Summary {
    /// Prints it. True when all of it held.
    pub(super) fn print(&self, took: Duration, ended_cleanly: bool) -> bool {
        let (all, before) = (self.calls(""), whole(self.calls_before_swap));
        let [_, second] = self.versions;
        println!();
        println!("  Machines in all         {}", self.machines);
        println!("  time to Running         p50 {} s, p99 {} s", self.at(50), self.at(99));
        println!(
            "  driver calls            {all}: {before} until {second} served, {} from then on",
            all - before
        );
        println!("  took in all             {:.1} s", took.as_secs_f64());
        let mut checks = self.moments();
        checks.extend(self.checks());
        checks.push(check("the host ended in order", ended_cleanly, &yes_or_no(ended_cleanly)));
        self::print(&checks)
    }

    /// At every moment of each stage.
    fn moments(&self) -> Vec<Check> {
        let each = self.stages.iter().map(|stage| match stage.stretch.keeps_to(stage.bounds) {
            Ok(()) => (stage.what.clone(), true, format!("\n         {}", stage.found())),
            Err(error) => (stage.what.clone(), false, format!("\n         {error}; {}", stage.found())),
        });
        each.collect()
    }

    fn checks(&self) -> Vec<Check> {
        let lost = self.calls("outcome=\"broken\"") + self.calls("outcome=\"refused\"");
        let swaps = whole(self.metrics.sum("machinist_plugin_swaps_total", &[]));
        let (all, before) = (self.calls(""), whole(self.calls_before_swap));
        let [first, second] = self.versions;
        let (ran, made) = (self.running.len(), self.made.created);
        let mut checks = vec![
            check("every Machine ran", ran == self.machines, &format!("{ran} of {}", self.machines)),
            check("back to the first class", self.is_back, &yes_or_no(self.is_back)),
            check("calls lost in the swap", lost == 0, &lost),
            check(
                "swapped in the rollout",
                swaps >= 1 && before > 0 && all > before,
                &format!("{first} to {second}, {swaps} swap(s)"),
            ),
            check(
                "one VM for each Machine",
                made == self.machines as u64 && self.duplicates_ever == 0,
                &format!("{made} created, {} doubled", self.duplicates_ever),
            ),
        ];
        if !self.is_kept {
            checks.push(check("VMs left", self.vms_left == 0, &self.vms_left));
            checks.push(check("Nodes left", self.nodes_left.is_empty(), &self.nodes_left.len()));
            checks.push(check("bootstrap tokens left", self.tokens_left.is_empty(), &self.tokens_left.len()));
        }
        checks
    }

    fn calls(&self, outcome: &str) -> i64 {
        whole(self.metrics.sum("machinist_plugin_calls_total", &[outcome]))
    }

    fn at(&self, percent: usize) -> String {
        let index = (self.running.len() * percent).div_ceil(100).saturating_sub(1);
        self.running.get(index).map_or_else(|| "-".to_owned(), |time| format!("{:.2}", time.as_secs_f64()))
    }
}

/// Prints a line for each. True when all of them hold.
pub(super) fn print(checks: &[Check]) -> bool {
    for (what, holds, found) in checks {
        let line = format!("  {} {what:<23} {found}", if *holds { "ok  " } else { "FAIL" });
        println!("{}", line.replace(" \n", "\n"));
    }
    checks.iter().all(|(_, holds, _)| *holds)
}

fn yes_or_no(holds: bool) -> &'static str {
    if holds { "yes" } else { "no" }
}

pub(super) fn check(what: &str, holds: bool, found: &impl ToString) -> Check {
    (what.to_owned(), holds, found.to_string())
}

/// A counter as the whole number that it is.
#[expect(clippy::cast_possible_truncation, reason = "counters of a demo are far below the limit")]
fn whole(counter: f64) -> i64 {
    counter as i64
}
