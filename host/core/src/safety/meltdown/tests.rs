//! Permits and zones, and a comparison with a count that looks at everything.

use proptest::prelude::*;

use super::*;

fn key(number: usize) -> ObjectKey {
    ObjectKey::new("garden", format!("m-{number}"))
}

fn deployment(name: &str) -> Option<Group> {
    Some(Group::Deployment("garden".into(), name.into()))
}

const RUNNING: Standing = Standing::Running { is_silent: false };
const SICK: Standing = Standing::Doubtful { is_silent: false };
const SILENT: Standing = Standing::Doubtful { is_silent: true };

fn at(second: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(second)
}

/// Machines of one deployment, each in a zone of its own.
fn group(standings: &[Standing]) -> Meltdown {
    let mut meltdown = Meltdown::new(50);
    for (number, standing) in standings.iter().enumerate() {
        let zone = Some(FailureDomain::new(format!("zone-{number}")));
        meltdown
            .update(&key(number), Some(&MemberFact { group: deployment("a"), zone, standing: *standing }));
    }
    meltdown
}

fn set(meltdown: &mut Meltdown, number: usize, standing: Standing) -> Vec<ObjectKey> {
    let fact = MemberFact { standing, ..meltdown.members[&key(number)].clone() };
    meltdown.update(&key(number), Some(&fact))
}

fn ask(meltdown: &mut Meltdown, number: usize, limit: Limit) -> bool {
    matches!(meltdown.ask(&key(number), limit, at(0)), Permit::Granted { .. })
}

#[test]
fn machines_of_a_deployment_are_failed_one_after_the_other() {
    let mut meltdown = group(&[SICK, SICK, RUNNING]);
    assert!(ask(&mut meltdown, 0, Limit::ONE));
    assert!(!ask(&mut meltdown, 1, Limit::ONE), "the cache does not show the first one yet");
    assert_eq!(set(&mut meltdown, 0, Standing::Failed), []);
    assert!(!ask(&mut meltdown, 1, Limit::ONE));
    assert_eq!(set(&mut meltdown, 0, Standing::Away), []);
    assert!(!ask(&mut meltdown, 1, Limit::ONE));
    assert_eq!(meltdown.update(&key(0), None), [key(1)], "who waits is told");
    assert!(ask(&mut meltdown, 1, Limit::ONE));
}

#[test]
fn who_asks_again_gets_the_same_permit_again() {
    let mut meltdown = group(&[SICK, SICK]);
    assert!(ask(&mut meltdown, 0, Limit::ONE) && ask(&mut meltdown, 0, Limit::ONE));
}

#[test]
fn a_limit_is_a_number_or_a_share() {
    let mut meltdown = group(&[SICK; 10]);
    let granted = (0..10).filter(|number| ask(&mut meltdown, *number, Limit::Machines(3))).count();
    assert_eq!(granted, 3);
    let mut meltdown = group(&[SICK; 10]);
    let granted = (0..10).filter(|number| ask(&mut meltdown, *number, Limit::Percent(20))).count();
    assert_eq!(granted, 2);
    assert!(!ask(&mut group(&[SICK]), 0, Limit::Machines(0)));
    assert!(ask(&mut group(&[SICK]), 0, Limit::Percent(1)), "at least one");
}

#[test]
fn what_comes_goes_or_is_updated_counts_and_what_is_preserved_does_not() {
    for (standing, is_granted) in
        [(Standing::Away, false), (Standing::Failed, false), (Standing::Kept, true), (RUNNING, true)]
    {
        assert_eq!(ask(&mut group(&[SICK, standing]), 0, Limit::ONE), is_granted, "{standing:?}");
    }
}

#[test]
fn two_machines_whose_update_in_place_failed_do_not_wait_for_each_other() {
    let mut meltdown = group(&[SICK, SICK]);
    assert!(ask(&mut meltdown, 1, Limit::ONE));
}

#[test]
fn machines_without_a_deployment_do_not_wait_for_each_other() {
    let mut meltdown = Meltdown::new(50);
    for number in 0..2 {
        meltdown.update(&key(number), Some(&MemberFact { group: None, zone: None, standing: SICK }));
    }
    assert!(ask(&mut meltdown, 0, Limit::ONE) && ask(&mut meltdown, 1, Limit::ONE));
}

#[test]
fn a_permit_ends_when_its_machine_recovers_is_given_back_or_its_time_is_over() {
    let mut meltdown = group(&[SICK, SICK]);
    assert!(ask(&mut meltdown, 0, Limit::ONE) && !ask(&mut meltdown, 1, Limit::ONE));
    assert_eq!(set(&mut meltdown, 0, RUNNING), [key(1)]);
    assert!(ask(&mut meltdown, 1, Limit::ONE));
    set(&mut meltdown, 0, SICK);
    assert!(!ask(&mut meltdown, 0, Limit::ONE));
    assert_eq!(meltdown.give_back(&key(1)), [key(0)]);
    assert!(ask(&mut meltdown, 0, Limit::ONE));
    let later = at(0) + PERMIT_LIFETIME;
    assert!(matches!(meltdown.ask(&key(1), Limit::ONE, later), Permit::Granted { .. }));
}

/// Machines of many deployments in one zone.
fn zone(standings: &[Standing]) -> Meltdown {
    let mut meltdown = Meltdown::new(50);
    for (number, standing) in standings.iter().enumerate() {
        let group = deployment(&format!("d-{number}"));
        let fact = MemberFact { group, zone: Some("zone-a".into()), standing: *standing };
        meltdown.update(&key(number), Some(&fact));
    }
    meltdown
}

/// What the zone says of the first Machine's failing: `silent`, `others`, both or nothing.
fn speaks(meltdown: &mut Meltdown) -> String {
    match meltdown.ask(&key(0), Limit::ONE, at(0)) {
        Permit::Granted { zone: None } => "nothing".into(),
        Permit::Granted { zone: Some(zone) } => {
            let words = [(zone.is_silent, "silent"), (zone.has_failed_others, "others")];
            words.iter().filter(|(is, _)| *is).map(|(_, word)| *word).collect::<Vec<_>>().join(" ")
        }
        Permit::Busy { .. } => "busy".into(),
    }
}

#[test]
fn a_zone_is_silent_with_two_silent_nodes_that_are_half_of_it() {
    assert_eq!(speaks(&mut zone(&[SILENT])), "nothing");
    assert_eq!(speaks(&mut zone(&[SILENT, SILENT])), "silent");
    assert_eq!(speaks(&mut zone(&[SILENT, SILENT, RUNNING, RUNNING])), "silent");
    assert_eq!(speaks(&mut zone(&[SILENT, SILENT, RUNNING, RUNNING, RUNNING])), "nothing");
    let quiet = Standing::Running { is_silent: true };
    assert_eq!(speaks(&mut zone(&[SILENT, quiet])), "silent", "also before it is Unknown");
    assert_eq!(speaks(&mut zone(&[SICK, SICK])), "nothing", "these Nodes speak");
}

#[test]
fn the_second_machine_of_a_zone_that_fails_is_noticed() {
    assert_eq!(speaks(&mut zone(&[SICK, Standing::Failed, RUNNING])), "others");
    assert_eq!(speaks(&mut zone(&[SICK, Standing::Away, RUNNING])), "nothing");
    let mut meltdown = zone(&[SICK, SICK, RUNNING]);
    assert!(ask(&mut meltdown, 1, Limit::ONE));
    assert_eq!(speaks(&mut meltdown), "others", "also while the cache does not show the first one");
    meltdown.give_back(&key(1));
    assert_eq!(speaks(&mut meltdown), "nothing");
}

#[test]
fn limits_are_read_strictly() {
    for (text, limit) in [("1", Limit::ONE), (" 20% ", Limit::Percent(20)), ("0", Limit::Machines(0))] {
        assert_eq!(text.parse(), Ok(limit));
        assert_eq!(limit.to_string(), text.trim());
    }
    for text in ["", "%", "-1", "+1", "1.5", "101%", "1 %", "many", "99999999999"] {
        let error = text.parse::<Limit>().unwrap_err();
        assert!(error.to_string().contains("neither a number"), "{error}");
    }
}

#[test]
fn nothing_is_kept_of_what_is_gone() {
    let mut meltdown = group(&[SICK, SICK, Standing::Failed]);
    ask(&mut meltdown, 0, Limit::Machines(9));
    ask(&mut meltdown, 1, Limit::ONE);
    for number in 0..3 {
        meltdown.update(&key(number), None);
    }
    assert!(meltdown.members.is_empty() && meltdown.groups.is_empty() && meltdown.zones.is_empty());
}

fn standing() -> impl Strategy<Value = Standing> {
    prop_oneof![
        Just(RUNNING),
        Just(SICK),
        Just(SILENT),
        Just(Standing::Away),
        Just(Standing::Failed),
        Just(Standing::Kept)
    ]
}

#[derive(Clone, Debug)]
enum Move {
    Update(usize, Option<(u8, u8, Standing)>),
    Ask(usize),
    GiveBack(usize),
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let update = (0..6_usize, proptest::option::of((0..2_u8, 0..2_u8, standing())));
    let one = prop_oneof![
        update.prop_map(|(number, fact)| Move::Update(number, fact)),
        (0..6_usize).prop_map(Move::Ask),
        (0..6_usize).prop_map(Move::GiveBack),
    ];
    proptest::collection::vec(one, 0..60)
}

proptest! {
    #[test]
    fn counts_are_those_of_a_full_look_and_permits_never_exceed_the_limit(moves in moves()) {
        let mut meltdown = Meltdown::new(50);
        for one in moves {
            match one {
                Move::Update(number, fact) => {
                    let fact = fact.map(|(group, zone, standing)| MemberFact {
                        group: deployment(&group.to_string()),
                        zone: Some(FailureDomain::new(zone.to_string())),
                        standing,
                    });
                    meltdown.update(&key(number), fact.as_ref());
                }
                Move::Ask(number) => {
                    let is_away = |key: &ObjectKey, meltdown: &Meltdown| {
                        let standing = meltdown.members.get(key).map(|member| member.standing);
                        matches!(standing, Some(Standing::Away | Standing::Failed))
                    };
                    let group = meltdown.members.get(&key(number)).and_then(|member| member.group.clone());
                    let before = group.as_ref().map(|group| {
                        let of_group = meltdown.members.iter().filter(|(_, member)| member.group.as_ref() == Some(group));
                        of_group
                            .filter(|(other, _)| **other != key(number))
                            .filter(|(other, _)| is_away(other, &meltdown) || meltdown.groups[group].permits.contains_key(*other))
                            .count()
                    });
                    let is_granted = ask(&mut meltdown, number, Limit::ONE);
                    prop_assert_eq!(is_granted, before.is_none_or(|others| others == 0));
                }
                Move::GiveBack(number) => {
                    meltdown.give_back(&key(number));
                }
            }
            for (name, (serving, silent)) in meltdown.zones.counts() {
                let of_zone = || meltdown.members.values().filter(|member| member.zone.as_ref() == Some(&name));
                let serves = |member: &&MemberFact| !matches!(member.standing, Standing::Away | Standing::Failed | Standing::Kept);
                prop_assert_eq!(serving, of_zone().filter(serves).count());
                prop_assert_eq!(silent, of_zone().filter(|member| member.standing == SILENT).count());
            }
        }
    }
}
