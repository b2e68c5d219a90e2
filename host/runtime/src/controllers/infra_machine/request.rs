//! The request to a driver about a MachinistMachine.

use machinist_core::driver::{ClassSpec, HiddenUserData, MachineIdentity, MachineRequest, SecretValues};
use machinist_core::value::id::{Name, Namespace, ProviderId};

use crate::controllers::facts::infra_machine::observe::ObservedInfraMachine;

/// Returns a request about the VM. `placed`: the spec of its class in its failure domain, once that is known.
/// `sends_user_data`: the call may send what the VM gets at boot. Every other call hides it from the driver.
pub(crate) fn request(
    observed: &ObservedInfraMachine,
    provider_id: Option<&ProviderId>,
    placed: Option<&str>,
    sends_user_data: bool,
) -> MachineRequest {
    let (meta, fact) = (&observed.machine.metadata, &observed.view.machine.machine);
    let (user_data, rendered) =
        if sends_user_data { (observed.user_data.clone(), None) } else { (None, observed.user_data.clone()) };
    MachineRequest {
        machine: MachineIdentity {
            namespace: Namespace::new(fact.key.namespace.as_str()),
            name: Name::new(fact.key.name.as_str()),
            // The key, which is equal after a move.
            uid: fact.uid.clone(),
            labels: meta.labels.clone().unwrap_or_default(),
            annotations: meta.annotations.clone().unwrap_or_default(),
            provider_id: provider_id.or(fact.provider_id.as_ref()).cloned(),
            node_template: None,
            last_known_state: fact.last_known_state.clone(),
        },
        class: class_of(observed, placed),
        idempotency_key: fact.uid.to_string(),
        cluster: observed.cluster_mark.clone(),
        secrets: SecretValues {
            values: observed.values.clone(),
            user_data,
            hidden: HiddenUserData { rendered, template: None },
            plugins: observed.plugins.clone(),
        },
    }
}

/// Returns a request for a function of the driver that gets no secrets.
pub(crate) fn without_secrets(observed: &ObservedInfraMachine, placed: Option<&str>) -> MachineRequest {
    MachineRequest { secrets: SecretValues::default(), ..request(observed, None, placed, false) }
}

fn class_of(observed: &ObservedInfraMachine, placed: Option<&str>) -> ClassSpec {
    let class = observed.class.clone();
    match placed {
        Some(spec) => ClassSpec { spec: spec.to_owned(), zones: Vec::new(), ..class },
        None => class,
    }
}
