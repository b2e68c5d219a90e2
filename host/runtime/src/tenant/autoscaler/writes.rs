//! The writes that the autoscaler asks for.
//!
//! A group shrinks by one write, which holds for one version of its MachineDeployment: the replicas, and the names of
//! the Machines that it counted. Where the API of the Machines wants marks on them, these come before.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::StreamExt;
use jiff::Timestamp;
use kube::Api;
use kube::api::{Patch, PatchParams};
use machinist_api::MachineDeployment;
use machinist_api::infrastructure::autoscaler::annotations;
use machinist_api::infrastructure::cluster_api::OwnerMachine;
use machinist_api::infrastructure::node_groups::OwnerDeployment;
use machinist_api::names::annotations::{REPLICA_CHANGE_BY_SCALER_TIME, TRIGGER_DELETION};
use machinist_core::autoscaler::group::{self, GroupId};
use machinist_core::autoscaler::member::NamedNode;
use machinist_core::autoscaler::refusal::CallRefusal;
use machinist_core::autoscaler::resize::{GroupFact, NodeDeletion, format_chosen};
use machinist_core::driver::write_error::ActError;
use machinist_core::value::id::{Name, ObjectKey};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::client::errors::within_deadline;
use crate::client::field_manager::FIELD_MANAGER;

use super::deployments::GroupDeployment;
use super::groups::Sources;
use super::{CallError, Scope};

/// The autoscaler waits for five seconds by default.
const DEADLINE: Duration = Duration::from_secs(4);

/// How often a write is decided again after a conflict. The owner of a MachineDeployment writes its status, which
/// conflicts with nothing for long.
const ATTEMPTS: usize = 5;

/// Marks at a time: an autoscaler deletes tens of empty Nodes at once.
const MARKS_AT_A_TIME: usize = 10;

impl Sources {
    /// Writes a number of replicas.
    pub(super) async fn resize(
        &self,
        scope: &Scope,
        id: &GroupId,
        decide: impl Fn(&GroupFact, Timestamp) -> Result<i32, CallRefusal>,
    ) -> Result<(), CallError> {
        let decide = |group: &GroupFact, now| {
            let replicas = Some(decide(group, now)?);
            Ok(NodeDeletion { replicas, ..NodeDeletion::default() })
        };
        self.within_deadline(self.attempt(scope, id, &mut BTreeSet::new(), decide)).await
    }

    /// Has the Machines of these nodes deleted.
    pub(super) async fn delete(
        &self,
        scope: &Scope,
        id: &GroupId,
        nodes: &[NamedNode<'_>],
    ) -> Result<(), CallError> {
        let mut marked = BTreeSet::new();
        let decide = |group: &GroupFact, now| group.delete(nodes, now);
        let done = self.within_deadline(self.attempt(scope, id, &mut marked, decide)).await;
        if done.as_ref().is_err_and(is_certain) {
            // Their set would delete these next, for another reason.
            self.mark(id, &marked, None).await.unwrap_or_default();
        }
        done
    }

    async fn within_deadline(
        &self,
        write: impl Future<Output = Result<(), CallError>>,
    ) -> Result<(), CallError> {
        timeout(DEADLINE, write).await.unwrap_or(Err(CallError::Late))
    }

    async fn attempt(
        &self,
        scope: &Scope,
        id: &GroupId,
        marked: &mut BTreeSet<Name>,
        decide: impl Fn(&GroupFact, Timestamp) -> Result<NodeDeletion, CallRefusal>,
    ) -> Result<(), CallError> {
        for _ in 0..ATTEMPTS {
            self.check()?;
            let now = self.now();
            let (deployment, group) = self.group(scope, id)?;
            let deletion = decide(&group, now)?;
            let Some(replicas) = deletion.replicas else { return Ok(()) };
            if id.api == group::Api::Capi {
                let unmarked = deletion.machines.iter().filter(|name| !marked.contains(*name));
                let unmarked: BTreeSet<Name> = unmarked.cloned().collect();
                marked.extend(unmarked.iter().cloned());
                self.mark(id, &unmarked, Some(now)).await?;
            }
            match self.shrink_or_grow(&deployment, replicas, &deletion, now).await {
                Ok(answer) => {
                    self.answers.add(answer);
                    return Ok(());
                }
                Err(ActError::Conflict) => self.read_again(id).await?,
                Err(source) => return Err(failed(id, &id.to_string(), source)),
            }
        }
        Err(CallError::Contended { id: id.clone() })
    }

    async fn shrink_or_grow(
        &self,
        deployment: &GroupDeployment,
        replicas: i32,
        deletion: &NodeDeletion,
        now: Timestamp,
    ) -> Result<GroupDeployment, ActError> {
        let patch = Patch::Merge(patch(deployment, replicas, deletion, now));
        let parameters = PatchParams::apply(FIELD_MANAGER);
        let ObjectKey { namespace, name } = &deployment.id.deployment;
        let (client, namespace) = (self.context.control.clone(), namespace.as_str());
        match deployment.id.api {
            group::Api::Mcm => {
                let api: Api<MachineDeployment> = Api::namespaced(client, namespace);
                within_deadline(api.patch(name.as_str(), &parameters, &patch))
                    .await
                    .map(|object| (&object).into())
            }
            group::Api::Capi => {
                let api: Api<OwnerDeployment> = Api::namespaced(client, namespace);
                within_deadline(api.patch(name.as_str(), &parameters, &patch))
                    .await
                    .map(|object| (&object).into())
            }
        }
    }

    /// The cache is behind: the API server is asked for this one object.
    async fn read_again(&self, id: &GroupId) -> Result<(), CallError> {
        let ObjectKey { namespace, name } = &id.deployment;
        let (client, namespace) = (self.context.control.clone(), namespace.as_str());
        let read = match id.api {
            group::Api::Mcm => {
                let api: Api<MachineDeployment> = Api::namespaced(client, namespace);
                within_deadline(api.get(name.as_str())).await.map(|object| GroupDeployment::from(&object))
            }
            group::Api::Capi => {
                let api: Api<OwnerDeployment> = Api::namespaced(client, namespace);
                within_deadline(api.get(name.as_str())).await.map(|object| GroupDeployment::from(&object))
            }
        };
        self.answers.add(read.map_err(|source| failed(id, &id.to_string(), source))?);
        Ok(())
    }

    /// Marks Machines of Cluster API so that their set deletes them first, or takes the marks off.
    async fn mark(
        &self,
        id: &GroupId,
        names: &BTreeSet<Name>,
        at: Option<Timestamp>,
    ) -> Result<(), CallError> {
        let names: Vec<Name> = names.iter().cloned().collect();
        let marks = names.into_iter().map(|name| self.mark_one(id, name, at));
        let mut marks = futures::stream::iter(marks).buffer_unordered(MARKS_AT_A_TIME);
        while let Some(marked) = marks.next().await {
            marked?;
        }
        Ok(())
    }

    async fn mark_one(&self, id: &GroupId, name: Name, at: Option<Timestamp>) -> Result<(), CallError> {
        let namespace = id.deployment.namespace.as_str();
        let api: Api<OwnerMachine> = Api::namespaced(self.context.control.clone(), namespace);
        let machine = self.tenant.infra.owners.get(&ObjectKey::new(namespace, name.as_str()));
        let uid = machine.and_then(|machine| machine.metadata.uid.clone());
        let mark = at.map(whole_seconds);
        let patch =
            json!({ "metadata": { "uid": uid, "annotations": { annotations::DELETE_MACHINE: mark } } });
        let (parameters, patch) = (PatchParams::apply(FIELD_MANAGER), Patch::Merge(patch));
        match within_deadline(api.patch(name.as_str(), &parameters, &patch)).await {
            Ok(_) => Ok(()),
            // Somebody was faster. The next call finds it gone.
            Err(ActError::Gone | ActError::Conflict) => Err(CallError::Contended { id: id.clone() }),
            Err(source) => Err(failed(id, &format!("Machine {name}"), source)),
        }
    }
}

/// The patch of a MachineDeployment: only of the object and the version that it was decided on.
fn patch(deployment: &GroupDeployment, replicas: i32, deletion: &NodeDeletion, now: Timestamp) -> Value {
    let mut all: BTreeMap<&str, String> = BTreeMap::new();
    if !deletion.machines.is_empty() {
        all.insert(annotations::CHOSEN_MACHINES, format_chosen(&deletion.chosen));
        if deployment.id.api == group::Api::Mcm {
            let listed = deployment.annotation(TRIGGER_DELETION).unwrap_or_default();
            all.insert(TRIGGER_DELETION, triggers(listed, &deletion.machines, now));
            all.insert(REPLICA_CHANGE_BY_SCALER_TIME, whole_seconds(now));
        }
    }
    let mut metadata = json!({ "uid": deployment.uid, "resourceVersion": deployment.version });
    if let Value::Object(fields) = &mut metadata
        && !all.is_empty()
    {
        fields.insert("annotations".to_owned(), json!(all));
    }
    json!({ "metadata": metadata, "spec": { "replicas": replicas } })
}

/// The list of the Machines that machine-controller-manager's kind deletes first, with these at its end.
fn triggers(listed: &str, machines: &[Name], now: Timestamp) -> String {
    let names_one = |entry: &&str| {
        let name = entry.split_once('~').map_or(*entry, |(name, _)| name);
        !machines.iter().any(|machine| machine.as_str() == name)
    };
    let kept = listed.split(',').map(str::trim).filter(|entry| !entry.is_empty()).filter(names_one);
    let added = machines.iter().map(|machine| format!("{machine}~{}", whole_seconds(now)));
    kept.map(str::to_owned).chain(added).collect::<Vec<_>>().join(",")
}

/// As stored times are.
fn whole_seconds(at: Timestamp) -> String {
    Timestamp::from_second(at.as_second()).unwrap_or(at).to_string()
}

fn failed(id: &GroupId, what: &str, source: ActError) -> CallError {
    match source {
        ActError::Gone => CallRefusal::UnknownGroup { id: id.clone() }.into(),
        source => CallError::Write { what: what.to_owned(), source },
    }
}

/// Returns whether the replicas were not written for sure.
fn is_certain(error: &CallError) -> bool {
    match error {
        CallError::Late => false,
        CallError::Write { source, .. } => !matches!(source, ActError::Ambiguous { .. }),
        CallError::NotLeading | CallError::NotReady | CallError::Refused(_) | CallError::Contended { .. } => {
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use machinist_core::autoscaler::resize::Chosen;

    use super::*;

    fn deployment(annotations: &Value) -> GroupDeployment {
        let metadata = json!({
            "name": "pool", "namespace": "shoot", "uid": "u", "resourceVersion": "7", "annotations": annotations,
        });
        let object = json!({ "metadata": metadata, "spec": { "replicas": 3 } });
        GroupDeployment::from(&serde_json::from_value::<MachineDeployment>(object).unwrap())
    }

    fn now() -> Timestamp {
        "2026-01-01T12:00:00.5Z".parse().unwrap()
    }

    #[test]
    fn a_new_size_holds_for_one_version() {
        let grown = patch(&deployment(&json!({})), 4, &NodeDeletion::default(), now());
        let expected =
            json!({ "metadata": { "uid": "u", "resourceVersion": "7" }, "spec": { "replicas": 4 } });
        assert_eq!(grown, expected);
    }

    #[test]
    fn a_deletion_is_one_write_with_the_names_the_trigger_and_the_time() {
        let machines = vec![Name::new("b")];
        let chosen = Chosen::from([(Name::new("b"), now())]);
        let deletion = NodeDeletion { machines, replicas: Some(2), chosen };
        let listed = json!({ TRIGGER_DELETION: "a~2026-01-01T11:00:00Z,b~2026-01-01T11:00:00Z" });
        let shrunk = patch(&deployment(&listed), 2, &deletion, now());
        let expected = json!({
            "machinist.dev/autoscaler-chosen-machines": "b~2026-01-01T12:00:00Z",
            "node.machine.sapcloud.io/trigger-deletion-by-mcm": "a~2026-01-01T11:00:00Z,b~2026-01-01T12:00:00Z",
            "machine.sapcloud.io/last-deployment-replica-change-by-scaler-time": "2026-01-01T12:00:00Z",
        });
        assert_eq!(shrunk["metadata"]["annotations"], expected);
        assert_eq!(shrunk["spec"]["replicas"], 2);
    }
}
