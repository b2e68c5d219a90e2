//! Deletions of Machines whose Nodes have pods, hooks and volumes.

use jiff::SignedDuration;

use crate::drain::{
    self, AttachmentFact, EvictError, NodeState, PodFact, PodListing, PodOwner, PodPhase, PodRef, VolumeName,
};
use crate::driver::write_error::ActError;
use crate::machine::node::health::HealthProblem;
use crate::machine::{DeletionStage, MachineOutcome, MachineReason, NodeFact};
use crate::value::id::ObjectKey;
use crate::value::phase::Phase;

use super::super::facts::{self, going_node, node};
use super::super::{Case, creating, seconds};
use super::{Cluster, Depth, each, each_view, explore_in};

fn pod(name: &str) -> PodFact {
    PodFact {
        pod: PodRef { key: ObjectKey::new("default", name), uid: name.into() },
        owner: PodOwner::Controller,
        phase: PodPhase::Running,
        is_ready: true,
        ending: None,
        grace: SignedDuration::from_secs(30),
        priority: 0,
        has_local_storage: false,
        claims: Vec::new(),
        budgets: Vec::new(),
    }
}

/// The possible outcomes of each step of a drain.
pub(super) fn outcomes(effect: &drain::DrainEffect) -> Vec<MachineOutcome> {
    let refused = || ActError::Denied { message: "so it is".into() };
    let throttled = || ActError::Throttled { after: Some(SignedDuration::from_secs(3)) };
    let all: Vec<drain::DrainOutcome> = match effect {
        drain::DrainEffect::ListPods { read, .. } => {
            let daemon = PodFact { owner: PodOwner::DaemonSet, ..pod("agent") };
            let looks = [vec![], vec![daemon], vec![pod("web")]];
            let looks = looks.into_iter().map(|pods| Ok(PodListing { read: *read, pods }));
            looks.chain([Err(refused())]).map(drain::DrainOutcome::Pods).collect()
        }
        drain::DrainEffect::Evict(pod) => {
            let results = [
                Ok(()),
                Err(EvictError::Budget { after: None }),
                Err(EvictError::Failed(throttled())),
                Err(EvictError::Failed(refused())),
            ];
            results
                .into_iter()
                .map(|result| drain::DrainOutcome::Evict { pod: pod.clone(), result })
                .collect()
        }
        drain::DrainEffect::DeletePod(pod) => [Ok(()), Err(throttled()), Err(refused())]
            .into_iter()
            .map(|result| drain::DrainOutcome::DeletePod { pod: pod.clone(), result })
            .collect(),
        drain::DrainEffect::DeleteAttachment { name, .. } => [Ok(()), Err(refused())]
            .into_iter()
            .map(|result| drain::DrainOutcome::DeleteAttachment { name: name.clone(), result })
            .collect(),
    };
    all.into_iter().map(MachineOutcome::Drain).collect()
}

/// Not forced, and forced in each way.
fn forces(cases: &[Case]) -> Vec<Case> {
    each(cases, &[0, 1, 2, 3], |case, force| {
        let view = &mut case.view;
        match force {
            0 => {}
            1 => view.machine.deletion_facts.is_forced = true,
            2 => view.settings.drain_timeout = SignedDuration::from_secs(100),
            _ => {
                view.machine.health_problem =
                    HealthProblem { not_ready_since: Some(seconds(-400)), read_only_since: None }
            }
        }
    })
}

/// None, in time and too late, before the drain and before the VM's removal.
fn hooks(cases: &[Case]) -> Vec<Case> {
    each_view(cases, &[0, 1, 2, 3, 4, 5], |view, hooks| {
        let going = &mut view.machine.deletion_facts;
        let hook = || vec!["hook".to_owned()];
        match hooks {
            0 => {}
            1 | 2 => going.pre_drain_hooks = hook(),
            3 => going.pre_terminate_hooks = hook(),
            _ => {
                going.pre_terminate_hooks = hook();
                going.pre_terminate_since = Some(seconds(5));
            }
        }
        if matches!(hooks, 2 | 5) {
            view.settings.deletion_hook_timeout = SignedDuration::from_secs(1);
        }
    })
}

fn stages(cases: &[Case]) -> Vec<Case> {
    let stages = [
        None,
        Some(DeletionStage::Drain),
        Some(DeletionStage::VolumeAttachments),
        Some(DeletionStage::Vm),
        Some(DeletionStage::Finalizer),
    ];
    each_view(cases, &stages, |view, stage| view.machine.deletion_facts.left_at = stage)
}

#[test]
fn a_deletion_with_pods_hooks_and_volumes_is_sound_in_every_situation() {
    let going = creating().with(facts::make_pending).with(|view| {
        view.machine.has_finalizer = true;
        view.machine.deletion = Some(seconds(4));
        view.machine.phase_since = Some(seconds(5));
    });
    let phases = [Phase::Running, Phase::Failed, Phase::CrashLoopBackOff, Phase::Terminating];
    let cases = each_view(&[going.at(200)], &phases, |view, phase| view.machine.phase = phase);
    let cases = hooks(&forces(&stages(&super::orders(&cases))));
    let unhealthy = NodeFact {
        health_problem: HealthProblem { not_ready_since: None, read_only_since: Some(seconds(-400)) },
        ..going_node()
    };
    let cases = super::targets(&cases, &[node(), going_node(), unhealthy]);
    let cases = each_view(&cases, &[None, Some(false), Some(true)], |view, is_attached| {
        let volume = VolumeName::new("pv-1");
        let attachment = AttachmentFact {
            name: "csi-1".into(),
            uid: "csi-uid-1".into(),
            is_here: true,
            volume: Some(volume),
            is_attached: true,
            deletion: None,
        };
        let attached = |is_attached| if is_attached { vec![attachment] } else { Vec::new() };
        view.drain.attachments = is_attached.map(attached);
        view.drain.unlisted_since = is_attached.is_none().then(|| seconds(150));
        view.drain.node = NodeState::default();
    });
    // Another test distinguishes the answers of the cloud.
    let seen = explore_in(&Cluster::new(Depth::Kinds).with_pods().with_a_quiet_cloud(), cases);
    for reason in [
        MachineReason::PreDrainHooks,
        MachineReason::Draining,
        MachineReason::DrainFailed,
        MachineReason::PreTerminateHooks,
    ] {
        assert!(seen.reasons.get(&reason).is_some_and(|count| *count > 100), "{reason:?} {seen:?}");
    }
    assert!(seen.releases > 1_000 && seen.creates == 0, "{seen:?}");
}
