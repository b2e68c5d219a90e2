//! Prints the progress of a long part on stderr, since stdout is for the report.

use std::pin::pin;
use std::time::Duration;

use anyhow::{Context, Result};
use control_plane::process_usage;
use e2e::{Host, Lab};
use nodesim::pods::PodStats;
use tokio::time::{Instant, interval_at};

use crate::machines::Requests;

/// A part that takes longer than this says how far it is.
const TELL_EVERY: Duration = Duration::from_secs(10);

/// Prints the processor time and the requests of the participants.
pub(crate) struct Progress<'a> {
    lab: &'a Lab,
    host: Option<&'a Host>,
}

impl<'a> Progress<'a> {
    pub(crate) fn of(lab: &'a Lab, host: Option<&'a Host>) -> Self {
        Self { lab, host }
    }

    /// Does it, and says when it begins, how far it is, and what it has cost.
    pub(crate) async fn during<T>(&self, what: &str, work: impl Future<Output = Result<T>>) -> Result<T> {
        let (started, before, asked_before) = (Instant::now(), self.cpu()?, self.asked().await?);
        let mut ticks = interval_at(started + TELL_EVERY, TELL_EVERY);
        let mut work = pin!(work);
        eprintln!("  {what}");
        loop {
            tokio::select! {
                biased;
                done = &mut work => {
                    let how = if done.is_ok() { "done" } else { "failed" };
                    eprintln!("  {what}: {how} after {}", line(started.elapsed(), &before, &self.cpu()?, self.pods()));
                    let asked = Requests::between(&asked_before, &self.asked().await?);
                    if !asked.0.is_empty() {
                        eprintln!("    the host asked: {asked}");
                    }
                    return done.with_context(|| format!("{what}; {:?}", self.pods()));
                }
                _ = ticks.tick() => {
                    eprintln!("    {}", line(started.elapsed(), &before, &self.cpu()?, self.pods()));
                }
            }
        }
    }

    fn pods(&self) -> PodStats {
        self.lab.nodes.pod_stats()
    }

    async fn asked(&self) -> Result<Requests> {
        match self.host {
            Some(host) => Ok(Requests::read(&host.metrics().await?)),
            None => Ok(Requests::default()),
        }
    }

    /// By name, with nothing for what does not run.
    fn cpu(&self) -> Result<[(&'static str, Duration); 4]> {
        let pids = self.lab.plane.pids();
        let of = |pid: Option<u32>| {
            pid.map_or(Ok(Duration::ZERO), |pid| process_usage(pid).map(|usage| usage.cpu))
        };
        Ok([
            ("host", of(self.host.map(Host::pid))?),
            ("API server", of(pids.api_server)?),
            ("etcd", of(Some(pids.etcd))?),
            ("this process", of(Some(std::process::id()))?),
        ])
    }
}

fn line(took: Duration, before: &[(&str, Duration)], after: &[(&str, Duration)], pods: PodStats) -> String {
    let used = before.iter().zip(after).map(|((name, before), (_, after))| {
        format!("{name} {:.1} s", after.saturating_sub(*before).as_secs_f64())
    });
    let used = used.collect::<Vec<_>>().join(", ");
    let PodStats { bound, running, terminating, started, removed, failures } = pods;
    format!(
        "{:.1} s (CPU: {used}; pods: {bound} bound, {running} running, {terminating} ending; {started} started, {removed} removed, \
         {failures} requests failed)",
        took.as_secs_f64()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_was_used_since_the_beginning() {
        let cpu =
            |host, api| [("host", Duration::from_millis(host)), ("API server", Duration::from_millis(api))];
        let pods = PodStats { bound: 7, removed: 3, ..PodStats::default() };
        let text = line(Duration::from_millis(12_340), &cpu(1_000, 500), &cpu(1_500, 2_500), pods);
        assert!(text.starts_with("12.3 s (CPU: host 0.5 s, API server 2.0 s; pods: 7 bound"), "{text}");
        assert!(text.contains("3 removed, 0 requests failed"), "{text}");
    }
}
