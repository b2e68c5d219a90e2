//! Validates a deployment, and says how to fix it.

use crate::disruption::requests::DisruptionRequests;
use crate::value::id::Name;

use super::facts::{DeploymentSelectorFact, DeploymentView};
use super::rollout::strategy::Strategy;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ValidSpec {
    pub desired: u32,
    /// How they are replaced.
    pub strategy: Strategy,
}

/// The reason why a spec is not applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum InvalidSpec {
    SelectsEverything,
    /// The selector is invalid.
    Invalid(String),
}

pub(super) fn validity(view: &DeploymentView) -> Result<ValidSpec, InvalidSpec> {
    let spec = &view.deployment.spec;
    let mut problems = Vec::new();
    let desired = u32::try_from(spec.replicas).ok().filter(|replicas| i32::try_from(*replicas).is_ok());
    if desired.is_none() {
        problems.push(format!("spec.replicas is {}: set it to 0 or more", spec.replicas));
    }
    match &spec.selector {
        DeploymentSelectorFact::Everything => return Err(InvalidSpec::SelectsEverything),
        DeploymentSelectorFact::Missing => {
            problems.push("spec.selector is missing: set it to labels of spec.template".to_owned());
        }
        DeploymentSelectorFact::Invalid(error) => {
            problems.push(format!("spec.selector cannot be understood: {error}"));
        }
        DeploymentSelectorFact::Misses => problems.push(
            "spec.selector does not select the labels of spec.template.metadata: make one fit the other"
                .to_owned(),
        ),
        DeploymentSelectorFact::Selects => {}
    }
    let template = &spec.template;
    if template.class_name.is_empty() {
        problems.push("spec.template.spec.class.name is missing: set it to a MachineClass".to_owned());
    }
    if template.class_kind.is_empty() {
        problems.push("spec.template.spec.class.kind is missing: set it to MachineClass".to_owned());
    }
    let strategy = Strategy::parse(&spec.strategy, view.settings.has_target);
    let strategy = strategy.map_err(|more| problems.extend(more)).ok();
    match (desired, strategy) {
        (Some(desired), Some(strategy)) if problems.is_empty() => Ok(ValidSpec { desired, strategy }),
        _ => Err(InvalidSpec::Invalid(problems.join("; "))),
    }
}

/// Returns the unusual settings that do no harm, with the values that count instead.
pub(super) fn unusual_settings(view: &DeploymentView, valid: ValidSpec) -> Vec<String> {
    let spec = &view.deployment.spec;
    let mut unusual = valid.strategy.unusual_settings();
    if let Some(limit @ ..0) = spec.revision_history_limit {
        unusual.push(format!("revisionHistoryLimit {limit} keeps all: set it to 0 or more, or remove it"));
    }
    if let Some(seconds @ ..=0) = spec.progress_deadline_seconds {
        unusual.push(format!(
            "progressDeadlineSeconds {seconds} is no deadline: set it to 1 or more, or remove it"
        ));
    }
    unusual
        .extend(spec.problems.iter().map(|problem| format!("{problem}: correct it; it counts as not set")));
    unusual.extend(DisruptionRequests::read(&view.deployment.annotations, view.names.disruption).problems);
    if !view.overlapping.is_empty() {
        let names: Vec<&str> = view.overlapping.iter().map(Name::as_str).collect();
        unusual.push(format!(
            "its selector overlaps with that of {}, so that sets without an owner go to whichever comes first: give each \
             deployment a label of its own",
            names.join(", ")
        ));
    }
    unusual
}
