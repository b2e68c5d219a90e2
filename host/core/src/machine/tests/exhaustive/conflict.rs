//! Every combination in which several Machines claim one VM or one Node: the invariants say that nothing is done to
//! either.

use crate::machine::ownership::conflict::NodeNameHolder;
use crate::value::id::ObjectKey;

use super::*;

#[test]
fn claims_of_several_machines_are_sound_in_every_situation() {
    let rival = || vec![ObjectKey::new("garden", "m-2")];
    let cases = each_view(&phases(&[creating().with(facts::make_pending)]), &BOTH, |view, is_going| {
        view.machine.has_finalizer = true;
        view.machine.deletion = is_going.then(|| seconds(4));
        view.machine.deletion_facts.is_forced = is_going;
    });
    let targets = [
        TargetFact::None,
        TargetFact::Cluster(NodePresence::Absent),
        TargetFact::Cluster(NodePresence::Contested(rival())),
        TargetFact::Cluster(NodePresence::Present(node())),
        TargetFact::Cluster(NodePresence::Present(unhealthy_node())),
        TargetFact::Cluster(NodePresence::Present(NodeFact { is_deleting: true, ..fresh_node() })),
    ];
    let cases = each_view(&gates(&times(&cases)), &targets, |view, target| view.target = target);
    let cases = each_view(&cases, &BOTH, |view, lives| {
        view.conflict.vm_users = if lives { rival() } else { Vec::new() };
    });
    let cases = each_view(&cases, &BOTH, |view, leaves| {
        view.conflict.vm_users_in_deletion = if leaves { rival() } else { Vec::new() };
    });
    let cases = each_view(&cases, &BOTH, |view, has_label| {
        view.machine.node_name = has_label.then(|| "node-1".into());
    });
    let cases = orders(&cases);
    let cases = each_view(&cases, &[None, Some(NodeNameHolder::Staying)], |view, taken| {
        view.conflict.name_holder = taken;
    });
    let world = Cluster::new(Depth::Kinds).with_pods().with_a_quiet_cloud();
    let seen = explore_in(&world, cases.clone());
    let held = seen.reasons.get(&MachineReason::VmContested).copied().unwrap_or_default();
    assert!(held > 100 && seen.releases > 100, "{seen:?}");
    let shared = cases.into_iter().filter(|case| !case.view.conflict.vm_users.is_empty());
    let seen = explore_in(&world, shared);
    assert!(seen.releases == 0 && seen.failures == 0 && seen.creates == 0, "{seen:?}");
}
