//! From facts to an explanation. Pure.

use jiff::Timestamp;
use machinist_api::infrastructure::MachinistCluster;
use machinist_api::infrastructure::core_kinds::CoreCluster;
use machinist_api::infrastructure::names::{annotations, labels};

use super::gather::InfraFacts;
use super::next::{Reported, annotation, next};
use super::{credentials, owner, remediation};
use crate::explain::explanation::{ConditionLine, Explanation, Link, LinkState};
use crate::explain::links;
use crate::explain::read::Lookup;
use crate::owner_tree::vm_state;

pub(in crate::explain) fn explain(facts: &InfraFacts, now: Timestamp) -> Explanation {
    let machine = &facts.machine;
    let status = machine.status.clone().unwrap_or_default();
    let conditions = ConditionLine::of(&status.conditions);
    let key = annotation(facts, annotations::MACHINE_KEY).unwrap_or_default();
    let about = Explanation::about("MachinistMachine", &machine.metadata, &facts.leader, key);
    let of_kind = |kind: &str| conditions.iter().find(|line| line.kind == kind);
    let ready = of_kind("Ready");
    let reported = Reported { ready, paused: of_kind("Paused").filter(|line| line.status == "True") };
    let awaited = reported.paused.or_else(|| ready.filter(|line| line.status != "True"));
    let (state, state_since) = vm_state(machine);
    let unwritten = format!(
        "none has looked at it; does one run with --cluster-api for namespace {}, and lead?",
        about.namespace
    );
    Explanation {
        state: state.as_str().to_owned(),
        state_since,
        awaited: awaited.map(ConditionLine::awaited),
        unwritten: conditions.is_empty().then_some(unwritten),
        next: next(facts, &reported, about.queue.as_ref(), now),
        chain: chain(facts),
        finalizers: machine.metadata.finalizers.clone().unwrap_or_default(),
        events: facts.events.clone(),
        conditions: conditions.clone(),
        ..about
    }
}

fn chain(facts: &InfraFacts) -> Vec<Link> {
    let machine = &facts.machine;
    let namespace = machine.metadata.namespace.as_deref().unwrap_or_default();
    let class = machine.spec.class_ref.as_ref().map(|class| class.name.as_str());
    let mut chain = vec![
        cluster(&facts.cluster, facts.infra_cluster.found()),
        owner::link(&facts.owner, &facts.bootstrap, machine.provider_id().is_some()),
        match class {
            Some(_) => links::class(&facts.class, "classRef has no name: set it"),
            None => spec(facts),
        },
        credentials::link(&facts.credentials, namespace, class),
        links::driver(&facts.plugin),
        vm(facts),
        owner::node(facts.owner.found()),
    ];
    chain.extend(remediation::link(&facts.remediation));
    chain
}

fn cluster(cluster: &Lookup<CoreCluster>, infra_cluster: Option<&MachinistCluster>) -> Link {
    let link = |state, says: String| Link::new("Cluster", state, says);
    let cluster = match cluster {
        Lookup::NotNamed => {
            let says = format!("neither its Machine nor the label {} names one", labels::CLUSTER_NAME);
            return link(LinkState::Bad, says);
        }
        Lookup::Missing(name) => return link(LinkState::Bad, format!("{name} does not exist: create it")),
        Lookup::Unreadable(why) => return link(LinkState::Unknown, why.clone()),
        Lookup::Found(cluster) => cluster,
    };
    let name = cluster.metadata.name.as_deref().unwrap_or_default();
    if cluster.spec.paused == Some(true) {
        return link(
            LinkState::Bad,
            format!("{name} is paused (spec.paused): nothing is done to its machines"),
        );
    }
    let deleting = match cluster.metadata.deletion_timestamp {
        Some(_) => ", and is being deleted",
        None => "",
    };
    if cluster.status.contract.initialization.infrastructure_provisioned == Some(true) {
        return link(LinkState::Good, format!("{name} has infrastructure{deleting}"));
    }
    let why = match infra_cluster {
        None => String::new(),
        Some(infra) => {
            let name = infra.metadata.name.as_deref().unwrap_or_default();
            let status = infra.status.clone().unwrap_or_default();
            let ready = status.conditions.iter().find(|condition| condition.type_ == "Ready");
            let ready = ready.map_or_else(
                || "has no condition Ready".to_owned(),
                |ready| format!("has Ready={} {}: {}", ready.status, ready.reason, ready.message),
            );
            format!("; MachinistCluster {name} {ready}")
        }
    };
    link(LinkState::Absent, format!("{name} has no infrastructure yet{deleting}{why}"))
}

/// The parameters that the object has itself.
fn spec(facts: &InfraFacts) -> Link {
    let template = annotation(facts, annotations::CLONED_FROM);
    let template = template.map(|name| format!(", from MachinistMachineTemplate {name}")).unwrap_or_default();
    match facts.machine.spec.provider.as_deref().map(str::trim).filter(|provider| !provider.is_empty()) {
        Some(provider) => Link::new("spec", LinkState::Good, format!("provider {provider:?}{template}")),
        None => Link::new("spec", LinkState::Bad, "it names neither a provider nor a class: set one of them"),
    }
}

fn vm(facts: &InfraFacts) -> Link {
    let machine = &facts.machine;
    let key = annotation(facts, annotations::MACHINE_KEY);
    let with_key = |text: &str| match key {
        Some(key) => format!("{text}; its key is {key}"),
        None => text.to_owned(),
    };
    let Some(id) = machine.provider_id() else {
        let text = match key {
            Some(_) => "none is recorded",
            None => "none was asked for: the object has no key yet",
        };
        return Link::new("VM", LinkState::Absent, with_key(text));
    };
    let own = annotation(facts, annotations::VM_ID).filter(|own| *own != id);
    let own = own.map(|own| format!(" (for the driver {own})")).unwrap_or_default();
    match machine.is_provisioned() {
        true => Link::new("VM", LinkState::Good, with_key(&format!("{id}{own}, provisioned"))),
        false => Link::new("VM", LinkState::Absent, with_key(&format!("{id}{own}, not provisioned yet"))),
    }
}
