//! An ordinary drain: evicts pods without volumes in parallel, those with volumes in turn, then waits for them.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use crate::scheduling::step::Requeue;

use super::effect::{DrainEffect, DrainProgress, PodListing, ReadConsistency};
use super::pods::pod::PodFact;
use super::pods::state::PodState;
use super::pods::volume::{DrainMemory, VolumeName};
use super::pods::volume_moves::{VolumeLocation, VolumeMove, after, memory, moving};
use super::report::{DrainEnd, DrainReport, WaitCause};
use super::request::{DrainRequest, DrainStage};
use super::requeue::{PAUSE, wake};
use super::step::DrainStep;

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
    let mut states = states(request, stage, look, progress, now);
    let mut moves = moving(request, &look.pods, now);
    if !states.iter().any(|state| state.pod.has_volumes() && state.ending_since.is_none()) {
        // A volume that must appear elsewhere delays the pods after it, and there are none.
        moves.retain(|volume_move| volume_move.location != VolumeLocation::Between);
    }
    let batch = next(request, stage, &mut states, &moves, progress, now);
    if !batch.is_empty() {
        return DrainStep::Act(batch);
    }
    if states.is_empty()
        && moves.iter().all(|volume_move| volume_move.location == VolumeLocation::HereTooLong)
    {
        return at_end(request, look, &moves, progress, now);
    }
    wait(request, &states, &moves, now)
}

/// Returns the pods to evict, the highest priority first: otherwise it would be pending the longest.
fn states<'a>(
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
    states: &mut [PodState<'_>],
    moves: &[VolumeMove],
    progress: &DrainProgress,
    now: Timestamp,
) -> Vec<DrainEffect> {
    let tried = |pod: &PodFact| {
        progress.evictions.contains_key(&pod.pod) || progress.deletions.contains_key(&pod.pod)
    };
    let is_throttled = states.iter().any(|state| state.cause == WaitCause::Throttled);
    let tried_count = progress.evictions.len() + progress.deletions.len();
    let turns_taken = states.iter().filter(|state| state.pod.has_volumes() && tried(state.pod)).count();
    let mut left = if is_throttled { 0 } else { ASKED_PER_PASS.saturating_sub(tried_count) };
    let mut turns = turns(request, states, moves, now);
    let mut turns_left = TURNS_PER_PASS.max(turns_allowed(request)).saturating_sub(turns_taken);
    let mut batch = Vec::new();
    for location in in_order_of_asking(states, request.elapsed(now)) {
        let Some(state) = states.get_mut(location) else { continue };
        if state.cause != WaitCause::NotAsked || tried(state.pod) {
            continue;
        }
        if state.pod.has_volumes() {
            // The attachments show where volumes are.
            if turns == 0 || turns_left == 0 || request.facts.attachments.is_none() {
                state.cause = WaitCause::WaitsForTurn;
                continue;
            }
            turns -= 1;
            turns_left -= 1;
        }
        if left == 0 {
            continue;
        }
        left -= 1;
        let pod = state.pod.pod.clone();
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
fn in_order_of_asking(states: &[PodState<'_>], elapsed: SignedDuration) -> Vec<usize> {
    let mut order: Vec<usize> = (0..states.len()).collect();
    let places_where = |is_meant: &dyn Fn(&PodState<'_>) -> bool| -> Vec<usize> {
        let all = states.iter().enumerate();
        all.filter(|(_, state)| state.pod.has_volumes() && is_meant(state))
            .map(|(location, _)| location)
            .collect()
    };
    let has_failed = !places_where(&|state| state.failure.is_some()).is_empty();
    let untried = places_where(&|state| state.cause == WaitCause::NotAsked);
    if !has_failed || untried.is_empty() {
        return order;
    }
    let passes = usize::try_from(elapsed.as_secs() / PAUSE.as_secs()).unwrap_or(0);
    let mut turned = untried.clone();
    turned.rotate_left(passes.wrapping_mul(TURNS_PER_PASS - 1) % untried.len());
    for (location, pod) in untried.into_iter().zip(turned) {
        if let Some(slot) = order.get_mut(location) {
            *slot = pod;
        }
    }
    order
}

/// Returns how many more pods with volumes may be evicted: each keeps its slot until its volumes have arrived
/// elsewhere, or until that took too long.
fn turns(request: &DrainRequest<'_>, states: &[PodState<'_>], moves: &[VolumeMove], now: Timestamp) -> usize {
    let detach_timeout = request.settings.detach_timeout;
    let is_ending = |state: &&PodState<'_>| {
        let deadline = state.pod.ending.map_or(now, |ending| ending.deadline);
        state.pod.has_volumes() && state.ending_since.is_some() && now < after(deadline, detach_timeout)
    };
    let ending = states.iter().filter(is_ending).count();
    let moving: BTreeSet<_> = moves
        .iter()
        .filter(|volume_move| volume_move.location != VolumeLocation::HereTooLong)
        .map(|volume_move| match &volume_move.awaited.pod {
            Some(pod) => (Some(pod), None),
            None => (None, Some(&volume_move.awaited.volume)),
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
    moves: &[VolumeMove],
    progress: &DrainProgress,
    now: Timestamp,
) -> DrainStep {
    let Some(attachments) = &request.facts.attachments else {
        return wait(request, &[], moves, now);
    };
    if look.read == ReadConsistency::Cached {
        return DrainStep::Act(vec![DrainEffect::ListPods {
            node: request.node.clone(),
            read: ReadConsistency::Latest,
        }]);
    }
    let hangs = |volume: &VolumeName| moves.iter().any(|volume_move| volume_move.awaited.volume == *volume);
    let batch: Vec<DrainEffect> = attachments
        .iter()
        .filter(|attachment| attachment.is_here && attachment.volume.as_ref().is_some_and(hangs))
        .filter_map(|attachment| attachment.deletion_if_untried(progress))
        .collect();
    if !batch.is_empty() {
        return DrainStep::Act(batch);
    }
    let end = if moves.is_empty() { DrainEnd::Drained } else { DrainEnd::VolumesLeft };
    let mut report = DrainReport::new(request, now);
    report.end = Some(end);
    report.memory = DrainMemory::default();
    report.failures = progress.attachment_failures();
    report.count(&[], moves, now);
    DrainStep::Done { report: report.with_message(request, now) }
}

fn wait(
    request: &DrainRequest<'_>,
    states: &[PodState<'_>],
    moves: &[VolumeMove],
    now: Timestamp,
) -> DrainStep {
    let ending = states.iter().filter_map(|state| Some((state.pod, state.ending_since?)));
    let mut report = DrainReport::new(request, now);
    report.memory = memory(request, moves, ending);
    // The report has the cause of these pods, whether they were just tried or not.
    let is_reported_by_cause = |state: &&PodState<'_>| state.cause == WaitCause::SeveralBudgets;
    report.failures = states
        .iter()
        .filter(|state| !is_reported_by_cause(state))
        .filter_map(|state| state.failure.clone())
        .collect();
    report.count(states, moves, now);
    let after = wake(request, states, moves, now);
    DrainStep::Wait {
        report: report.with_message(request, now),
        wake: Requeue::After(after.max(SignedDuration::from_secs(1))),
    }
}
