use super::*;

fn seen(name: &str, phase: &str) -> Seen {
    Seen {
        name: name.into(),
        phase: phase.into(),
        class: "small".into(),
        deployment: "d".into(),
        ..Seen::default()
    }
}

fn deleting(name: &str) -> Seen {
    Seen { is_deleting: true, ..seen(name, "Running") }
}

fn fleet(machines: &[&str]) -> Fleet {
    let mut fleet = Fleet::default();
    for name in machines {
        fleet.is_there(&seen(name, "Running"), Instant::now());
    }
    fleet.begin();
    fleet
}

#[test]
fn a_machine_too_many_is_seen_however_soon_it_is_gone() {
    let mut fleet = fleet(&["a", "b"]);
    fleet.is_there(&seen("c", ""), Instant::now());
    fleet.is_gone("c");
    let stretch = fleet.begin();
    assert_eq!((stretch.most, stretch.most_alive, stretch.made, stretch.gone), (3, 3, 1, 1));
    let complaint = stretch.keeps_to(FleetBounds { most: 2, fewest_available: 2 }).unwrap_err().to_string();
    assert_eq!(complaint, "there were 3 Machines at some moment, 2 are allowed");
    stretch.keeps_to(FleetBounds { most: 3, fewest_available: 2 }).unwrap();
    fleet.begin().keeps_to(FleetBounds { most: 2, fewest_available: 2 }).unwrap();
}

#[test]
fn one_that_is_being_deleted_takes_its_place_and_is_not_available() {
    let mut fleet = fleet(&["a", "b"]);
    fleet.is_there(&deleting("a"), Instant::now());
    fleet.is_there(&seen("c", "Pending"), Instant::now());
    assert_eq!(fleet.tally().to_string(), "3 Machines: 1 Deleting, 1 Pending, 1 Running (of class: 3 small)");
    let stretch = fleet.begin();
    assert_eq!(
        (stretch.most, stretch.most_alive, stretch.most_of_one, stretch.fewest_available),
        (3, 2, 2, 1)
    );
    let complaint = stretch.keeps_to(FleetBounds { most: 3, fewest_available: 2 }).unwrap_err().to_string();
    assert_eq!(complaint, "1 Machines were available at some moment, 2 must be");
}

#[test]
fn a_stretch_begins_with_what_is_there() {
    let mut fleet = fleet(&["a", "b"]);
    assert_eq!((fleet.stretch().most, fleet.stretch().fewest_available), (2, 2));
    fleet.is_there(&seen("b", "Unknown"), Instant::now());
    fleet.is_there(&seen("b", "Running"), Instant::now());
    assert_eq!(fleet.stretch().fewest_available, 1);
    assert_eq!(fleet.stretch().moments, 2);
}

#[test]
fn who_has_missed_something_does_not_say_that_all_is_well() {
    let mut fleet = fleet(&["a", "b"]);
    fleet.is_listed(vec![seen("b", "Running"), seen("c", "Running")], Instant::now());
    assert_eq!(fleet.machines().keys().collect::<Vec<_>>(), ["b", "c"]);
    let complaint = fleet.begin().keeps_to(FleetBounds { most: 9, fewest_available: 0 }).unwrap_err();
    assert!(complaint.to_string().contains("the watch broke 1 times"), "{complaint}");
}

#[test]
fn a_machine_counts_as_run_once_it_was_running() {
    let mut fleet = Fleet::default();
    let at = Instant::now();
    fleet.is_there(&seen("a", ""), at);
    assert!(fleet.runs().is_empty());
    fleet.is_there(&seen("a", "Running"), at);
    fleet.is_there(&deleting("a"), Instant::now());
    fleet.is_gone("a");
    assert_eq!(fleet.runs()["a"], at);
    assert_eq!(fleet.tally(), &Tally::default());
}
