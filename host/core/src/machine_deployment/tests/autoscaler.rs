//! The contract with the autoscaler: its list of Machines that are to go, and the number that it lowers in the same
//! write.

use expect_test::expect;

use crate::driver::write_error::ActError;
use crate::machine_deployment::OwnedSetFact;
use crate::value::phase::Phase::{Failed, Running};

use super::facts::{seconds, set};
use super::report::{Case, case};

/// Second 900: the autoscaler has just lowered the number.
const LOWERED: &str = "1970-01-01T00:15:00Z";

fn lowered(sets: Vec<OwnedSetFact>, replicas: i64, list: &str) -> Case {
    case(sets).wants(replicas, "a").annotated("lowered", LOWERED).annotated("trigger", list).at(905)
}

fn three() -> OwnedSetFact {
    let mut set = set("a", 1, &[Running, Running, Running]);
    set.annotations.insert("lowered".into(), LOWERED.into());
    set
}

fn marked(mut set: OwnedSetFact, index: usize) -> OwnedSetFact {
    set.machines[index].priority = 1;
    set.machines[index].marked_at = Some(seconds(900));
    set
}

#[test]
fn a_machine_is_marked_before_its_set_is_made_smaller() {
    let list = format!("a1~{LOWERED}");
    lowered(vec![three()], 2, &list).check(&expect![[r#"
        write-machine a1 mark 1970-01-01T00:15:00Z
        UnderWay: Machines that the autoscaler wants to go are being marked
        then at once
    "#]]);
    lowered(vec![marked(three(), 1)], 2, &list).check(&expect![[r#"
        write-set workers-a 3→2 desired=2 max=3
        WaitingForDeletion: 3 of 2 Machines are available and of the current template; waits until 1 Machines are deleted that are too much
        event Normal ScalingMachineSet: Scaled down machine set workers-a to 2
        then at once
    "#]]);
}

#[test]
fn a_machine_that_is_listed_twice_is_marked_once() {
    for list in [format!("a1~{LOWERED},a1~{LOWERED}"), "a1,a1".to_owned()] {
        let reported = lowered(vec![three()], 2, &list).reported();
        assert_eq!(reported.matches("write-machine a1 mark").count(), 1, "{reported}");
    }
}

#[test]
fn while_a_mark_cannot_be_written_no_set_is_made_smaller() {
    let list = format!("a1~{LOWERED}");
    let gone = Err(ActError::Unreachable { message: "down".into() });
    lowered(vec![three()], 2, &list).on("write-machine", gone).check(&expect![[r#"
        write-machine a1 mark 1970-01-01T00:15:00Z
        WriteFailed: failed to write Machine a1: the API server is unreachable: down
        then retry after 1s
    "#]]);
}

#[test]
fn an_entry_stays_until_its_machine_goes_and_then_the_list_goes_as_well() {
    let mut set = marked(three(), 1);
    set.machines[1].is_deleting = true;
    set.wanted = 2;
    lowered(vec![set], 2, &format!("a1~{LOWERED}")).check(&expect![[r#"
        write-deployment -trigger
        write-set workers-a desired=2 max=3
        WaitingForDeletion: 2 of 2 Machines are available and of the current template; waits until Machines are gone: a1
        then at once
    "#]]);
}

#[test]
fn an_entry_without_a_time_gets_that_of_the_autoscaler() {
    lowered(vec![three()], 2, "a0,a1").check(&expect![[r#"
        write-deployment trigger=a0~1970-01-01T00:15:00Z,a1~1970-01-01T00:15:00Z
        write-machine a0 mark 1970-01-01T00:15:00Z
        write-machine a1 mark 1970-01-01T00:15:00Z
        UnderWay: Machines that the autoscaler wants to go are being marked
        then at once
    "#]]);
    let mut late = lowered(vec![three()], 2, "a0");
    late.view.deployment.annotations.remove("lowered");
    late.check(&expect![[r#"
        write-deployment trigger=a0~1970-01-01T00:15:05Z
        write-machine a0 mark 1970-01-01T00:15:05Z
        UnderWay: Machines that the autoscaler wants to go are being marked
        then at once
    "#]]);
}

#[test]
fn entries_that_cannot_be_applied_are_taken_off_and_reported() {
    let mut set = three();
    set.machines[2].phase = Failed;
    let list = format!("a2~{LOWERED}, a1~soon,somebodys~1970-01-01T00:00:00Z,,~,a1~{LOWERED}");
    lowered(vec![marked(set, 1)], 3, &list).check(&expect![[r#"
        write-deployment trigger=a1~1970-01-01T00:15:00Z
        WaitingForMachines: 2 of 3 Machines are available and of the current template; waits for 1 Machines of MachineSet workers-a to be available: a2
        event Warning TriggerIgnored: the autoscaler's list of Machines that are to go has entries that are ignored: "a1~soon" has no time that can be read; "somebodys" is no Machine of this deployment; "~" has no time that can be read
        then at once
    "#]]);
}

#[test]
fn a_machine_that_is_not_seen_yet_stays_on_the_list_for_a_minute() {
    let list = format!("a9~{LOWERED}");
    lowered(vec![three()], 3, &list).check(&expect![[r#"
        Complete: 3 of 3 Machines are available and of the current template
        then after 55s
    "#]]);
    assert!(lowered(vec![three()], 3, &list).at(961).reported().contains("-trigger"));
}

#[test]
fn no_other_machine_goes_in_place_of_one_that_is_not_seen_yet() {
    let list = format!("a9~{LOWERED}");
    lowered(vec![three()], 2, &list).check(&expect![[r#"
        UnderWay: no set shrinks before Machines are seen that the autoscaler wants to go, for up to a minute: a9
        then after 55s
    "#]]);
    let reported = lowered(vec![three()], 2, &list).at(961).reported();
    assert!(reported.contains("-trigger") && reported.contains("3→2"), "{reported}");
}

#[test]
fn a_time_that_is_far_ahead_does_not_keep_an_entry_for_ever() {
    assert!(lowered(vec![three()], 3, "a9~9000-01-01T00:00:00Z").reported().contains("-trigger"));
}

#[test]
fn a_machine_of_another_deployment_is_not_marked() {
    let mut foreign = set("z", 1, &[Running]);
    foreign.owner = crate::machine_deployment::SetOwner::Other("MachineDeployment others".into());
    let reported = lowered(vec![three(), foreign], 3, "z0~1970-01-01T00:01:00Z").reported();
    assert!(
        !reported.contains("mark") && reported.contains("\"z0\" is no Machine of this deployment"),
        "{reported}"
    );
}

#[test]
fn a_scale_up_that_races_a_targeted_scale_down_still_tells_the_set_who_is_to_go() {
    // The set deletes the marked Machine before its deployment reports it, and creates another: the number is
    // unchanged.
    let mut set = marked(three(), 1);
    set.annotations.remove("lowered");
    lowered(vec![set], 3, &format!("a1~{LOWERED}")).check(&expect![[r#"
        write-set workers-a lowered=1970-01-01T00:15:00Z
        Complete: 3 of 3 Machines are available and of the current template
        then at once
    "#]]);
}

#[test]
fn many_are_marked_over_several_passes() {
    let phases = vec![Running; 250];
    let set = set("a", 1, &phases);
    let list: Vec<String> = (0..250).map(|index| format!("a{index}~{LOWERED}")).collect();
    let (effects, _) = lowered(vec![set], 0, &list.join(",")).run();
    assert_eq!(effects.len(), 200);
}
