//! A set through crashes, stale caches, lost answers and late requests.

use super::cluster::{Bug, Cluster, Weather};

const SEEDS: u64 = 1_500;

/// So many times something happens before the weather turns fair.
const TURNS: usize = 120;

#[derive(Debug)]
struct Seen {
    creations: usize,
    crashes: usize,
    refused_names: usize,
}

fn live_through(weather: Weather, bug: Option<Bug>) -> Seen {
    let mut seen = Seen { creations: 0, crashes: 0, refused_names: 0 };
    for seed in 0..SEEDS {
        let mut world = Cluster::new(seed, bug);
        world.weather = weather;
        for _ in 0..TURNS {
            if world.chance.one_in(15) {
                let replicas = i32::try_from(world.chance.below(9)).unwrap();
                world.change_set(|set| set.replicas = replicas);
            }
            if world.chance.one_in(20) {
                world.take_away();
            }
            world.tick();
            world.pass();
        }
        world.run_to_rest();
        let wanted = usize::try_from(world.set().replicas).unwrap();
        assert_eq!(world.machines.len(), wanted, "seed {seed}");
        seen.creations += world.creations;
        seen.crashes += world.crashes;
        seen.refused_names += world.refused_names;
    }
    seen
}

#[test]
fn a_set_never_has_a_machine_too_many_and_comes_to_rest() {
    let seen = live_through(Weather::Rough, None);
    assert!(seen.creations > 20_000 && seen.crashes > 3_000 && seen.refused_names > 100, "{seen:?}");
}

#[test]
fn not_even_when_a_host_begins_with_a_listing_of_long_ago() {
    let seen = live_through(Weather::Lying, None);
    assert!(seen.creations > 20_000 && seen.crashes > 3_000 && seen.refused_names > 1_000, "{seen:?}");
}

#[test]
fn what_makes_it_so_is_missed_when_it_is_missing() {
    for bug in [Bug::RandomNames, Bug::NoBarrier] {
        let decision = std::panic::catch_unwind(|| live_through(Weather::Rough, Some(bug)));
        assert!(decision.is_err(), "{bug:?}");
    }
}

#[test]
fn in_fair_weather_a_set_is_scaled_without_a_detour() {
    let mut world = Cluster::new(0, None);
    for replicas in [5, 250, 40, 0, 3] {
        world.change_set(|set| set.replicas = replicas);
        world.run_to_rest();
        assert_eq!(world.machines.len(), usize::try_from(replicas).unwrap());
    }
    assert_eq!((world.creations, world.refused_names), (253, 0));
}
