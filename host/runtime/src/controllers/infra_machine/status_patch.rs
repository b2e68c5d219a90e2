//! The status of the contract, as a merge patch of the differences.

use jiff::Timestamp;
use machinist_api::infrastructure::MachinistMachine;
use machinist_core::driver::Address;
use machinist_core::infra_machine::InfraConclusion;
use machinist_core::machine::Requeue;
use machinist_core::machine::node::health::ConditionStatus;
use serde_json::{Map, Value, json};

use crate::controllers::objects::conditions;

/// `None` without differences. Times alone are no difference. `generation`: the one that this reconcile has seen or
/// made.
pub(super) fn of(
    machine: &MachinistMachine,
    conclusion: &InfraConclusion,
    generation: Option<i64>,
    now: Timestamp,
) -> Option<Map<String, Value>> {
    let current = machine.status.clone().unwrap_or_default();
    let change = &conclusion.status;
    let mut patch = Map::new();
    if change.is_provisioned && !machine.is_provisioned() {
        patch.insert("initialization".to_owned(), json!({ "provisioned": true }));
    }
    if let Some(addresses) = &change.addresses {
        patch.insert("addresses".to_owned(), addresses.iter().map(address).collect());
    }
    if let Some(domain) = &change.failure_domain
        && current.failure_domain.as_deref() != Some(domain.as_str())
    {
        patch.insert("failureDomain".to_owned(), json!(domain.as_str()));
    }
    if let Some(interruptible) = change.interruptible
        && current.interruptible != Some(interruptible)
    {
        patch.insert("interruptible".to_owned(), json!(interruptible));
    }
    let old = current.conditions.as_slice();
    let ready = change.ready.map(ConditionStatus::as_str);
    let text = (conclusion.reason.as_str(), conclusion.message.as_str());
    let changed = conditions::of_contract(old, ready, text, generation, now);
    let repeats = matches!(conclusion.wake, Requeue::Retry { .. });
    if !changed.iter().all(|new| conditions::is_reported(old, new, repeats)) {
        patch.insert("conditions".to_owned(), json!(conditions::merged(old, &changed)));
    }
    (!patch.is_empty()).then_some(patch)
}

fn address(address: &Address) -> Value {
    json!({ "type": address.kind, "address": address.address })
}
