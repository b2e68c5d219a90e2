//! From Azure's objects to the contract's types.

use machinist_sdk::driver::{self as wit, Code, Failure, quoted};

use crate::arm::answer::{Power, Provisioning, VmFacts};
use crate::arm::graph::Row;
use crate::arm::names::{ResourceId, problem};
use crate::arm::pending::Pending;
use crate::tags::{NAME_TAG, UID_TAG};

const PREFIX: &str = "azure:///";

/// Returns the provider id `azure:///LOCATION/NAME`.
pub(crate) fn provider_id(location: &str, name: &str) -> String {
    format!("{PREFIX}{location}/{name}")
}

/// Returns the name of the VM in a provider id. `None` if it names none.
pub(crate) fn name_of(provider_id: &str) -> Option<&str> {
    let (location, name) = provider_id.strip_prefix(PREFIX)?.split_once('/')?;
    (!location.is_empty() && problem(name).is_none()).then_some(name)
}

/// Returns `azure://ID`, the id that Azure's cloud controller manager gives to the Node of a VM: it writes resource
/// groups in lower case.
pub(crate) fn node_id(vm: &wit::Vm) -> Result<String, Failure> {
    let Some(id) = Pending::parse(vm.last_known_state.as_deref()).vm else {
        let message = format!(
            "the id of the VM {} with its subscription and resource group is not known yet",
            quoted(&vm.provider_id)
        );
        return Err(Failure::new(Code::FailedPrecondition, message));
    };
    let group = id.group.to_lowercase();
    Ok(format!("azure://{}", ResourceId { group, ..id }.text()))
}

/// Converts a VM. Its Node registers under its name.
pub(crate) fn vm(facts: &VmFacts, state: &Pending) -> wit::Vm {
    let mut addresses = vec![wit::Address { kind: "Hostname".to_owned(), address: facts.name.clone() }];
    if let Some(address) = &state.address {
        addresses.push(wit::Address { kind: "InternalIP".to_owned(), address: address.clone() });
    }
    let mut conditions = Vec::new();
    if facts.state == Provisioning::Failed {
        let (code, message) = facts.failure.clone().unwrap_or_default();
        conditions.push(wit::Condition {
            kind: "Provisioned".to_owned(),
            status: "False".to_owned(),
            reason: Some(code).filter(|code| !code.is_empty()).unwrap_or_else(|| "Failed".to_owned()),
            message: quoted(&message),
        });
    }
    wit::Vm {
        provider_id: provider_id(&facts.location, &facts.name),
        node_name: facts.name.clone(),
        state: vm_state(facts),
        addresses,
        failure_domain: facts.zone.clone(),
        conditions,
        last_known_state: Some(state.text()),
    }
}

fn vm_state(facts: &VmFacts) -> wit::VmState {
    match (facts.state, facts.power) {
        (Provisioning::Deleting, _) | (_, Power::Stopping) => wit::VmState::Stopping,
        (_, Power::Stopped) => wit::VmState::Stopped,
        (Provisioning::Creating, _) | (_, Power::Starting) => wit::VmState::Pending,
        (_, Power::Running) | (Provisioning::Succeeded | Provisioning::Updating, Power::Unknown) => {
            wit::VmState::Running
        }
        (Provisioning::Failed | Provisioning::Other, Power::Unknown) => wit::VmState::Unknown,
    }
}

/// Converts an entry of a listing. `None` if it does not tell its VM's name.
pub(crate) fn listed(row: &Row) -> Option<wit::Listed> {
    let name = row.vm_name()?;
    Some(wit::Listed {
        provider_id: provider_id(&row.location, name),
        machine_name: row.tags.get(NAME_TAG).unwrap_or(name).to_owned(),
        machine_uid: row.tags.get(UID_TAG).map(str::to_owned),
        created_at_ms: row.created.as_deref().and_then(created_ms),
    })
}

/// Azure writes times with an offset, which is always zero.
fn created_ms(text: &str) -> Option<u64> {
    let utc = text.strip_suffix("+00:00").map(|time| format!("{time}Z"));
    wit::rfc3339_ms(utc.as_deref().unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_id_ends_with_the_name_of_its_vm() {
        assert_eq!(name_of("azure:///westeurope/vm-1"), Some("vm-1"));
        assert_eq!(name_of(&provider_id("westeurope", "vm-1")), Some("vm-1"));
        for other in
            ["", "azure:///westeurope/", "azure:////vm-1", "aws:///a/i-1", "azure:///a/b/c", "azure:///a/ü"]
        {
            assert_eq!(name_of(other), None, "{other}");
        }
    }

    #[test]
    fn times_have_an_offset() {
        assert_eq!(created_ms("2026-01-02T03:04:05.678+00:00"), Some(1_767_323_045_678));
        assert_eq!(created_ms("2026-01-02T03:04:05.678Z"), Some(1_767_323_045_678));
    }
}
