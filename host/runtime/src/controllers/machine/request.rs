//! The request to a driver about a Machine.

use machinist_api::names;
use machinist_core::driver::error::Refusal;
use machinist_core::driver::user_data;
use machinist_core::driver::{HiddenUserData, MachineIdentity, MachineRequest, SecretValues};
use machinist_core::machine::SecretFact;
use machinist_core::value::id::{Name, Namespace, Uid};

use crate::controllers::facts::machine::observe::ObservedMachine;
use crate::driver_calls::driver_choice::class_spec;

/// Returns a request about the Machine. The driver may send user data only if it boots a VM with this call. In each
/// call the host hides user data from it, rendered with the bootstrap token if that is known, since a cloud may show to
/// one call what another call has sent.
///
/// # Errors
/// When the class may not use its Secrets: nothing is asked of anybody then.
pub(super) fn request(
    observed: &ObservedMachine,
    cluster: &str,
    user_data: UserData,
    token: Option<&str>,
) -> Result<MachineRequest, Refusal> {
    if let SecretFact::Refused(refusal) = &observed.view.secret {
        return Err(refusal.clone().into());
    }
    let machine = &observed.machine;
    let meta = &machine.metadata;
    let name = meta.name.as_deref().unwrap_or_default();
    let uid = meta.uid.as_deref().unwrap_or_default();
    let mut values = observed.secrets.values.clone();
    let template = values.remove(names::secret_keys::USER_DATA);
    let rendered = template.as_ref().map(|template| user_data::render(template, token, name).user_data);
    let (sent, hidden) = match user_data {
        UserData::Sent => (rendered, None),
        UserData::Hidden => (None, rendered),
    };
    Ok(MachineRequest {
        machine: MachineIdentity {
            namespace: Namespace::new(meta.namespace.as_deref().unwrap_or_default()),
            name: Name::new(name),
            uid: Uid::new(uid),
            labels: meta.labels.clone().unwrap_or_default(),
            annotations: meta.annotations.clone().unwrap_or_default(),
            provider_id: observed.view.machine.provider_id.clone(),
            node_template: machine
                .spec
                .node_template
                .as_ref()
                .and_then(|template| serde_json::to_string(template).ok()),
            last_known_state: observed.view.machine.last_known_state.clone(),
        },
        class: class_spec(observed.class.as_deref(), &observed.choice, &observed.view.driver),
        // One key for the whole life of the Machine: the cloud answers each repetition with the same VM.
        idempotency_key: uid.to_owned(),
        cluster: cluster.to_owned(),
        secrets: SecretValues {
            values,
            user_data: sent,
            hidden: HiddenUserData { rendered: hidden, template },
            plugins: observed.secrets.plugins.clone(),
        },
    })
}

/// Whether a driver may send user data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UserData {
    /// Where the grants say so.
    Sent,
    /// The host only searches the answers for it.
    Hidden,
}
