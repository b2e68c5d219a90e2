//! From cached API objects to the facts of one reconcile. Synchronous: nothing is awaited here.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Node, Taint};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use machinist_api::template::NodeTemplate;
use machinist_api::{Machine, MachineClass, names};
use machinist_core::driver::Address;
use machinist_core::health_policy::PoliciesFact;
use machinist_core::machine;
use machinist_core::machine::node::health::{self, NodeConditionFact};
use machinist_core::machine::node::sync::{NodeMeta, TaintFact};
use machinist_core::machine::ownership::mark::Marks;
use machinist_core::machine::{
    ClassFact, DriverFact, MachineConditionKind, MachineFact, MachineSettings, MachineView, NodeFact,
};
use machinist_core::scheduling::clock_skew;
use machinist_core::scheduling::vm_checks::ReportedVm;
use machinist_core::value::duration;
use machinist_core::value::id::{ClassName, Name, NodeName, ObjectKey, ProviderId, Uid};

use crate::cache::fields::{cluster_mark, node_name_of, operation_of, phase_of};
use crate::context::GateState;
use crate::context::settings::Settings;
use crate::controllers::classes::class_secrets::{self, ClassSecrets};
use crate::controllers::objects::metadata::annotation;
use crate::controllers::state::TenantState;
use crate::drain;
use crate::driver_calls::driver_choice::DriverChoice;
use crate::machine_query::Timeouts;
use crate::plugins::policies::{PolicyCaches, PolicyQuery};

use super::node_ownership::{self, NodeMatch};
use super::{deletion, preservation, problems};
use crate::controllers::machine::status_parts::drain_memory;

/// Facts about earlier reconciles that no object has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RetryFacts {
    /// Failed reconciles in a row so far.
    pub(crate) failures: u32,
    /// True if the cloud account of the Machine has answered a moment ago, and this Machine does not fail alone.
    pub(crate) account_answers: bool,
}

/// The facts of a reconcile, and the objects that they were taken from: effects are built from these, without reading
/// again.
pub(crate) struct ObservedMachine {
    pub(crate) view: MachineView,
    pub(crate) machine: Arc<Machine>,
    pub(crate) class: Option<Arc<MachineClass>>,
    pub(crate) choice: DriverChoice,
    pub(crate) secrets: ClassSecrets,
    pub(crate) node: Option<Arc<Node>>,
    /// The question to its policies, if one is due.
    pub(crate) policy_query: Option<PolicyQuery>,
}

/// `None` when the Machine is not there any more.
pub(crate) fn observe(
    tenant: &TenantState,
    gate_state: &GateState,
    key: &ObjectKey,
    retry_facts: RetryFacts,
    conflict: &[ObjectKey],
    now: Timestamp,
) -> Option<ObservedMachine> {
    let machine = tenant.machines.get(key)?;
    let class = tenant.class_of(&machine);
    let class_name = machine.spec.class.name.as_deref().unwrap_or_default();
    let class_key = ObjectKey { namespace: key.namespace.clone(), name: Name::new(class_name) };
    let choice = DriverChoice::of(class.as_deref());
    let driver = match &class {
        None => DriverFact::NotChosen,
        Some(_) => choice.fact(&*tenant.drivers),
    };
    let secrets = class_secrets::of_class(tenant, class.as_deref(), &driver);
    let mut fact = machine_fact(key, &machine, tenant.server_clock.ahead());
    fact.is_unstarted = tenant.unstarted.contains(&fact.uid);
    fact.create_intent = tenant.vms.creates.intent(&machine.metadata, &fact.uid, gate_state, now);
    if fact.deletion.is_some() {
        fact.deletion_facts.delete_request = tenant.vms.deletion_requests.of(key, &fact.uid, now);
        let class = machine.spec.class.name.as_deref();
        fact.deletion_facts.usual_removal =
            class.and_then(|class| tenant.vms.deletion_requests.last_duration(&Name::new(class)));
    }
    let NodeMatch { target, node, conflict } = node_ownership::of(tenant, &machine, &fact, conflict);
    let own = machine.status.as_ref().and_then(|status| status.machinist.as_ref());
    let name = node.as_ref().and_then(|node| node.metadata.name.as_ref()).map(NodeName::new);
    let name = name.as_ref().or(fact.node_name.as_ref());
    let memory = match own {
        Some(own) => drain_memory(own),
        // Where CRDs drop `status.machinist`, only this process remembers.
        None => tenant.drains.as_ref().map(|drains| drains.in_process_memory(key)).unwrap_or_default(),
    };
    let drain = drain::facts(tenant.drains.as_deref(), name, node.as_deref(), memory, now);
    let look = tenant.vms.checks().fact(key, &fact.uid, vm_presence(&machine), now);
    let mut view = MachineView {
        vm_check: Some(look),
        class: class_fact(tenant, &class_key, class.as_deref(), &choice),
        secret: secrets.fact.clone(),
        driver,
        target,
        drain,
        conflict,
        marks: marks(tenant, &machine, class.as_deref()),
        policies: PoliciesFact::default(),
        gate: gate_state.gate,
        thawed_at: gate_state.thawed_at,
        watched_since: gate_state.watched_since,
        virtual_capacity: preservation::virtual_capacity(class.as_deref()),
        settings: settings(&tenant.settings, &machine),
        names: &preservation::NAMES,
        failures: retry_facts.failures,
        account_answers: retry_facts.account_answers,
        machine: fact,
    };
    let caches = PolicyCaches { machines: &tenant.machines, nodes: tenant.nodes.as_ref() };
    let (policies, policy_query) = tenant.policies.observe(&caches, &view, &machine, node.as_deref(), now);
    view.policies = policies;
    Some(ObservedMachine { view, machine, class, choice, secrets, node, policy_query })
}

fn marks(tenant: &TenantState, machine: &Machine, class: Option<&MachineClass>) -> Marks {
    let text = |mark: &str| mark.to_owned();
    Marks {
        own: tenant.settings.cluster.clone(),
        of_machine: cluster_mark(&machine.metadata).map(text),
        of_class: class.and_then(|class| cluster_mark(&class.metadata)).map(text),
    }
}

/// `ahead`: how far the host's clock is ahead of the server's that has created the Machine.
fn machine_fact(key: &ObjectKey, machine: &Machine, ahead: SignedDuration) -> MachineFact {
    let meta = &machine.metadata;
    let status = machine.status.as_ref();
    let finalizers = meta.finalizers.as_deref().unwrap_or_default();
    let by_host = |at: Timestamp| clock_skew::by_host(at, ahead);
    let created = meta.creation_timestamp.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| by_host(time.0));
    let operation = status.and_then(|status| operation_of(&status.last_operation));
    let addresses = status.map(|status| status.addresses.as_slice()).unwrap_or_default();
    let phase = phase_of(machine);
    let conditions = status.map(|status| status.conditions.as_slice()).unwrap_or_default();
    MachineFact {
        key: key.clone(),
        uid: Uid::new(meta.uid.as_deref().unwrap_or_default()),
        created,
        deletion: meta.deletion_timestamp.as_ref().map(|time| by_host(time.0)),
        has_finalizer: finalizers.iter().any(|name| name == names::finalizers::MACHINE),
        has_priority: annotation(meta, names::annotations::PRIORITY).is_some(),
        is_unstarted: false,
        create_intent: None,
        provider_id: machine.provider_id().map(ProviderId::new),
        node_name: node_name_of(machine),
        phase,
        phase_since: status
            .and_then(|status| status.current_status.last_update_time.as_ref())
            .map(|time| time.0),
        operation,
        last_known_state: machine.last_known_state().map(str::to_owned),
        conditions: condition_facts(conditions),
        addresses: addresses
            .iter()
            .map(|address| Address { kind: address.type_.clone(), address: address.address.clone() })
            .collect(),
        template: machine.spec.node_template.as_ref().map(node_meta).unwrap_or_default(),
        own_node_labels: [(names::labels::MACHINE_NAME.to_owned(), key.name.to_string())].into(),
        invalid: problems::invalid(machine),
        validation_problems: problems::all(machine),
        problems_reported: reports_problem(machine, MachineConditionKind::Valid),
        health_problem: deletion::health_problem(conditions),
        deletion_facts: deletion::facts(machine, phase, operation),
        preservation: preservation::facts(machine),
        has_join_duration: annotation(meta, names::annotations::JOIN_DURATION).is_some(),
        token_until: annotation(meta, crate::client::field_manager::TOKEN_UNTIL)
            .and_then(|text| text.parse().ok()),
        in_place_copied: preservation::condition_text(conditions, names::node_conditions::IN_PLACE_UPDATE)
            .map(|condition| condition.reason),
    }
}

/// The Machine's status about the existence of its VM.
fn vm_presence(machine: &Machine) -> ReportedVm {
    let own = machine.status.as_ref().and_then(|status| status.machinist.as_ref());
    let kind = MachineConditionKind::VmPresent.as_str();
    let condition = own.and_then(|own| own.conditions.iter().find(|condition| condition.type_ == kind));
    ReportedVm::of(condition.map(|condition| condition.reason.as_str()))
}

/// The Machine's status has this condition of ours, and it says that something is not as it should be.
pub(crate) fn reports_problem(machine: &Machine, kind: MachineConditionKind) -> bool {
    let bad = match kind {
        MachineConditionKind::Contested => "True",
        MachineConditionKind::Valid
        | MachineConditionKind::Healthy
        | MachineConditionKind::Drained
        | MachineConditionKind::InPlaceUpdated
        | MachineConditionKind::Preserved
        | MachineConditionKind::PolicyObserved
        | MachineConditionKind::VmPresent => "False",
    };
    let own = machine.status.as_ref().and_then(|status| status.machinist.as_ref());
    let is_it = |condition: &Condition| condition.type_ == kind.as_str() && condition.status == bad;
    own.is_some_and(|own| own.conditions.iter().any(is_it))
}

fn node_meta(template: &NodeTemplate) -> NodeMeta {
    NodeMeta {
        labels: template.labels(),
        annotations: template.annotations(),
        taints: template.taints().iter().map(taint_fact).collect(),
    }
}

fn taint_fact(taint: &Taint) -> TaintFact {
    TaintFact {
        key: taint.key.clone(),
        value: taint.value.clone().unwrap_or_default(),
        effect: taint.effect.clone(),
        time_added: taint.time_added.as_ref().map(|time| time.0),
    }
}

/// The class of that name, as far as it can be used.
pub(crate) fn class_fact(
    tenant: &TenantState,
    key: &ObjectKey,
    class: Option<&MachineClass>,
    choice: &DriverChoice,
) -> ClassFact {
    let name = ClassName::new(key.name.as_str());
    // An older copy may still serve deletions. No VM is created from it.
    if tenant.classes.is_unreadable(key) {
        let message = "it cannot be decoded, and the log says why: correct it".into();
        return ClassFact::Invalid { name, message };
    }
    let Some(class) = class else { return ClassFact::Missing(name) };
    if class.metadata.deletion_timestamp.is_some() {
        return ClassFact::Deleting(name);
    }
    if class.provider.as_deref().unwrap_or_default().trim().is_empty() {
        return ClassFact::Invalid { name, message: "provider is required: it chooses the driver".into() };
    }
    if let Some(problem) = choice.problem() {
        return ClassFact::Invalid { name, message: problem.to_owned() };
    }
    match tenant.class_checks.problem(key) {
        Some(message) => ClassFact::Invalid { name, message },
        None => ClassFact::Ready(name),
    }
}

pub(crate) fn node_fact(node: &Node) -> NodeFact {
    let meta = &node.metadata;
    let labels = meta.labels.clone().unwrap_or_default();
    let annotations = meta.annotations.clone().unwrap_or_default();
    let taints: Vec<TaintFact> =
        node.spec.iter().flat_map(|spec| spec.taints.iter().flatten()).map(taint_fact).collect();
    NodeFact {
        name: NodeName::new(meta.name.as_deref().unwrap_or_default()),
        uid: Uid::new(meta.uid.as_deref().unwrap_or_default()),
        created: meta.creation_timestamp.as_ref().map(|time| time.0),
        is_deleting: meta.deletion_timestamp.is_some(),
        last_applied: annotations
            .get(names::annotations::LAST_APPLIED_TEMPLATE)
            .and_then(|text| last_applied(text)),
        has_critical_taint: taints
            .iter()
            .any(|taint| taint.key == names::taints::CRITICAL_COMPONENTS_NOT_READY),
        conditions: node_conditions(node),
        health_problem: deletion::health_problem(raw_conditions(node)),
        is_cordoned: node.spec.as_ref().is_some_and(|spec| spec.unschedulable == Some(true)),
        ready_since: ready_since(node),
        has_finalizer: meta
            .finalizers
            .as_deref()
            .is_some_and(|all| all.iter().any(|name| name == names::finalizers::NODE)),
        in_place: preservation::condition_text(raw_conditions(node), names::node_conditions::IN_PLACE_UPDATE),
        preserved: preservation::condition_text(raw_conditions(node), names::node_conditions::PRESERVED),
        capacity: preservation::capacity(node),
        last_applied_capacity: preservation::last_applied_capacity(node),
        meta: NodeMeta { labels, annotations, taints },
    }
}

fn node_conditions(node: &Node) -> Vec<NodeConditionFact> {
    condition_facts(raw_conditions(node))
}

fn raw_conditions(node: &Node) -> &[k8s_openapi::api::core::v1::NodeCondition] {
    node.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default()
}

fn ready_since(node: &Node) -> Option<Timestamp> {
    let conditions = node.status.as_ref()?.conditions.as_ref()?;
    let ready =
        conditions.iter().find(|condition| condition.type_ == health::READY && condition.status == "True")?;
    ready.last_transition_time.as_ref().map(|time| time.0)
}

fn condition_facts(conditions: &[k8s_openapi::api::core::v1::NodeCondition]) -> Vec<NodeConditionFact> {
    conditions
        .iter()
        .map(|condition| NodeConditionFact {
            kind: condition.type_.clone(),
            status: health::ConditionStatus::parse(&condition.status),
        })
        .collect()
}

/// The annotation is JSON of a nodeTemplate, as others write it too. An invalid value counts as never applied.
fn last_applied(text: &str) -> Option<NodeMeta> {
    serde_json::from_str::<NodeTemplate>(text).ok().as_ref().map(node_meta)
}

/// Annotation over spec over flag. An invalid or negative value is reported by `invalid` and counts as unset here: a
/// typo must not be a time-out that is over.
fn settings(flags: &Settings, machine: &Machine) -> MachineSettings {
    let parsed = |text: Option<&str>| {
        text.and_then(|text| duration::parse(text).ok()).filter(|time| *time >= SignedDuration::ZERO)
    };
    let spec = &machine.spec;
    let measured = annotation(&machine.metadata, names::annotations::EFFECTIVE_CREATION_TIMEOUT);
    let creation =
        parsed(measured).or(parsed(spec.creation_timeout.as_deref())).unwrap_or(flags.creation_timeout);
    let health = parsed(spec.health_timeout.as_deref()).unwrap_or(flags.health_timeout);
    let (replacement_limit, bad_replacement_limit) = preservation::replacement_limit(flags, machine);
    MachineSettings {
        creation_timeout: creation,
        health_timeout: (spec.disable_health_timeout != Some(true)).then_some(health),
        must_be_false: health::parse_condition_list(
            spec.node_conditions.as_deref().unwrap_or(&flags.node_conditions),
        ),
        resource_exhausted_retry: flags.resource_exhausted_retry,
        drain_timeout: parsed(spec.drain_timeout.as_deref()).unwrap_or(flags.drain_timeout),
        max_evict_retries: spec
            .max_evict_retries
            .and_then(|retries| u32::try_from(retries).ok())
            .unwrap_or(flags.max_evict_retries),
        parallel_volume_evictions: flags.parallel_volume_evictions.max(1),
        volume_detach_timeout: flags.volume_detach_timeout,
        volume_reattach_timeout: flags.volume_reattach_timeout,
        in_place_update_timeout: parsed(spec.in_place_update_timeout.as_deref())
            .unwrap_or(flags.in_place_update_timeout),
        preserve_timeout: parsed(spec.machine_preserve_timeout.as_deref()).unwrap_or(flags.preserve_timeout),
        deletion_hook_timeout: deletion::hook_timeout(machine)
            .and_then(Result::ok)
            .unwrap_or(flags.deletion_hook_timeout),
        replacement_limit,
        bad_replacement_limit,
    }
}

/// Returns the time-outs of a Machine.
pub(crate) fn timeouts(flags: &Settings, machine: &Machine) -> Timeouts {
    let settings = settings(flags, machine);
    Timeouts {
        creation: duration::format(settings.creation_timeout),
        health: settings.health_timeout.map(duration::format),
        drain: duration::format(settings.drain_timeout),
    }
}

/// True when a change of a Node concerns its Machine. Heartbeats do not.
pub(crate) fn node_matters(old: Option<&Node>, new: Option<&Node>) -> bool {
    let (Some(old), Some(new)) = (old, new) else { return true };
    let provider_id = |node: &Node| node.spec.as_ref().and_then(|spec| spec.provider_id.clone());
    let taints = |node: &Node| node.spec.as_ref().and_then(|spec| spec.taints.clone());
    let texts = |node: &Node| {
        [names::node_conditions::IN_PLACE_UPDATE, names::node_conditions::PRESERVED].map(|kind| {
            preservation::condition_text(raw_conditions(node), kind)
                .map(|condition| (condition.reason, condition.message))
        })
    };
    old.metadata.uid != new.metadata.uid
        || old.metadata.deletion_timestamp != new.metadata.deletion_timestamp
        || old.metadata.labels != new.metadata.labels
        || old.metadata.annotations != new.metadata.annotations
        || old.metadata.finalizers != new.metadata.finalizers
        || texts(old) != texts(new)
        || preservation::capacity(old) != preservation::capacity(new)
        || provider_id(old) != provider_id(new)
        || taints(old) != taints(new)
        || machine::conditions_differ(&node_conditions(old), &node_conditions(new))
}
