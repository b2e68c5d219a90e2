//! A Machine without the label for its Node, whose Node no other label and no provider id shows.

use crate::driver::error::CallError;
use crate::scheduling::gate::{EffectKind, permits};
use crate::value::phase::Phase;

use super::super::conclusion::{MachineReason, MachineStep, Requeue};
use super::super::effect::{MachineEffect, MachineProgress};
use super::super::step::rest;
use crate::machine::creation::create::{FoundVm, found_in};
use crate::machine::facts::{DriverFact, MachineView};

/// Asks the driver, which names the Node of each VM. `None`: the name is known, or the driver did not answer.
pub(super) fn step(view: &MachineView, progress: &MachineProgress) -> Option<MachineStep> {
    let machine = &view.machine;
    let stored = machine.provider_id.as_ref()?;
    if machine.node_name.is_some() || machine.phase == Phase::Failed || !can_look(view) {
        return None;
    }
    let found = match &progress.probe {
        None => return Some(MachineStep::act(MachineEffect::ProbeVm)),
        Some(Ok(vm)) => FoundVm::of(vm),
        Some(Err(error @ CallError::Guest(_))) => found_in(error)?,
        Some(Err(CallError::Broken(_) | CallError::Refused(_))) => return None,
    };
    let node_name = Some(found.node_name.filter(|_| found.provider_id.names_same_vm(stored))?);
    Some(match &progress.record {
        None => MachineStep::act(MachineEffect::RecordVm {
            provider_id: stored.clone(),
            node_name,
            is_proven: true,
        }),
        Some(Ok(())) => {
            rest(MachineReason::NodeMissing, "label node is stored again, by the driver's word", Requeue::Now)
        }
        // Other missing facts do not stop the health check: the next reconcile tries again.
        Some(Err(_)) => return None,
    })
}

fn can_look(view: &MachineView) -> bool {
    let driver = match &view.driver {
        DriverFact::Ready(driver) | DriverFact::Substitute { serving: driver, .. } => driver,
        DriverFact::NotChosen | DriverFact::Refused(_) => return false,
    };
    driver.capabilities.status && permits(view.gate, EffectKind::CloudRead)
}
