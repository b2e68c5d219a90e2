//! The order of deletion.

use crate::machine_set::ChildFact;
use crate::value::phase::Phase;

use crate::machine_set::tests::facts::child;
use crate::machine_set::tests::{seconds, set};

/// Of two Machines, the one that goes.
fn goes(first: ChildFact, second: ChildFact) -> String {
    let there = set(1, [first.clone(), second.clone()]).deleted();
    let back = set(1, [second, first]).deleted();
    assert_eq!(there, back, "the order of facts does not matter");
    there.concat()
}

#[test]
fn each_rule_outweighs_those_after_it() {
    let marked = |ordinal, second| child(ordinal).with(|machine| machine.marked_at = Some(seconds(second)));
    let urgent = |ordinal, priority| child(ordinal).with(|machine| machine.priority = priority);
    // Kept ones go last, those that a controller keeps before those that somebody asked for.
    assert_eq!(goes(child(0).kept(2_000), child(1)), "m1");
    assert_eq!(goes(child(0).kept(500), child(1)), "m0");
    let auto = child(1).kept(3_000).request("auto-preserved");
    assert_eq!(goes(child(0).kept(2_000).request("now"), auto), "m1");
    assert_eq!(goes(child(0).kept(3_000), child(1).kept(2_000)), "m1");
    // A smaller number goes first; a Machine without one has 3.
    assert_eq!(goes(child(0), urgent(1, 2)), "m1");
    assert_eq!(goes(child(0), urgent(1, 4)), "m0");
    assert_eq!(goes(urgent(0, -1), urgent(1, 0)), "m0");
    // A mark, then an earlier mark.
    assert_eq!(goes(child(0), marked(1, 10)), "m1");
    assert_eq!(goes(marked(0, 11), marked(1, 10)), "m1");
    assert_eq!(goes(marked(0, 11), child(1).phase(Phase::Pending)), "m0");
    // The phase, then the age, then the name.
    assert_eq!(goes(child(0), child(1).phase(Phase::Pending)), "m1");
    assert_eq!(goes(child(0), child(1)), "m0");
    assert_eq!(goes(child(0), child(1).with(|machine| machine.created = seconds(0))), "m0");
}

#[test]
fn the_less_a_machine_does_the_sooner_it_goes() {
    let phases = [
        Phase::New,
        Phase::CrashLoopBackOff,
        Phase::Unknown,
        Phase::Pending,
        Phase::Available,
        Phase::Running,
    ];
    for pair in phases.windows(2) {
        let (less, more) = (pair[0], pair[1]);
        assert_eq!(goes(child(0).phase(more), child(1).phase(less)), "m1", "{less:?} {more:?}");
    }
}
