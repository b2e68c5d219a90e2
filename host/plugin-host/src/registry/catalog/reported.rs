//! The report of a source, and its line in the log.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use jiff::Timestamp;
use tracing::{info, warn};

use crate::registry::canary::Trial;
use crate::registry::canary::decided::Decision;
use crate::registry::generation::Served;
use crate::registry::report::PluginState;
use crate::registry::report::{PluginReport, ReadyReport, ReleaseReport};
use crate::registry::{Eligibility, SourceState, Stage, Version};

pub(super) fn state(
    source: &SourceState<Served>,
    is_on_trial: bool,
    now: Timestamp,
) -> (PluginState, Option<String>) {
    match &source.stage {
        Stage::Declared => (PluginState::Declared, None),
        Stage::Waiting { reason } => (PluginState::Declared, Some(reason.clone())),
        Stage::Fetched => (PluginState::Fetched, None),
        Stage::Verified => (PluginState::Verified, None),
        Stage::Rejected { reason } => (PluginState::Rejected, Some(reason.clone())),
        Stage::Ready => {
            if let Some(Eligibility::Withdrawn { reason }) =
                source.version.as_ref().map(|version| &version.eligibility)
            {
                return (PluginState::Withdrawn, Some(reason.clone()));
            }
            let until = source.version.as_ref().and_then(|version| version.generation.quarantined_until(now));
            match until {
                None if is_on_trial => (PluginState::Trial, None),
                None => (PluginState::Ready, None),
                Some(until) => (
                    PluginState::Quarantined { until },
                    Some("its calls broke one after the other".to_owned()),
                ),
            }
        }
    }
}

/// `None` for what serves at once and was never withdrawn.
pub(super) fn rollout(version: &Version<Served>) -> Option<ReleaseReport> {
    let trial = version.generation.trial();
    let decision = match &version.eligibility {
        Eligibility::Withdrawn { reason } => Some(Decision::Withdrawn(reason.clone())),
        Eligibility::Whole => trial.map(|_| Decision::Promoted),
        Eligibility::Trial => None,
    };
    (trial.is_some() || decision.is_some()).then(|| ReleaseReport {
        terms: trial.map(|trial| Arc::clone(&trial.terms)),
        decision,
        figures: trial.map(Trial::figures).unwrap_or_default(),
        shadow: trial.and_then(Trial::shadow_report),
    })
}

pub(super) fn ready_report(version: &Version<Served>) -> ReadyReport {
    let generation = &version.generation;
    let counts = generation.counts();
    let (name, own_version) = generation.name();
    ReadyReport {
        digest: generation.digest(),
        driver: name.to_owned(),
        version: own_version.to_string(),
        providers: version.providers.clone(),
        terms: generation.policy().map(|policy| policy.prepared.terms.clone()),
        code: generation.tier(),
        generation: version.number,
        calls_total: counts.total.load(Ordering::Relaxed),
        calls_broken: counts.broken.load(Ordering::Relaxed),
        calls_in_flight: counts.in_flight.load(Ordering::Relaxed),
    }
}

pub(super) fn log(report: &PluginReport) {
    let PluginReport { plugin, source, state, serving, .. } = report;
    let digest = report.digest.map(tracing::field::display);
    match &report.reason {
        Some(reason) if *state == PluginState::Declared => {
            info!(%plugin, %source, %state, serving, reason, "plugin state");
        }
        None => info!(%plugin, %source, %state, serving, digest, "plugin state"),
        Some(reason) => warn!(%plugin, %source, %state, serving, digest, reason, "plugin state"),
    }
}
