//! What came of the demo, and whether it held.

use std::time::Duration;

use crate::cloud::Made;
use crate::metrics::Metrics;

/// The facts at the end.
pub(super) struct Summary {
    pub(super) machines: usize,
    /// Time to Running, sorted.
    pub(super) running: Vec<Duration>,
    pub(super) metrics: Metrics,
    pub(super) versions: [&'static str; 2],
    /// Driver calls that had ended when the second version was seen to serve.
    pub(super) calls_before_swap: f64,
    /// When all Machines were Running.
    pub(super) made: Made,
    /// In the end.
    pub(super) duplicates_ever: u64,
    pub(super) vms_left: usize,
    pub(super) nodes_left: Vec<String>,
    pub(super) tokens_left: Vec<String>,
}

impl Summary {
    /// Prints it. True when all of it held.
    pub(super) fn print(&self, took: Duration, ended_cleanly: bool) -> bool {
        let calls = |outcome: &str| whole(self.metrics.sum("machinist_plugin_calls_total", &[outcome]));
        let all = calls("");
        let lost = calls("outcome=\"broken\"") + calls("outcome=\"refused\"");
        let swaps = whole(self.metrics.sum("machinist_plugin_swaps_total", &[]));
        let before = whole(self.calls_before_swap);
        println!();
        println!("  machines                {}", self.machines);
        println!("  time to Running         p50 {} s, p99 {} s", self.at(50), self.at(99));
        let [first, second] = self.versions;
        println!(
            "  driver calls            {all}: {before} until {second} served, {} from then on",
            all - before
        );
        println!("  took in all             {:.1} s", took.as_secs_f64());
        let checks = [
            (
                "every Machine ran",
                self.running.len() == self.machines,
                format!("{} of {}", self.running.len(), self.machines),
            ),
            ("calls lost in the swap", lost == 0, format!("{lost}")),
            (
                "swapped during creation",
                swaps >= 1 && before > 0 && all > before,
                format!("{first} to {second}, {swaps} swap(s)"),
            ),
            (
                "one VM for each Machine",
                self.made.created == self.machines as u64 && self.duplicates_ever == 0,
                format!("{} created, {} doubled", self.made.created, self.duplicates_ever),
            ),
            ("VMs left", self.vms_left == 0, self.vms_left.to_string()),
            ("Nodes left", self.nodes_left.is_empty(), self.nodes_left.len().to_string()),
            ("bootstrap tokens left", self.tokens_left.is_empty(), self.tokens_left.len().to_string()),
            ("the host ended in order", ended_cleanly, if ended_cleanly { "yes" } else { "no" }.to_owned()),
        ];
        for (what, holds, found) in &checks {
            println!("  {} {what:<23} {found}", if *holds { "ok  " } else { "FAIL" });
        }
        checks.iter().all(|(_, holds, _)| *holds)
    }

    fn at(&self, percent: usize) -> String {
        let index = (self.running.len() * percent).div_ceil(100).saturating_sub(1);
        self.running.get(index).map_or_else(|| "-".to_owned(), |time| format!("{:.2}", time.as_secs_f64()))
    }
}

/// A counter as the whole number that it is.
#[expect(clippy::cast_possible_truncation, reason = "counters of a demo are far below the limit")]
fn whole(counter: f64) -> i64 {
    counter as i64
}
