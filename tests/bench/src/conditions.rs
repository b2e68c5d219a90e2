//! On what and beside what it was measured.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use jiff::Zoned;

/// The kernel reports CPU time to user space in this unit.
const TICK: Duration = Duration::from_millis(10);

/// The facts that a reader needs to compare figures.
#[derive(Clone, Debug)]
pub(crate) struct Conditions {
    pub(crate) date: String,
    pub(crate) cores: usize,
    pub(crate) memory_gib: u64,
    /// Load averages of 1, 5 and 15 minutes when it began.
    pub(crate) load: String,
    pub(crate) wasmtime: String,
    pub(crate) kube: String,
}

impl Conditions {
    pub(crate) fn now() -> Result<Self> {
        let load = std::fs::read_to_string("/proc/loadavg").context("failed to read the load")?;
        let memory = std::fs::read_to_string("/proc/meminfo").context("failed to read the memory")?;
        let kib: u64 = memory.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).unwrap_or_default();
        Ok(Self {
            date: Zoned::now().date().to_string(),
            cores: std::thread::available_parallelism().context("failed to count cores")?.get(),
            memory_gib: kib.div_ceil(1024 * 1024),
            load: load.split_whitespace().take(3).collect::<Vec<_>>().join(" "),
            wasmtime: locked("wasmtime"),
            kube: locked("kube"),
        })
    }
}

/// The version of a package in the lock file that this was built with.
fn locked(package: &str) -> String {
    const LOCK: &str = include_str!("../../../Cargo.lock");
    let name = format!("name = \"{package}\"");
    let mut lines = LOCK.lines().skip_while(|line| *line != name);
    let version = lines.nth(1).and_then(|line| line.strip_prefix("version = "));
    version.unwrap_or("unknown").trim_matches('"').to_owned()
}

/// Cores that were busy between two moments, whoever kept them so.
#[derive(Debug)]
pub(crate) struct BusyCores {
    since: Instant,
    busy: Duration,
}

impl BusyCores {
    pub(crate) fn start() -> Result<Self> {
        Ok(Self { since: Instant::now(), busy: busy()? })
    }

    /// Of these, the cores that were busy with something else than `ours`.
    pub(crate) fn others(&self, ours: Duration) -> Result<f64> {
        let others = busy()?.saturating_sub(self.busy).saturating_sub(ours);
        Ok(others.as_secs_f64() / self.since.elapsed().as_secs_f64())
    }
}

fn busy() -> Result<Duration> {
    let stat = std::fs::read_to_string("/proc/stat").context("failed to read CPU times")?;
    let fields = stat.lines().next().unwrap_or_default().split_whitespace().skip(1).take(8);
    let ticks: Vec<u32> = fields.map(str::parse).collect::<Result<_, _>>().context("odd CPU times")?;
    // Neither idle nor waiting for disks.
    let busy: u32 =
        ticks.iter().enumerate().filter(|(place, _)| ![3, 4].contains(place)).map(|(_, ticks)| ticks).sum();
    Ok(TICK * busy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_come_from_the_lock_file() {
        assert!(locked("wasmtime").starts_with(|first: char| first.is_ascii_digit()));
        assert_eq!(locked("no-such-package"), "unknown");
    }

    #[test]
    fn busy_time_grows_with_work_and_own_work_is_no_one_elses() {
        let cores = BusyCores::start().unwrap();
        let since = Instant::now();
        while since.elapsed() < Duration::from_millis(100) {
            std::hint::black_box(since);
        }
        assert!(cores.others(Duration::ZERO).unwrap() > 0.0);
        assert_eq!(cores.others(Duration::MAX).unwrap(), 0.0);
    }
}
