//! Requests of the host to the API server, by what it counts itself.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use anyhow::Result;
use e2e::{Host, Metrics, within};

/// No request for so long: the work is done.
const QUIET: Duration = Duration::from_millis(1_500);
/// As the host's counter names them.
pub(crate) const EVICTIONS: &str = "pods/eviction";
const OWNERS: [&str; 2] = ["machinesets", "machinedeployments"];
const COUNTER: &str = "machinist_api_requests_total";

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Request {
    pub(crate) verb: String,
    pub(crate) resource: String,
    /// The HTTP status, when it was no success.
    pub(crate) failed: Option<String>,
}

impl Request {
    /// Events, Leases and watches are apart: they do not grow with the work as the rest does.
    pub(crate) fn is_apart(&self) -> bool {
        ["events", "leases"].contains(&self.resource.as_str()) || self.verb == "WATCH"
    }

    pub(crate) fn is_write(&self) -> bool {
        ["POST", "PUT", "PATCH", "DELETE"].contains(&self.verb.as_str())
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Requests(pub(crate) BTreeMap<Request, u64>);

impl fmt::Display for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (Request { verb, resource, failed }, count)) in self.0.iter().enumerate() {
            let comma = if place > 0 { ", " } else { "" };
            let failed = failed.as_ref().map_or_else(String::new, |code| format!(" answered by {code}"));
            write!(f, "{comma}{count} {verb} {resource}{failed}")?;
        }
        Ok(())
    }
}

impl Requests {
    pub(crate) fn read(metrics: &Metrics) -> Self {
        let mut counts = BTreeMap::new();
        for (labels, value) in metrics.matching(COUNTER, &[]) {
            let code = label(labels, "code");
            let request = Request {
                verb: label(labels, "verb").to_owned(),
                resource: label(labels, "resource").to_owned(),
                failed: (!code.starts_with('2')).then(|| code.to_owned()),
            };
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a counter of requests"
            )]
            let value = value as u64;
            *counts.entry(request).or_default() += value;
        }
        Self(counts)
    }

    pub(crate) fn between(before: &Self, after: &Self) -> Self {
        let earlier = |request: &Request| before.0.get(request).copied().unwrap_or_default();
        let grown = after.0.iter().map(|(request, count)| (request.clone(), count - earlier(request)));
        Self(grown.filter(|(_, count)| *count > 0).collect())
    }

    /// Without Events, Leases and watches.
    pub(crate) fn total(&self) -> u64 {
        self.0.iter().filter(|(request, _)| !request.is_apart()).map(|(_, count)| count).sum()
    }

    pub(crate) fn total_beside_leases(&self) -> u64 {
        self.0.iter().filter(|(request, _)| request.resource != "leases").map(|(_, count)| count).sum()
    }

    /// Without Events, Leases, watches and evictions.
    pub(crate) fn writes_beside_evictions(&self) -> u64 {
        self.writes() - self.of("POST", EVICTIONS)
    }

    /// Of these, the writes.
    pub(crate) fn writes(&self) -> u64 {
        self.writes_where(|_| true)
    }

    /// Of these, those of sets and deployments: they grow with the time that the work takes.
    pub(crate) fn writes_of_owners(&self) -> u64 {
        self.writes_where(|resource| OWNERS.iter().any(|owner| resource.starts_with(owner)))
    }

    fn writes_where(&self, is_of: impl Fn(&str) -> bool) -> u64 {
        let counts =
            |request: &Request| !request.is_apart() && request.is_write() && is_of(&request.resource);
        self.0.iter().filter(|(request, _)| counts(request)).map(|(_, count)| count).sum()
    }

    /// Writes of this kind, whatever came of them.
    pub(crate) fn of(&self, verb: &str, resource: &str) -> u64 {
        let is_it = |request: &Request| request.verb == verb && request.resource == resource;
        self.0.iter().filter(|(request, _)| is_it(request)).map(|(_, count)| count).sum()
    }
}

/// The host's counts once it has stopped asking.
pub(crate) async fn when_idle(host: &Host) -> Result<Requests> {
    let mut last = Requests::read(&host.metrics().await?);
    within(Duration::from_secs(60), "the host has nothing more to do", async || {
        tokio::time::sleep(QUIET).await;
        let now = Requests::read(&host.metrics().await?);
        let is_quiet = now.total() == last.total();
        last = now;
        Ok(is_quiet.then_some(()))
    })
    .await?;
    Ok(last)
}

fn label<'a>(labels: &'a str, name: &str) -> &'a str {
    let value =
        labels.split(',').find_map(|pair| pair.trim_end_matches('}').strip_prefix(name)?.strip_prefix("=\""));
    value.and_then(|value| value.strip_suffix('"')).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRAPE: &str = "# TYPE machinist_api_requests counter
machinist_api_requests_total{verb=\"PATCH\",resource=\"machines\",code=\"200\"} 7
machinist_api_requests_total{verb=\"PATCH\",resource=\"machines\",code=\"409\"} 2
machinist_api_requests_total{verb=\"GET\",resource=\"secrets\",code=\"200\"} 1
machinist_api_requests_total{verb=\"WATCH\",resource=\"nodes\",code=\"200\"} 1
machinist_api_requests_total{verb=\"POST\",resource=\"events\",code=\"201\"} 9
";

    #[test]
    fn counts_are_kept_apart_by_what_was_asked_and_whether_it_failed() {
        let all = Requests::read(&Metrics::parse(SCRAPE));
        assert_eq!((all.total(), all.writes(), all.of("PATCH", "machines")), (10, 9, 9));
        let failed: Vec<&Request> = all.0.keys().filter(|request| request.failed.is_some()).collect();
        assert_eq!(failed.len(), 1);
        assert_eq!(all.total_beside_leases(), 20, "Events and watches are requests too");
    }

    #[test]
    fn evictions_are_no_writes_of_a_machine() {
        let scrape = format!(
            "{SCRAPE}machinist_api_requests_total{{verb=\"POST\",resource=\"pods/eviction\",code=\"201\"}} 30\n"
        );
        let all = Requests::read(&Metrics::parse(&scrape));
        assert_eq!((all.writes(), all.writes_beside_evictions()), (39, 9));
    }

    #[test]
    fn writes_to_sets_and_deployments_are_counted_apart() {
        let scrape = format!(
            "{SCRAPE}machinist_api_requests_total{{verb=\"PATCH\",resource=\"machinesets/status\",code=\"200\"}} 3
machinist_api_requests_total{{verb=\"GET\",resource=\"machinesets\",code=\"200\"}} 5
machinist_api_requests_total{{verb=\"PATCH\",resource=\"machinedeployments\",code=\"409\"}} 4
"
        );
        let all = Requests::read(&Metrics::parse(&scrape));
        assert_eq!((all.writes(), all.writes_of_owners()), (16, 7));
    }

    #[test]
    fn they_are_printed_in_one_line_with_failures() {
        let line = Requests::read(&Metrics::parse(SCRAPE)).to_string();
        assert!(line.contains("7 PATCH machines, 2 PATCH machines answered by 409, 9 POST events"), "{line}");
    }

    #[test]
    fn what_was_there_before_does_not_count() {
        let all = Requests::read(&Metrics::parse(SCRAPE));
        assert_eq!(Requests::between(&all, &all).total(), 0);
        assert_eq!(Requests::between(&Requests::default(), &all).total(), 10);
    }
}
