//! Several Machines and one VM or one Node.

use expect_test::expect;

use crate::machine::node::health::HealthProblem;
use crate::machine::ownership::conflict::{NamingMachine, NodeOwner, NodeOwnership, is_anothers, owner_of};
use crate::machine::{
    MachineEffect, MachineOutcome, MachineProgress, MachineStep, NodePresence, TargetFact, invariants,
    invariants::MachineViolation, step,
};
use crate::value::id::ObjectKey;
use crate::value::phase::Phase;

use crate::machine::tests::facts::{going_node, vm};
use crate::machine::tests::{Case, check, deleting, running, seconds, unknown};

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("garden", name)
}

fn on_its_vm(case: Case, others: &[&str]) -> Case {
    case.with(|view| view.conflict.vm_users = others.iter().map(|name| key(name)).collect())
}

fn ends(case: &Case) -> (String, Vec<(String, String)>) {
    let MachineStep::Finish(conclusion) = step(&case.view, &MachineProgress::default(), case.now) else {
        panic!("it acts");
    };
    let reported = conclusion.status.conditions.iter();
    let reported = reported.map(|reported| (reported.reason.to_owned(), reported.message.clone())).collect();
    (conclusion.reason.as_str().to_owned(), reported)
}

#[test]
fn of_all_that_claim_a_node_at_most_one_owns_it_and_one_that_is_proven_or_marked_does() {
    let ids = [None, Some("aws:///eu-1/i-1"), Some("aws:///eu-1a/i-1"), Some("aws:///eu-1/i-2")];
    let names = ["a", "b", "c"];
    for of_node in ids {
        for mark in [None, Some("a"), Some("b"), Some("gone")] {
            for code in 0..ids.len().pow(3) * 8 {
                let naming_machines: Vec<NamingMachine> = names
                    .iter()
                    .enumerate()
                    .map(|(at, name)| NamingMachine {
                        key: key(name),
                        created: seconds(0),
                        provider_id: ids[code / 8 / ids.len().pow(at as u32) % ids.len()].map(Into::into),
                        is_deleting: code & (1 << at) != 0,
                        has_joined: false,
                    })
                    .collect();
                let node =
                    NodeOwnership { provider_id: of_node.map(Into::into), mark: mark.map(str::to_owned) };
                let owners: Vec<&NamingMachine> = naming_machines
                    .iter()
                    .filter(|own| {
                        let others: Vec<NamingMachine> =
                            naming_machines.iter().filter(|other| other != own).cloned().collect();
                        matches!(owner_of(&node, own, &others), NodeOwner::Own(_))
                    })
                    .collect();
                assert!(owners.len() <= 1, "{node:?} {naming_machines:?}: {owners:?}");
                let vm = |id: Option<&str>| id.map(|id| id.rsplit('/').next().unwrap().to_owned());
                let is_proven = |one: &NamingMachine| {
                    of_node.is_some()
                        && vm(one.provider_id.as_ref().map(crate::value::id::ProviderId::as_str))
                            == vm(of_node)
                };
                let proven: Vec<&NamingMachine> =
                    naming_machines.iter().filter(|one| is_proven(one)).collect();
                if let [only] = proven.as_slice() {
                    assert_eq!(owners, [*only], "{node:?}");
                }
                if proven.len() > 1
                    && let Some(marked) = proven.iter().find(|one| mark == Some(one.key.name.as_str()))
                {
                    assert_eq!(owners, [*marked], "{node:?}");
                }
                if naming_machines.iter().all(|one| one.is_deleting && is_proven(one)) {
                    assert_eq!(owners.len(), 1, "somebody empties the Node: {node:?}");
                }
            }
        }
    }
}

#[test]
fn a_node_is_foreign_only_to_who_has_another_vm_for_certain() {
    let reported = |of_node: &str, own: &str, mark: Option<&str>| {
        let naming_machine = |name: &str, id: &str| NamingMachine {
            key: key(name),
            created: seconds(0),
            provider_id: Some(id.into()),
            is_deleting: false,
            has_joined: false,
        };
        let node = NodeOwnership { provider_id: Some(of_node.into()), mark: mark.map(str::to_owned) };
        match owner_of(&node, &naming_machine("a", own), &[naming_machine("b", "hcloud:///fsn1/7")]) {
            NodeOwner::Foreign(vm) => format!("that of {vm}"),
            NodeOwner::Contested(_) => "contested".to_owned(),
            NodeOwner::Own(others) => format!("its own, beside {}", others.len()),
        }
    };
    assert_eq!(reported("hcloud://4711", "hcloud:///fsn1/4711", None), "its own, beside 0");
    assert_eq!(reported("hcloud://4711", "hcloud:///fsn1/4712", None), "that of hcloud://4711");
    assert_eq!(reported("hcloud://4711", "hcloud:///fsn1/4712", Some("a")), "that of hcloud://4711");
    assert_eq!(reported("hrobot://4711", "hcloud:///fsn1/4712", None), "contested", "by label both name it");
    assert_eq!(reported("hrobot://4711", "hcloud:///fsn1/4712", Some("a")), "its own, beside 1");
    assert_eq!(reported("hcloud://7", "hrobot://4711", Some("a")), "contested", "it is proven to be of b");
}

#[test]
fn a_node_that_names_a_machine_which_claims_nothing_is_nobodys_but_that_machines() {
    let own = |has_joined| NamingMachine {
        key: key("a"),
        created: seconds(0),
        provider_id: Some("aws:///eu-1/i-1".into()),
        is_deleting: false,
        has_joined,
    };
    let reported = |of_node: Option<&str>, mark: Option<&str>, has_joined: bool| {
        let node = NodeOwnership { provider_id: of_node.map(Into::into), mark: mark.map(str::to_owned) };
        let whose = match owner_of(&node, &own(has_joined), &[]) {
            NodeOwner::Foreign(_) => "foreign",
            NodeOwner::Contested(keys) if keys == [key("gone")] => "that of gone",
            NodeOwner::Contested(_) => "contested",
            NodeOwner::Own(_) => "own",
        };
        (whose, is_anothers(&node, &own(has_joined), &[]))
    };
    for (of_node, mark, has_joined, expected) in [
        (None, None, false, ("own", false)),
        (None, Some("a"), false, ("own", false)),
        (None, Some("gone"), false, ("that of gone", true)),
        // Its label was changed, and it is written again.
        (None, Some("gone"), true, ("own", false)),
        (Some("hrobot://7"), Some("gone"), false, ("that of gone", true)),
        (Some("aws:///eu-1a/i-1"), Some("gone"), false, ("own", false)),
        (Some("aws:///eu-1a/i-2"), Some("gone"), false, ("foreign", true)),
        (Some("aws:///eu-1a/i-2"), None, true, ("foreign", true)),
        // It contradicts itself.
        (Some("aws:///eu-1a/i-2"), Some("a"), false, ("foreign", false)),
    ] {
        assert_eq!(reported(of_node, mark, has_joined), expected, "{of_node:?} {mark:?} {has_joined}");
    }
}

#[test]
fn a_vm_that_another_machine_lives_on_is_not_removed_and_says_what_to_do() {
    let case = on_its_vm(deleting(), &["m-2"]);
    let (reason, reported) = ends(&case);
    assert_eq!(reason, "VmContested");
    let (_, message) = &reported[0];
    assert!(message.contains("Machine m-2") && message.contains("take spec.providerID off"), "{message}");
    let forced = case.with(|view| view.machine.deletion_facts.is_forced = true);
    assert_eq!(ends(&forced).0, "VmContested", "by force neither");
}

#[test]
fn a_deletion_that_just_begins_says_so_and_is_held() {
    let case = on_its_vm(deleting().with(|view| view.machine.phase = Phase::Running), &["m-2"]);
    let MachineStep::Finish(conclusion) = step(&case.view, &MachineProgress::default(), case.now) else {
        panic!("it acts")
    };
    assert_eq!(conclusion.status.phase, Some(Phase::Terminating));
    assert_eq!(conclusion.reason.as_str(), "VmContested");
}

#[test]
fn of_two_that_go_the_owner_of_the_node_empties_it_and_the_other_waits() {
    let leaving = |case: Case| case.with(|view| view.conflict.vm_users_in_deletion = vec![key("m-2")]);
    let owner = leaving(deleting());
    assert!(
        matches!(step(&owner.view, &MachineProgress::default(), owner.now), MachineStep::Act(_)),
        "the owner goes on"
    );
    let contested = TargetFact::Cluster(NodePresence::Contested(vec![key("m-2")]));
    let other = leaving(deleting()).with(|view| view.target = contested);
    let (reason, reported) = ends(&other);
    assert!(reason == "VmContested" && reported[0].1.contains("once its Node is drained"), "{reported:?}");
}

#[test]
fn a_machine_whose_vm_is_claimed_runs_on_and_both_say_so() {
    let (reason, reported) = ends(&on_its_vm(running(), &["m-2", "m-3"]));
    assert_eq!(reason, "NodeHealthy");
    let (_, message) = reported.iter().find(|(reason, _)| reason == "VmContested").unwrap();
    assert!(message.contains("Machines m-2, m-3"), "{message}");
    let on_node = running().with(|view| view.conflict.of_node = vec![key("m-2")]);
    assert!(ends(&on_node).1.iter().any(|(reason, _)| reason == "NodeContested"));
    let over = running().with(|view| view.conflict.is_reported = true);
    assert!(ends(&over).1.iter().any(|(reason, _)| reason == "NotContested"));
    assert!(!ends(&running()).1.iter().any(|(reason, _)| reason.ends_with("Contested")));
}

#[test]
fn a_machine_whose_vm_is_claimed_does_not_fail() {
    let case = on_its_vm(unknown().at(100_000), &["m-2"]);
    check(
        &case,
        &expect![[r#"
            act ask-permit 1
            VmContested: VM sim://1 is that of Machine m-2 as well, so that nobody removes, empties or fails it: take spec.providerID off the Machine whose VM it is not, and delete that Machine
            status: Contested=True VmContested (VM sim://1 is that of Machine m-2 as well, so that nobody removes, empties or fails it: take spec.providerID off the Machine whose VM it is not, and delete that Machine)
            again at the next resync
        "#]],
    );
}

#[test]
fn invariants_name_what_is_done_to_a_vm_of_others() {
    let going = on_its_vm(deleting(), &["m-2"]);
    let living = on_its_vm(running(), &["m-2"]);
    for (case, effect) in [
        (&going, MachineEffect::DeleteVm),
        (&going, MachineEffect::ReleaseFinalizer),
        (&going, MachineEffect::DeleteNode { node: "node-1".into(), uid: "node-uid-1".into() }),
        (&going, MachineEffect::Cordon { node: "node-1".into() }),
        (&living, MachineEffect::RebootVm),
        (&living, MachineEffect::DeleteMachine),
    ] {
        let verdict = invariants::batch(
            &case.view,
            &MachineProgress::default(),
            std::slice::from_ref(&effect),
            case.now,
        );
        assert_eq!(verdict, Err(MachineViolation::Contested), "{effect:?}");
    }
}

#[test]
fn a_label_that_was_taken_off_is_put_back_from_the_node() {
    check(
        &running().with(|view| view.machine.node_name = None),
        &expect![[r#"
            act write-machine node=node-1
            NodeHealthy: the Node is healthy
            status: Healthy=True NodeHealthy (the Node is healthy)
            again at the next resync
        "#]],
    );
}

#[test]
fn a_label_that_was_taken_off_is_put_back_by_the_drivers_word() {
    let lost = running().with(|view| view.machine.node_name = None).without_node();
    check(
        &lost.clone().on(MachineOutcome::ProbeVm(Ok(vm()))),
        &expect![[r#"
            act probe-vm
            act record-vm sim://1 node-1
            NodeMissing: label node is stored again, by the driver's word
            again at once
        "#]],
    );
    let other = crate::driver::Vm { provider_id: "sim://other".into(), ..vm() };
    check(
        &lost.on(MachineOutcome::ProbeVm(Ok(other))),
        &expect![[r#"
            act probe-vm
            NodeMissing: Node (no name yet) is gone
            status: phase Unknown, timer on, HealthCheck Processing NodeMissing, Healthy=False NodeMissing (Node (no name yet) is not there, since 1971-01-01T00:00:01Z; the Machine fails at 1971-01-01T00:10:01Z unless it recovers)
            again at once
        "#]],
    );
}

#[test]
fn an_invalid_setting_is_reported_while_it_is_there_and_taken_back() {
    let invalid =
        running().with(|view| view.machine.validation_problems = vec!["spec.maxEvictRetries is odd".into()]);
    let (_, reported) = ends(&invalid);
    let (_, message) = reported.iter().find(|(reason, _)| reason == "NotUnderstood").unwrap();
    assert!(message.contains("maxEvictRetries is odd: fix it"), "{message}");
    let fixed = running().with(|view| view.machine.problems_reported = true);
    assert!(ends(&fixed).1.iter().any(|(reason, _)| reason == "Understood"));
}

/// Whether the first thing that the drain of this Node does is by force.
fn is_forced(watched: Option<i64>, reported: Option<(Phase, i64)>, now: i64) -> bool {
    let health_problem = HealthProblem { not_ready_since: Some(seconds(0)), read_only_since: None };
    let node = crate::machine::NodeFact { health_problem, ..going_node() };
    let case = deleting().node(node).at(now).with(|view| {
        view.watched_since = watched.map(seconds);
        if let Some((phase, since)) = reported {
            view.machine.health_problem = health_problem;
            view.machine.phase = phase;
            view.machine.phase_since = Some(seconds(since));
        }
    });
    crate::machine::delete::force::of_deletion(&case.view, case.now).is_some()
}

#[test]
fn a_process_that_has_just_started_gives_nodes_time_to_report_unless_their_machines_prove_otherwise() {
    assert!(is_forced(None, None, 301), "seen all the time");
    assert!(!is_forced(Some(1_000), None, 1_300), "for ten minutes, and nobody looked");
    assert!(is_forced(Some(1_000), None, 1_301));
    assert!(is_forced(Some(1_000), Some((Phase::Terminating, 100)), 1_001), "an earlier process has seen it");
    assert!(!is_forced(Some(1_000), Some((Phase::Terminating, 900)), 1_001));
    assert!(!is_forced(Some(1_000), Some((Phase::Running, 100)), 1_001), "it was well when it was seen last");
}
