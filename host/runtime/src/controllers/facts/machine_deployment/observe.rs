//! From cached API objects to the facts of one reconcile. Synchronous: nothing is awaited here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use k8s_openapi::api::core::v1::Node;
use kube::core::ObjectMeta;
use machinist_api::machine_set::MachineSetCondition;
use machinist_api::template::{MachineTemplate, TemplateMetadata};
use machinist_api::{Machine, MachineDeployment, MachineSet, names};
use machinist_core::disruption::maintenance::Windows;
use machinist_core::machine_deployment::{
    DeploymentFact, DeploymentSettings, DeploymentView, OwnedMachineFact, OwnedSetFact, SetOwner,
    SetStatusFact, SpecFact, WindowsFact,
};
use machinist_core::scheduling::gate::Gate;
use machinist_core::value::id::{Name, NodeName, ObjectKey, Uid};
use machinist_core::value::selector::Labels;

use crate::cache::fields::raw_strategy;
use crate::controllers::facts::{SharedNodes, own_node, unreadable};
use crate::controllers::objects::metadata::{controller, label};
use crate::controllers::objects::{inherited, selection};
use crate::controllers::state::TenantState;

use super::OwnerTree;
use super::status::number;
use super::{NAMES, members, status, template};

/// The facts of a reconcile, and the objects that they were taken from: writes are built from these, without reading
/// again.
pub(crate) struct ObservedDeployment {
    pub(crate) view: DeploymentView,
    pub(crate) deployment: Arc<MachineDeployment>,
    /// Its template as its sets get it: without invalid settings.
    pub(crate) template: MachineTemplate,
    pub(crate) sets: BTreeMap<Name, Arc<MachineSet>>,
    pub(crate) machines: BTreeMap<Name, Arc<Machine>>,
    pub(crate) nodes: BTreeMap<NodeName, Arc<Node>>,
}

/// `None` when the deployment is not there any more.
pub(crate) fn observe(
    tenant: &TenantState,
    gate: Gate,
    key: &ObjectKey,
    owner_tree: &OwnerTree,
) -> Option<ObservedDeployment> {
    let deployment = tenant.deployments.get(key)?;
    let uid = Uid::new(deployment.metadata.uid.as_deref().unwrap_or_default());
    let is_gone = |uid: Option<&str>| tenant.deleted.contains(uid);
    let sets: BTreeMap<Name, Arc<MachineSet>> = owner_tree
        .sets
        .iter()
        .filter_map(|set| Some((set.name.clone(), tenant.sets.get(set)?)))
        .filter(|(_, set)| concerns(&deployment, &uid, set) && !is_gone(set.metadata.uid.as_deref()))
        .collect();
    let machines: BTreeMap<Name, Arc<Machine>> = owner_tree
        .machines
        .values()
        .flatten()
        .filter_map(|machine| Some((machine.name.clone(), tenant.machines.get(machine)?)))
        .filter(|(_, machine)| !is_gone(machine.metadata.uid.as_deref()))
        .collect();
    let unreadable = unreadable_machines(tenant, key);
    let nodes = nodes(tenant, &owner_tree.shared_nodes, &machines, &unreadable);
    let mut by_set: BTreeMap<Uid, Vec<OwnedMachineFact>> = BTreeMap::new();
    for (name, machine) in &machines {
        // By the cache, which may be ahead of the indexes.
        if let Some(set) = controller(&machine.metadata).filter(|_| !unreadable.contains_key(name)) {
            let node = nodes.get(machine.metadata.name.as_deref().unwrap_or_default());
            let fact = members::machine(machine, node.map(AsRef::as_ref));
            by_set.entry(Uid::new(&set.uid)).or_default().push(fact);
        }
    }
    for machine in unreadable.values() {
        if let Some(set) = controller(&machine.metadata) {
            let mut fact = members::machine(machine, None);
            fact.is_unreadable = true;
            by_set.entry(Uid::new(&set.uid)).or_default().push(fact);
        }
    }
    let set_fact = |set: &Arc<MachineSet>| {
        let machines = by_set.remove(&uid_of(&set.metadata)).unwrap_or_default();
        set_fact(&deployment, &uid, set, machines)
    };
    let (template, problems) = inherited_template(&deployment);
    let view = DeploymentView {
        deployment: deployment_fact(key, &deployment, &template, problems),
        sets: sets.values().map(set_fact).collect(),
        unreadable_sets: unreadable_sets(tenant, key, &uid),
        overlapping: overlapping(tenant, &deployment, &owner_tree.other_deployments),
        gate,
        settings: DeploymentSettings {
            holds_autoscaler: tenant.settings.holds_autoscaler,
            has_target: tenant.nodes.is_some(),
        },
        names: &NAMES,
    };
    let nodes = nodes.into_values().map(|node| (NodeName::new(node_name(&node)), node)).collect();
    Some(ObservedDeployment { view, deployment, template, sets, machines, nodes })
}

/// It controls the set, or might adopt it.
fn concerns(deployment: &MachineDeployment, uid: &Uid, set: &MachineSet) -> bool {
    match owner(&set.metadata, uid) {
        SetOwner::This => true,
        SetOwner::Nobody => selection::selects(deployment.spec.selector.as_ref(), &set.metadata),
        SetOwner::Other(_) => false,
    }
}

/// Machines that cannot be decoded, by name. There are hardly ever any.
fn unreadable_machines(tenant: &TenantState, key: &ObjectKey) -> BTreeMap<Name, Machine> {
    let all =
        tenant.machines.unreadable().into_iter().filter(|(machine, _)| machine.namespace == key.namespace);
    all.map(|(machine, meta)| (machine.name, unreadable(tenant, &meta))).collect()
}

/// Sets that the deployment controls and that cannot be decoded.
fn unreadable_sets(tenant: &TenantState, key: &ObjectKey, uid: &Uid) -> Vec<Name> {
    let all = tenant.sets.unreadable().into_iter().filter(|(set, _)| set.namespace == key.namespace);
    all.filter(|(_, meta)| owner(meta, uid) == SetOwner::This).map(|(set, _)| set.name).collect()
}

/// Nodes by the names of their Machines. A Node that is another Machine's, of this deployment or not, is nobody's here.
fn nodes(
    tenant: &TenantState,
    shared: &SharedNodes,
    machines: &BTreeMap<Name, Arc<Machine>>,
    unreadable: &BTreeMap<Name, Machine>,
) -> BTreeMap<String, Arc<Node>> {
    let mut by_age: Vec<(&Name, &Arc<Machine>)> =
        machines.iter().filter(|(name, _)| !unreadable.contains_key(*name)).collect();
    by_age.sort_by_key(|(_, machine)| created(&machine.metadata));
    // Caches and indexes may be of two moments: even then no two Machines write one Node.
    let mut taken = BTreeSet::new();
    let mut found = BTreeMap::new();
    for (name, machine) in by_age {
        if let Some(node) = own_node(tenant, shared, machine)
            && taken.insert(node_name(&node).to_owned())
        {
            found.insert(name.to_string(), node);
        }
    }
    found
}

fn node_name(node: &Node) -> &str {
    node.metadata.name.as_deref().unwrap_or_default()
}

/// Returns the template for sets, and a problem for each invalid setting. Sets get the annotation unchanged, and check
/// it before a Machine gets it.
fn inherited_template(deployment: &MachineDeployment) -> (MachineTemplate, Vec<String>) {
    let template = &deployment.spec.template;
    let (spec, mut problems) = inherited::valid_settings(&template.spec, "spec.template.spec.");
    let timeout = inherited::effective_creation_timeout(&deployment.metadata);
    problems.extend(timeout.err());
    (MachineTemplate { metadata: template.metadata.clone(), spec }, problems)
}

fn deployment_fact(
    key: &ObjectKey,
    deployment: &MachineDeployment,
    template: &MachineTemplate,
    problems: Vec<String>,
) -> DeploymentFact {
    let (meta, spec) = (&deployment.metadata, &deployment.spec);
    let finalizers = meta.finalizers.as_deref().unwrap_or_default();
    let has = |finalizer: &str| finalizers.iter().any(|name| name == finalizer);
    let annotations = meta.annotations.clone().unwrap_or_default();
    DeploymentFact {
        key: key.clone(),
        uid: uid_of(meta),
        deletion: meta.deletion_timestamp.as_ref().map(|time| time.0),
        leaves_sets: has(names::finalizers::ORPHAN),
        generation: meta.generation.unwrap_or_default(),
        has_finalizer: has(names::finalizers::MACHINE),
        is_labelled_frozen: is_labelled_frozen(meta),
        spec: SpecFact {
            replicas: i64::from(spec.replicas.unwrap_or_default()),
            selector: selection::deployment_selector(
                spec.selector.as_ref(),
                &template_labels(&spec.template),
            ),
            template: template::fact(template),
            strategy: raw_strategy(&spec.strategy),
            min_ready_seconds: spec.min_ready_seconds,
            revision_history_limit: spec.revision_history_limit,
            is_paused: spec.paused == Some(true),
            rollback_to: spec.rollback_to.as_ref().map(|wish| wish.revision.unwrap_or_default()),
            progress_deadline_seconds: spec.progress_deadline_seconds,
            auto_preserve_max: spec.auto_preserve_failed_machine_max,
            windows: windows(annotations.get(names::annotations::MAINTENANCE_WINDOWS)),
            problems,
        },
        annotations,
        status: status::fact(deployment.status.as_ref()),
    }
}

fn template_labels(template: &MachineTemplate) -> Labels {
    template.metadata.as_ref().map(TemplateMetadata::labels).unwrap_or_default()
}

fn windows(text: Option<&String>) -> WindowsFact {
    match text.map(|text| Windows::parse(text, zone)) {
        None => WindowsFact::None,
        Some(Ok(windows)) => WindowsFact::Given(windows),
        Some(Err(error)) => WindowsFact::Invalid(error.to_string()),
    }
}

/// `UTC` is known also where there is no database of time zones.
fn zone(name: &str) -> Option<TimeZone> {
    if name == "UTC" { Some(TimeZone::UTC) } else { TimeZone::get(name).ok() }
}

/// Returns other deployments that select Machines of this one's template, or vice versa.
fn overlapping(
    tenant: &TenantState,
    deployment: &MachineDeployment,
    other_deployments: &[ObjectKey],
) -> Vec<Name> {
    let selects = |one: &MachineDeployment, other: &MachineDeployment| {
        selection::selects_labels(one.spec.selector.as_ref(), &template_labels(&other.spec.template))
    };
    let overlaps = |other: &MachineDeployment| selects(other, deployment) || selects(deployment, other);
    let found = other_deployments.iter().filter_map(|key| Some((key, tenant.deployments.get(key)?)));
    let mut names: Vec<Name> =
        found.filter(|(_, other)| overlaps(other)).map(|(key, _)| key.name.clone()).collect();
    names.sort();
    names
}

fn set_fact(
    deployment: &MachineDeployment,
    uid: &Uid,
    set: &MachineSet,
    machines: Vec<OwnedMachineFact>,
) -> OwnedSetFact {
    let (meta, spec) = (&set.metadata, &set.spec);
    let owner = owner(meta, uid);
    let selector = deployment.spec.selector.as_ref();
    let can_select = selector
        .and_then(|selector| selection::parse(selector).ok())
        .is_some_and(|selector| !selector.is_everything());
    let labels = meta.labels.as_ref();
    OwnedSetFact {
        name: Name::new(meta.name.as_deref().unwrap_or_default()),
        uid: uid_of(meta),
        created: created(meta),
        is_deleting: meta.deletion_timestamp.is_some(),
        generation: meta.generation.unwrap_or_default(),
        observed_generation: set.status.as_ref().and_then(|status| status.observed_generation),
        // A selector that cannot be understood releases nothing.
        is_selected: if can_select { selection::selects(selector, meta) } else { owner == SetOwner::This },
        owner,
        wanted: number(spec.replicas),
        template: spec.template.as_ref().map(template::fact).unwrap_or_default(),
        selected_hash: selection::only_value(spec.selector.as_ref(), NAMES.template_hash),
        annotations: meta.annotations.clone().unwrap_or_default(),
        is_scale_up_disabled: labels.is_some_and(|labels| labels.contains_key(NAMES.scale_up_disabled)),
        is_frozen: is_labelled_frozen(meta) || says_frozen(set),
        min_ready_seconds: spec.min_ready_seconds,
        auto_preserve_max: spec.auto_preserve_failed_machine_max,
        status: set_status(set),
        machines,
    }
}

fn set_status(set: &MachineSet) -> SetStatusFact {
    let Some(status) = &set.status else { return SetStatusFact::default() };
    let failure = status.conditions.iter().find(|condition| {
        condition.type_ == names::conditions::REPLICA_FAILURE && condition.status == "True"
    });
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let frozen = status.conditions.iter().find(|condition| is_frozen(condition));
    let failed = status.failed_machines.iter().filter_map(|machine| machine.name.as_deref());
    SetStatusFact {
        replicas: number(status.replicas),
        ready: number(status.ready_replicas),
        available: number(status.available_replicas),
        preserved_failed: number(status.preserved_failed_replicas),
        failure: failure.map(|condition| (text(&condition.reason), text(&condition.message))),
        frozen: frozen.map(|condition| text(&condition.message)),
        failed_machines: failed.map(Name::new).collect(),
    }
}

fn is_frozen(condition: &MachineSetCondition) -> bool {
    condition.type_ == names::conditions::FROZEN && condition.status == "True"
}

fn says_frozen(set: &MachineSet) -> bool {
    let mut conditions = set.status.iter().flat_map(|status| &status.conditions);
    conditions.any(is_frozen)
}

fn is_labelled_frozen(meta: &ObjectMeta) -> bool {
    label(meta, names::labels::FREEZE) == Some(names::labels::TRUE)
}

fn owner(meta: &ObjectMeta, uid: &Uid) -> SetOwner {
    match controller(meta) {
        None => SetOwner::Nobody,
        Some(owner) if owner.uid == uid.as_str() => SetOwner::This,
        Some(owner) => SetOwner::Other(format!("{} {}", owner.kind, owner.name)),
    }
}

fn uid_of(meta: &ObjectMeta) -> Uid {
    Uid::new(meta.uid.as_deref().unwrap_or_default())
}

fn created(meta: &ObjectMeta) -> Timestamp {
    meta.creation_timestamp.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| time.0)
}
