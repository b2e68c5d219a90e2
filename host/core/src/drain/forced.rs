//! A forced drain: pods are deleted in parallel, then the VolumeAttachments of the Node, and nothing is awaited.

use jiff::{SignedDuration, Timestamp};

use crate::driver::write_error::ActError;
use crate::scheduling::step::Requeue;

use super::effect::{DrainEffect, DrainProgress};
use super::pods::pod::PodFact;
use super::pods::volume::DrainMemory;
use super::pods::volume_moves::after;
use super::report::{DrainEnd, DrainReport};
use super::request::{DrainRequest, Force};
use super::step::DrainStep;

/// How long beyond the timeout a server that asks to wait is obeyed.
const THROTTLED_FOR: SignedDuration = SignedDuration::from_mins(1);

/// How long a process that has just started waits for its list of VolumeAttachments. Tens of thousands are listed
/// within seconds, and a failed watch starts again within half a minute. An attachment that is not listed by then may
/// never be listed.
const LISTED_WITHIN: SignedDuration = SignedDuration::from_mins(1);

/// The list requeues drains that are known to wait for it; the others check again after this time.
const LISTED_YET: SignedDuration = SignedDuration::from_secs(5);

/// `pods` are the listed pods, or the error: the attachments are deleted in both cases.
pub(super) fn step(
    request: &DrainRequest<'_>,
    force: Force,
    pods: Result<&[PodFact], &ActError>,
    progress: &DrainProgress,
    now: Timestamp,
) -> DrainStep {
    let effects = deletions(pods.unwrap_or_default(), progress);
    if !effects.is_empty() {
        return DrainStep::Act(effects);
    }
    if let Some(until) = list_awaited_until(request, now) {
        // Nothing would detach them once the VM is being deleted.
        let mut report = DrainReport::new(request, now);
        report.force = Some(force);
        report.list_until = Some(until);
        report.failures = progress.deletion_failures();
        let wake = Requeue::After(until.duration_since(now).clamp(SignedDuration::from_secs(1), LISTED_YET));
        return DrainStep::Wait { report: report.with_message(request, now), wake };
    }
    let attachments = request.facts.attachments.iter().flatten().filter(|attachment| attachment.is_here);
    let effects: Vec<DrainEffect> =
        attachments.filter_map(|attachment| attachment.deletion_if_untried(progress)).collect();
    if !effects.is_empty() {
        return DrainStep::Act(effects);
    }
    let mut failures = progress.deletion_failures();
    failures.extend(progress.attachment_failures());
    if let Err(error) = pods {
        failures.insert(0, format!("the pods of the Node could not be listed: {error}"));
    }
    if request.facts.attachments.is_none() {
        failures.push(
            "the VolumeAttachments of the cluster could not be listed, so those of the Node were left: let this host \
             list and watch them"
                .to_owned(),
        );
    }
    let mut report = DrainReport::new(request, now);
    report.force = Some(force);
    report.memory = DrainMemory::default();
    report.failures = failures;
    let is_look_throttled = |error: &ActError| match error {
        ActError::Throttled { after } => Some(after.unwrap_or_default()),
        _ => None,
    };
    if let Some(pause) = throttled(progress).or(pods.err().and_then(is_look_throttled))
        && now < after(request.timeout_at(), THROTTLED_FOR)
    {
        let pause = pause.clamp(SignedDuration::from_secs(1), THROTTLED_FOR);
        return DrainStep::Wait { report: report.with_message(request, now), wake: Requeue::After(pause) };
    }
    report.end = Some(if report.failures.is_empty() { DrainEnd::Forced } else { DrainEnd::ForcedInPart });
    DrainStep::Done { report: report.with_message(request, now) }
}

/// Returns until when the list of VolumeAttachments is awaited, while it is. A clock that was set back makes no drain
/// wait longer.
fn list_awaited_until(request: &DrainRequest<'_>, now: Timestamp) -> Option<Timestamp> {
    if request.facts.attachments.is_some() {
        return None;
    }
    let since = request.facts.unlisted_since.filter(|since| *since <= now)?;
    Some(after(since, LISTED_WITHIN)).filter(|until| now < *until)
}

/// A pod that was already deleted without grace period only waits for its finalizers: deleting it again does nothing.
fn deletions(pods: &[PodFact], progress: &DrainProgress) -> Vec<DrainEffect> {
    let has_grace = |pod: &PodFact| pod.ending.is_none_or(|ending| ending.grace > SignedDuration::ZERO);
    let mut pods: Vec<_> = pods
        .iter()
        .filter(|pod| pod.is_drained() && has_grace(pod) && !progress.deletions.contains_key(&pod.pod))
        .map(|pod| pod.pod.clone())
        .collect();
    pods.sort();
    pods.into_iter().map(DrainEffect::DeletePod).collect()
}

/// Returns how long the server asks to wait, if it does.
fn throttled(progress: &DrainProgress) -> Option<SignedDuration> {
    let results = progress.deletions.values().chain(progress.attachments.values());
    results
        .filter_map(|result| match result {
            Err(ActError::Throttled { after }) => Some(after.unwrap_or_default()),
            Ok(()) | Err(_) => None,
        })
        .max()
}
