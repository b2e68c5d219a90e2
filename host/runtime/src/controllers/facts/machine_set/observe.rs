//! From cached API objects to the facts of one reconcile. Synchronous: nothing is awaited here.

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

use crate::cache::fields::{operation_of, raw_strategy};
use crate::client::field_manager::DISRUPTION;
use crate::controllers::facts::{SharedNodes, class_fact};
use crate::controllers::objects::metadata::{annotation, controller, is_controlled_by};
use crate::controllers::objects::selection::{self, labels_of};
use crate::controllers::state::TenantState;
use crate::driver_calls::capacity;
use crate::driver_calls::driver_choice::DriverChoice;

use super::Members;
use super::child;
use crate::controllers::machine_set::body;

/// Labels and annotations that a set's reconcile writes.
static NAMES: SetNames = SetNames {
    freeze: names::labels::FREEZE,
    freeze_value: names::labels::TRUE,
    unfreeze: names::annotations::UNFREEZE,
    closed_ordinal: names::annotations::CLOSED_ORDINAL,
    failed_joins: names::annotations::FAILED_JOINS,
};

/// The facts of a reconcile, and the objects that they were taken from: effects are built from these, without reading
/// again.
pub(crate) struct ObservedSet {
    pub(crate) view: SetView,
    pub(crate) set: Arc<MachineSet>,
    /// The template that its Machines get.
    pub(crate) template: Option<MachineTemplate>,
    /// The Machines of the view.
    pub(crate) machines: BTreeMap<Uid, Arc<Machine>>,
    shared_nodes: SharedNodes,
}

/// `None` when the set is not there any more. `members` are the Machines that it may control.
pub(crate) fn observe(
    tenant: &TenantState,
    gate: Gate,
    key: &ObjectKey,
    members: &Members,
    freshness: Freshness,
) -> Option<ObservedSet> {
    let set = tenant.sets.get(key)?;
    let (template, problems) = body::machine_template(&set);
    let fact = SetFact { problems, ..set_fact(key, &set) };
    let selector = match &fact.selector {
        SetSelectorFact::Given(selector) => Some(selector),
        SetSelectorFact::Missing | SetSelectorFact::Invalid(_) => None,
    };
    let mut machines: BTreeMap<ObjectKey, Arc<Machine>> =
        members.machines.iter().filter_map(|key| Some((key.clone(), tenant.machines.get(key)?))).collect();
    machines.retain(|_, machine| concerns(&set, selector, machine));
    // Machines of others that its selector selects are none of the members, and it has to say so.
    if let Some(selector) = selector {
        let namespace = &key.namespace;
        machines.extend(
            tenant
                .machines
                .select(|key, machine| &key.namespace == namespace && selects(selector, &machine.metadata)),
        );
    }
    machines.retain(|_, machine| !tenant.deleted.contains(machine.metadata.uid.as_deref()));
    // The copy of a Machine that cannot be decoded is older, its owner included.
    let undecoded: BTreeMap<ObjectKey, Arc<ObjectMeta>> = tenant.machines.unreadable().into_iter().collect();
    machines.retain(|key, _| !undecoded.contains_key(key));
    let unreadable = unreadable(tenant, key, &set, undecoded);
    machines.extend(unreadable.iter().map(|(key, machine)| (key.clone(), machine.clone())));
    let fact_of = |(key, machine): (&ObjectKey, &Arc<Machine>)| {
        let fact = child::fact(tenant, &members.shared_nodes, &set, template.as_ref(), machine);
        if unreadable.contains_key(key) { left_alone(fact) } else { fact }
    };
    let class_name = template.as_ref().and_then(|template| template.spec.class.name.as_deref());
    let deployment = deployment_of(tenant, key, &set);
    let view = SetView {
        machines: machines.iter().map(fact_of).collect(),
        class: class(tenant, key, class_name),
        alternatives: capacity::alternatives(
            &tenant.capacity,
            &set,
            deployment.as_deref(),
            class_name,
            |name| matches!(class(tenant, key, Some(name)), ClassFact::Ready(_)),
        ),
        deployment: deployment.as_deref().map(|deployment| limit(tenant, deployment)),
        permits: deployment.as_deref().map(|deployment| permits(tenant, deployment)).unwrap_or_default(),
        gate,
        freshness,
        settings: tenant.settings.sets,
        names: &NAMES,
        set: fact,
    };
    let machines = by_uid(machines.into_values());
    Some(ObservedSet { view, set, template, machines, shared_nodes: members.shared_nodes.clone() })
}

/// Machines that the set controls, of all that cannot be decoded.
fn unreadable(
    tenant: &TenantState,
    key: &ObjectKey,
    set: &MachineSet,
    all: BTreeMap<ObjectKey, Arc<ObjectMeta>>,
) -> BTreeMap<ObjectKey, Arc<Machine>> {
    let own =
        all.into_iter().filter(|(machine, meta)| machine.namespace == key.namespace && is_own(set, meta));
    own.map(|(machine, meta)| (machine, Arc::new(child::unreadable(tenant, &meta)))).collect()
}

/// It counts, and nothing is done about it.
fn left_alone(mut fact: ChildFact) -> ChildFact {
    fact.is_unreadable = true;
    ChildFact { drift: BTreeSet::new(), ..fact }
}

/// Facts of Machines that were listed just now.
pub(crate) fn listed(
    tenant: &TenantState,
    observed: &ObservedSet,
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
    let unreadable: Vec<Arc<Machine>> = own.map(|meta| Arc::new(child::unreadable(tenant, &meta))).collect();
    let fact = |machine: &Arc<Machine>| {
        let shared = &observed.shared_nodes;
        child::fact(tenant, shared, &observed.set, observed.template.as_ref(), machine)
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
    is_controlled_by(meta, &set.metadata)
}

/// A selector without requirements is refused by the core, which need not see all Machines of the namespace for that.
fn selects(selector: &Selector, meta: &ObjectMeta) -> bool {
    static NONE: BTreeMap<String, String> = BTreeMap::new();
    !selector.is_everything() && selector.matches(meta.labels.as_ref().unwrap_or(&NONE))
}

fn set_fact(key: &ObjectKey, set: &MachineSet) -> SetFact {
    let meta = &set.metadata;
    let (labels, finalizers) = (labels_of(meta), meta.finalizers.as_deref().unwrap_or_default());
    let annotation = |name: &str| annotation(meta, name);
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
        leaves_machines: finalizers.iter().any(|name| name == names::finalizers::ORPHAN),
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
        failed_joins: annotation(names::annotations::FAILED_JOINS).and_then(FailedJoins::parse),
        auto_preserve_max: set.spec.auto_preserve_failed_machine_max.unwrap_or_default(),
        problems: Vec::new(),
        reported: reported_status(set),
    }
}

fn template_fact(template: &MachineTemplate) -> TemplateFact {
    let labels = template.metadata.as_ref().map(TemplateMetadata::labels).unwrap_or_default();
    let class = template.spec.class.name.as_deref().filter(|name| !name.is_empty()).map(ClassName::new);
    TemplateFact { labels, class }
}

fn reported_status(set: &MachineSet) -> ReportedSetStatus {
    let Some(status) = &set.status else { return ReportedSetStatus::default() };
    let is_frozen = |kind: &str, status: &str| kind == SetConditionKind::Frozen.as_str() && status == "True";
    let own = status.machinist.as_ref();
    let says_bad = |kind: SetOwnConditionKind| {
        let bad = kind.bad().to_string();
        own.is_some_and(|own| {
            own.conditions.iter().any(|condition| condition.type_ == kind.as_str() && condition.status == bad)
        })
    };
    ReportedSetStatus {
        is_frozen: status.conditions.iter().any(|condition| is_frozen(&condition.type_, &condition.status)),
        is_overlapping: says_bad(SetOwnConditionKind::Overlapping),
        is_invalid: says_bad(SetOwnConditionKind::Valid),
        operation: operation_of(&status.last_operation),
    }
}

fn class(tenant: &TenantState, key: &ObjectKey, name: Option<&str>) -> ClassFact {
    let key = ObjectKey::new(key.namespace.as_str(), name.unwrap_or_default());
    let class = tenant.classes.get(&key);
    class_fact(tenant, &key, class.as_deref(), &DriverChoice::of(class.as_deref()))
}

/// The deployment that controls the set, and is there.
fn deployment_of(tenant: &TenantState, key: &ObjectKey, set: &MachineSet) -> Option<Arc<MachineDeployment>> {
    let owner = controller(&set.metadata)?;
    let name = Name::new(owner.name.as_str());
    let deployment = tenant.deployments.get(&ObjectKey { namespace: key.namespace.clone(), name })?;
    (deployment.metadata.uid.as_ref() == Some(&owner.uid)).then_some(deployment)
}

/// Returns the failed Machines that the deployment permits to delete. If deployments are reconciled elsewhere, all of
/// them: nobody may answer there.
fn permits(tenant: &TenantState, deployment: &MachineDeployment) -> Permits {
    let annotations =
        deployment.metadata.annotations.as_ref().filter(|_| tenant.settings.controllers.deployments);
    annotations.map_or(Permits::All, |annotations| Permits::read(annotations, &DISRUPTION))
}

/// How many Machines it may have.
fn limit(tenant: &TenantState, deployment: &MachineDeployment) -> ReplicaLimitFact {
    let replicas = deployment.spec.replicas.unwrap_or_default();
    let wanted = u32::try_from(replicas).unwrap_or_default();
    let strategy = Strategy::parse(&raw_strategy(&deployment.spec.strategy), tenant.nodes.is_some());
    let surge = strategy.map_or(0, |strategy| strategy.bounds(wanted).most().saturating_sub(wanted));
    ReplicaLimitFact { replicas, surge: i32::try_from(surge).unwrap_or(i32::MAX) }
}
