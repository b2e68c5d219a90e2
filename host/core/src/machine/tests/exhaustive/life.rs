//! Every combination of what beside health is asked of a Machine with a Node.

use crate::machine::tests::facts::{critical_node, fresh_node};
use crate::machine::{NodeConditionText, in_place, preserve};

use super::*;

/// The outcomes that decisions tell apart here: a write is done, or it is not.
fn world() -> Cluster {
    let mut world = Cluster::new(Depth::Kinds);
    for effect in
        ["sync-node", "write-machine", "set-node-condition", "cordon", "write-capacity", "extend-token"]
    {
        let outcomes = world.outcomes.get_mut(effect).unwrap();
        outcomes.truncate(2);
    }
    world
        .outcomes
        .insert("probe-vm", [Ok(vm()), Err(guest(Code::NotFound))].map(MachineOutcome::ProbeVm).to_vec());
    world
}

fn explored(cases: impl IntoIterator<Item = Case>, world: &Cluster) -> Seen {
    let mut seen = Seen::default();
    for case in cases {
        Search { case: &case, world, seen: &mut seen }.pass(&MachineProgress::default(), 0);
    }
    seen
}

fn on_node(cases: &[Case], nodes: &[NodeFact]) -> Vec<Case> {
    each(cases, nodes, |case, node| *case = case.clone().node(node))
}

fn change_node(case: &mut Case, change: impl FnOnce(&mut NodeFact)) {
    if let TargetFact::Cluster(NodePresence::Present(node)) = &mut case.view.target {
        change(node);
    }
}

fn text(reason: &str) -> NodeConditionText {
    let (reason, message) = (reason.to_owned(), "so it is".to_owned());
    NodeConditionText {
        status: crate::machine::node::health::ConditionStatus::True,
        reason,
        message,
        since: Some(seconds(7)),
    }
}

fn lived() -> Vec<Case> {
    phases(&[creating().with(facts::make_pending)])
}

#[test]
fn updates_in_place_are_sound_in_every_situation() {
    use in_place::words;
    let cases = gates(&times(&on_node(&lived(), &[node(), unhealthy_node()])));
    let reported = [
        None,
        Some("Nonsense"),
        Some(words::CANDIDATE),
        Some(words::SELECTED),
        Some(words::DRAINED),
        Some(words::READY),
        Some(words::SUCCESSFUL),
        Some(words::FAILED),
    ];
    let cases = each(&cases, &reported, |case, reported| {
        change_node(case, |node| node.in_place = reported.map(text));
    });
    let labelled = |cases: &[Case], name: &'static str, values: &[Option<&'static str>]| {
        each(cases, values, |case, value| {
            change_node(case, |node| {
                drop(value.map(|value| node.meta.labels.insert(name.into(), value.into())));
            });
        })
    };
    let cases = labelled(&cases, "candidate", &[None, Some("true")]);
    let cases = labelled(&cases, "selected", &[None, Some("true")]);
    let cases = labelled(&cases, "result", &[None, Some("successful"), Some("failed"), Some("what")]);
    let seen = explored(cases, &world());
    let has = |reason| seen.reasons.get(&reason).copied().unwrap_or_default() > 10;
    assert!(
        has(MachineReason::UpdatingInPlace)
            && has(MachineReason::UpdatedInPlace)
            && has(MachineReason::InPlaceUpdateFailed),
        "{seen:?}"
    );
}

#[test]
fn preservation_is_sound_in_every_situation() {
    let phases = [Phase::Pending, Phase::Running, Phase::Unknown, Phase::Failed, Phase::InPlaceUpdateFailed];
    let cases = each_view(&[creating().with(facts::make_pending).at(700)], &phases, |view, phase| {
        view.machine.phase = phase;
        view.machine.phase_since = Some(seconds(5));
    });
    let wishes =
        [None, Some("now"), Some("when-failed"), Some("auto-preserved"), Some("false"), Some("what")];
    let cases = each_view(&cases, &wishes, |view, request| {
        view.machine.preservation.request = request.map(str::to_owned);
    });
    let cases = each_view(&cases, &[None, Some(seconds(100)), Some(seconds(9_000))], |view, until| {
        view.machine.preservation.until = until;
    });
    let cases = each_view(&cases, &[None, Some("now")], |view, applied| {
        view.machine.preservation.applied_node_request = applied.map(str::to_owned);
    });
    let cases =
        each_view(&cases, &BOTH, |view, is_drained| view.machine.preservation.is_drained = is_drained);
    let cases = gates(&cases);
    let without = each(&cases, &BOTH, |case, has_target| {
        *case = if has_target { case.clone().without_node() } else { case.clone().without_target() };
    });
    let cases = on_node(&cases, &[node(), unhealthy_node()]);
    let cases = each(&cases, &wishes, |case, request| {
        change_node(case, |node| {
            drop(request.map(|request| node.meta.annotations.insert("preserve".into(), request.into())));
        });
    });
    let cases = each(&cases, &[None, Some(preserve::words::BY_USER)], |case, reported| {
        change_node(case, |node| node.preserved = reported.map(text));
    });
    let mut seen = explored(cases, &world());
    let bare = explored(without, &world());
    seen.passes += bare.passes;
    assert!(seen.passes > 10_000 && seen.failures > 100, "{seen:?}");
}

#[test]
fn preservation_during_creation_is_sound_in_every_situation() {
    let cases = gates(&times(&provider_ids(&finalizers(&phases(&[creating()])))));
    let wishes = [None, Some("now"), Some("when-failed"), Some("auto-preserved"), Some("false")];
    let cases = each_view(&cases, &wishes, |view, request| {
        view.machine.preservation.request = request.map(str::to_owned);
    });
    let cases = each_view(&cases, &[None, Some(seconds(5)), Some(seconds(9_000))], |view, until| {
        view.machine.preservation.until = until;
    });
    let seen = explored(cases, &Cluster::new(Depth::Kinds));
    assert!(seen.passes > 10_000 && seen.failures > 100 && seen.creates > 100, "{seen:?}");
}

#[test]
fn capacity_tokens_and_doubtful_nodes_are_sound_in_every_situation() {
    let quantities = |text: Option<&str>| {
        text.map(|value| [("example.com/slots".to_owned(), value.to_owned())].into()).unwrap_or_default()
    };
    let values = [None, Some("1"), Some("2")];
    let cases = gates(&times(&on_node(&lived(), &[node(), fresh_node(), critical_node()])));
    let cases = each_view(&cases, &values, |view, wanted| view.virtual_capacity = quantities(wanted));
    let cases = each(&cases, &values, |case, has| change_node(case, |node| node.capacity = quantities(has)));
    let cases = each(&cases, &values, |case, noted| {
        change_node(case, |node| node.last_applied_capacity = noted.map(|noted| quantities(Some(noted))));
    });
    let cases = each_view(&cases, &[None, Some(seconds(50)), Some(seconds(9_000))], |view, until| {
        view.machine.token_until = until;
    });
    let contested = each_view(&gates(&times(&lived())), &BOTH, |view, is_contested| {
        let rival = crate::value::id::ObjectKey::new("garden", "m-2");
        let presence = if is_contested { NodePresence::Contested(vec![rival]) } else { NodePresence::Absent };
        view.target = TargetFact::Cluster(presence);
        view.thawed_at = Some(seconds(6));
        view.machine.token_until = None;
    });
    let seen = explored(cases.into_iter().chain(contested), &world());
    assert!(seen.passes > 5_000 && seen.reasons.contains_key(&MachineReason::NodeContested), "{seen:?}");
}
