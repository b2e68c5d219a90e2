//! The Machine, class, driver, VM and Node of these tests.

use jiff::SignedDuration;

use crate::driver::error::{CallError, Code, DriverError, GuestFailure, Limit, Refusal};
use crate::driver::secret_rule::{SecretRefusal, WhyRefused};
use crate::driver::virtual_capacity::Quantities;
use crate::driver::{Address, Capabilities, DriverFacts, InProgress, Vm, VmState};
use crate::health_policy::PoliciesFact;
use crate::machine::node::health::{ConditionStatus, HealthProblem, NodeConditionFact};
use crate::machine::node::sync::{NodeMeta, TaintFact};
use crate::machine::ownership::conflict::OwnershipConflict;
use crate::machine::ownership::mark::Marks;
use crate::machine::{
    CallEnd, CallResult, ClassFact, CreateIntent, DeletionFact, DriverFact, IntendedCall, MachineFact,
    MachineNames, MachineSettings, MachineView, NodeFact, NodePresence, OperationFact, PreservationFact,
    SecretFact, TargetFact,
};
use crate::safety::meltdown;
use crate::scheduling::gate::Gate;
use crate::value::id::ObjectKey;
use crate::value::phase::{OperationState, OperationType, Phase};

use super::seconds;

pub(super) const CREATION_TIMEOUT_SECONDS: i64 = 1_200;
pub(super) const HEALTH_TIMEOUT_SECONDS: i64 = 600;
pub(super) const WINDOW_SECONDS: i64 = 8;

static NAMES: MachineNames = MachineNames {
    cluster_mark: "cluster-mark",
    node: "node",
    join_duration: "join-duration",
    token_until: "token-until",
    preserve: "preserve",
    node_preserve_applied: "node-preserve-heeded",
    scale_down_disabled: "ca-off",
    scale_down_disabled_by_us: "ca-off-by-us",
    preserved_taint: "preserved",
    candidate_for_update: "candidate",
    selected_for_update: "selected",
    update_result: "result",
    update_failed_reason: "why",
};

/// A Secret that the class may not use.
pub(super) fn refused_secret() -> SecretFact {
    let why = WhyRefused::Type("kubernetes.io/service-account-token".into());
    SecretFact::Refused(SecretRefusal { secret: ObjectKey::new("garden", "default-token"), why })
}

pub(crate) fn view() -> MachineView {
    MachineView {
        machine: machine(),
        class: ClassFact::Ready("worker".into()),
        secret: SecretFact::Ready,
        driver: DriverFact::Ready(DriverFacts {
            plugin: "sim".into(),
            capabilities: Capabilities {
                status: true,
                initialize: false,
                listing: true,
                volume_ids: true,
                idempotency_key: true,
                reboot: true,
                delete_by_id: false,
                node_id: false,
                placement: false,
                interruption: false,
                capacity: false,
            },
            consistency_window: SignedDuration::from_secs(WINDOW_SECONDS),
        }),
        target: TargetFact::Cluster(NodePresence::Absent),
        drain: crate::drain::DrainFacts {
            attachments: Some(Vec::new()),
            ..crate::drain::DrainFacts::default()
        },
        conflict: OwnershipConflict::default(),
        marks: Marks { own: "here".into(), of_machine: Some("here".into()), of_class: None },
        policies: PoliciesFact::default(),
        gate: Gate::Open,
        thawed_at: None,
        watched_since: None,
        vm_check: None,
        settings: MachineSettings {
            creation_timeout: SignedDuration::from_secs(CREATION_TIMEOUT_SECONDS),
            health_timeout: Some(SignedDuration::from_secs(HEALTH_TIMEOUT_SECONDS)),
            must_be_false: vec!["DiskPressure".into()],
            resource_exhausted_retry: SignedDuration::from_mins(7),
            drain_timeout: SignedDuration::from_hours(2),
            max_evict_retries: 360,
            parallel_volume_evictions: 1,
            volume_detach_timeout: SignedDuration::from_mins(2),
            volume_reattach_timeout: SignedDuration::from_secs(90),
            in_place_update_timeout: SignedDuration::from_mins(20),
            preserve_timeout: SignedDuration::from_hours(96),
            deletion_hook_timeout: SignedDuration::from_hours(1),
            replacement_limit: meltdown::ReplacementLimit::ONE,
            bad_replacement_limit: None,
        },
        failures: 0,
        account_answers: false,
        virtual_capacity: Quantities::new(),
        names: &NAMES,
    }
}

fn machine() -> MachineFact {
    MachineFact {
        key: ObjectKey::new("garden", "m-1"),
        uid: "uid-1".into(),
        created: seconds(0),
        deletion: None,
        has_finalizer: false,
        has_priority: false,
        is_unstarted: false,
        create_intent: None,
        provider_id: None,
        node_name: None,
        phase: Phase::New,
        phase_since: None,
        operation: None,
        last_known_state: None,
        conditions: Vec::new(),
        addresses: Vec::new(),
        template: NodeMeta { labels: [("role".into(), "worker".into())].into(), ..NodeMeta::default() },
        own_node_labels: [("machine-name".into(), "m-1".into())].into(),
        invalid: None,
        validation_problems: Vec::new(),
        problems_reported: false,
        preservation: PreservationFact::default(),
        has_join_duration: false,
        // Long enough for all of these tests.
        token_until: Some(seconds(100_000)),
        in_place_copied: None,
        health_problem: HealthProblem::default(),
        deletion_facts: DeletionFact::default(),
    }
}

pub(super) fn capabilities(change: impl FnOnce(&mut Capabilities)) -> impl FnOnce(&mut MachineView) {
    |view| match &mut view.driver {
        DriverFact::Ready(driver) => change(&mut driver.capabilities),
        DriverFact::NotChosen | DriverFact::Refused(_) | DriverFact::Substitute { .. } => {
            panic!("there is no driver")
        }
    }
}

pub(super) fn window(length: SignedDuration) -> impl FnOnce(&mut MachineView) {
    move |view| match &mut view.driver {
        DriverFact::Ready(driver) => driver.consistency_window = length,
        DriverFact::NotChosen | DriverFact::Refused(_) | DriverFact::Substitute { .. } => {
            panic!("there is no driver")
        }
    }
}

/// The version that the class pins is gone, and another one serves.
pub(super) fn substitute(view: &mut MachineView) {
    let DriverFact::Ready(serving) = view.driver.clone() else { panic!("there is no driver") };
    view.driver = DriverFact::Substitute { serving, why: "the pinned one is not loaded".into() };
}

pub(super) fn make_pending(view: &mut MachineView) {
    let machine = &mut view.machine;
    machine.provider_id = Some("sim://1".into());
    machine.node_name = Some("node-1".into());
    machine.phase = Phase::Pending;
    machine.phase_since = Some(seconds(5));
    machine.operation = operation("Create", "Processing");
}

pub(super) fn make_running(view: &mut MachineView) {
    let machine = &mut view.machine;
    machine.phase = Phase::Running;
    machine.phase_since = Some(seconds(60));
    machine.operation = operation("Create", "Successful");
    machine.conditions = conditions("Ready=True DiskPressure=False");
}

pub(super) fn make_unknown(view: &mut MachineView) {
    let machine = &mut view.machine;
    machine.phase = Phase::Unknown;
    machine.phase_since = Some(seconds(100));
    machine.operation = operation("HealthCheck", "Processing");
    machine.conditions = conditions("Ready=False DiskPressure=False");
}

pub(super) fn make_terminating(view: &mut MachineView) {
    let machine = &mut view.machine;
    machine.deletion = Some(seconds(99));
    machine.phase = Phase::Terminating;
    machine.phase_since = Some(seconds(100));
    machine.operation = operation("Delete", "Processing");
}

pub(super) fn operation(kind: &str, state: &str) -> Option<OperationFact> {
    let kind = OperationType::parse(kind).unwrap();
    let state = OperationState::parse(state).unwrap();
    Some(OperationFact { kind, state })
}

/// Conditions as `Ready=True DiskPressure=False`.
pub(super) fn conditions(text: &str) -> Vec<NodeConditionFact> {
    let fact = |text: &str| {
        let (kind, status) = text.split_once('=').unwrap();
        NodeConditionFact { kind: kind.to_owned(), status: ConditionStatus::parse(status) }
    };
    text.split_whitespace().map(fact).collect()
}

pub(crate) fn vm() -> Vm {
    Vm {
        provider_id: "sim://1".into(),
        node_name: "node-1".into(),
        state: VmState::Running,
        addresses: vec![Address { kind: "InternalIP".into(), address: "10.0.0.1".into() }],
        failure_domain: Some("zone-a".into()),
        conditions: Vec::new(),
        last_known_state: None,
    }
}

pub(crate) fn vm_that_is(state: VmState) -> Vm {
    Vm { state, ..vm() }
}

/// A healthy Node that carries all that it should.
pub(super) fn node() -> NodeFact {
    let template = machine().template;
    let mut meta = template.clone();
    meta.labels.insert("machine-name".into(), "m-1".into());
    NodeFact {
        name: "node-1".into(),
        uid: "node-uid-1".into(),
        created: Some(seconds(48)),
        is_deleting: false,
        meta,
        conditions: conditions("Ready=True DiskPressure=False"),
        health_problem: HealthProblem::default(),
        is_cordoned: false,
        ready_since: Some(seconds(50)),
        last_applied: Some(template),
        has_critical_taint: false,
        has_finalizer: true,
        in_place: None,
        preserved: None,
        capacity: Quantities::new(),
        last_applied_capacity: None,
    }
}

/// A healthy Node as its kubelet has registered it.
pub(super) fn fresh_node() -> NodeFact {
    NodeFact { meta: NodeMeta::default(), last_applied: None, has_finalizer: false, ..node() }
}

/// A Node whose Machine is going: cordoned, and it says so.
pub(super) fn going_node() -> NodeFact {
    NodeFact {
        is_cordoned: true,
        conditions: conditions("Ready=True DiskPressure=False Terminating=True"),
        ..node()
    }
}

pub(super) fn unhealthy_node() -> NodeFact {
    NodeFact { conditions: conditions("Ready=False DiskPressure=False"), ready_since: None, ..node() }
}

pub(super) fn critical_node() -> NodeFact {
    NodeFact { has_critical_taint: true, ..node() }
}

pub(super) fn taint(key: &str) -> TaintFact {
    TaintFact { key: key.into(), value: String::new(), effect: "NoSchedule".into(), time_added: None }
}

pub(crate) fn guest(code: Code) -> CallError {
    CallError::Guest(DriverError::new(code, "so it is"))
}

/// A machine that exists and misses a step, named or not.
pub(super) fn uninitialized(is_named: bool) -> CallError {
    CallError::Guest(DriverError {
        provider_id: is_named.then(|| "sim://1".into()),
        node_name: is_named.then(|| "node-1".into()),
        ..DriverError::new(Code::Uninitialized, "not done yet")
    })
}

pub(super) fn broken() -> CallError {
    GuestFailure::Limit { limit: Limit::Deadline, detail: "5m".into() }.into()
}

/// A create that another process noted, whose calls had ended at this second, which was just before.
pub(super) fn intent(second: i64) -> CreateIntent {
    intent_of(IntendedCall::OfPredecessor(ended(second, 1)))
}

/// A create that this process made, and whose failure came at this second, `age` seconds ago.
pub(super) fn failed_intent(second: i64, age: i64, error: CallError) -> CreateIntent {
    intent_of(IntendedCall::Made(ended(second, age), CallResult::Failed(error)))
}

pub(super) fn intent_of(call: IntendedCall) -> CreateIntent {
    CreateIntent { begun: seconds(1), call }
}

pub(super) fn ended(second: i64, age: i64) -> CallEnd {
    CallEnd { at: seconds(second), age: SignedDuration::from_secs(age) }
}

/// An error that may have made a VM.
pub(super) fn unclear(code: Code) -> CallError {
    CallError::Guest(DriverError { may_have_happened: true, ..DriverError::new(code, "so it is") })
}

pub(super) fn refused() -> CallError {
    CallError::Refused(Refusal::NotReady { plugin: "sim".into(), state: "Rejected".into() })
}

pub(super) fn in_progress(ask_again: SignedDuration) -> InProgress {
    InProgress { resume_token: "job-7".into(), ask_again, message: "the cloud is cloning a disk".into() }
}
