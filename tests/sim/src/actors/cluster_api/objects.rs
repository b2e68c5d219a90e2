//! The objects of a workload cluster, as users apply them and as core makes them from templates.

use machinist_api::infrastructure::names::{annotations, labels};
use machinist_api::infrastructure::{API_VERSION, GROUP, cluster_api};
use memory_api::{ApiServer, encode};
use serde_json::{Value, json};

use super::workload::{Identity, WorkloadCluster};
use crate::names::ZONES;

pub(super) const CLUSTERS: &str = "clusters.cluster.x-k8s.io";
pub(super) const MACHINES: &str = "machines.cluster.x-k8s.io";
pub(super) const INFRA_CLUSTERS: &str = "machinistclusters";
pub(super) const INFRA_MACHINES: &str = "machinistmachines";
pub(super) const IDENTITIES: &str = "machinistidentities";
pub(super) const SECRETS: &str = "secrets";
pub(super) const NAMESPACES: &str = "namespaces";

/// All kinds of the namespace of a workload cluster that are moved and deleted, owners first.
pub(super) const KINDS: [&str; 5] = [CLUSTERS, SECRETS, INFRA_CLUSTERS, MACHINES, INFRA_MACHINES];

/// The finalizers of core itself.
const CLUSTER_FINALIZER: &str = "cluster.cluster.x-k8s.io";
const MACHINE_FINALIZER: &str = "machine.cluster.x-k8s.io";

/// The namespace of Secrets that MachinistIdentities name.
const CENTRAL: &str = "central";

/// The name of the credentials in a namespace.
pub(super) const ACCOUNT: &str = "account";

impl WorkloadCluster {
    /// Name, namespace and label of an object.
    fn meta(&self, name: &str) -> Value {
        json!({
            "name": name, "namespace": self.namespace, "labels": { labels::CLUSTER_NAME: self.name },
        })
    }

    /// Applies everything that a user applies, as far as it is not there.
    pub(super) fn apply(&self, api: &ApiServer) {
        let create = |plural: &str, object: &Value| drop(api.create(plural, object));
        create(NAMESPACES, &json!({ "metadata": { "name": self.namespace } }));
        self.apply_identity(api);
        let reference = json!({ "apiGroup": GROUP, "kind": "MachinistCluster", "name": self.name });
        let mut meta = self.meta(&self.name);
        meta["finalizers"] = json!([CLUSTER_FINALIZER]);
        create(CLUSTERS, &json!({ "metadata": meta, "spec": { "infrastructureRef": reference } }));
        let domains: Vec<Value> = ZONES.iter().map(|zone| json!({ "name": zone })).collect();
        let identity = match self.identity {
            Identity::Nothing => Value::Null,
            Identity::Secret => json!({ "kind": "Secret", "name": ACCOUNT }),
            Identity::Central => json!({ "kind": "MachinistIdentity", "name": self.central() }),
        };
        let spec = json!({ "identityRef": identity, "clusterID": self.mark, "failureDomains": domains });
        create(INFRA_CLUSTERS, &json!({ "metadata": self.meta(&self.name), "spec": spec }));
    }

    /// Applies the credentials, as far as they are not there, and lets its namespace use them.
    pub(super) fn apply_identity(&self, api: &ApiServer) {
        let create = |plural: &str, object: &Value| drop(api.create(plural, object));
        let data = json!({ "key": encode(b"123") });
        match self.identity {
            Identity::Nothing => {}
            Identity::Secret => create(SECRETS, &json!({ "metadata": self.meta(ACCOUNT), "data": data })),
            Identity::Central => {
                let name = self.central();
                let secret = json!({ "metadata": { "name": name, "namespace": CENTRAL }, "data": data });
                create(SECRETS, &secret);
                let spec = json!({
                    "secretRef": { "name": name, "namespace": CENTRAL },
                    "allowedNamespaces": { "list": [self.namespace] },
                });
                create(IDENTITIES, &json!({ "metadata": { "name": name }, "spec": spec }));
                let allowed = json!({ "spec": { "allowedNamespaces": { "list": [self.namespace] } } });
                let _ = api.edit(IDENTITIES, &name, &allowed);
            }
        }
    }

    /// Takes the credentials away.
    pub(super) fn break_identity(&self, api: &ApiServer) {
        match self.identity {
            Identity::Nothing => {}
            Identity::Secret => drop(api.delete(SECRETS, &self.path(ACCOUNT))),
            Identity::Central => {
                let allowed = json!({ "spec": { "allowedNamespaces": { "list": ["others"] } } });
                let _ = api.edit(IDENTITIES, &self.central(), &allowed);
            }
        }
    }

    fn central(&self) -> String {
        format!("account-{}", self.name)
    }

    /// A MachinistMachine as a MachineSet clones it: the Machine takes it over afterwards.
    pub(super) fn infra_machine(&self, name: &str) -> Value {
        let mut meta = self.meta(name);
        meta["labels"]["pool"] = json!(self.pool.to_string());
        meta["annotations"] = json!({
            annotations::CLONED_FROM: self.template_name(),
            "cluster.x-k8s.io/cloned-from-groupkind": format!("MachinistMachineTemplate.{GROUP}"),
        });
        meta["ownerReferences"] = json!([{
            "apiVersion": cluster_api::API_VERSION, "kind": "MachineSet", "name": self.name,
            "uid": format!("set-of-{}", self.name),
        }]);
        let zones = u64::try_from(ZONES.len()).unwrap_or(1);
        let zone = ZONES[usize::try_from(self.template % zones).unwrap_or_default()];
        json!({
            "apiVersion": API_VERSION,
            "metadata": meta,
            "spec": { "provider": "sim", "providerSpec": { "type": "sim.small", "zone": zone } },
        })
    }

    /// A Machine as a MachineSet makes it.
    pub(super) fn machine(&self, name: &str) -> Value {
        let mut meta = self.meta(name);
        meta["finalizers"] = json!([MACHINE_FINALIZER]);
        let reference = json!({ "apiGroup": GROUP, "kind": "MachinistMachine", "name": name });
        json!({ "metadata": meta, "spec": { "clusterName": self.name, "infrastructureRef": reference } })
    }

    /// A Secret with bootstrap data; without a token it lacks them.
    pub(super) fn bootstrap_secret(&self, machine: &str, token: Option<u64>) -> Value {
        let data =
            token.map(|token| encode(format!("## template: jinja\n#cloud-config\n# {token}\n").as_bytes()));
        json!({
            "metadata": self.meta(&bootstrap_name(machine)),
            "type": "cluster.x-k8s.io/secret",
            "data": { "value": data, "format": encode(b"cloud-config") },
        })
    }
}

/// The name of the Secret with the bootstrap data of a Machine.
pub(super) fn bootstrap_name(machine: &str) -> String {
    format!("{machine}-bootstrap")
}

/// The reference to an owner.
pub(super) fn owned_by(kind: &str, owner: &Value) -> Value {
    json!([{
        "apiVersion": cluster_api::API_VERSION, "kind": kind, "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true,
    }])
}

pub(super) fn is_deleting(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

pub(super) fn name_of(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// The key of the VM of a MachinistMachine: its uid, until another one is stored.
pub(super) fn key_of(infra: &Value) -> &str {
    let stored = infra["metadata"]["annotations"][annotations::MACHINE_KEY].as_str();
    stored.or(infra["metadata"]["uid"].as_str()).unwrap_or_default()
}

/// The VM was provided.
pub(super) fn is_provisioned(infra: &Value) -> bool {
    infra["status"]["initialization"]["provisioned"] == true
}

/// The kind of its first owner.
pub(super) fn owner_kind(object: &Value) -> &str {
    object["metadata"]["ownerReferences"][0]["kind"].as_str().unwrap_or_default()
}

/// The status of its condition `Ready`, and since when it is so.
pub(super) fn ready(infra: &Value) -> (&str, &str) {
    let mut conditions = infra["status"]["conditions"].as_array().into_iter().flatten();
    let ready = conditions.find(|condition| condition["type"] == "Ready");
    let text = |field: &str| ready.and_then(|ready| ready[field].as_str()).unwrap_or_default();
    (text("status"), text("lastTransitionTime"))
}

/// All objects of a kind in a namespace.
pub(super) fn all_of(api: &ApiServer, plural: &str, namespace: &str) -> Vec<Value> {
    api.collect(plural, |object| (object["metadata"]["namespace"] == namespace).then(|| object.clone()))
}
