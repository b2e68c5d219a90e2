//! The use of a process so far, read from `/proc`.

use std::fs;
use std::time::Duration;

use anyhow::Context;

/// The kernel reports CPU time in this fixed unit to user space on every architecture, whatever its own tick is.
const TICKS_A_SECOND: u64 = 100;

/// CPU time and memory of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessUsage {
    /// CPU time of all its threads, user and system, since it started.
    pub cpu: Duration,
    /// The largest resident memory that it ever had, in bytes.
    pub peak_rss_bytes: u64,
    /// Its resident memory now, in bytes.
    pub rss_bytes: u64,
    /// Of it, what is not of files: what others could have if this process had it not.
    pub anonymous_bytes: u64,
}

/// Reads the usage of a process. Fails when there is none with this id.
pub fn process_usage(pid: u32) -> anyhow::Result<ProcessUsage> {
    let stat =
        fs::read_to_string(format!("/proc/{pid}/stat")).with_context(|| format!("no process {pid}"))?;
    let status =
        fs::read_to_string(format!("/proc/{pid}/status")).with_context(|| format!("no process {pid}"))?;
    Ok(ProcessUsage {
        cpu: cpu_of(&stat).with_context(|| format!("no CPU time in /proc/{pid}/stat"))?,
        peak_rss_bytes: bytes_of(&status, "VmHWM:").with_context(|| format!("no VmHWM of process {pid}"))?,
        rss_bytes: bytes_of(&status, "VmRSS:").with_context(|| format!("no VmRSS of process {pid}"))?,
        anonymous_bytes: bytes_of(&status, "RssAnon:")
            .with_context(|| format!("no RssAnon of process {pid}"))?,
    })
}

/// Fields 14 and 15 of `stat`. The name in field 2 may hold spaces and parentheses, so counting starts after its end.
fn cpu_of(stat: &str) -> Option<Duration> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let ticks = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
    Some(Duration::from_millis(ticks * 1000 / TICKS_A_SECOND))
}

fn bytes_of(status: &str, field: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_found_behind_an_unusual_name() {
        let stat = "7 (a) b (c)) S 1 7 7 0 -1 4194560 100 0 0 0 250 150 0 0 20 0 9 0 100 0 0";
        assert_eq!(cpu_of(stat), Some(Duration::from_secs(4)));
    }

    #[test]
    fn this_process_uses_memory_and_its_peak_is_not_below_it() {
        let usage = process_usage(std::process::id()).unwrap();
        assert!(usage.rss_bytes > 0 && usage.peak_rss_bytes >= usage.rss_bytes, "{usage:?}");
    }

    #[test]
    fn a_process_that_does_not_exist_is_an_error_with_its_id() {
        // Process ids end at 2^22 on Linux.
        let error = process_usage(u32::MAX).unwrap_err().to_string();
        assert!(error.contains("4294967295"), "{error}");
    }
}
