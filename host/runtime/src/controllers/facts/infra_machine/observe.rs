//! From cached API objects and Secrets that were read to the facts of one reconcile.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use machinist_api::infrastructure::MachinistMachine;
use machinist_api::infrastructure::names::{annotations, finalizers, labels};
use machinist_api::names;
use machinist_core::driver::{Address, ClassSpec};
use machinist_core::health_policy::PoliciesFact;
use machinist_core::infra_machine::{
    BootstrapFact, ClusterFact, IdentityFact, InfraMachineView, InfraNames, InfraReason, OwnerFact,
    ReportedReady,
};
use machinist_core::machine::node::health::{ConditionStatus, HealthProblem};
use machinist_core::machine::node::sync::NodeMeta;
use machinist_core::machine::ownership::conflict::OwnershipConflict;
use machinist_core::machine::ownership::mark::Marks;
use machinist_core::machine::{
    ClassFact, DeletionFact, DriverFact, MachineFact, MachineReason, MachineSettings, MachineView,
    OperationFact, PreservationFact, SecretFact, TargetFact,
};
use machinist_core::safety::meltdown::ReplacementLimit;
use machinist_core::scheduling::clock_skew;
use machinist_core::scheduling::vm_checks::ReportedVm;
use machinist_core::value::id::{ClassName, FailureDomain, ObjectKey, PluginName, ProviderId, Uid};
use machinist_core::value::phase::{OperationState, OperationType, Phase};

use super::identity::NamedIdentity;
use super::related::RelatedObjects;
use crate::context::GateState;
use crate::context::settings::Settings;
use crate::controllers::classes::class_secrets;
use crate::controllers::facts::class_fact;
use crate::controllers::facts::machine::deletion::is_true;
use crate::controllers::facts::machine::observe::RetryFacts;
use crate::controllers::facts::machine::preservation;
use crate::controllers::objects::conditions::READY;
use crate::controllers::objects::metadata::annotation;
use crate::controllers::state::TenantState;
use crate::driver_calls::bootstrap_data;
use crate::driver_calls::driver_choice::{class_spec, inline_spec};

/// The key of a bootstrap Secret's data, by the contract.
const BOOTSTRAP_VALUE: &str = "value";

static NAMES: InfraNames = InfraNames {
    key: annotations::MACHINE_KEY,
    finalizer: finalizers::MACHINE,
    cluster: labels::CLUSTER_NAME,
};

/// The Secrets of a reconcile, as far as they were read.
#[derive(Default)]
pub(crate) struct SecretsRead {
    /// Name and content of the Secret with the bootstrap data.
    pub(crate) bootstrap: Option<(String, Option<Arc<Secret>>)>,
    /// The credentials; `None` where they are not needed.
    pub(crate) credentials: Option<Credentials>,
}

/// The credentials of the cloud, as far as they were read.
pub(crate) struct Credentials {
    pub(crate) named: NamedIdentity,
    pub(crate) secrets: Vec<(ObjectKey, Option<Arc<Secret>>)>,
}

/// The facts of a reconcile, and the objects that they were taken from.
pub(crate) struct ObservedInfraMachine {
    pub(crate) view: InfraMachineView,
    pub(crate) machine: Arc<MachinistMachine>,
    pub(crate) class: ClassSpec,
    /// The mark of its VM.
    pub(crate) cluster_mark: String,
    /// Kind and name of its credentials.
    pub(crate) identity: Option<String>,
    /// Bootstrap data, which the VM gets at boot.
    pub(crate) user_data: Option<Vec<u8>>,
    /// The digest of that.
    pub(crate) data_digest: Option<String>,
    /// The data of the Secrets with the credentials.
    pub(crate) values: BTreeMap<String, Vec<u8>>,
    /// The plugins that may get them; `None` for whichever serves.
    pub(crate) plugins: Option<BTreeSet<PluginName>>,
}

/// `contested_by`: other objects with the same key.
pub(crate) fn observe(
    tenant: &TenantState,
    related: RelatedObjects,
    secrets: SecretsRead,
    gate_state: &GateState,
    (retry_facts, contested_by): (RetryFacts, Vec<ObjectKey>),
    now: Timestamp,
) -> ObservedInfraMachine {
    let driver = match (&related.class, &related.machine.spec.provider) {
        (None, None) => DriverFact::NotChosen,
        _ => related.choice.fact(&*tenant.drivers),
    };
    let class = class_of(tenant, &related);
    let spec = request_class(&related, &driver);
    let used = CredentialsFound::of(tenant, secrets.credentials, &spec.name, &driver);
    let mut fact = machine_fact(&related.key, &related.machine, tenant.server_clock.ahead());
    let memory = &tenant.infra.vms;
    fact.create_intent = memory.creates.intent(&related.machine.metadata, &fact.uid, gate_state, now);
    if fact.deletion.is_some() {
        let delete_request = memory.deletion_requests.of(&related.key, &fact.uid, now);
        fact.deletion_facts.delete_request = delete_request;
        // No status says since when, and the time of the deletion is by the server's clock. It is certain of the first
        // delete request, and before that of this moment.
        fact.phase_since = Some(delete_request.map_or(now, |request| request.first));
    }
    let reported = reported(&related.machine);
    let vm_check = memory.checks().fact(&related.key, &fact.uid, presence(reported.as_ref()), now);
    let (bootstrap, user_data) = bootstrap(&related, secrets.bootstrap);
    let data_digest = user_data.as_deref().map(|data| bootstrap_data::digest(&fact.uid, data));
    let noted = annotation(&related.machine.metadata, annotations::BOOTSTRAP_DATA);
    let data_changed = data_digest
        .as_deref()
        .and_then(|digest| memory.data_changes.noticed_ago(&related.key, noted, digest));
    if data_changed.is_some() {
        // The create that the cloud works on had other data: it is looked for, and not asked for again.
        fact.operation = None;
    }
    let cluster_mark = related.cluster_mark();
    let identity = related.identity_reference().map(|reference| reference.to_string());
    let machine = MachineView {
        class,
        secret: SecretFact::Ready,
        driver,
        target: TargetFact::None,
        drain: machinist_core::drain::DrainFacts::default(),
        conflict: OwnershipConflict::default(),
        marks: Marks { own: cluster_mark.clone(), of_machine: None, of_class: None },
        policies: PoliciesFact::default(),
        gate: gate_state.gate,
        thawed_at: gate_state.thawed_at,
        watched_since: gate_state.watched_since,
        virtual_capacity: machinist_core::driver::virtual_capacity::Quantities::new(),
        vm_check: Some(vm_check),
        settings: settings(&tenant.settings),
        names: &preservation::NAMES,
        failures: retry_facts.failures,
        account_answers: retry_facts.account_answers,
        machine: fact,
    };
    let view = InfraMachineView {
        machine,
        owner: if related.owner.is_some() { OwnerFact::Present } else { OwnerFact::Missing },
        cluster: cluster(&related),
        paused: related.pause(),
        contested_by,
        bootstrap,
        data_changed,
        identity: used.fact,
        reserved_mark: (cluster_mark == tenant.settings.cluster).then(|| cluster_mark.clone()),
        failure_domain: related.failure_domain().map(FailureDomain::new),
        is_provisioned: related.machine.is_provisioned(),
        interruptible: related.machine.status.as_ref().and_then(|status| status.interruptible),
        reported,
        names: &NAMES,
    };
    ObservedInfraMachine {
        view,
        machine: related.machine,
        class: spec,
        cluster_mark,
        identity,
        user_data,
        data_digest,
        values: used.values,
        plugins: used.plugins,
    }
}

/// `ahead`: how far the host's clock is ahead of the server's that has created the object.
fn machine_fact(key: &ObjectKey, machine: &MachinistMachine, ahead: SignedDuration) -> MachineFact {
    let meta = &machine.metadata;
    let by_host = |at: Timestamp| clock_skew::by_host(at, ahead);
    let stored_key = annotation(meta, annotations::MACHINE_KEY);
    let uid = stored_key.or(meta.uid.as_deref()).unwrap_or_default();
    let deletion = meta.deletion_timestamp.as_ref().map(|time| by_host(time.0));
    let addresses = machine.status.as_ref().map(|status| status.addresses.as_slice()).unwrap_or_default();
    MachineFact {
        key: key.clone(),
        uid: Uid::new(uid),
        created: meta.creation_timestamp.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| by_host(time.0)),
        deletion,
        has_finalizer: meta.finalizers.iter().flatten().any(|name| name == finalizers::MACHINE),
        has_priority: stored_key.is_some(),
        is_unstarted: false,
        create_intent: None,
        provider_id: own_vm_id(machine).map(ProviderId::new),
        node_name: None,
        phase: match deletion {
            Some(_) => Phase::Terminating,
            None if machine.is_provisioned() => Phase::Available,
            None => Phase::New,
        },
        phase_since: None,
        operation: is_in_progress(machine)
            .then_some(OperationFact { kind: OperationType::Create, state: OperationState::Processing }),
        last_known_state: annotation(meta, annotations::DRIVER_STATE).map(str::to_owned),
        conditions: Vec::new(),
        addresses: addresses
            .iter()
            .map(|address| Address { kind: address.kind.clone(), address: address.address.clone() })
            .collect(),
        template: NodeMeta::default(),
        own_node_labels: BTreeMap::new(),
        invalid: None,
        validation_problems: Vec::new(),
        problems_reported: false,
        health_problem: HealthProblem::default(),
        deletion_facts: DeletionFact {
            is_vm_declared_gone: annotation(meta, names::annotations::VM_IS_GONE).is_some_and(is_true),
            ..DeletionFact::default()
        },
        preservation: PreservationFact::default(),
        has_join_duration: false,
        token_until: None,
        in_place_copied: None,
    }
}

/// The driver's own id of the VM: that of its Node, unless another one is noted beside that.
fn own_vm_id(machine: &MachinistMachine) -> Option<&str> {
    let of_node = machine.provider_id()?;
    let noted = annotation(&machine.metadata, annotations::VM_ID).filter(|id| !id.is_empty());
    noted.or(Some(of_node))
}

/// The cloud works on a create, as the last reconcile has said.
fn is_in_progress(machine: &MachinistMachine) -> bool {
    let ready = condition(machine, READY);
    ready.is_some_and(|ready| ready.reason == MachineReason::CloudWorking.as_str())
}

pub(crate) fn condition<'a>(machine: &'a MachinistMachine, kind: &str) -> Option<&'a Condition> {
    machine.status.as_ref()?.conditions.iter().find(|condition| condition.type_ == kind)
}

fn reported(machine: &MachinistMachine) -> Option<ReportedReady> {
    let ready = condition(machine, READY)?;
    Some(ReportedReady {
        status: ConditionStatus::parse(&ready.status),
        reason: InfraReason::of_vm(&ready.reason).or(InfraReason::of_unseen_vm(&ready.reason)),
        message: ready.message.clone(),
    })
}

fn presence(reported: Option<&ReportedReady>) -> ReportedVm {
    match reported.and_then(|reported| reported.reason) {
        Some(InfraReason::InstanceStopped | InfraReason::InstanceDeleted) => ReportedVm::Trouble,
        Some(_) => ReportedVm::Unseen,
        None => ReportedVm::Nothing,
    }
}

fn cluster(related: &RelatedObjects) -> ClusterFact {
    match (&related.cluster_name, &related.cluster) {
        (None, _) => ClusterFact::NotNamed,
        (Some(name), None) => ClusterFact::Missing(name.clone()),
        (Some(_), Some(cluster)) if cluster.has_infrastructure() => ClusterFact::Ready,
        (Some(name), Some(_)) => ClusterFact::WithoutInfrastructure(name.clone()),
    }
}

/// The class that it names, or the one that it is for itself.
fn class_of(tenant: &TenantState, related: &RelatedObjects) -> ClassFact {
    let spec = &related.machine.spec;
    if let Some(class) = &spec.class_ref {
        let key = ObjectKey::new(related.key.namespace.as_str(), &class.name);
        return class_fact(tenant, &key, related.class.as_deref(), &related.choice);
    }
    let name = ClassName::new(inline_name(related));
    if spec.provider.as_deref().unwrap_or_default().trim().is_empty() {
        let message = "set spec.provider, or spec.classRef: it chooses the driver".into();
        return ClassFact::Invalid { name, message };
    }
    ClassFact::Ready(name)
}

fn request_class(related: &RelatedObjects, driver: &DriverFact) -> ClassSpec {
    if related.machine.spec.class_ref.is_some() {
        return class_spec(related.class.as_deref(), &related.choice, driver);
    }
    let spec = related.machine.spec.provider_spec.as_ref();
    inline_spec(&inline_name(related), spec, &related.choice, driver)
}

/// The name of the class that an object with its own parameters is for itself: its template's, which all machines of a
/// MachineSet share.
fn inline_name(related: &RelatedObjects) -> String {
    let template = annotation(&related.machine.metadata, annotations::CLONED_FROM);
    format!("MachinistMachine/{}", template.unwrap_or(related.key.name.as_str()))
}

fn bootstrap(
    related: &RelatedObjects,
    read: Option<(String, Option<Arc<Secret>>)>,
) -> (BootstrapFact, Option<Vec<u8>>) {
    let named = related.owner.as_ref().map(|owner| owner.spec.bootstrap.data_secret_name.as_str());
    match read {
        None if named.is_none_or(str::is_empty) => (BootstrapFact::NotNamed, None),
        // Not needed in this reconcile.
        None => (BootstrapFact::Ready, None),
        Some((name, None)) => (BootstrapFact::Missing(name), None),
        Some((name, Some(secret))) => {
            let value = secret.data.as_ref().and_then(|data| data.get(BOOTSTRAP_VALUE));
            match value.filter(|value| !value.0.is_empty()) {
                Some(value) => (BootstrapFact::Ready, Some(value.0.clone())),
                None => (BootstrapFact::WithoutValue(name), None),
            }
        }
    }
}

/// The credentials as a call of the driver gets them.
pub(crate) struct CredentialsFound {
    pub(crate) fact: IdentityFact,
    pub(crate) values: BTreeMap<String, Vec<u8>>,
    pub(crate) plugins: Option<BTreeSet<PluginName>>,
}

impl CredentialsFound {
    fn none(fact: IdentityFact) -> Self {
        Self { fact, values: BTreeMap::new(), plugins: None }
    }

    pub(crate) fn of(
        tenant: &TenantState,
        credentials: Option<Credentials>,
        class: &ClassName,
        driver: &DriverFact,
    ) -> Self {
        let Some(Credentials { named, secrets }) = credentials else {
            return Self::none(IdentityFact::NotNamed);
        };
        match named {
            NamedIdentity::Nothing => return Self::none(IdentityFact::NotNamed),
            NamedIdentity::Unusable(fact) => return Self::none(fact),
            NamedIdentity::Secrets(_) => {}
        }
        let mut all = Self::none(IdentityFact::Ready);
        for (key, secret) in secrets {
            let Some(secret) = secret else {
                let message = format!("Secret {key} with the credentials does not exist: create it");
                return Self::none(IdentityFact::Missing(message));
            };
            match class_secrets::check(tenant, class, &key, &secret, class_secrets::plugin_of(driver)) {
                Ok(plugins) => {
                    all.plugins = machinist_core::driver::secret_rule::common(all.plugins, plugins);
                }
                Err(refusal) => return Self::none(IdentityFact::Refused(refusal.to_string())),
            }
            for (name, value) in secret.data.iter().flatten() {
                // What a VM gets at boot comes from its Machine's bootstrap data alone.
                if name != machinist_api::names::secret_keys::USER_DATA {
                    all.values.insert(name.clone(), value.0.clone());
                }
            }
        }
        all
    }
}

/// There is no Node: of all settings only those about the cloud count. A VM may be made at any time.
fn settings(flags: &Settings) -> MachineSettings {
    MachineSettings {
        creation_timeout: SignedDuration::MAX,
        health_timeout: None,
        must_be_false: Vec::new(),
        resource_exhausted_retry: flags.resource_exhausted_retry,
        drain_timeout: flags.drain_timeout,
        max_evict_retries: flags.max_evict_retries,
        parallel_volume_evictions: flags.parallel_volume_evictions.max(1),
        volume_detach_timeout: flags.volume_detach_timeout,
        volume_reattach_timeout: flags.volume_reattach_timeout,
        in_place_update_timeout: flags.in_place_update_timeout,
        preserve_timeout: flags.preserve_timeout,
        deletion_hook_timeout: flags.deletion_hook_timeout,
        replacement_limit: ReplacementLimit::ONE,
        bad_replacement_limit: None,
    }
}
