//! Facts to begin with: a deployment of three Machines that all run.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::machine::summary::MachineSummary;
use crate::machine::template::Template;
use crate::machine_deployment::{
    DeploymentFact, DeploymentNames, DeploymentSelectorFact, DeploymentSettings, DeploymentStatus,
    DeploymentView, OwnedMachineFact, OwnedSetFact, RawRolloutBounds, RawStrategy, RolloutNodeFact,
    ScaleDown, SetOwner, SetStatusFact, SpecFact, WindowsFact,
};
use crate::scheduling::gate::Gate;
use crate::value::id::{Name, ObjectKey};
use crate::value::int_or_percent::RawIntOrPercent;
use crate::value::phase::Phase;

pub(in crate::machine_deployment) static NAMES: DeploymentNames = DeploymentNames {
    template_hash: "template-hash",
    revision: "revision",
    revision_history: "revision-history",
    desired_replicas: "desired",
    max_replicas: "max",
    prefer_no_schedule: "prefer-no-schedule",
    trigger_deletion: "trigger",
    replica_change_time: "lowered",
    unfreeze: "unfreeze",
    scale_up_disabled: "scale-up-disabled",
    selected_for_update: "selected",
    disruption: &crate::disruption::requests::NAMES,
    annotations_of_tools: &["last-applied"],
};

pub(in crate::machine_deployment) fn seconds(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

pub(in crate::machine_deployment) fn template(class: &str) -> Template {
    Template {
        labels: BTreeMap::from([("app".into(), "workers".into())]),
        class_name: class.into(),
        class_kind: "MachineClass".into(),
        ..Template::default()
    }
}

pub(in crate::machine_deployment) fn rolling(unavailable: i64, surge: i64) -> RawStrategy {
    RawStrategy {
        kind: Some("RollingUpdate".into()),
        rolling: bounds(unavailable, surge),
        ..RawStrategy::default()
    }
}

pub(in crate::machine_deployment) fn in_place(unavailable: i64, surge: i64, who: &str) -> RawStrategy {
    RawStrategy {
        kind: Some("InPlaceUpdate".into()),
        in_place: bounds(unavailable, surge),
        orchestration: Some(who.into()),
        ..RawStrategy::default()
    }
}

pub(in crate::machine_deployment) fn recreate() -> RawStrategy {
    RawStrategy { kind: Some("Recreate".into()), ..RawStrategy::default() }
}

fn bounds(unavailable: i64, surge: i64) -> Option<RawRolloutBounds> {
    let int = |number| Some(RawIntOrPercent::Int(number));
    Some(RawRolloutBounds { max_unavailable: int(unavailable), max_surge: int(surge) })
}

/// A deployment that nobody has looked at.
pub(in crate::machine_deployment) fn deployment() -> DeploymentFact {
    DeploymentFact {
        key: ObjectKey::new("shoot", "workers"),
        uid: "deployment-1".into(),
        deletion: None,
        leaves_sets: false,
        generation: 1,
        has_finalizer: true,
        is_labelled_frozen: false,
        spec: SpecFact {
            replicas: 3,
            selector: DeploymentSelectorFact::Selects,
            template: template("a"),
            strategy: rolling(0, 1),
            min_ready_seconds: None,
            revision_history_limit: None,
            is_paused: false,
            rollback_to: None,
            progress_deadline_seconds: None,
            auto_preserve_max: None,
            windows: WindowsFact::None,
            problems: Vec::new(),
        },
        annotations: BTreeMap::from([("revision".into(), "1".into())]),
        status: DeploymentStatus::default(),
    }
}

pub(in crate::machine_deployment) fn node(machine: &str) -> RolloutNodeFact {
    RolloutNodeFact {
        name: format!("node-{machine}").as_str().into(),
        has_old_taint: false,
        scale_down: ScaleDown::Allowed,
        is_cordoned: false,
        is_candidate: false,
        is_selected: false,
        update: None,
        stage: None,
    }
}

pub(in crate::machine_deployment) fn machine(name: &str, phase: Phase) -> OwnedMachineFact {
    OwnedMachineFact {
        summary: MachineSummary {
            name: name.into(),
            uid: format!("uid-{name}").as_str().into(),
            created: seconds(10),
            is_deleting: false,
            phase,
            priority: 3,
            marked_at: None,
            is_updated_in_place: false,
            is_unreadable: false,
            preserve_request: None,
            node_preserve_request: None,
            applied_node_request: None,
            preserved_until: None,
        },
        hash: None,
        node: (phase == Phase::Running).then(|| node(name)),
    }
}

/// A set of this class with Machines in these phases, which has noted what it has.
pub(in crate::machine_deployment) fn set(class: &str, created: i64, phases: &[Phase]) -> OwnedSetFact {
    let name = format!("workers-{class}");
    let mut template = template(class);
    let hash = template.hash(NAMES.template_hash, None).to_string();
    template.labels.insert(NAMES.template_hash.into(), hash.clone());
    let machines: Vec<OwnedMachineFact> = phases
        .iter()
        .enumerate()
        .map(|(index, phase)| OwnedMachineFact {
            hash: Some(hash.clone()),
            ..machine(&format!("{class}{index}"), *phase)
        })
        .collect();
    let mut set = OwnedSetFact {
        name: Name::new(&name),
        uid: format!("uid-{name}").as_str().into(),
        created: seconds(created),
        is_deleting: false,
        generation: 1,
        observed_generation: Some(1),
        owner: SetOwner::This,
        is_selected: true,
        wanted: u32::try_from(phases.len()).unwrap(),
        template,
        selected_hash: Some(hash),
        annotations: BTreeMap::from([
            ("revision".into(), created.to_string()),
            ("desired".into(), "3".into()),
            ("max".into(), "4".into()),
        ]),
        is_scale_up_disabled: false,
        is_frozen: false,
        min_ready_seconds: None,
        auto_preserve_max: None,
        status: SetStatusFact::default(),
        machines,
    };
    report(&mut set);
    set
}

/// The status says what there is.
pub(in crate::machine_deployment) fn report(set: &mut OwnedSetFact) {
    let number = |is_such: fn(&OwnedMachineFact) -> bool| {
        u32::try_from(set.machines.iter().filter(|machine| is_such(machine)).count()).unwrap()
    };
    let replicas = number(|_| true);
    let ready = number(|machine| machine.phase == Phase::Running);
    let available = number(|machine| matches!(machine.phase, Phase::Running | Phase::Available));
    set.status = SetStatusFact { replicas, ready, available, ..set.status.clone() };
    set.observed_generation = Some(set.generation);
}

pub(in crate::machine_deployment) fn view(sets: Vec<OwnedSetFact>) -> DeploymentView {
    DeploymentView {
        deployment: deployment(),
        sets,
        unreadable_sets: Vec::new(),
        overlapping: Vec::new(),
        gate: Gate::Open,
        settings: DeploymentSettings { holds_autoscaler: true, has_target: true },
        names: &NAMES,
    }
}
