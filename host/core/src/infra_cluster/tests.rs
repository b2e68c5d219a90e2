//! Reconciles of an infrastructure cluster, by facts and outcomes.

use super::*;

fn owned() -> InfraClusterView {
    InfraClusterView {
        paused: None,
        is_managed_elsewhere: false,
        has_owner: true,
        has_finalizer: false,
        is_deleting: false,
        machines: Vec::new(),
    }
}

fn end(view: &InfraClusterView, progress: &InfraClusterProgress) -> InfraClusterReason {
    match step(view, progress) {
        Step::Finish(conclusion) => conclusion.reason,
        Step::Act(effects) => panic!("{effects:?}"),
    }
}

fn acts(view: &InfraClusterView, progress: &InfraClusterProgress) -> Vec<InfraClusterEffect> {
    match step(view, progress) {
        Step::Act(effects) => effects,
        Step::Finish(conclusion) => panic!("{conclusion:?}"),
    }
}

#[test]
fn it_is_provided_with_its_finalizer_once_a_cluster_owns_it() {
    let mut view = owned();
    let nothing = InfraClusterProgress::default();
    assert_eq!(acts(&view, &nothing), [InfraClusterEffect::AddFinalizer]);
    let added = InfraClusterProgress { added: Some(Ok(())), ..nothing.clone() };
    assert_eq!(end(&view, &added), InfraClusterReason::Provisioned);
    view.has_finalizer = true;
    assert_eq!(end(&view, &nothing), InfraClusterReason::Provisioned);
    view = InfraClusterView { has_owner: false, ..owned() };
    assert_eq!(end(&view, &nothing), InfraClusterReason::WaitingForCluster);
}

#[test]
fn it_stays_until_none_of_its_machines_is_left() {
    let nothing = InfraClusterProgress::default();
    let mut view = InfraClusterView {
        is_deleting: true,
        has_finalizer: true,
        machines: vec!["m".to_owned()],
        ..owned()
    };
    assert_eq!(end(&view, &nothing), InfraClusterReason::WaitingForMachines);
    view.machines.clear();
    assert_eq!(acts(&view, &nothing), [InfraClusterEffect::ReleaseFinalizer]);
    let released = InfraClusterProgress { released: Some(Ok(())), ..nothing.clone() };
    assert_eq!(end(&view, &released), InfraClusterReason::Deleted);
    let refused = InfraClusterProgress { released: Some(Err(ActError::Conflict)), ..nothing };
    assert_eq!(end(&view, &refused), InfraClusterReason::WriteFailed);
}

/// A copy that `clusterctl move` deletes must not be changed, and one that others provide never.
#[test]
fn nothing_is_done_while_it_is_paused_or_managed_elsewhere() {
    let nothing = InfraClusterProgress::default();
    let causes = [PauseCause::Cluster("c".into()), PauseCause::Annotation("paused"), PauseCause::Moved];
    for (cause, is_deleting) in causes.into_iter().flat_map(|cause| [(cause.clone(), false), (cause, true)]) {
        let view = InfraClusterView { paused: Some(cause), is_deleting, has_finalizer: true, ..owned() };
        assert_eq!(end(&view, &nothing), InfraClusterReason::Paused);
    }
    let view = InfraClusterView { is_managed_elsewhere: true, is_deleting: true, ..owned() };
    assert_eq!(end(&view, &nothing), InfraClusterReason::ManagedElsewhere);
}
