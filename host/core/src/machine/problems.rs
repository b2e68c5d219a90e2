//! Settings of a Machine that cannot be understood: those of the flags count, and the Machine says so.

use crate::machine::node::health::Status;

use super::conclusion::{ConditionKind, OwnCondition, Step, Wake};
use super::facts::MachineView;

/// With condition `Valid`, where there is something to say or to take back.
pub(super) fn told(view: &MachineView, step: Step) -> Step {
    let Step::Finish(mut conclusion) = step else { return step };
    if conclusion.wake != Wake::Gone {
        conclusion.status.conditions.extend(condition(view));
    }
    Step::Finish(conclusion)
}

fn condition(view: &MachineView) -> Option<OwnCondition> {
    let machine = &view.machine;
    let kind = ConditionKind::Valid;
    if machine.slips.is_empty() {
        let message = "all settings can be understood".to_owned();
        let is_mended = OwnCondition { kind, status: Status::True, reason: "Understood", message };
        return machine.has_told_slips.then_some(is_mended);
    }
    let message = format!(
        "{}: mend it; until then the next setting in line or the flag's counts",
        machine.slips.join("; ")
    );
    Some(OwnCondition { kind, status: Status::False, reason: "NotUnderstood", message })
}
