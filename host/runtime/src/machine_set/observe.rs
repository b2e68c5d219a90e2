//! From cached API objects to the facts of one pass. Synchronous: nothing is awaited here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kube::core::ObjectMeta;
use machinist_api::template::{MachineTemplate, TemplateMetadata};
use machinist_api::{Machine, MachineDeployment, MachineSet, names};
use machinist_core::disruption::requests::Permits;
use machinist_core::machine::ClassFact;
use machinist_core::machine_deployment::Strategy;
use machinist_core::machine_set::{
    ChildFact, FailedJoins, Freshness, ReplicaLimitFact, ReportedSetStatus, SetConditionKind, SetFact,
    SetNames, SetOwnConditionKind, SetSelectorFact, SetView, TemplateFact,
};
use machinist_core::scheduling::gate::Gate;
use machinist_core::value::id::{ClassName, Name, ObjectKey, Uid};
use machinist_core::value::selector::Selector;

use crate::client::field_manager::DISRUPTION;
use crate::driver_calls::capacity;
use crate::machine::{Choice, SharedNodes, class_fact, operation_of};
use crate::machine_deployment::strategy;
use crate::objects::selection::{self, labels_of};
use crate::tenant::world::World;

use super::{Members, body, machine_fact as child};

/// Labels and annotations that a set's pass writes.
static NAMES: SetNames = SetNames {
    freeze: names::labels::FREEZE,
    freeze_value: names::labels::TRUE,
    unfreeze: names::annotations::UNFREEZE,
    closed_ordinal: names::annotations::CLOSED_ORDINAL,
    failed_joins: names::annotations::FAILED_JOINS,
};

/// Who deletes an object with this finalizer wants what it owns to stay.
const ORPHAN: &str = "orphan";

/// The facts of a pass, and the objects that they were taken from: effects are built from these, not from a second look.
pub(super) struct Observed {
    pub(super) view: SetView,
    pub(super) set: Arc<MachineSet>,
    /// What it hands down.
    pub(super) template: Option<MachineTemplate>,
    /// The Machines of the view.
    pub(super) machines: BTreeMap<Uid, Arc<Machine>>,
    shared_nodes: SharedNodes,
}

/// `None` when the set is not there any more. `members` are the Machines that it may control.
pub(super) fn observe(
    world: &World,
    gate: Gate,
    key: &ObjectKey,
    members: &Members,
    freshness: Freshness,
) -> Option<Observed> {
    let set = world.sets.get(key)?;
    let (template, problems) = body::handed_down(&set);
    let fact = SetFact { problems, ..set_fact(key, &set) };
    let selector = match &fact.selector {
        SetSelectorFact::Given(selector) => Some(selector),
        SetSelectorFact::Missing | SetSelectorFact::Invalid(_) => None,
    };
    let mut machines: BTreeMap<ObjectKey, Arc<Machine>> =
        members.machines.iter().filter_map(|key| Some((key.clone(), world.machines.get(key)?))).collect();
    machines.retain(|_, machine| concerns(&set, selector, machine));
    // Machines of others that its selector selects are none of the members, and it has to say so.
    if let Some(selector) = selector {
        let namespace = &key.namespace;
        machines.extend(
            world
                .machines
                .select(|key, machine| &key.namespace == namespace && selects(selector, &machine.metadata)),
        );
    }
    machines.retain(|_, machine| !world.departed.contains(machine.metadata.uid.as_deref()));
    // The copy of a Machine that cannot be decoded says what was, also of its owner.
    let undecoded: BTreeMap<ObjectKey, Arc<ObjectMeta>> = world.machines.unreadable().into_iter().collect();
    machines.retain(|key, _| !undecoded.contains_key(key));
    let unreadable = unreadable(world, key, &set, undecoded);
    machines.extend(unreadable.iter().map(|(key, machine)| (key.clone(), machine.clone())));
    let fact_of = |(key, machine): (&ObjectKey, &Arc<Machine>)| {
        let fact = child::fact(world, &members.shared_nodes, &set, template.as_ref(), machine);
        if unreadable.contains_key(key) { left_alone(fact) } else { fact }
    };
    let class_name = template.as_ref().and_then(|template| template.spec.class.name.as_deref());
    let deployment = deployment_of(world, key, &set);
    let view = SetView {
        machines: machines.iter().map(fact_of).collect(),
        class: class(world, key, class_name),
        alternatives: capacity::alternatives(
            &world.capacity,
            &set,
            deployment.as_deref(),
            class_name,
            |name| matches!(class(world, key, Some(name)), ClassFact::Ready(_)),
        ),
        deployment: deployment.as_deref().map(|deployment| limit(world, deployment)),
        permits: deployment.as_deref().map(|deployment| permits(world, deployment)).unwrap_or_default(),
        gate,
        freshness,
        settings: world.settings.sets,
        names: &NAMES,
        set: fact,
    };
    let machines = by_uid(machines.into_values());
    Some(Observed { view, set, template, machines, shared_nodes: members.shared_nodes.clone() })
}

/// Machines that the set controls, of all that cannot be decoded.
fn unreadable(
    world: &World,
    key: &ObjectKey,
    set: &MachineSet,
    all: BTreeMap<ObjectKey, Arc<ObjectMeta>>,
) -> BTreeMap<ObjectKey, Arc<Machine>> {
    let own =
        all.into_iter().filter(|(machine, meta)| machine.namespace == key.namespace && is_own(set, meta));
    own.map(|(machine, meta)| (machine, Arc::new(child::unreadable(world, &meta)))).collect()
}

/// It counts, and nothing is done about it.
fn left_alone(fact: ChildFact) -> ChildFact {
    ChildFact { is_unreadable: true, drift: BTreeSet::new(), ..fact }
}

/// Facts of Machines that were listed just now.
pub(super) fn listed(
    world: &World,
    observed: &Observed,
    machines: Vec<Machine>,
    unreadable: Vec<ObjectMeta>,
) -> (Vec<ChildFact>, BTreeMap<Uid, Arc<Machine>>) {
    let selector = match &observed.view.set.selector {
        SetSelectorFact::Given(selector) => Some(selector),
        SetSelectorFact::Missing | SetSelectorFact::Invalid(_) => None,
    };
    let concerned = machines.into_iter().filter(|machine| concerns(&observed.set, selector, machine));
    let machines: Vec<Arc<Machine>> = concerned.map(Arc::new).collect();
    let own = unreadable.into_iter().filter(|meta| is_own(&observed.set, meta));
    let unreadable: Vec<Arc<Machine>> = own.map(|meta| Arc::new(child::unreadable(world, &meta))).collect();
    let fact = |machine: &Arc<Machine>| {
        let shared = &observed.shared_nodes;
        child::fact(world, shared, &observed.set, observed.template.as_ref(), machine)
    };
    let facts = machines.iter().map(fact).chain(unreadable.iter().map(|machine| left_alone(fact(machine))));
    (facts.collect(), by_uid(machines.iter().chain(&unreadable).cloned()))
}

fn by_uid(machines: impl IntoIterator<Item = Arc<Machine>>) -> BTreeMap<Uid, Arc<Machine>> {
    let uid = |machine: &Machine| Uid::new(machine.metadata.uid.as_deref().unwrap_or_default());
    machines.into_iter().map(|machine| (uid(&machine), machine)).collect()
}

/// The set controls it, or its selector selects it.
fn concerns(set: &MachineSet, selector: Option<&Selector>, machine: &Machine) -> bool {
    is_own(set, &machine.metadata) || selector.is_some_and(|selector| selects(selector, &machine.metadata))
}

fn is_own(set: &MachineSet, meta: &ObjectMeta) -> bool {
    let mut owners = meta.owner_references.iter().flatten();
    owners.any(|owner| owner.controller == Some(true) && Some(&owner.uid) == set.metadata.uid.as_ref())
}

/// A selector without requirements is refused by the core, which need not see all Machines of the namespace for that.
fn selects(selector: &Selector, meta: &ObjectMeta) -> bool {
    static NONE: BTreeMap<String, String> = BTreeMap::new();
    !selector.is_everything() && selector.matches(meta.labels.as_ref().unwrap_or(&NONE))
}

fn set_fact(key: &ObjectKey, set: &MachineSet) -> SetFact {
    let meta = &set.metadata;
    let (labels, finalizers) = (labels_of(meta), meta.finalizers.as_deref().unwrap_or_default());
    let annotation = |name: &str| meta.annotations.as_ref().and_then(|all| all.get(name));
    let selector = match &set.spec.selector {
        None => SetSelectorFact::Missing,
        Some(selector) => match selection::parse(selector) {
            Ok(selector) => SetSelectorFact::Given(selector),
            Err(error) => SetSelectorFact::Invalid(error.to_string()),
        },
    };
    SetFact {
        key: key.clone(),
        uid: Uid::new(meta.uid.as_deref().unwrap_or_default()),
        generation: meta.generation.unwrap_or_default(),
        deletion: meta.deletion_timestamp.as_ref().map(|time| time.0),
        leaves_machines: finalizers.iter().any(|name| name == ORPHAN),
        has_finalizer: finalizers.iter().any(|name| name == names::finalizers::MACHINE),
        replicas: set.spec.replicas.unwrap_or_default(),
        selector,
        template: set.spec.template.as_ref().map(template_fact),
        is_frozen: labels.get(names::labels::FREEZE).is_some_and(|value| value == names::labels::TRUE),
        is_scale_up_disabled: labels.contains_key(names::labels::SCALE_UP_DISABLED),
        is_thaw_asked: annotation(names::annotations::UNFREEZE).is_some(),
        scaled_down_at: annotation(names::annotations::REPLICA_CHANGE_BY_SCALER_TIME)
            .and_then(|text| text.parse().ok()),
        closed_ordinal: annotation(names::annotations::CLOSED_ORDINAL).and_then(|text| text.parse().ok()),
        failed_joins: annotation(names::annotations::FAILED_JOINS).and_then(|text| FailedJoins::parse(text)),
        auto_preserve_max: set.spec.auto_preserve_failed_machine_max.unwrap_or_default(),
        problems: Vec::new(),
        told: told(set),
    }
}

fn template_fact(template: &MachineTemplate) -> TemplateFact {
    let labels = template.metadata.as_ref().map(TemplateMetadata::labels).unwrap_or_default();
    let class = template.spec.class.name.as_deref().filter(|name| !name.is_empty()).map(ClassName::new);
    TemplateFact { labels, class }
}

fn told(set: &MachineSet) -> ReportedSetStatus {
    let Some(status) = &set.status else { return ReportedSetStatus::default() };
    let is_frozen = |kind: &str, status: &str| kind == SetConditionKind::Frozen.as_str() && status == "True";
    let own = status.machinist.as_ref();
    let says_bad = |kind: SetOwnConditionKind| {
        let bad = kind.bad().to_string();
        own.is_some_and(|own| {
            own.conditions.iter().any(|told| told.type_ == kind.as_str() && told.status == bad)
        })
    };
    ReportedSetStatus {
        is_frozen: status.conditions.iter().any(|told| is_frozen(&told.type_, &told.status)),
        is_overlapping: says_bad(SetOwnConditionKind::Overlapping),
        is_invalid: says_bad(SetOwnConditionKind::Valid),
        operation: operation_of(&status.last_operation),
    }
}

fn class(world: &World, key: &ObjectKey, name: Option<&str>) -> ClassFact {
    let key = ObjectKey::new(key.namespace.as_str(), name.unwrap_or_default());
    let class = world.classes.get(&key);
    class_fact(world, &key, class.as_deref(), &Choice::of(class.as_deref()))
}

/// The deployment that controls the set, and is there.
fn deployment_of(world: &World, key: &ObjectKey, set: &MachineSet) -> Option<Arc<MachineDeployment>> {
    let owner =
        set.metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))?;
    let name = Name::new(owner.name.as_str());
    let deployment = world.deployments.get(&ObjectKey { namespace: key.namespace.clone(), name })?;
    (deployment.metadata.uid.as_ref() == Some(&owner.uid)).then_some(deployment)
}

/// Which failed Machines it lets go. Whoever runs deployments elsewhere may let nobody go, so that nobody waits for it.
fn permits(world: &World, deployment: &MachineDeployment) -> Permits {
    let annotations =
        deployment.metadata.annotations.as_ref().filter(|_| world.settings.controllers.deployments);
    annotations.map_or(Permits::All, |annotations| Permits::read(annotations, &DISRUPTION))
}

/// How many Machines it may have.
fn limit(world: &World, deployment: &MachineDeployment) -> ReplicaLimitFact {
    let replicas = deployment.spec.replicas.unwrap_or_default();
    let wanted = u32::try_from(replicas).unwrap_or_default();
    let strategy = Strategy::parse(&strategy::raw(&deployment.spec.strategy), world.nodes.is_some());
    let surge = strategy.map_or(0, |strategy| strategy.bounds(wanted).most().saturating_sub(wanted));
    ReplicaLimitFact { replicas, surge: i32::try_from(surge).unwrap_or(i32::MAX) }
}
