//! Adoption and release of sets, and the deletion of a deployment.

use expect_test::expect;

use crate::machine_deployment::{OwnedSetFact, SetOwner};
use crate::value::phase::Phase::Running;

use super::facts::{seconds, set};
use super::tell::{Case, case};

fn owned(owner: SetOwner, is_selected: bool) -> OwnedSetFact {
    OwnedSetFact { owner, is_selected, ..set("a", 1, &[Running, Running, Running]) }
}

#[test]
fn a_set_without_an_owner_is_adopted_and_one_that_is_not_selected_is_released() {
    case(vec![owned(SetOwner::Nobody, true)]).check(&expect![[r#"
        adopt-set workers-a
        UnderWay: sets are being adopted or released
        event Normal MachineSetClaimed: adopted MachineSet workers-a
        then at once
    "#]]);
    case(vec![owned(SetOwner::This, false)]).check(&expect![[r#"
        release-set workers-a
        UnderWay: sets are being adopted or released
        event Normal MachineSetClaimed: released MachineSet workers-a, which is not selected any more
        then at once
    "#]]);
}

#[test]
fn sets_of_others_and_sets_that_are_going_are_left_alone() {
    let others = case(vec![owned(SetOwner::Other("MachineDeployment others".into()), true)]).told();
    assert!(!others.contains("adopt") && !others.contains("write-set workers-a"), "{others}");
    let going = OwnedSetFact { is_deleting: true, ..owned(SetOwner::Nobody, true) };
    assert!(!case(vec![going]).told().contains("adopt"));
}

#[test]
fn an_adopted_set_gets_the_hash_in_its_template_then_on_its_machines_then_in_its_selector() {
    let mut set = owned(SetOwner::This, true);
    set.selected_hash = None;
    let hash = set.template.labels.remove("template-hash").unwrap();
    set.machines.iter_mut().for_each(|machine| machine.hash = None);
    case(vec![set.clone()]).check(&expect![[r#"
        write-set workers-a template template-hash=1136305847
        UnderWay: an adopted set and its Machines get the label of their template's hash
        then at once
    "#]]);
    set.template.labels.insert("template-hash".into(), hash.clone());
    case(vec![set.clone()]).check(&expect![[r#"
        write-machine a0 hash 1136305847
        write-machine a1 hash 1136305847
        write-machine a2 hash 1136305847
        UnderWay: an adopted set and its Machines get the label of their template's hash
        then at once
    "#]]);
    set.machines.iter_mut().for_each(|machine| machine.hash = Some(hash.clone()));
    case(vec![set.clone()]).check(&expect![[r#"
        write-set workers-a selector template-hash=1136305847 template-hash=1136305847
        UnderWay: an adopted set and its Machines get the label of their template's hash
        then at once
    "#]]);
    set.generation += 1;
    assert!(
        !case(vec![set]).told().contains("selector"),
        "a set that has not noted its template may make Machines without it"
    );
}

#[test]
fn a_hash_that_another_set_has_is_not_given_again() {
    let mut bare = owned(SetOwner::This, true);
    let taken = bare.template.labels.remove("template-hash").unwrap();
    bare.selected_hash = None;
    let other = OwnedSetFact { name: "other".into(), uid: "uid-other".into(), ..owned(SetOwner::This, true) };
    assert_eq!(other.selected_hash.as_ref(), Some(&taken));
    let told = case(vec![bare, other]).told();
    assert!(told.contains("template template-hash=") && !told.contains(&taken), "{told}");
}

fn deleted(sets: Vec<OwnedSetFact>) -> Case {
    case(sets).with(|view| view.deployment.deletion = Some(seconds(900)))
}

#[test]
fn a_deployment_goes_after_its_sets() {
    deleted(vec![owned(SetOwner::This, true), OwnedSetFact { owner: SetOwner::Nobody, ..set("b", 1, &[]) }]).check(&expect![[r#"
        delete-set workers-a
        Deleting: waits until 1 of its sets with 3 Machines are gone; what is applied to it meanwhile goes with it: apply it again once it is gone
        then at once
    "#]]);
    deleted(vec![OwnedSetFact { is_deleting: true, ..owned(SetOwner::This, true) }]).check(&expect![[r#"
        Deleting: waits until 1 of its sets with 3 Machines are gone; what is applied to it meanwhile goes with it: apply it again once it is gone
        then rest
    "#]]);
    deleted(vec![]).check(&expect![[r#"
        write-deployment -finalizer 
        Deleted: all its sets are gone
        then never
    "#]]);
    deleted(vec![]).with(|view| view.deployment.has_finalizer = false).check(&expect![[r#"
        Deleted: all its sets are gone
        then never
    "#]]);
}

#[test]
fn one_that_is_deleted_without_its_sets_deletes_none_and_waits_until_they_are_let_go() {
    let orphaning = |sets| deleted(sets).with(|view| view.deployment.leaves_sets = true).told();
    let told = orphaning(vec![owned(SetOwner::This, true)]);
    assert!(!told.contains("delete-set") && told.contains("garbage collector"), "{told}");
    assert!(orphaning(vec![owned(SetOwner::Nobody, true)]).starts_with("write-deployment -finalizer"));
}

#[test]
fn one_that_cannot_be_understood_can_be_deleted_all_the_same() {
    let broken = deleted(vec![]).with(|view| {
        view.deployment.spec.replicas = -7;
        view.deployment.spec.strategy.kind = None;
    });
    assert!(broken.told().starts_with("write-deployment -finalizer"), "{}", broken.told());
}
