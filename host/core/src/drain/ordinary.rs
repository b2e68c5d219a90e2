//! An ordinary drain: evicts pods without volumes in parallel, those with volumes in turn, then waits for them.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use crate::machine::Requeue;

use super::effect::{DrainEffect, DrainProgress, PodListing, ReadConsistency};
use super::pods::pod::PodFact;
use super::pods::state::PodState;
use super::pods::volume::{DrainMemory, VolumeName};
use super::pods::volume_moves::{VolumeLocation, VolumeMove, after, in_transit, memory};
use super::report::{DrainEnd, DrainReport, WaitCause};
use super::request::DrainRequest;
use super::stage::DrainStage;
use super::step::DrainStep;
use super::wake::{PAUSE, wake};

/// The number of pods evicted in one reconcile. The next reconcile follows within a second, and a batch uses
/// connections that others need too.
const ASKED_PER_PASS: usize = 20;

/// The number of pods with volumes that are tried in one reconcile when those before them may not be evicted: each
/// costs a request.
const TURNS_PER_PASS: usize = 4;

pub(super) fn step(
    request: &DrainRequest<'_>,
    stage: DrainStage,
    look: &PodListing,
    progress: &DrainProgress,
    now: Timestamp,
) -> DrainStep {
    let mut standings = standings(request, stage, look, progress, now);
    let mut transits = in_transit(request, &look.pods, now);
    if !standings.iter().any(|standing| standing.pod.has_volumes() && standing.ending_since.is_none()) {
        // A volume that must appear elsewhere delays the pods after it, and there are none.
        transits.retain(|transit| transit.place != VolumeLocation::Between);
    }
    let batch = next(request, stage, &mut standings, &transits, progress, now);
    if !batch.is_empty() {
        return DrainStep::Act(batch);
    }
    if standings.is_empty() && transits.iter().all(|transit| transit.place == VolumeLocation::HereTooLong) {
        return at_end(request, look, &transits, progress, now);
    }
    wait(request, &standings, &transits, now)
}

/// Returns the pods to evict, the highest priority first: otherwise it would be pending the longest.
fn standings<'a>(
    request: &DrainRequest<'_>,
    stage: DrainStage,
    look: &'a PodListing,
    progress: &DrainProgress,
    now: Timestamp,
) -> Vec<PodState<'a>> {
    let mut pods: Vec<&PodFact> = look.pods.iter().filter(|pod| pod.is_drained()).collect();
    pods.sort_by(|a, b| b.priority.cmp(&a.priority).then_with(|| a.pod.cmp(&b.pod)));
    pods.into_iter().map(|pod| PodState::of(request, stage, progress, pod, now)).collect()
}

/// Returns the evictions to do next. Marks the pods that wait for their turn.
fn next(
    request: &DrainRequest<'_>,
    stage: DrainStage,
    standings: &mut [PodState<'_>],
    transits: &[VolumeMove],
    progress: &DrainProgress,
    now: Timestamp,
) -> Vec<DrainEffect> {
    let tried = |pod: &PodFact| {
        progress.evictions.contains_key(&pod.pod) || progress.deletions.contains_key(&pod.pod)
    };
    let is_throttled = standings.iter().any(|standing| standing.cause == WaitCause::Throttled);
    let tried_count = progress.evictions.len() + progress.deletions.len();
    let turns_taken =
        standings.iter().filter(|standing| standing.pod.has_volumes() && tried(standing.pod)).count();
    let mut left = if is_throttled { 0 } else { ASKED_PER_PASS.saturating_sub(tried_count) };
    let mut turns = turns(request, standings, transits, now);
    let mut turns_left = TURNS_PER_PASS.max(turns_allowed(request)).saturating_sub(turns_taken);
    let mut batch = Vec::new();
    for place in in_order_of_asking(standings, request.elapsed(now)) {
        let Some(standing) = standings.get_mut(place) else { continue };
        if standing.cause != WaitCause::NotAsked || tried(standing.pod) {
            continue;
        }
        if standing.pod.has_volumes() {
            // The attachments show where volumes are.
            if turns == 0 || turns_left == 0 || request.facts.attachments.is_none() {
                standing.cause = WaitCause::WaitsForTurn;
                continue;
            }
            turns -= 1;
            turns_left -= 1;
        }
        if left == 0 {
            continue;
        }
        left -= 1;
        let pod = standing.pod.pod.clone();
        batch.push(match stage {
            DrainStage::Ask => DrainEffect::Evict(pod),
            DrainStage::Insist | DrainStage::Force(_) => DrainEffect::DeletePod(pod),
        });
    }
    batch
}

/// Orders pods by priority. Once a pod with volumes has failed in this reconcile, those after it start at another one
/// each time, so that some that always fail do not block all others. The start follows from the clock, so that nothing
/// is stored.
fn in_order_of_asking(standings: &[PodState<'_>], elapsed: SignedDuration) -> Vec<usize> {
    let mut order: Vec<usize> = (0..standings.len()).collect();
    let places_where = |is_meant: &dyn Fn(&PodState<'_>) -> bool| -> Vec<usize> {
        let all = standings.iter().enumerate();
        all.filter(|(_, standing)| standing.pod.has_volumes() && is_meant(standing))
            .map(|(place, _)| place)
            .collect()
    };
    let has_failed = !places_where(&|standing| standing.failure.is_some()).is_empty();
    let untried = places_where(&|standing| standing.cause == WaitCause::NotAsked);
    if !has_failed || untried.is_empty() {
        return order;
    }
    let passes = usize::try_from(elapsed.as_secs() / PAUSE.as_secs()).unwrap_or(0);
    let mut turned = untried.clone();
    turned.rotate_left(passes.wrapping_mul(TURNS_PER_PASS - 1) % untried.len());
    for (place, pod) in untried.into_iter().zip(turned) {
        if let Some(slot) = order.get_mut(place) {
            *slot = pod;
        }
    }
    order
}

/// Returns how many more pods with volumes may be evicted: each keeps its slot until its volumes have arrived
/// elsewhere, or until that took too long.
fn turns(
    request: &DrainRequest<'_>,
    standings: &[PodState<'_>],
    transits: &[VolumeMove],
    now: Timestamp,
) -> usize {
    let detach_timeout = request.settings.detach_timeout;
    let is_ending = |standing: &&PodState<'_>| {
        let deadline = standing.pod.ending.map_or(now, |ending| ending.deadline);
        standing.pod.has_volumes() && standing.ending_since.is_some() && now < after(deadline, detach_timeout)
    };
    let ending = standings.iter().filter(is_ending).count();
    let moving: BTreeSet<_> = transits
        .iter()
        .filter(|transit| transit.place != VolumeLocation::HereTooLong)
        .map(|transit| match &transit.awaited.pod {
            Some(pod) => (Some(pod), None),
            None => (None, Some(&transit.awaited.volume)),
        })
        .collect();
    turns_allowed(request).saturating_sub(ending).saturating_sub(moving.len())
}

fn turns_allowed(request: &DrainRequest<'_>) -> usize {
    usize::try_from(request.settings.parallel_volumes.max(1)).unwrap_or(usize::MAX)
}

/// No pod is left, by the cache: the drain ends only after a consistent list. Volumes that hang are abandoned.
fn at_end(
    request: &DrainRequest<'_>,
    look: &PodListing,
    transits: &[VolumeMove],
    progress: &DrainProgress,
    now: Timestamp,
) -> DrainStep {
    let Some(attachments) = &request.facts.attachments else {
        return wait(request, &[], transits, now);
    };
    if look.read == ReadConsistency::Cached {
        return DrainStep::Act(vec![DrainEffect::LookAtPods {
            node: request.node.clone(),
            read: ReadConsistency::Latest,
        }]);
    }
    let hangs = |volume: &VolumeName| transits.iter().any(|transit| transit.awaited.volume == *volume);
    let batch: Vec<DrainEffect> = attachments
        .iter()
        .filter(|attachment| attachment.is_here && attachment.volume.as_ref().is_some_and(hangs))
        .filter_map(|attachment| attachment.deletion_if_untried(progress))
        .collect();
    if !batch.is_empty() {
        return DrainStep::Act(batch);
    }
    let end = if transits.is_empty() { DrainEnd::Drained } else { DrainEnd::VolumesLeft };
    let mut report = DrainReport::new(request, now);
    report.end = Some(end);
    report.memory = DrainMemory::default();
    report.failures = progress.attachment_failures();
    report.count(&[], transits, now);
    DrainStep::Done { report: report.told(request, now) }
}

fn wait(
    request: &DrainRequest<'_>,
    standings: &[PodState<'_>],
    transits: &[VolumeMove],
    now: Timestamp,
) -> DrainStep {
    let ending = standings.iter().filter_map(|standing| Some((standing.pod, standing.ending_since?)));
    let mut report = DrainReport::new(request, now);
    report.memory = memory(request, transits, ending);
    // The report has the cause of these pods, whether they were just tried or not.
    let is_told_by_cause = |standing: &&PodState<'_>| standing.cause == WaitCause::SeveralBudgets;
    report.failures = standings
        .iter()
        .filter(|standing| !is_told_by_cause(standing))
        .filter_map(|standing| standing.failure.clone())
        .collect();
    report.count(standings, transits, now);
    let after = wake(request, standings, transits, now);
    DrainStep::Wait {
        report: report.told(request, now),
        wake: Requeue::After(after.max(SignedDuration::from_secs(1))),
    }
}
