//! Facts about preservation, in-place updates, capacity and limits.

use k8s_openapi::api::core::v1::{Node, NodeCondition};
use machinist_api::{Machine, MachineClass, names};
use machinist_core::driver::virtual_capacity::Quantities;
use machinist_core::machine::node::health;
use machinist_core::machine::{
    MachineConditionKind, MachineNames, NodeConditionText, PreservationFact, preserve,
};
use machinist_core::safety::meltdown::ReplacementLimit;

use crate::client::field_manager::TOKEN_UNTIL;
use crate::context::settings::Settings;
use crate::controllers::objects::metadata::{annotation, label};

use super::deletion::last_report;

/// The names that decisions are about.
pub(crate) static NAMES: MachineNames = MachineNames {
    cluster_mark: names::annotations::CLUSTER_MARK,
    node: names::labels::NODE,
    join_duration: names::annotations::JOIN_DURATION,
    token_until: TOKEN_UNTIL,
    preserve: names::annotations::PRESERVE,
    node_preserve_applied: names::annotations::LAST_APPLIED_NODE_PRESERVE,
    scale_down_disabled: names::annotations::SCALE_DOWN_DISABLED,
    scale_down_disabled_by_us: names::annotations::SCALE_DOWN_DISABLED_BY_US,
    preserved_taint: names::taints::PRESERVED,
    candidate_for_update: names::labels::CANDIDATE_FOR_UPDATE,
    selected_for_update: names::labels::SELECTED_FOR_UPDATE,
    update_result: names::labels::UPDATE_RESULT,
    update_failed_reason: names::annotations::UPDATE_FAILED_REASON,
};

/// The text on a Machine about its preservation.
pub(crate) fn facts(machine: &Machine) -> PreservationFact {
    let status = machine.status.as_ref();
    let own = status.and_then(|status| status.machinist.as_ref());
    PreservationFact {
        request: annotation(&machine.metadata, names::annotations::PRESERVE).map(str::to_owned),
        applied_node_request: annotation(&machine.metadata, names::annotations::LAST_APPLIED_NODE_PRESERVE)
            .map(str::to_owned),
        until: status
            .and_then(|status| status.current_status.preserve_expiry_time.as_ref())
            .map(|time| time.0),
        is_drained: own.is_some_and(|own| {
            own.conditions.iter().any(|condition| {
                condition.type_ == preserve::words::CONDITION && condition.reason == preserve::DRAINED
            })
        }),
        forces_drain: label(&machine.metadata, names::labels::FORCE_DRAIN) == Some(names::labels::TRUE),
        reported_update: last_report(machine, MachineConditionKind::InPlaceUpdated),
        reported_preservation: last_report(machine, MachineConditionKind::Preserved),
    }
}

/// The Machine's own limit of replacements over the flag's, and why its own is ignored.
pub(crate) fn replacement_limit(flags: &Settings, machine: &Machine) -> (ReplacementLimit, Option<String>) {
    let flag = || flags.max_unhealthy_replacements.parse().unwrap_or(ReplacementLimit::ONE);
    match annotation(&machine.metadata, names::annotations::MAX_UNHEALTHY_REPLACEMENTS)
        .map(str::parse::<ReplacementLimit>)
    {
        None => (flag(), None),
        Some(Ok(limit)) => (limit, None),
        Some(Err(error)) => (flag(), Some(error.to_string())),
    }
}

/// Extended resources that the class gives to its Nodes.
pub(crate) fn virtual_capacity(class: Option<&MachineClass>) -> Quantities {
    let template = class.and_then(|class| class.node_template.as_ref());
    let wanted = template.map(|template| template.virtual_capacity.iter());
    wanted.into_iter().flatten().map(|(name, quantity)| (name.clone(), quantity.0.clone())).collect()
}

/// Returns the virtual capacity that was applied last. An invalid value counts as never applied.
pub(crate) fn last_applied_capacity(node: &Node) -> Option<Quantities> {
    let text = annotation(&node.metadata, names::annotations::LAST_APPLIED_VIRTUAL_CAPACITY)?;
    serde_json::from_str(text).ok()
}

pub(crate) fn capacity(node: &Node) -> Quantities {
    let capacity = node.status.as_ref().and_then(|status| status.capacity.as_ref());
    capacity.into_iter().flatten().map(|(name, quantity)| (name.clone(), quantity.0.clone())).collect()
}

/// A condition of the list with its text.
pub(crate) fn condition_text(conditions: &[NodeCondition], kind: &str) -> Option<NodeConditionText> {
    let condition = conditions.iter().find(|condition| condition.type_ == kind)?;
    Some(NodeConditionText {
        status: health::ConditionStatus::parse(&condition.status),
        reason: condition.reason.clone().unwrap_or_default(),
        message: condition.message.clone().unwrap_or_default(),
        since: condition.last_transition_time.as_ref().map(|time| time.0),
    })
}

#[cfg(test)]
mod tests {
    use machinist_core::machine::in_place;

    use super::*;

    #[test]
    fn the_words_of_the_core_are_those_that_others_read() {
        use names::node_conditions as words;
        assert_eq!(preserve::words::CONDITION, words::PRESERVED);
        assert_eq!(preserve::words::BY_CONTROLLER, words::PRESERVED_BY_CONTROLLER);
        assert_eq!(preserve::words::BY_USER, words::PRESERVED_BY_USER);
        assert_eq!(preserve::words::STOPPED, words::PRESERVATION_STOPPED);
        assert_eq!(in_place::words::CONDITION, words::IN_PLACE_UPDATE);
        assert_eq!(in_place::words::CANDIDATE, words::CANDIDATE_FOR_UPDATE);
        assert_eq!(in_place::words::SELECTED, words::SELECTED_FOR_UPDATE);
        assert_eq!(in_place::words::DRAINED, words::DRAIN_SUCCESSFUL);
        assert_eq!(in_place::words::READY, words::READY_FOR_UPDATE);
        assert_eq!(in_place::words::SUCCESSFUL, words::UPDATE_SUCCESSFUL);
        assert_eq!(in_place::words::FAILED, words::UPDATE_FAILED);
    }

    #[test]
    fn a_machines_own_limit_wins_over_the_flag_when_it_can_be_read() {
        let flags = Settings { max_unhealthy_replacements: "2".into(), ..Settings::for_cluster("c") };
        let with = |text: Option<&str>| {
            let mut machine = Machine::default();
            let name = names::annotations::MAX_UNHEALTHY_REPLACEMENTS.to_owned();
            machine.metadata.annotations = text.map(|text| [(name, text.to_owned())].into());
            replacement_limit(&flags, &machine)
        };
        assert_eq!(with(None), (ReplacementLimit::Machines(2), None));
        assert_eq!(with(Some("20%")), (ReplacementLimit::Percent(20), None));
        let (limit, why) = with(Some("many"));
        assert!(
            limit == ReplacementLimit::Machines(2) && why.is_some_and(|why| why.contains("neither a number"))
        );
    }
}
