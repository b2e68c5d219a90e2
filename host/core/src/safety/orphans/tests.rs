use std::slice;

use proptest::prelude::*;

use super::*;

const RULE: OrphanRule = OrphanRule {
    sightings: 3,
    spacing: SignedDuration::from_mins(5),
    staleness: SignedDuration::from_hours(1),
    minimum_age: SignedDuration::from_mins(20),
};

fn at(minute: i64) -> Timestamp {
    Timestamp::from_second(minute * 60).unwrap()
}

fn vm(id: &str, name: &str, uid: Option<&str>) -> Listed {
    Listed {
        provider_id: id.into(),
        machine_name: name.into(),
        machine_uid: uid.map(Uid::from),
        created_at: None,
    }
}

/// A VM of Machine `gone`, which is old.
fn orphan(id: &str) -> Listed {
    Listed { created_at: Some(at(-1_000)), ..vm(id, "gone", Some("uid-gone")) }
}

fn owner(name: &str, uid: &str, id: Option<&str>) -> VmOwner {
    VmOwner { name: name.into(), uid: uid.into(), provider_id: id.map(ProviderId::from) }
}

fn listing(class: &str, vms: &[Listed]) -> ClassListing {
    ClassListing { class: class.into(), vms: vms.to_vec(), releases_strangers: false, deletes_by_id: false }
}

#[test]
fn the_more_vms_there_are_the_less_often_something_that_happens_makes_them_be_listed() {
    let minutes = |vms| RULE.pause(vms).as_mins();
    assert_eq!([0, 999, 2_000, 5_000, 1_000_000].map(minutes), [1, 1, 2, 5, 5]);
    let frequent = OrphanRule { spacing: SignedDuration::from_secs(2), ..RULE };
    assert_eq!(frequent.pause(1), SignedDuration::from_secs(2));
}

/// The memory of a process, and the round that it makes.
struct Watch {
    sightings: Sightings,
    owners: VmOwners,
    rule: OrphanRule,
}

impl Watch {
    fn new(owners: impl IntoIterator<Item = VmOwner>) -> Self {
        Self { sightings: Sightings::default(), owners: VmOwners::new(owners), rule: RULE }
    }

    fn round(&mut self, listings: &[ClassListing], classes: &[&str], minute: i64) -> Findings {
        let classes = classes.iter().map(|class| ClassName::from(*class)).collect();
        self.sightings.look(listings, &classes, |vm| ownership(vm, &self.owners), &self.rule, at(minute))
    }

    /// Ids of the candidates after a listing of class `a`.
    fn see(&mut self, vms: &[Listed], minute: i64) -> Vec<String> {
        ids(&self.round(&[listing("a", vms)], &["a"], minute))
    }
}

fn ids(findings: &Findings) -> Vec<String> {
    findings.candidates.iter().map(|candidate| candidate.vm.provider_id.to_string()).collect()
}

#[test]
fn a_vm_is_kept_for_every_machine_that_could_be_its_own() {
    let made = owner("m", "uid-m", Some("vm-m"));
    let unmade = owner("m", "uid-m", None);
    let second = VmOwnership::Second { machine: "m".into(), has: "vm-m".into(), has_node: false };
    let rows = [
        // Stored as its VM, whatever it says about itself.
        (vm("vm-m", "m", Some("uid-m")), &made, VmOwnership::Owned),
        (vm("vm-m", "other", Some("uid-other")), &made, VmOwnership::Owned),
        (vm("vm-m", "", None), &made, VmOwnership::Owned),
        // Not stored yet: by uid, by name.
        (vm("vm-x", "m", Some("uid-m")), &unmade, VmOwnership::Owned),
        (vm("vm-x", "", Some("uid-m")), &unmade, VmOwnership::Owned),
        (vm("vm-x", "m", None), &unmade, VmOwnership::Owned),
        (vm("vm-x", "m", Some("uid-earlier")), &unmade, VmOwnership::Owned),
        // Says nothing, and somebody's VM is not known yet.
        (vm("vm-x", "", None), &unmade, VmOwnership::Unattributable),
        // The Machine has another one: an order by name or uid would reach that.
        (vm("vm-x", "m", Some("uid-m")), &made, second.clone()),
        (vm("vm-x", "", Some("uid-m")), &made, second.clone()),
        (vm("vm-x", "m", None), &made, second.clone()),
        (vm("vm-x", "m", Some("uid-earlier")), &made, second),
        // It has no Machine any more.
        (vm("vm-x", "gone", Some("uid-gone")), &made, VmOwnership::Orphan),
        (vm("vm-x", "gone", Some("uid-gone")), &unmade, VmOwnership::Orphan),
        // It proves nothing.
        (vm("vm-x", "gone", None), &unmade, VmOwnership::Foreign),
        (vm("vm-x", "gone", None), &made, VmOwnership::Foreign),
        (vm("vm-x", "", Some("uid-gone")), &unmade, VmOwnership::Orphan),
        (vm("vm-x", "", None), &made, VmOwnership::Foreign),
    ];
    for (vm, owner, expected) in rows {
        assert_eq!(ownership(&vm, &VmOwners::new([owner.clone()])), expected, "{vm:?} {owner:?}");
    }
}

#[test]
fn the_vm_of_an_infrastructure_machine_is_owned_by_its_key_and_by_its_id() {
    let infrastructure =
        InfrastructureVms { keys: ["key".into()].into(), vms: [ProviderId::from("vm-i")].into() };
    // The name of a Machine with another VM changes nothing.
    let owners = VmOwners::new([owner("m", "uid-m", Some("vm-m"))]).with_infrastructure(infrastructure);
    assert_eq!(ownership(&vm("vm-x", "m", Some("key")), &owners), VmOwnership::Owned);
    assert_eq!(ownership(&vm("vm-i", "m", None), &owners), VmOwnership::Owned);
    assert_eq!(ownership(&vm("vm-x", "gone", Some("other")), &owners), VmOwnership::Orphan);
}

#[test]
fn a_vm_is_deleted_after_three_listings_that_are_apart() {
    let mut watch = Watch::new([owner("m", "uid-m", Some("vm-m"))]);
    let vms = [orphan("vm-x"), vm("vm-m", "m", Some("uid-m"))];
    let none: [String; 0] = [];
    assert_eq!(watch.see(&vms, 0), none);
    assert_eq!(watch.see(&vms, 1), none, "too close to the one before");
    assert_eq!(watch.see(&vms, 2), none);
    assert_eq!(watch.see(&vms, 5), none);
    assert_eq!(watch.see(&vms, 9), none);
    assert_eq!(watch.see(&vms, 10), ["vm-x"]);
}

#[test]
fn a_young_vm_is_left_alone_however_often_it_is_seen() {
    for created in [Some(at(0)), None] {
        let mut watch = Watch::new([]);
        let young = Listed { created_at: created, ..orphan("vm-x") };
        for minute in 0..20 {
            assert!(watch.see(std::slice::from_ref(&young), minute).is_empty(), "{created:?} {minute}");
        }
        assert_eq!(watch.see(std::slice::from_ref(&young), 20), ["vm-x"]);
    }
}

#[test]
fn a_vm_of_the_future_is_young() {
    let mut watch = Watch::new([]);
    let unusual = Listed { created_at: Some(at(1_000)), ..orphan("vm-x") };
    for minute in (0..100).step_by(5) {
        assert!(watch.see(std::slice::from_ref(&unusual), minute).is_empty());
    }
}

#[test]
fn sightings_far_apart_and_sightings_of_the_future_count_for_nothing() {
    let mut watch = Watch::new([]);
    let vms = [orphan("vm-x")];
    for minute in [0, 5, 66, 127, 132] {
        assert!(watch.see(&vms, minute).is_empty(), "{minute}");
    }
    assert!(watch.see(&vms, 100).is_empty(), "the clock was set back");
    assert!(watch.see(&vms, 105).is_empty());
    assert_eq!(watch.see(&vms, 110), ["vm-x"]);
}

#[test]
fn a_machine_that_turns_up_begins_everything_again() {
    let mut watch = Watch::new([]);
    let vms = [orphan("vm-x")];
    watch.see(&vms, 0);
    watch.see(&vms, 5);
    watch.owners = VmOwners::new([owner("gone", "uid-gone", Some("vm-x"))]);
    assert!(watch.see(&vms, 10).is_empty());
    assert!(watch.sightings.is_empty());
    watch.owners = VmOwners::default();
    for minute in [15, 20] {
        assert!(watch.see(&vms, minute).is_empty());
    }
    assert_eq!(watch.see(&vms, 25), ["vm-x"]);
}

#[test]
fn a_vm_that_is_gone_is_forgotten_and_one_whose_class_cannot_be_listed_is_not() {
    let mut watch = Watch::new([]);
    let vms = [orphan("vm-x")];
    watch.see(&vms, 0);
    assert!(watch.round(&[], &["a"], 5).candidates.is_empty());
    assert_eq!(watch.sightings.len(), 1, "the listing is missing");
    watch.see(&vms, 10);
    assert_eq!(watch.see(&vms, 15), ["vm-x"], "the two rounds before count");
    assert!(watch.round(&[], &["a"], 20).candidates.is_empty(), "nothing is deleted that was not just seen");
    watch.see(&[], 25);
    assert!(watch.sightings.is_empty());
    watch.see(&vms, 30);
    watch.round(&[], &[], 35);
    assert!(watch.sightings.is_empty(), "the class is gone");
}

#[test]
fn a_vm_that_two_classes_show_is_one_vm_and_is_deleted_through_another_class_after_a_failure() {
    let mut watch = Watch::new([]);
    let both = [listing("a", &[orphan("vm-x")]), listing("b", &[orphan("vm-x")])];
    for minute in [0, 5] {
        let findings = watch.round(&both, &["a", "b"], minute);
        assert_eq!((findings.listed, findings.orphans), (1, 1));
        assert!(findings.candidates.is_empty());
    }
    let classes: Vec<String> = [10, 15, 20]
        .into_iter()
        .map(|minute| {
            let findings = watch.round(&both, &["a", "b"], minute);
            assert_eq!(findings.candidates.len(), 1);
            watch.sightings.failed(&"vm-x".into(), None, SignedDuration::from_mins(1), at(minute));
            findings.candidates[0].class.to_string()
        })
        .collect();
    assert_eq!(classes, ["a", "b", "a"]);
}

#[test]
fn of_two_listings_the_one_that_knows_the_owner_counts() {
    let nameless = Listed { created_at: Some(at(-1_000)), ..vm("vm-x", "", None) };
    let named = vm("vm-x", "m", Some("uid-m"));
    for pair in [[nameless.clone(), named.clone()], [named.clone(), nameless.clone()]] {
        let mut watch = Watch::new([owner("m", "uid-m", Some("vm-m"))]);
        let [a, b] = pair;
        let findings = watch.round(&[listing("a", &[a]), listing("b", &[b])], &["a", "b"], 0);
        assert_eq!((findings.orphans, findings.seconds.len()), (0, 1));
    }
}

#[test]
fn a_failed_order_is_repeated_after_its_pause_and_a_successful_one_only_when_the_vm_stays() {
    let mut watch = Watch::new([]);
    let vms = [orphan("vm-x")];
    for minute in [0, 5, 10] {
        watch.see(&vms, minute);
    }
    let id = ProviderId::from("vm-x");
    watch.sightings.failed(&id, Some("half".into()), SignedDuration::from_mins(2), at(10));
    assert_eq!(watch.sightings.next_request(), Some(at(12)));
    assert!(watch.see(&vms, 11).is_empty());
    let again = watch.round(&[listing("a", &vms)], &["a"], 12).candidates;
    assert_eq!((again[0].failures, again[0].state.as_deref()), (1, Some("half")));
    watch.sightings.in_progress(&id, "token".into(), SignedDuration::from_mins(1), at(12));
    let again = watch.round(&[listing("a", &vms)], &["a"], 13).candidates;
    assert_eq!((again[0].state.as_deref(), again[0].is_repeated), (Some("token"), false));
    watch.sightings.accepted(&id, SignedDuration::from_mins(5), at(13));
    assert!(watch.see(&vms, 17).is_empty());
    let again = watch.round(&[listing("a", &vms)], &["a"], 18).candidates;
    assert_eq!((again[0].failures, again[0].is_repeated, &again[0].state), (0, true, &None));
    watch.see(&[], 19);
    assert_eq!(watch.sightings.next_request(), None);
}

#[test]
fn when_most_vms_have_no_machine_more_evidence_is_asked_for() {
    let lost: Vec<Listed> = (0..4).map(|number| orphan(&format!("vm-{number}"))).collect();
    let names = ["a", "b", "c", "d"];
    let kept = names.map(|name| vm(&format!("own-{name}"), name, None));
    let owners = names.map(|name| owner(name, name, Some(&format!("own-{name}"))));
    // Half of them or more: twelve sightings. Few: three.
    for (orphans, owned, after) in [(4, 4, 12), (4, 3, 12), (3, 0, 3)] {
        let mut watch = Watch::new(owners.clone());
        let vms = [&lost[..orphans], &kept[..owned]].concat();
        let first = (1..).find(|round| !watch.see(&vms, 5 * round).is_empty());
        assert_eq!(first, Some(after));
    }
}

/// `own` VMs with their Machines, and `others` whose Machines nobody here has ever seen.
fn two_planes(own: usize, others: usize) -> (Watch, Vec<Listed>) {
    planes_of((own, "pool"), (others, "farm"))
}

/// The same, with the names of their sets.
fn planes_of((own, ours): (usize, &str), (others, theirs): (usize, &str)) -> (Watch, Vec<Listed>) {
    let name = |number| format!("{ours}-{number}");
    let owners = (0..own).map(|at| owner(&name(at), &format!("uid-{at}"), Some(&format!("own-{at}"))));
    let mut watch = Watch::new([]);
    watch.owners = VmOwners::new(owners).with_kin(SeenUids::default());
    let owned = (0..own).map(|at| vm(&format!("own-{at}"), &name(at), Some(&format!("uid-{at}"))));
    let foreign = (0..others).map(|number| Listed {
        created_at: Some(at(-1_000)),
        ..vm(
            &format!("their-{number}"),
            &format!("{theirs}-{}", own + number),
            Some(&format!("their-uid-{number}")),
        )
    });
    (watch, owned.chain(foreign).collect())
}

#[test]
fn the_vms_of_another_control_plane_of_the_same_mark_are_never_deleted_whatever_its_size() {
    for (own, others) in [(50, 50), (80, 20), (16, 4), (0, 100), (4, 400)] {
        // Also where both were named after one cluster, so that their sets have the same names.
        for theirs in ["farm", "pool"] {
            let (mut watch, vms) = planes_of((own, "pool"), (others, theirs));
            for round in 0..100 {
                let findings = watch.round(&[listing("a", &vms)], &["a"], 5 * round);
                assert_eq!(ids(&findings), [""; 0], "{own} {others} {theirs}");
                assert_eq!(findings.strangers, others);
            }
        }
    }
}

#[test]
fn a_few_that_nobody_knows_go_as_ever_and_many_when_somebody_says_so() {
    for (own, others) in [(50, 3), (50, 12), (1, 1)] {
        let (mut watch, vms) = two_planes(own, others);
        let first = (0..).find(|round| !watch.see(&vms, 5 * round).is_empty());
        assert_eq!(first, Some(2), "{own} {others}");
    }
    let (mut watch, vms) = two_planes(50, 50);
    let released = ClassListing { releases_strangers: true, ..listing("a", &vms) };
    let first = (1..)
        .find(|round| !watch.round(std::slice::from_ref(&released), &["a"], 5 * round).candidates.is_empty());
    assert_eq!(first, Some(12));
}

#[test]
fn many_that_were_of_this_control_plane_for_certain_go_after_more_listings() {
    let (mut watch, mut vms) = two_planes(50, 50);
    for (at, vm) in vms.iter_mut().skip(50).enumerate() {
        vm.machine_name = format!("loose{at}").as_str().into();
    }
    let machines = vms.iter().skip(50).filter_map(|vm| vm.machine_uid.clone()).collect();
    watch.owners = watch.owners.with_kin(SeenUids(machines));
    let first = (1..).find(|round| watch.see(&vms, 5 * round).len() == 50);
    assert_eq!(first, Some(12));
}

#[test]
fn attack_vms_that_carry_no_uid_are_reported_and_never_deleted_whatever_name_they_have_and_whoever_releases_them()
 {
    let without_uid =
        |(id, name): (&str, &str)| Listed { created_at: Some(at(-1_000)), ..vm(id, name, None) };
    let foreign = [("their-1", "gone"), ("their-2", "pool-0"), ("their-3", "")].map(without_uid);
    let (mut watch, own) = two_planes(4, 0);
    let vms = [own, foreign.to_vec(), vec![orphan("vm-x")]].concat();
    watch.owners = watch.owners.with_kin(SeenUids(["uid-gone".into()].into()));
    let released = ClassListing { releases_strangers: true, deletes_by_id: true, ..listing("a", &vms) };
    let mut gone = BTreeSet::new();
    for round in 0..100 {
        let findings = watch.round(&[released.clone(), listing("b", &vms)], &["a", "b"], 5 * round);
        let reported: Vec<&str> = findings.foreign.iter().map(|(vm, _)| vm.as_str()).collect();
        // That with the name of a Machine is one of two.
        assert_eq!(reported, ["their-1", "their-3"]);
        let [second] = &findings.seconds[..] else { panic!("{:?}", findings.seconds) };
        assert!(second.vm.as_str() == "their-2" && !second.may_go);
        assert_eq!((findings.orphans, findings.are_suspicious(&RULE)), (1, false));
        gone.extend(ids(&findings));
    }
    assert_eq!(gone, ["vm-x".to_owned()].into(), "and ours goes as ever");
}

#[test]
fn a_vm_that_one_of_two_listings_shows_without_a_uid_is_kept() {
    let pair = [orphan("vm-x"), Listed { machine_uid: None, ..orphan("vm-x") }];
    for pair in [pair.clone(), [pair[1].clone(), pair[0].clone()]] {
        let mut watch = Watch::new([]);
        let [a, b] = pair;
        for minute in (0..200).step_by(5) {
            let both = [listing("a", slice::from_ref(&a)), listing("b", slice::from_ref(&b))];
            let findings = watch.round(&both, &["a", "b"], minute);
            assert_eq!((findings.orphans, findings.foreign.len(), findings.candidates.len()), (0, 1, 0));
        }
    }
}

/// The rounds of a listing with these VMs until one is a candidate, with what it is beside.
fn second_goes_after(watch: &mut Watch, vms: &[Listed], deletes_by_id: bool) -> Option<(i64, String)> {
    (1..40).find_map(|round| {
        let listing = ClassListing { deletes_by_id, ..listing("a", vms) };
        let findings = watch.round(&[listing], &["a"], 5 * round);
        let candidate = findings.candidates.first()?;
        let (machine, kept) = candidate.beside.clone()?;
        Some((round, format!("{} beside {kept} of {machine}", candidate.vm.provider_id)))
    })
}

#[test]
fn a_second_vm_goes_by_its_id_once_both_were_listed_often_enough_and_where_a_driver_can() {
    let own = vm("vm-m", "m", Some("uid-m"));
    let second = Listed { created_at: Some(at(-1_000)), ..vm("vm-x", "m", Some("uid-m")) };
    let both = [own.clone(), second.clone()];
    let watch = || Watch::new([owner("m", "uid-m", Some("vm-m"))]);
    let gone = second_goes_after(&mut watch(), &both, true);
    assert_eq!(gone, Some((3, "vm-x beside vm-m of m".to_owned())));
    assert_eq!(second_goes_after(&mut watch(), &both, false), None, "no driver can");
    assert_eq!(
        second_goes_after(&mut watch(), std::slice::from_ref(&second), true),
        None,
        "the Machine's own is not there"
    );
    let mut used = watch();
    used.owners = used.owners.with_nodes(vm_name("vm-x").into_iter().collect());
    assert_eq!(second_goes_after(&mut used, &both, true), None, "a Node lives on it");
    let mut young = watch();
    let fresh = Listed { created_at: None, ..second };
    assert_eq!(second_goes_after(&mut young, &[own, fresh], true).map(|(round, _)| round), Some(5));
}

#[test]
fn a_vm_that_becomes_nobodys_begins_with_its_evidence_again() {
    let mut watch = Watch::new([owner("m", "uid-m", Some("vm-m"))]);
    let second = Listed { created_at: Some(at(-1_000)), ..vm("vm-x", "m", Some("uid-m")) };
    let vms = [vm("vm-m", "m", Some("uid-m")), second.clone()];
    let listing = |vms: &[Listed]| ClassListing { deletes_by_id: true, ..listing("a", vms) };
    for minute in [0, 5] {
        watch.round(&[listing(&vms)], &["a"], minute);
    }
    watch.owners = VmOwners::new([]);
    let minutes = [10, 15, 20].map(|minute| {
        watch.round(&[listing(std::slice::from_ref(&second))], &["a"], minute).candidates.len()
    });
    assert_eq!(minutes, [0, 0, 1]);
}

proptest! {
    /// Against a count by hand: whatever rounds there are, a VM is deleted only when every Machine that could be its
    /// own is absent from this round, and enough earlier rounds, in which it was listed without a break, were apart.
    #[test]
    fn nothing_is_deleted_without_its_evidence(
        rounds in proptest::collection::vec((1..9_i64, 0..3_usize, any::<bool>()), 1..40),
    ) {
        let mut watch = Watch::new([]);
        let (mut now, mut counted) = (0, Vec::<i64>::new());
        for (passed, shown, has_machine) in rounds {
            now += passed;
            watch.owners = VmOwners::new(has_machine.then(|| owner("gone", "uid-gone", None)));
            let listings = match shown {
                0 => vec![listing("a", &[])],
                1 => vec![listing("a", &[orphan("vm-x")])],
                // The listing failed.
                _ => Vec::new(),
            };
            let findings = watch.round(&listings, &["a"], now);
            match (shown, has_machine) {
                (0, _) | (1, true) => counted.clear(),
                (1, false) => {
                    if counted.last().is_some_and(|last| now - last > 60) {
                        counted.clear();
                    }
                    if counted.last().is_none_or(|last| now - last >= 5) {
                        counted.push(now);
                    }
                }
                _ => {}
            }
            let expected = shown == 1 && !has_machine && counted.len() >= 3;
            prop_assert_eq!(!findings.candidates.is_empty(), expected, "{} {:?}", now, counted);
        }
    }
}
