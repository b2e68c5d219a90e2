//! The report about a plugin as the annotation `machinist.dev/status`.

use machinist_core::value::id::ProviderName;

use crate::health_policy::PolicyTerms;
use crate::registry::canary::ShadowReport;
use crate::registry::canary::decided::Decision;
use crate::registry::report::{PluginReport, ReadyReport};
use crate::sources::status::{
    DifferenceExample, HeldStatus, ON_TRIAL, PROMOTED, PluginStatus, PolicyScope, PolicyStatus,
    ResolvedStatus, RolloutStatus, ShadowStatus, WITHDRAWN, cut,
};

/// Every watch of ConfigMaps reads the annotation.
const MOST_EXAMPLES: usize = 6;
const MOST_CHARS: usize = 600;

impl From<&PluginReport> for PluginStatus {
    fn from(report: &PluginReport) -> Self {
        Self {
            plugin: report.plugin.to_string(),
            kind: report.kind.clone(),
            content: report.content.map(|content| content.to_string()),
            state: report.state.name().to_owned(),
            reason: report.reason.clone(),
            since: report.since.round(jiff::Unit::Second).unwrap_or(report.since).to_string(),
            serving: report.serving,
            serves: names(&report.serves),
            claim_denied: report.claim_denied,
            digest: report.digest.map(|digest| digest.to_string()),
            warnings: report.warnings.clone(),
            rollout: RolloutStatus::of(report),
            resolved: report.resolved.as_ref().map(ResolvedStatus::from),
            signed_by: report.signer.clone(),
            bundle: report.bundle.clone(),
            held: report.held.as_ref().map(HeldStatus::from),
        }
    }
}

impl RolloutStatus {
    fn of(report: &PluginReport) -> Option<Self> {
        let rollout = report.rollout.as_ref()?;
        let (decision, reason) = match &rollout.decision {
            None => (ON_TRIAL, None),
            Some(Decision::Promoted) => (PROMOTED, None),
            Some(Decision::Withdrawn(reason)) => (WITHDRAWN, Some(reason.clone())),
        };
        Some(Self {
            decision: decision.to_owned(),
            digest: report.held.as_ref().map(|held| held.digest.to_string()),
            reason,
            mode: rollout.terms.as_ref().map(|terms| terms.mode.name().to_owned()),
            shadow: rollout.shadow.as_ref().map(ShadowStatus::from),
        })
    }
}

impl From<&ReadyReport> for HeldStatus {
    fn from(held: &ReadyReport) -> Self {
        Self {
            digest: held.digest.to_string(),
            driver: held.driver.clone(),
            version: held.version.clone(),
            code: held.code.name().to_owned(),
            providers: names(&held.providers),
            policy: held.terms.as_ref().map(PolicyStatus::from),
        }
    }
}

impl From<&PolicyTerms> for PolicyStatus {
    fn from(terms: &PolicyTerms) -> Self {
        let applies_to = PolicyScope {
            classes: terms.scope.classes.clone(),
            deployments: terms.scope.deployments.clone(),
            labels: terms.scope.labels.clone(),
        };
        Self { mode: terms.mode.as_str().to_owned(), applies_to }
    }
}

impl From<&ShadowReport> for ShadowStatus {
    fn from(report: &ShadowReport) -> Self {
        let functions = report.functions.iter().map(|(name, of)| ((*name).to_owned(), *of));
        let examples = report.examples.iter().take(MOST_EXAMPLES).map(|example| DifferenceExample {
            function: example.function.to_owned(),
            subject: example.subject.clone(),
            seen: example.seen,
            text: cut(&example.text, MOST_CHARS),
        });
        Self { functions: functions.collect(), examples: examples.collect() }
    }
}

fn names(providers: &[ProviderName]) -> Vec<String> {
    providers.iter().map(|provider| provider.as_str().to_owned()).collect()
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
