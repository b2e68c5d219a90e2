//! Runs all seeds, and says from time to time how far they are.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sim::{Progress, Report, run_watched};

use super::summary::violation;
use super::{Cost, Options};

/// The time between two lines about the progress. A shorter run prints none.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// The seeds that are under way. Few: one a thread.
type UnderWay = Mutex<Vec<Arc<Progress>>>;

/// Reports of all seeds, in order.
pub(crate) fn run_all(options: &Options, cost: &Cost) -> Vec<Report> {
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads =
        options.threads.and_then(|threads| usize::try_from(threads).ok()).unwrap_or_else(processors);
    let (next, under_way) = (AtomicU64::new(0), UnderWay::default());
    let (done, ended) = channel();
    let mut reports = Vec::new();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (next, under_way, done) = (&next, &under_way, done.clone());
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= options.seeds {
                        return;
                    }
                    let seed = options.seed.wrapping_add(number);
                    match watched(options, seed, under_way) {
                        // The reader ends only after this thread.
                        Ok(report) => drop(done.send(report)),
                        Err(error) => eprintln!("seed {seed} could not be run: {error:#}"),
                    }
                }
            });
        }
        drop(done);
        let mut line_at = LINE_EVERY;
        loop {
            match ended.recv_timeout(line_at.saturating_sub(cost.took())) {
                Ok(report) => {
                    if report.violation.is_some() {
                        eprintln!("seed {} failed{}", report.seed, violation(&report));
                    }
                    reports.push(report);
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    eprintln!("{}", line(options, &reports, &under_way, cost.took()));
                    line_at = cost.took() + LINE_EVERY;
                }
            }
        }
    });
    reports.sort_by_key(|report| report.seed);
    reports
}

fn watched(options: &Options, seed: u64, under_way: &UnderWay) -> anyhow::Result<Report> {
    let lock = || under_way.lock().unwrap_or_else(PoisonError::into_inner);
    let progress = Arc::new(Progress::default());
    lock().push(progress.clone());
    let report = run_watched(&options.plan(seed), &progress);
    lock().retain(|other| !Arc::ptr_eq(other, &progress));
    report
}

/// How far all is.
fn line(options: &Options, reports: &[Report], under_way: &UnderWay, took: Duration) -> String {
    let under_way = under_way.lock().unwrap_or_else(PoisonError::into_inner);
    let hours = |time: Duration| time.as_secs_f64() / 3600.0;
    let simulated: f64 = reports.iter().map(|report| hours(report.simulated)).sum::<f64>()
        + under_way.iter().map(|progress| hours(progress.simulated())).sum::<f64>();
    let calls: u64 = reports.iter().map(|report| report.calls as u64).sum::<u64>()
        + under_way.iter().map(|progress| progress.calls()).sum::<u64>();
    let faults: u64 = reports.iter().map(Report::faults_injected).sum::<u64>()
        + under_way.iter().map(|progress| progress.faults()).sum::<u64>();
    let wished = options.hours * options.seeds as f64;
    format!(
        "{:>4.0} s: {} of {} seeds, {simulated:.1} simulated hours ({wished:.1} with faults are wished, the calm \
         after them comes on top), {calls} requests and calls, {faults} faults",
        took.as_secs_f64(),
        reports.len(),
        options.seeds,
    )
}
