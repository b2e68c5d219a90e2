//! The Machines that VMs could belong to, from the cache or from the API server itself, and the memory of those that
//! are gone: it separates VMs without a Machine from those of another control plane.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use kube::Resource;
use kube::api::ListParams;
use kube::core::Request;
use machinist_api::infrastructure::names::annotations;
use machinist_api::{Machine, names};
use machinist_core::driver::write_error::ActError;
use machinist_core::safety::orphans::{InfrastructureVms, SeenUids, VmOwner, VmOwners};
use machinist_core::value::id::{Name, ObjectKey, ProviderId, Uid};
use serde::Deserialize;
use serde_json::Value;

use super::SafetyWatch;
use crate::client::errors::within_deadline;
use crate::controllers::objects::metadata::annotation;
use crate::controllers::state::TenantState;

/// Machines a page: some megabytes at most.
const PAGE: u32 = 500;

/// The cached Machines at one moment, in the order of their names: they are of one namespace.
pub(super) type Cached = [(ObjectKey, Arc<Machine>)];

/// The Machine of that name.
pub(super) fn named<'a>(machines: &'a Cached, name: &str) -> Option<&'a Machine> {
    let position = machines.binary_search_by(|(key, _)| key.name.as_str().cmp(name)).ok()?;
    machines.get(position).map(|(_, machine)| machine.as_ref())
}

/// As the cache has them. It may lag, and it lacks Machines that cannot be decoded.
pub(super) fn cached(machines: &Cached) -> VmOwners {
    VmOwners::new(machines.iter().map(|(key, machine)| VmOwner {
        name: key.name.clone(),
        uid: Uid::new(machine.metadata.uid.as_deref().unwrap_or_default()),
        provider_id: machine.provider_id().map(ProviderId::new),
    }))
}

/// As the API server has them at this moment.
pub(super) async fn live(watch: &SafetyWatch) -> Result<VmOwners, ActError> {
    Ok(VmOwners::new(live_machines(watch).await?.iter().map(LiveMachine::owner)))
}

/// The VMs of MachinistMachines, as the cache has them.
pub(super) fn infrastructure(tenant: &TenantState) -> InfrastructureVms {
    let mut all = InfrastructureVms::default();
    for (_, machine) in tenant.infra.machines.all() {
        let key = annotation(&machine.metadata, annotations::MACHINE_KEY);
        all.keys.extend(key.map(Uid::new));
        all.vms.extend(machine.provider_id().map(ProviderId::new));
    }
    all
}

/// A Machine as far as it can own a VM or a Node. Decoded without its schema, so that an invalid one still owns its VM,
/// and without most of its fields.
#[derive(Debug, Deserialize)]
pub(super) struct LiveMachine {
    #[serde(default)]
    metadata: LiveMeta,
    #[serde(default)]
    spec: Value,
}

#[derive(Debug, Default, Deserialize)]
struct LiveMeta {
    #[serde(default)]
    name: String,
    #[serde(default)]
    uid: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
struct Page {
    #[serde(default)]
    metadata: PageMeta,
    #[serde(default)]
    items: Vec<LiveMachine>,
}

#[derive(Debug, Default, Deserialize)]
struct PageMeta {
    #[serde(rename = "continue")]
    token: Option<String>,
}

impl LiveMachine {
    pub(super) fn name(&self) -> &str {
        &self.metadata.name
    }

    /// The Node that its label names.
    pub(super) fn node(&self) -> Option<&str> {
        self.metadata.labels.get(names::labels::NODE).map(String::as_str)
    }

    /// The VM that it has stored as its own.
    pub(super) fn provider_id(&self) -> Option<&str> {
        self.spec.get("providerID")?.as_str().filter(|id| !id.is_empty())
    }

    fn owner(&self) -> VmOwner {
        VmOwner {
            name: Name::new(self.name()),
            uid: Uid::new(&self.metadata.uid),
            provider_id: self.provider_id().map(ProviderId::new),
        }
    }
}

/// All Machines at this moment, to the last page.
pub(super) async fn live_machines(watch: &SafetyWatch) -> Result<Vec<LiveMachine>, ActError> {
    let pages = Request::new(Machine::url_path(&(), Some(&watch.namespace)));
    let mut params = ListParams::default().limit(PAGE);
    let mut machines = Vec::new();
    loop {
        let request =
            pages.list(&params).map_err(|error| ActError::Invalid { message: error.to_string() })?;
        let page: Page = within_deadline(watch.context.control.request(request)).await?;
        machines.extend(page.items);
        match page.metadata.token.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(machines),
        }
    }
}

/// A Machine that is gone is remembered for so long: longer than any VM of it waits for its end.
const MEMORY: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Uids of Machines, with when they were seen last. Lost with the process, which then keeps more.
#[derive(Debug, Default)]
pub(super) struct KnownMachines(BTreeMap<Uid, Timestamp>);

impl KnownMachines {
    /// Takes note of the Machines that are there.
    pub(super) fn note(&mut self, machines: &Cached, now: Timestamp) {
        for uid in machines.iter().filter_map(|(_, machine)| machine.metadata.uid.as_deref()) {
            self.0.insert(Uid::new(uid), now);
        }
        self.0.retain(|_, seen| now.duration_since(*seen) <= MEMORY);
    }

    /// All that shows whose Machine was whose.
    pub(super) fn kin(&self) -> SeenUids {
        SeenUids(self.0.keys().cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Name, Node and VM of a Machine as it is sent.
    fn read(machine: Value) -> (String, Option<String>, Option<String>) {
        let machine: LiveMachine = serde_json::from_value(machine).unwrap();
        let text = |queue_name: Option<&str>| queue_name.map(str::to_owned);
        (machine.name().to_owned(), text(machine.node()), text(machine.provider_id()))
    }

    #[test]
    fn a_machine_that_cannot_be_decoded_still_owns_its_vm() {
        let invalid = json!({
            "metadata": { "name": "a", "uid": "u", "labels": { "node": "n" } },
            "spec": { "providerID": "sim:///a", "class": 7, "drainTimeout": ["odd"] },
            "status": "odd",
        });
        assert_eq!(read(invalid), ("a".into(), Some("n".into()), Some("sim:///a".into())));
        for none in
            [json!({}), json!({ "providerID": 7 }), json!({ "providerID": "" }), json!("odd"), Value::Null]
        {
            let machine = json!({ "metadata": { "name": "a" }, "spec": none });
            assert_eq!(read(machine), ("a".into(), None, None));
        }
    }
}
