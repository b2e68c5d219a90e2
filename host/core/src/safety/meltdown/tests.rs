//! Permits and zones, and a comparison with a count that looks at everything.

use proptest::prelude::*;

use super::*;

fn key(number: usize) -> ObjectKey {
    ObjectKey::new("garden", format!("m-{number}"))
}

fn deployment(name: &str) -> Option<OwnerGroup> {
    Some(OwnerGroup::Deployment("garden".into(), name.into()))
}

const RUNNING: MemberState = MemberState::Running { is_silent: false };
const SICK: MemberState = MemberState::Doubtful { is_silent: false };
const SILENT: MemberState = MemberState::Doubtful { is_silent: true };

fn at(second: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(second)
}

fn member(group: Option<OwnerGroup>, zone: Option<FailureDomain>, state: MemberState) -> MemberFact {
    MemberFact { group, zone, state, rebooted_at: None }
}

/// Machines of one deployment, each in a zone of its own.
fn group(standings: &[MemberState]) -> Meltdown {
    let mut meltdown = Meltdown::new(50);
    for (number, state) in standings.iter().enumerate() {
        let zone = Some(FailureDomain::new(format!("zone-{number}")));
        meltdown.update(&key(number), Some(&member(deployment("a"), zone, *state)));
    }
    meltdown
}

fn set(meltdown: &mut Meltdown, number: usize, state: MemberState) -> Vec<ObjectKey> {
    let fact = MemberFact { state, ..meltdown.members[&key(number)].clone() };
    meltdown.update(&key(number), Some(&fact))
}

fn ask(meltdown: &mut Meltdown, number: usize, limit: ReplacementLimit) -> bool {
    ask_at(meltdown, number, limit, at(0))
}

fn ask_at(meltdown: &mut Meltdown, number: usize, limit: ReplacementLimit, now: Timestamp) -> bool {
    matches!(meltdown.ask(&key(number), PermitRequest::Turn(limit), now), Permit::Granted { .. })
}

/// The cache shows that the VM was rebooted.
fn reboot(meltdown: &mut Meltdown, number: usize, at: Timestamp) -> Vec<ObjectKey> {
    let fact = MemberFact { rebooted_at: Some(at), ..meltdown.members[&key(number)].clone() };
    meltdown.update(&key(number), Some(&fact))
}

#[test]
fn machines_of_a_deployment_are_failed_one_after_the_other() {
    let mut meltdown = group(&[SICK, SICK, RUNNING]);
    assert!(ask(&mut meltdown, 0, ReplacementLimit::ONE));
    assert!(!ask(&mut meltdown, 1, ReplacementLimit::ONE), "the cache does not show the first one yet");
    assert_eq!(set(&mut meltdown, 0, MemberState::Failed), []);
    assert!(!ask(&mut meltdown, 1, ReplacementLimit::ONE));
    assert_eq!(set(&mut meltdown, 0, MemberState::Away), []);
    assert!(!ask(&mut meltdown, 1, ReplacementLimit::ONE));
    assert_eq!(meltdown.update(&key(0), None), [key(1)], "who waits is told");
    assert!(ask(&mut meltdown, 1, ReplacementLimit::ONE));
}

#[test]
fn who_asks_again_gets_the_same_permit_again() {
    let mut meltdown = group(&[SICK, SICK]);
    assert!(ask(&mut meltdown, 0, ReplacementLimit::ONE) && ask(&mut meltdown, 0, ReplacementLimit::ONE));
}

#[test]
fn a_limit_is_a_number_or_a_share() {
    let mut meltdown = group(&[SICK; 10]);
    let granted = (0..10).filter(|number| ask(&mut meltdown, *number, ReplacementLimit::Machines(3))).count();
    assert_eq!(granted, 3);
    let mut meltdown = group(&[SICK; 10]);
    let granted = (0..10).filter(|number| ask(&mut meltdown, *number, ReplacementLimit::Percent(20))).count();
    assert_eq!(granted, 2);
    assert!(!ask(&mut group(&[SICK]), 0, ReplacementLimit::Machines(0)));
    assert!(ask(&mut group(&[SICK]), 0, ReplacementLimit::Percent(1)), "at least one");
}

#[test]
fn what_comes_goes_or_is_updated_counts_and_what_is_preserved_does_not() {
    for (state, is_granted) in
        [(MemberState::Away, false), (MemberState::Failed, false), (MemberState::Kept, true), (RUNNING, true)]
    {
        assert_eq!(ask(&mut group(&[SICK, state]), 0, ReplacementLimit::ONE), is_granted, "{state:?}");
    }
}

#[test]
fn two_machines_whose_update_in_place_failed_do_not_wait_for_each_other() {
    let mut meltdown = group(&[SICK, SICK]);
    assert!(ask(&mut meltdown, 1, ReplacementLimit::ONE));
}

#[test]
fn machines_without_a_deployment_do_not_wait_for_each_other() {
    let mut meltdown = Meltdown::new(50);
    for number in 0..2 {
        meltdown.update(&key(number), Some(&member(None, None, SICK)));
    }
    assert!(ask(&mut meltdown, 0, ReplacementLimit::ONE) && ask(&mut meltdown, 1, ReplacementLimit::ONE));
}

#[test]
fn a_permit_ends_when_its_machine_recovers_is_given_back_or_its_time_is_over() {
    let mut meltdown = group(&[SICK, SICK]);
    assert!(ask(&mut meltdown, 0, ReplacementLimit::ONE) && !ask(&mut meltdown, 1, ReplacementLimit::ONE));
    assert_eq!(set(&mut meltdown, 0, RUNNING), [key(1)]);
    assert!(ask(&mut meltdown, 1, ReplacementLimit::ONE));
    set(&mut meltdown, 0, SICK);
    assert!(!ask(&mut meltdown, 0, ReplacementLimit::ONE));
    assert_eq!(meltdown.give_back(&key(1)), [key(0)]);
    assert!(ask(&mut meltdown, 0, ReplacementLimit::ONE));
    let later = at(0) + PERMIT_LIFETIME;
    assert!(matches!(
        meltdown.ask(&key(1), PermitRequest::Turn(ReplacementLimit::ONE), later),
        Permit::Granted { .. }
    ));
}

#[test]
fn vms_are_rebooted_one_after_the_other_and_none_beside_a_replacement() {
    let mut meltdown = group(&[SICK, SICK, RUNNING]);
    assert!(ask(&mut meltdown, 0, ReplacementLimit::ONE));
    reboot(&mut meltdown, 0, at(0));
    let (soon, last, over) =
        (at(1), at(0) + REBOOT_LIFETIME - SignedDuration::from_secs(1), at(0) + REBOOT_LIFETIME);
    for now in [soon, last] {
        assert!(!ask_at(&mut meltdown, 1, ReplacementLimit::ONE, now), "{now}");
        assert!(ask_at(&mut meltdown, 0, ReplacementLimit::ONE, now), "its own place is no obstacle: {now}");
        meltdown.give_back(&key(0));
    }
    assert!(ask_at(&mut meltdown, 1, ReplacementLimit::ONE, over), "it has had its time");
    let mut meltdown = group(&[SICK, MemberState::Failed]);
    assert!(!ask(&mut meltdown, 0, ReplacementLimit::ONE));
}

#[test]
fn a_vm_that_comes_back_makes_room_at_once() {
    let mut meltdown = group(&[SICK, SICK]);
    assert!(ask(&mut meltdown, 0, ReplacementLimit::ONE));
    reboot(&mut meltdown, 0, at(0));
    assert!(!ask(&mut meltdown, 1, ReplacementLimit::ONE));
    assert_eq!(set(&mut meltdown, 0, RUNNING), [key(1)]);
    assert!(ask_at(&mut meltdown, 1, ReplacementLimit::ONE, at(30)));
    // Sick again so soon after the start of its VM: more likely still than again.
    meltdown.give_back(&key(1));
    set(&mut meltdown, 0, SICK);
    assert!(!ask_at(&mut meltdown, 1, ReplacementLimit::ONE, at(60)));
}

#[test]
fn a_host_that_starts_again_knows_who_was_rebooted() {
    let mut meltdown = group(&[SICK, SICK]);
    reboot(&mut meltdown, 0, at(0));
    assert!(!ask_at(&mut meltdown, 1, ReplacementLimit::ONE, at(60)));
    assert!(ask_at(&mut meltdown, 1, ReplacementLimit::ONE, at(0) + REBOOT_LIFETIME));
}

#[test]
fn a_start_of_a_vm_in_a_far_future_holds_up_nobody() {
    let mut meltdown = group(&[SICK, SICK]);
    reboot(&mut meltdown, 0, at(1_000_000));
    assert!(ask(&mut meltdown, 1, ReplacementLimit::ONE));
    meltdown.give_back(&key(1));
    reboot(&mut meltdown, 0, at(5));
    assert!(!ask(&mut meltdown, 1, ReplacementLimit::ONE), "clocks of hosts differ a little");
}

#[test]
fn a_vm_of_a_zone_that_is_rebooted_is_noticed_by_the_next_one() {
    let mut meltdown = zone(&[SICK, SICK, RUNNING]);
    reboot(&mut meltdown, 1, at(0));
    assert_eq!(speaks(&mut meltdown), "others");
    set(&mut meltdown, 1, RUNNING);
    meltdown.give_back(&key(0));
    assert_eq!(speaks(&mut meltdown), "nothing");
}

/// Machines of many deployments in one zone.
fn zone(standings: &[MemberState]) -> Meltdown {
    let mut meltdown = Meltdown::new(50);
    for (number, state) in standings.iter().enumerate() {
        let group = deployment(&format!("d-{number}"));
        let fact = member(group, Some("zone-a".into()), *state);
        meltdown.update(&key(number), Some(&fact));
    }
    meltdown
}

/// The zone's objection to the first Machine's failure: `silent`, `others`, both or none.
fn speaks(meltdown: &mut Meltdown) -> String {
    speaks_at(meltdown, at(0))
}

fn speaks_at(meltdown: &mut Meltdown, now: Timestamp) -> String {
    match meltdown.ask(&key(0), PermitRequest::Turn(ReplacementLimit::ONE), now) {
        Permit::Granted { zone: None } => "nothing".into(),
        Permit::Granted { zone: Some(zone) } => {
            let words = [(zone.is_silent, "silent"), (zone.has_problem, "others")];
            words.iter().filter(|(is, _)| *is).map(|(_, word)| *word).collect::<Vec<_>>().join(" ")
        }
        Permit::Busy { .. } => "busy".into(),
        Permit::Later { .. } => "later".into(),
    }
}

#[test]
fn a_zone_is_silent_with_two_silent_nodes_that_are_half_of_it() {
    assert_eq!(speaks(&mut zone(&[SILENT])), "nothing");
    assert_eq!(speaks(&mut zone(&[SILENT, SILENT])), "silent others");
    assert_eq!(speaks(&mut zone(&[SILENT, SILENT, RUNNING, RUNNING])), "silent others");
    assert_eq!(speaks(&mut zone(&[SILENT, SILENT, RUNNING, RUNNING, RUNNING])), "others");
    let quiet = MemberState::Running { is_silent: true };
    assert_eq!(speaks(&mut zone(&[SILENT, quiet])), "silent others", "also before it is Unknown");
    assert_eq!(speaks(&mut zone(&[SICK, SICK])), "nothing", "these Nodes speak");
}

#[test]
fn the_second_machine_of_a_zone_that_fails_is_noticed() {
    assert_eq!(speaks(&mut zone(&[SICK, MemberState::Failed, RUNNING])), "others");
    assert_eq!(speaks(&mut zone(&[SICK, MemberState::Away, RUNNING])), "nothing");
    let mut meltdown = zone(&[SICK, SICK, RUNNING]);
    assert!(ask(&mut meltdown, 1, ReplacementLimit::ONE));
    assert_eq!(speaks(&mut meltdown), "others", "also while the cache does not show the first one");
    meltdown.give_back(&key(1));
    assert_eq!(speaks(&mut meltdown), "nothing");
}

/// Sets replace four silent Machines of ten one after the other: too few for the zone to be silent.
#[test]
fn a_zone_in_which_one_machine_after_the_other_falls_silent_is_asked_about_each_but_the_last() {
    let mut standings = [SILENT; 10];
    standings[4..].fill(RUNNING);
    let mut meltdown = zone(&standings);
    for number in [3, 2, 1] {
        let permit = meltdown.ask(&key(number), PermitRequest::Turn(ReplacementLimit::ONE), at(0));
        let Permit::Granted { zone: Some(zone) } = permit else { panic!("nobody is asked: {permit:?}") };
        assert_eq!((zone.is_silent, zone.has_problem), (false, true));
        meltdown.update(&key(number), None);
    }
    assert_eq!(speaks(&mut meltdown), "nothing", "none was failed");
}

#[test]
fn a_zone_remembers_a_machine_that_was_failed_for_a_while_after_it_is_gone() {
    let mut meltdown = zone(&[SICK, SICK, RUNNING]);
    assert!(ask(&mut meltdown, 1, ReplacementLimit::ONE));
    set(&mut meltdown, 1, MemberState::Failed);
    assert_eq!(speaks(&mut meltdown), "others");
    set(&mut meltdown, 1, MemberState::Away);
    assert_eq!(speaks(&mut meltdown), "others", "while it goes");
    meltdown.update(&key(1), None);
    assert_eq!(speaks_at(&mut meltdown, at(0) + zone::REMEMBERED - SignedDuration::from_secs(1)), "others");
    assert_eq!(speaks_at(&mut meltdown, at(0) + zone::REMEMBERED), "nothing");
}

#[test]
fn who_asks_for_its_zone_alone_waits_for_nobody_and_takes_no_place() {
    let mut meltdown = group(&[MemberState::Away, SICK, MemberState::Away]);
    for (number, zone) in [(0, "zone-1"), (1, "zone-1"), (2, "zone-2")] {
        let fact = MemberFact { zone: Some(zone.into()), ..meltdown.members[&key(number)].clone() };
        meltdown.update(&key(number), Some(&fact));
    }
    let asks = |meltdown: &mut Meltdown, number| meltdown.ask(&key(number), PermitRequest::ZoneOnly, at(0));
    assert_eq!(asks(&mut meltdown, 2), Permit::Granted { zone: None });
    assert!(meltdown.groups.values().all(|group| group.permits.is_empty() && group.waiting.is_empty()));
    set(&mut meltdown, 1, SILENT);
    assert!(matches!(asks(&mut meltdown, 0), Permit::Granted { zone: Some(_) }));
}

#[test]
fn limits_are_read_strictly() {
    for (text, limit) in [
        ("1", ReplacementLimit::ONE),
        (" 20% ", ReplacementLimit::Percent(20)),
        ("0", ReplacementLimit::Machines(0)),
    ] {
        assert_eq!(text.parse(), Ok(limit));
        assert_eq!(limit.to_string(), text.trim());
    }
    for text in ["", "%", "-1", "+1", "1.5", "101%", "1 %", "many", "99999999999"] {
        let error = text.parse::<ReplacementLimit>().unwrap_err();
        assert!(error.to_string().contains("neither a number"), "{error}");
    }
}

#[test]
fn nothing_is_kept_of_what_is_gone() {
    let mut meltdown = group(&[SICK, SICK, MemberState::Failed]);
    ask(&mut meltdown, 0, ReplacementLimit::Machines(9));
    ask(&mut meltdown, 1, ReplacementLimit::ONE);
    reboot(&mut meltdown, 1, at(0));
    for number in 0..3 {
        meltdown.update(&key(number), None);
    }
    assert!(meltdown.members.is_empty() && meltdown.groups.is_empty() && meltdown.zones.is_empty());
    let mut meltdown = zone(&[SICK]);
    ask(&mut meltdown, 0, ReplacementLimit::ONE);
    set(&mut meltdown, 0, MemberState::Failed);
    meltdown.update(&key(0), None);
    assert!(!meltdown.zones.is_empty(), "its zone remembers it");
    assert!(ask_at(&mut meltdown, 0, ReplacementLimit::ONE, at(0) + zone::REMEMBERED));
    let other = member(None, Some("zone-b".into()), SICK);
    meltdown.update(&key(1), Some(&other));
    ask_at(&mut meltdown, 1, ReplacementLimit::ONE, at(0) + zone::REMEMBERED);
    meltdown.update(&key(1), None);
    assert!(meltdown.zones.is_empty());
}

fn state() -> impl Strategy<Value = MemberState> {
    prop_oneof![
        Just(RUNNING),
        Just(SICK),
        Just(SILENT),
        Just(MemberState::Away),
        Just(MemberState::Failed),
        Just(MemberState::Kept)
    ]
}

#[derive(Clone, Debug)]
enum Move {
    Update(usize, Option<(u8, u8, MemberState)>),
    Reboot(usize),
    Ask(usize),
    GiveBack(usize),
    Pass(i64),
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let update = (0..6_usize, proptest::option::of((0..2_u8, 0..2_u8, state())));
    let one = prop_oneof![
        update.prop_map(|(number, fact)| Move::Update(number, fact)),
        (0..6_usize).prop_map(Move::Reboot),
        (0..6_usize).prop_map(Move::Ask),
        (0..6_usize).prop_map(Move::GiveBack),
        (0..400_i64).prop_map(Move::Pass),
    ];
    proptest::collection::vec(one, 0..60)
}

/// Counted by looking at all: the Machine takes a place in its deployment.
fn takes_a_place(meltdown: &Meltdown, other: &ObjectKey, member: &MemberFact, now: Timestamp) -> bool {
    let state = &meltdown.groups[member.group.as_ref().unwrap()];
    let is_held = state.permits.get(other).is_some_and(|until| *until > now);
    let is_rebooting = matches!(member.state, MemberState::Doubtful { .. })
        && member.rebooted_at.is_some_and(|at| is_rebooting(at, now));
    matches!(member.state, MemberState::Away | MemberState::Failed) || is_rebooting || is_held
}

proptest! {
    #[test]
    fn counts_are_those_of_a_full_look_and_permits_never_exceed_the_limit(moves in moves()) {
        let mut meltdown = Meltdown::new(50);
        let mut now = at(0);
        for one in moves {
            match one {
                Move::Update(number, fact) => {
                    let fact = fact.map(|(group, zone, state)| {
                        member(deployment(&group.to_string()), Some(FailureDomain::new(zone.to_string())), state)
                    });
                    meltdown.update(&key(number), fact.as_ref());
                }
                Move::Reboot(number) => {
                    if meltdown.members.contains_key(&key(number)) {
                        reboot(&mut meltdown, number, now);
                    }
                }
                Move::Ask(number) => {
                    let group = meltdown.members.get(&key(number)).and_then(|member| member.group.clone());
                    let before = group.as_ref().map(|group| {
                        let of_group = meltdown.members.iter().filter(|(_, member)| member.group.as_ref() == Some(group));
                        of_group
                            .filter(|(other, _)| **other != key(number))
                            .filter(|(other, member)| takes_a_place(&meltdown, other, member, now))
                            .count()
                    });
                    let is_granted = ask_at(&mut meltdown, number, ReplacementLimit::ONE, now);
                    prop_assert_eq!(is_granted, before.is_none_or(|others| others == 0));
                }
                Move::GiveBack(number) => {
                    meltdown.give_back(&key(number));
                }
                Move::Pass(seconds) => now += SignedDuration::from_secs(seconds),
            }
            for (name, (serving, silent)) in meltdown.zones.counts() {
                let of_zone = || meltdown.members.values().filter(|member| member.zone.as_ref() == Some(&name));
                let serves = |member: &&MemberFact| !matches!(member.state, MemberState::Away | MemberState::Failed | MemberState::Kept);
                prop_assert_eq!(serving, of_zone().filter(serves).count());
                prop_assert_eq!(silent, of_zone().filter(|member| member.state == SILENT).count());
            }
        }
    }

    /// Machines of one deployment that are all sick, and a host that starts them again and fails them as permits allow,
    /// loses the news of the cache for a while and starts again itself: whatever it does when, no more are away because
    /// of it than may be.
    #[test]
    fn never_are_more_machines_failed_and_rebooted_at_a_time_than_the_limit_says(
        places in 1..4_u32,
        actions in proptest::collection::vec((0..5_usize, 0..7_u8, 0..200_i64), 1..120),
    ) {
        let limit = ReplacementLimit::Machines(places);
        let mut meltdown = group(&[SICK; 5]);
        let mut world: BTreeMap<usize, MemberFact> =
            (0..5).map(|number| (number, meltdown.members[&key(number)].clone())).collect();
        let (mut now, mut is_behind) = (at(0), false);
        for (number, action, seconds) in actions {
            now += SignedDuration::from_secs(seconds);
            let fact = world[&number].clone();
            let is_sick = fact.state == SICK;
            let next = match action {
                0..=2 if is_sick && ask_at(&mut meltdown, number, limit, now) => match action {
                    0 => MemberFact { state: MemberState::Failed, ..fact },
                    1 => MemberFact { rebooted_at: Some(now), ..fact },
                    // The reconcile came to another end.
                    _ => {
                        meltdown.give_back(&key(number));
                        fact
                    }
                },
                // The start has helped, the replacement has come.
                3 if fact.state != RUNNING => MemberFact { state: RUNNING, rebooted_at: None, ..fact },
                4 if fact.state == RUNNING => MemberFact { state: SICK, ..fact },
                _ => fact,
            };
            world.insert(number, next);
            if action == 5 {
                meltdown = Meltdown::new(50);
            }
            // The cache is late for less than a permit is held.
            is_behind = !is_behind && seconds % 3 == 0 && action < 3;
            if !is_behind {
                for (number, fact) in &world {
                    meltdown.update(&key(*number), Some(fact));
                }
            }
            let away = world.values().filter(|fact| match fact.state {
                MemberState::Failed => true,
                MemberState::Doubtful { .. } => fact.rebooted_at.is_some_and(|at| is_rebooting(at, now)),
                MemberState::Running { .. } | MemberState::Away | MemberState::Kept => false,
            });
            prop_assert!(away.count() <= places as usize, "{world:?}");
        }
    }
}
