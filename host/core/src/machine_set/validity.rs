//! Finds invalid specs, and says how to fix them. A set that is being deleted is deleted whatever its spec.

use crate::value::id::ClassName;

use super::conclusion::SetReason;
use super::facts::{SetSelectorFact, SetView};

pub(super) struct Problem {
    pub(super) reason: SetReason,
    pub(super) message: String,
}

/// Returns the first problem.
pub(super) fn problem(view: &SetView) -> Option<Problem> {
    let set = &view.set;
    let invalid = |message: String| Some(Problem { reason: SetReason::InvalidSet, message });
    if set.replicas < 0 {
        return invalid(format!("spec.replicas is {}: set it to 0 or more", set.replicas));
    }
    let Some(template) = &set.template else {
        return invalid("spec.template is missing: describe the Machines there".to_owned());
    };
    if template.class.as_ref().is_none_or(ClassName::is_empty) {
        let message = "spec.template.spec.class.name is missing: name a MachineClass".to_owned();
        return Some(Problem { reason: SetReason::ClassNotNamed, message });
    }
    let selector = match &set.selector {
        SetSelectorFact::Given(selector) => selector,
        SetSelectorFact::Missing => {
            return invalid("spec.selector is missing: select labels of spec.template.metadata".to_owned());
        }
        SetSelectorFact::Invalid(error) => {
            return invalid(format!("spec.selector cannot be understood: {error}"));
        }
    };
    if selector.is_everything() {
        let message =
            "spec.selector is empty and would select every Machine of the namespace: select labels of \
                       spec.template.metadata"
                .to_owned();
        return Some(Problem { reason: SetReason::SelectsEverything, message });
    }
    if !selector.matches(&template.labels) {
        let message = "spec.selector does not select the labels of spec.template.metadata, so that the set would never \
                       find the Machines that it makes: make them agree"
            .to_owned();
        return Some(Problem { reason: SetReason::SelectorMismatch, message });
    }
    None
}
