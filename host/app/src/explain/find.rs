//! Finds the object that somebody names.

use std::fmt::Debug;

use anyhow::{Result, anyhow, bail};
use kube::core::NamespaceResourceScope;
use kube::{Api, Resource};
use machinist_api::Machine;
use machinist_api::infrastructure::core_kinds::CoreMachine;
use machinist_api::infrastructure::{self, MachinistMachine};
use serde::de::DeserializeOwned;

use crate::cluster::subject::Explained;
use crate::cluster::{Cluster, explained, instead, is_missing, is_unknown_kind, names_of};

/// An object that can be explained.
pub(super) enum FoundObject {
    Machine(Box<Machine>),
    MachinistMachine(Box<MachinistMachine>),
}

/// The rights that a Machine's explanation needs.
const RIGHTS: &str = "get on machines, machineclasses and leases";

/// The rights that a MachinistMachine's explanation needs.
const INFRA_RIGHTS: &str =
    "get on machinistmachines.infrastructure.machinist.dev and machines.cluster.x-k8s.io, and on leases";

/// Returns the object that is meant. `program`: for the commands in errors.
///
/// # Errors
/// When there is none, or it cannot be read. The error names what is there instead.
pub(super) async fn find(cluster: &Cluster, object: &Explained, program: &str) -> Result<FoundObject> {
    match object {
        Explained::Machine(name) => match get::<Machine>(cluster, name).await {
            Ok(Some(machine)) => Ok(FoundObject::Machine(Box::new(machine))),
            Ok(None) => {
                let other = of_either_kind(cluster, name).await.ok().flatten();
                Err(no_machine(cluster, name, other.as_ref(), program).await)
            }
            Err(error) => Err(unreadable(error, cluster, "Machine", name)),
        },
        Explained::MachinistMachine(name) => match get::<MachinistMachine>(cluster, name).await {
            Ok(Some(machine)) => Ok(FoundObject::MachinistMachine(Box::new(machine))),
            Ok(None) => Err(no_machinist_machine(cluster, name).await),
            Err(error) => Err(infra_unreadable(error, cluster, "MachinistMachine", name)),
        },
        Explained::CoreMachine(name) => of_core(cluster, name).await,
        Explained::Any(name) => any(cluster, name, program).await,
    }
}

/// A name without a kind is that of a Machine, as long as there is one.
async fn any(cluster: &Cluster, name: &str, program: &str) -> Result<FoundObject> {
    let problem = match get::<Machine>(cluster, name).await {
        Ok(Some(machine)) => return Ok(FoundObject::Machine(Box::new(machine))),
        Ok(None) => None,
        Err(error) => Some(error),
    };
    let other = of_either_kind(cluster, name).await;
    match (problem, other) {
        (_, Ok(Some(machine))) => Ok(FoundObject::MachinistMachine(Box::new(machine))),
        (Some(problem), _) => Err(unreadable(problem, cluster, "Machine", name)),
        (None, Ok(None)) => Err(no_machine(cluster, name, None, program).await),
        (None, Err(problem)) if is_unknown_kind(&problem) => {
            Err(no_machine(cluster, name, None, program).await)
        }
        (None, Err(problem)) => {
            let missing = no_machine(cluster, name, None, program).await;
            let unread = infra_unreadable(problem, cluster, "MachinistMachine", name);
            Err(anyhow!("{missing}; {unread:#}"))
        }
    }
}

/// Returns the MachinistMachine of this name, else that of the Machine of Cluster API of this name.
async fn of_either_kind(
    cluster: &Cluster,
    name: &str,
) -> std::result::Result<Option<MachinistMachine>, kube::Error> {
    if let Some(machine) = get::<MachinistMachine>(cluster, name).await? {
        return Ok(Some(machine));
    }
    let Some(core) = get::<CoreMachine>(cluster, name).await? else { return Ok(None) };
    match vm_of(&core) {
        Ok(vm) => get(cluster, vm).await,
        Err(_) => Ok(None),
    }
}

/// Returns the MachinistMachine of a Machine of Cluster API.
async fn of_core(cluster: &Cluster, name: &str) -> Result<FoundObject> {
    let core = match get::<CoreMachine>(cluster, name).await {
        Ok(Some(core)) => core,
        Ok(None) => {
            let help = instead(&names_of(&api::<CoreMachine>(cluster)).await, name, "Machine");
            let namespace = &cluster.namespace;
            bail!("there is no Machine {name} of Cluster API in namespace {namespace}: {help}")
        }
        Err(error) => return Err(infra_unreadable(error, cluster, "Machine of Cluster API", name)),
    };
    let vm = vm_of(&core).map_err(|problem| anyhow!("{problem}"))?;
    match get::<MachinistMachine>(cluster, vm).await {
        Ok(Some(machine)) => Ok(FoundObject::MachinistMachine(Box::new(machine))),
        Ok(None) => bail!(
            "Machine {name} of Cluster API names MachinistMachine {vm}, which is not there: `kubectl -n {} describe \
             machines.cluster.x-k8s.io {name}` shows what Cluster API's core does about it",
            cluster.namespace
        ),
        Err(error) => Err(infra_unreadable(error, cluster, "MachinistMachine", vm)),
    }
}

/// Returns the name of its MachinistMachine, or why it has none.
fn vm_of(machine: &CoreMachine) -> std::result::Result<&str, String> {
    let reference = &machine.spec.infrastructure_ref;
    let name = machine.metadata.name.as_deref().unwrap_or_default();
    reference.named(infrastructure::GROUP, "MachinistMachine").ok_or_else(|| match reference.name.as_str() {
        "" => format!("Machine {name} of Cluster API names no infrastructure: set spec.infrastructureRef"),
        other => format!(
            "Machine {name} of Cluster API has its VM from {} {other}, which is another provider's: `kubectl describe` shows it",
            reference.kind
        ),
    })
}

fn api<K>(cluster: &Cluster) -> Api<K>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    Api::namespaced(cluster.client.clone(), &cluster.namespace)
}

/// Reads an object. `None` when it is not there.
async fn get<K>(cluster: &Cluster, name: &str) -> std::result::Result<Option<K>, kube::Error>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
{
    match api::<K>(cluster).get(name).await {
        Ok(object) => Ok(Some(object)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

async fn no_machine(
    cluster: &Cluster,
    name: &str,
    other: Option<&MachinistMachine>,
    program: &str,
) -> anyhow::Error {
    let names = names_of(&api::<Machine>(cluster)).await;
    let other = other.map(|machine| machine.metadata.name.as_deref().unwrap_or_default());
    anyhow!(absent(&names, name, &cluster.namespace, other, program))
}

/// Returns the message about a Machine that is not there. `other`: the MachinistMachine that may be meant.
fn absent(names: &[String], name: &str, namespace: &str, other: Option<&str>, program: &str) -> String {
    let help = match other {
        Some(other) => {
            format!(
                "MachinistMachine {other} is there: `{program} explain machinistmachine/{other} -n {namespace}`"
            )
        }
        None => instead(names, name, "Machine"),
    };
    format!("there is no Machine {name} in namespace {namespace}: {help}")
}

async fn no_machinist_machine(cluster: &Cluster, name: &str) -> anyhow::Error {
    let help = instead(&names_of(&api::<MachinistMachine>(cluster)).await, name, "MachinistMachine");
    anyhow!("there is no MachinistMachine {name} in namespace {}: {help}", cluster.namespace)
}

fn unreadable(error: kube::Error, cluster: &Cluster, kind: &str, name: &str) -> anyhow::Error {
    explained(error, &format!("read {kind} {name} in namespace {}", cluster.namespace), RIGHTS)
}

fn infra_unreadable(error: kube::Error, cluster: &Cluster, kind: &str, name: &str) -> anyhow::Error {
    let task = format!("read {kind} {name} in namespace {}", cluster.namespace);
    if is_unknown_kind(&error) {
        return anyhow!(
            "failed to {task}: this cluster does not know the kind; install Cluster API and the CRDs of \
             deploy/clusterctl/crds, or choose another cluster with --kubeconfig or --context"
        );
    }
    explained(error, &task, INFRA_RIGHTS)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_machinist_machine_of_the_name_is_pointed_at() {
        let names = ["worker-1".to_owned()];
        let said = absent(&names, "vm", "team", Some("vm"), "kubectl machinist");
        assert!(said.ends_with("`kubectl machinist explain machinistmachine/vm -n team`"), "{said}");
        let said = absent(&names, "worker", "team", None, "machinist");
        assert_eq!(said, "there is no Machine worker in namespace team: did you mean worker-1?");
    }

    #[test]
    fn a_machine_of_cluster_api_leads_to_its_vm_or_says_why_not() {
        let machine = |reference: Value| -> CoreMachine {
            let machine = json!({ "metadata": { "name": "m" }, "spec": { "infrastructureRef": reference } });
            serde_json::from_value(machine).unwrap()
        };
        let group = infrastructure::GROUP;
        let own = machine(json!({ "apiGroup": group, "kind": "MachinistMachine", "name": "vm" }));
        assert_eq!(vm_of(&own), Ok("vm"));
        let aws = json!({ "apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "AWSMachine", "name": "a" });
        assert!(vm_of(&machine(aws)).unwrap_err().contains("from AWSMachine a, which is another provider's"));
        assert!(vm_of(&machine(json!({}))).unwrap_err().contains("set spec.infrastructureRef"));
    }
}
