//! A drain's report in words.

use jiff::{Timestamp, Unit};

use crate::value::id::ObjectKey;

use super::report::{DrainEnd, DrainReport, PodGroup, WaitCause};
use super::request::Force;

/// Returns the text of a report: the awaited pods or volumes, the reason, the end of the wait, and the remedy.
pub(super) fn message(report: &DrainReport, knows_attachments: bool, now: Timestamp) -> String {
    let mut parts: Vec<String> = report.groups.iter().map(group_text).collect();
    if report.is_in_line {
        parts.push("other drains go first, as many at a time as the API server bears".to_owned());
    }
    if let Some(until) = report.list_until {
        parts.push(format!(
            "the VolumeAttachments of the cluster are not listed yet, and those of the Node are to be let go of: they \
             are awaited until {}",
            time(until)
        ));
    } else if !knows_attachments && report.end.is_none() {
        parts.push(
            "the VolumeAttachments of the cluster are not listed yet, so no pod with volumes is evicted: if this \
             lasts, let this host list and watch them"
                .to_owned(),
        );
    }
    if !report.local_storage.is_empty() {
        parts.push(format!("local data is lost of {}", names(&report.local_storage)));
    }
    if !report.unmanaged.is_empty() {
        parts.push(format!("no controller replaces {}", names(&report.unmanaged)));
    }
    parts.extend(report.failures.iter().cloned());
    let detail = parts.join("; ");
    match report.end {
        None => {
            let mut text =
                if detail.is_empty() { "the pods of the Node are looked at".to_owned() } else { detail };
            text.push_str(". ");
            text.push_str(&until(report, now));
            text
        }
        Some(end) => {
            let end = end_text(end, report.force);
            if detail.is_empty() { end } else { format!("{end}; {detail}") }
        }
    }
}

fn end_text(end: DrainEnd, force: Option<Force>) -> String {
    let because = match force {
        None => "",
        Some(Force::Requested) => ", because it was asked for",
        Some(Force::NodeUnhealthy) => ", because the Node is unhealthy and they could not end by themselves",
        Some(Force::TimedOut) => ", because the time for the drain is over",
    };
    match end {
        DrainEnd::Drained => "all pods have gone".to_owned(),
        DrainEnd::VolumesLeft => {
            "all pods have gone, and volumes that did not leave the Node in time were let go of".to_owned()
        }
        DrainEnd::NodeGone => "the Node is gone, so nothing is to be drained".to_owned(),
        DrainEnd::Forced => format!("pods and volume attachments were deleted without waiting{because}"),
        DrainEnd::ForcedInPart => {
            format!("pods and volume attachments were deleted without waiting, as far as possible{because}")
        }
    }
}

fn until(report: &DrainReport, now: Timestamp) -> String {
    let (force, timeout) = (time(report.force_at), time(report.timeout_at));
    if report.list_until.is_some() {
        return "Then the drain ends without them".to_owned();
    }
    if report.force.is_some() {
        return "Nothing is awaited but the API server".to_owned();
    }
    if report.force_at >= report.timeout_at {
        return format!("Pods that are left at {timeout} are deleted at once");
    }
    if now < report.force_at {
        return format!(
            "Pods are deleted without asking from {force} on, and nothing is awaited from {timeout} on"
        );
    }
    format!("Pods are deleted without asking since {force}, and nothing is awaited from {timeout} on")
}

fn group_text(group: &PodGroup) -> String {
    let pods = || counted(group, "pod", "pods");
    let (is, ends) = if group.count == 1 { ("is", "ends") } else { ("are", "end") };
    match group.cause {
        WaitCause::BudgetMisconfigured => format!(
            "{} {is} held by a PodDisruptionBudget that never allows an eviction ({}): let it allow one",
            pods(),
            names(&group.budgets)
        ),
        WaitCause::SeveralBudgets => format!(
            "{} {is} selected by several PodDisruptionBudgets, so that Kubernetes refuses an eviction ({}): let one \
             select it",
            pods(),
            names(&group.budgets)
        ),
        WaitCause::Budget if group.budgets.is_empty() => {
            format!("{} {is} held by a PodDisruptionBudget", pods())
        }
        WaitCause::Budget => {
            format!("{} {is} held by PodDisruptionBudget {}", pods(), names(&group.budgets))
        }
        WaitCause::Failed => format!("{} could not be evicted", pods()),
        WaitCause::Overdue => format!("{} should have ended by now: see its finalizers and its node", pods()),
        WaitCause::Ending => format!("{} {ends} within the grace period", pods()),
        WaitCause::JustAsked => "pods are ending that were asked a moment ago".to_owned(),
        WaitCause::NotAsked => "more pods are about to be asked".to_owned(),
        WaitCause::Throttled => "the API server asks to wait with evictions".to_owned(),
        WaitCause::WaitsForTurn => {
            format!("{} with volumes {} for others to move", pods(), waits(group.count))
        }
        WaitCause::Detaching => format!("{} {is} being detached", counted(group, "volume", "volumes")),
        WaitCause::DetachingTooLong => {
            format!("{} should have been detached by now", counted(group, "volume", "volumes"))
        }
        WaitCause::Reattaching => {
            format!("{} {is} to be attached elsewhere", counted(group, "volume", "volumes"))
        }
    }
}

fn waits(count: usize) -> &'static str {
    if count == 1 { "waits" } else { "wait" }
}

fn counted(group: &PodGroup, one: &str, many: &str) -> String {
    let noun = if group.count == 1 { one } else { many };
    format!("{} {noun} ({})", group.count, first_of(&group.first, group.count))
}

/// The number of names shown of any list: a status must stay short.
const SHOWN: usize = 3;

fn names(keys: &[ObjectKey]) -> String {
    let shown: Vec<ObjectKey> = keys.iter().take(SHOWN).cloned().collect();
    first_of(&shown, keys.len())
}

/// Returns the names, and how many more there are.
fn first_of(shown: &[ObjectKey], count: usize) -> String {
    let more = count.saturating_sub(shown.len());
    if more == 0 { joined(shown) } else { format!("{} and {more} more", joined(shown)) }
}

/// Returns why a group can never be evicted, in the words of machine-controller-manager: other programs search for
/// them.
pub(super) fn error_of(group: &PodGroup) -> Option<String> {
    let pods = || {
        let noun = if group.count == 1 { "pod" } else { "pods" };
        format!("error while evicting {noun} {}", first_of(&group.first, group.count))
    };
    match group.cause {
        WaitCause::BudgetMisconfigured => {
            let budgets: Vec<String> = group
                .budgets
                .iter()
                .take(SHOWN)
                .map(|budget| {
                    format!(
                        "pod disruption budget {budget} is misconfigured and requires zero voluntary evictions"
                    )
                })
                .collect();
            Some(format!("{}: {}", pods(), budgets.join("; ")))
        }
        WaitCause::SeveralBudgets => Some(format!(
            "{}: several pod disruption budgets select the same pod, which Kubernetes refuses to evict ({})",
            pods(),
            names(&group.budgets)
        )),
        WaitCause::Budget
        | WaitCause::Failed
        | WaitCause::Overdue
        | WaitCause::Ending
        | WaitCause::JustAsked
        | WaitCause::NotAsked
        | WaitCause::Throttled
        | WaitCause::WaitsForTurn
        | WaitCause::Detaching
        | WaitCause::DetachingTooLong
        | WaitCause::Reattaching => None,
    }
}

fn joined(keys: &[ObjectKey]) -> String {
    keys.iter().map(ObjectKey::to_string).collect::<Vec<_>>().join(", ")
}

fn time(at: Timestamp) -> String {
    at.round(Unit::Second).unwrap_or(at).to_string()
}
