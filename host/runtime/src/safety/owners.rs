//! The Machines that VMs could belong to, from the cache or from the API server itself.

use kube::Api;
use kube::api::{ApiResource, DynamicObject, ListParams};
use machinist_api::Machine;
use machinist_core::act_error::ActError;
use machinist_core::id::{Name, ProviderId, Uid};
use machinist_core::safety::orphans::{Owner, Owners};

use crate::kube_error::within_deadline;

use super::Watch;

/// Machines a page: some megabytes at most.
const PAGE: u32 = 500;

/// As the cache has them. It may lag, and it lacks Machines that cannot be decoded.
pub(super) fn cached(watch: &Watch) -> Owners {
    let machines = watch.world.machines.all().into_iter();
    Owners::new(machines.map(|(key, machine)| Owner {
        name: key.name,
        uid: Uid::new(machine.metadata.uid.as_deref().unwrap_or_default()),
        provider_id: machine.provider_id().map(ProviderId::new),
    }))
}

/// As the API server has them at this moment.
pub(super) async fn live(watch: &Watch) -> Result<Owners, ActError> {
    Ok(Owners::new(live_machines(watch).await?.iter().map(owner)))
}

/// All Machines at this moment, to the last page. Read without a schema, so that a Machine that nobody understands still
/// owns its VM.
pub(super) async fn live_machines(watch: &Watch) -> Result<Vec<DynamicObject>, ActError> {
    let resource = ApiResource::erase::<Machine>(&());
    let control = watch.context.control.clone();
    let api: Api<DynamicObject> = Api::namespaced_with(control, &watch.namespace, &resource);
    let mut machines = Vec::new();
    let mut token: Option<String> = None;
    loop {
        let mut params = ListParams::default().limit(PAGE);
        if let Some(token) = &token {
            params = params.continue_token(token);
        }
        let page = within_deadline(api.list(&params)).await?;
        machines.extend(page.items);
        token = page.metadata.continue_.filter(|token| !token.is_empty());
        if token.is_none() {
            return Ok(machines);
        }
    }
}

/// The VM that a Machine has stored as its own.
pub(super) fn provider_id(machine: &DynamicObject) -> Option<&str> {
    let id = machine.data.get("spec")?.get("providerID")?.as_str()?;
    Some(id).filter(|id| !id.is_empty())
}

fn owner(machine: &DynamicObject) -> Owner {
    Owner {
        name: Name::new(machine.metadata.name.as_deref().unwrap_or_default()),
        uid: Uid::new(machine.metadata.uid.as_deref().unwrap_or_default()),
        provider_id: provider_id(machine).map(ProviderId::new),
    }
}
