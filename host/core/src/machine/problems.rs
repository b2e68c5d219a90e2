//! Reports invalid settings of a Machine; those of the flags count instead.

use crate::machine::node::health::ConditionStatus;

use super::conclusion::{MachineCondition, MachineConditionKind, MachineStep, Requeue};
use super::facts::MachineView;

/// Adds condition `Valid`, if there is a problem to report or to clear.
pub(super) fn reported(view: &MachineView, step: MachineStep) -> MachineStep {
    let MachineStep::Finish(mut conclusion) = step else { return step };
    if conclusion.wake != Requeue::Gone {
        conclusion.status.conditions.extend(condition(view));
    }
    MachineStep::Finish(conclusion)
}

fn condition(view: &MachineView) -> Option<MachineCondition> {
    let machine = &view.machine;
    let kind = MachineConditionKind::Valid;
    if machine.validation_problems.is_empty() {
        let message = "all settings can be understood".to_owned();
        let is_fixed =
            MachineCondition { kind, status: ConditionStatus::True, reason: "Understood", message };
        return machine.problems_reported.then_some(is_fixed);
    }
    let message = format!(
        "{}: fix it; until then the next setting in line or the flag's counts",
        machine.validation_problems.join("; ")
    );
    Some(MachineCondition { kind, status: ConditionStatus::False, reason: "NotUnderstood", message })
}
