//! The request to a driver about a MachinistMachine.

use machinist_core::driver::{HiddenUserData, MachineIdentity, MachineRequest, SecretValues};
use machinist_core::value::id::{Name, Namespace, ProviderId};

use crate::controllers::facts::infra_machine::observe::ObservedInfraMachine;

/// Returns a request about the VM. `sends_user_data`: the call may send what the VM gets at boot. Every other call
/// hides it from the driver.
pub(super) fn request(
    observed: &ObservedInfraMachine,
    provider_id: Option<&ProviderId>,
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
        class: observed.class.clone(),
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
