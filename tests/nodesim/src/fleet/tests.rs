use super::*;
use crate::vm::Address;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millisecond(millis).unwrap()
}

fn vm(name: &str, boot: u32) -> Vm {
    Vm {
        id: format!("id-{name}"),
        node_name: name.to_owned(),
        provider_id: format!("sim:///zone/id-{name}"),
        region: "region".to_owned(),
        zone: "zone".to_owned(),
        instance_type: "small".to_owned(),
        cpus: 2,
        memory_gib: 4,
        gpus: 0,
        addresses: vec![Address { kind: "Hostname".to_owned(), address: name.to_owned() }],
        boot_id: boot.to_string(),
    }
}

/// A fleet with an API server that answers as planned, and a log of events with their times.
struct Harness {
    fleet: Fleet,
    answers: Vec<Done>,
    now: i64,
    log: Vec<String>,
}

impl Harness {
    fn new(timing: Timing) -> Self {
        Self { fleet: Fleet::new(timing, 1), answers: Vec::new(), now: 0, log: Vec::new() }
    }

    fn hear(&mut self, event: VmEvent) {
        self.fleet.hear(event, at(self.now));
    }

    /// Performs what is due until the time; each action ends at once, by default well.
    fn run_until(&mut self, end: i64) {
        loop {
            for (id, action) in self.fleet.take_due(at(self.now), 100) {
                let (what, good) = match &action {
                    Action::Join { .. } => ("join", Done::Joined { uid: "uid".to_owned() }),
                    Action::Lease { is_first: true, .. } => ("first-lease", Done::Written),
                    Action::Lease { is_first: false, .. } => ("lease", Done::Written),
                    Action::Status { write: StatusWrite::Report { is_ready: true, .. }, .. } => {
                        ("ready", Done::Written)
                    }
                    Action::Status { write: StatusWrite::Report { is_ready: false, .. }, .. } => {
                        ("not-ready", Done::Written)
                    }
                    Action::Status { write: StatusWrite::Unknown { .. }, .. } => ("unknown", Done::Written),
                };
                let done = if self.answers.is_empty() { good } else { self.answers.remove(0) };
                self.log.push(format!("{} {what}", self.now / 1000));
                self.fleet.finish(&id, &action, &done, at(self.now));
            }
            let next = self.fleet.next_wake().map(Timestamp::as_millisecond).filter(|next| *next <= end);
            match next {
                // Times have more digits than milliseconds: at least one passes.
                Some(next) => self.now = next.max(self.now + 1),
                None => break,
            }
        }
        self.now = end;
    }

    /// The events since the last call, without their seconds.
    fn happened(&mut self) -> Vec<String> {
        self.log.drain(..).map(|line| line.split_once(' ').unwrap().1.to_owned()).collect()
    }
}

fn timing() -> Timing {
    Timing { heartbeat: Duration::from_secs(10), ..Timing::default() }
}

/// A world whose one kubelet has joined and written its first Lease, ten seconds after it started.
fn running(timing: Timing) -> Harness {
    let up = i64::try_from(timing.boot_delay.as_millis()).unwrap();
    let mut harness = Harness::new(timing);
    harness.hear(VmEvent::Runs(vm("a", 1)));
    harness.run_until(10_000 + up);
    assert_eq!(harness.happened(), ["join", "first-lease"]);
    harness
}

#[test]
fn a_kubelet_joins_after_its_delays() {
    let mut harness = Harness::new(Timing {
        boot_delay: Duration::from_secs(2),
        join_delay: Duration::from_secs(1),
        ..timing()
    });
    harness.hear(VmEvent::Runs(vm("a", 1)));
    harness.run_until(2999);
    assert_eq!(harness.log, [""; 0]);
    harness.run_until(3000);
    assert_eq!(harness.log, ["3 join"]);
    assert_eq!(harness.fleet.registered(), ["a"]);
}

#[test]
fn leases_come_at_each_heartbeat_and_the_status_at_each_fifth() {
    let mut harness = running(timing());
    harness.run_until(310_000);
    let happened = harness.happened();
    let count = |what: &str| happened.iter().filter(|line| *line == what).count();
    assert_eq!((count("lease"), count("ready")), (30, 6), "{happened:?}");
    assert_eq!(harness.fleet.stats().lease_writes, 31);
}

#[test]
fn heartbeats_of_many_kubelets_are_spread() {
    let mut harness = Harness::new(timing());
    for number in 0..1000 {
        harness.hear(VmEvent::Runs(vm(&format!("vm-{number}"), 1)));
    }
    harness.run_until(10_000);
    for second in 0..10 {
        let leases = harness.log.iter().filter(|line| **line == format!("{second} first-lease")).count();
        assert!((50..150).contains(&leases), "{leases} leases in second {second}");
    }
}

#[test]
fn a_refused_token_is_tried_again_ever_more_slowly() {
    let mut harness = Harness::new(timing());
    harness.answers = vec![Done::Refused; 8];
    harness.hear(VmEvent::Runs(vm("a", 1)));
    harness.run_until(100_000);
    let joins: Vec<i64> = harness
        .log
        .iter()
        .filter_map(|line| line.strip_suffix(" join"))
        .map(|second| second.parse().unwrap())
        .collect();
    assert_eq!(joins.len(), 9, "{joins:?}");
    let pauses: Vec<i64> = joins.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(pauses[0] <= 1 && (10..=20).contains(pauses.last().unwrap()), "{pauses:?}");
    assert_eq!(harness.fleet.stats().joins_refused, 8);
    assert_eq!(harness.fleet.stats().joined, 1);
}

#[test]
fn a_conflict_counts_once_and_is_tried_again() {
    let mut harness = Harness::new(timing());
    harness.answers = vec![Done::NameTaken, Done::NameTaken, Done::Adopted { uid: "uid".to_owned() }];
    harness.hear(VmEvent::Runs(vm("a", 1)));
    harness.run_until(9000);
    let stats = harness.fleet.stats();
    assert_eq!((stats.conflicts, stats.adopted, stats.joined, stats.registered), (1, 1, 0, 1));
    assert!(harness.happened().contains(&"ready".to_owned()), "who adopts a Node reports at once");
}

#[test]
fn without_a_token_there_is_nothing_to_try() {
    let mut harness = Harness::new(timing());
    harness.answers = vec![Done::NoToken];
    harness.hear(VmEvent::Runs(vm("a", 1)));
    harness.run_until(1_000_000);
    assert_eq!(harness.happened(), ["join"]);
    assert_eq!(harness.fleet.stats().without_token, 1);
}

#[test]
fn a_change_of_ready_is_written_at_once_and_once() {
    let mut harness = running(timing());
    assert!(harness.fleet.set_ready("a", false, at(harness.now)));
    assert!(harness.fleet.set_ready("a", false, at(harness.now)));
    harness.run_until(harness.now);
    assert_eq!(harness.happened(), ["not-ready"]);
    assert!(!harness.fleet.set_ready("b", false, at(harness.now)));
}

#[test]
fn a_further_condition_is_written_at_once_and_stays() {
    let mut harness = running(timing());
    assert!(harness.fleet.set_condition("a", "ReadonlyFilesystem", true, at(harness.now)));
    assert!(harness.fleet.set_condition("a", "ReadonlyFilesystem", true, at(harness.now)));
    let (id, action) = harness.fleet.take_due(at(harness.now), 1).remove(0);
    let Action::Status { write: StatusWrite::Report { conditions, .. }, .. } = &action else {
        panic!("{action:?}")
    };
    assert_eq!(conditions["ReadonlyFilesystem"], (true, at(harness.now)));
    harness.fleet.finish(&id, &action, &Done::Written, at(harness.now));
    harness.run_until(harness.now);
    assert_eq!(harness.happened(), [""; 0], "once");
}

#[test]
fn a_kubelet_is_up_while_its_vm_runs_its_node_exists_and_it_reports() {
    let mut harness = Harness::new(timing());
    harness.hear(VmEvent::Runs(vm("a", 1)));
    assert!(!harness.fleet.is_up("a"), "it has not joined");
    harness.run_until(1000);
    assert!(harness.fleet.is_up("a"));
    harness.fleet.silence("a", at(1000));
    assert!(!harness.fleet.is_up("a"));
    harness.fleet.resume("a", at(2000));
    assert!(harness.fleet.is_up("a"));
    harness.hear(VmEvent::Ended("id-a".to_owned()));
    assert!(!harness.fleet.is_up("a"));
}

#[test]
fn a_dead_vm_s_kubelet_does_nothing_more() {
    let mut harness = running(timing());
    harness.hear(VmEvent::Ended("id-a".to_owned()));
    harness.run_until(1_000_000);
    assert_eq!(harness.happened(), [""; 0]);
    let stats = harness.fleet.stats();
    assert_eq!((stats.alive, stats.registered, stats.joined), (0, 0, 1));
    assert!(!harness.fleet.silence("a", at(harness.now)));
}

#[test]
fn a_silent_node_becomes_unknown_once_after_its_grace() {
    let grace = Timing { unknown_after: Some(Duration::from_secs(40)), ..timing() };
    let mut harness = running(grace.clone());
    harness.fleet.silence("a", at(10_000));
    harness.run_until(49_999);
    assert_eq!(harness.happened(), [""; 0]);
    harness.run_until(500_000);
    assert_eq!(harness.log, ["50 unknown"]);
    harness.log.clear();
    harness.fleet.resume("a", at(500_000));
    harness.run_until(500_010);
    assert_eq!(harness.happened(), ["ready", "lease"]);

    let mut harness = running(grace);
    harness.hear(VmEvent::All(Vec::new()));
    harness.run_until(500_000);
    assert_eq!(harness.happened(), ["unknown"], "also when the VM is gone");
    assert_eq!(harness.fleet.kubelets.len(), 0, "and then it is forgotten");
}

#[test]
fn a_kubelet_that_comes_back_reports_at_once() {
    let mut harness = running(Timing { unknown_after: Some(Duration::from_secs(2)), ..timing() });
    harness.fleet.silence("a", at(10_000));
    harness.run_until(15_000);
    assert_eq!(harness.happened(), ["unknown"]);
    harness.fleet.resume("a", at(15_000));
    harness.run_until(15_010);
    assert_eq!(harness.happened(), ["ready", "lease"], "long before its status is due");
}

#[test]
fn a_vm_that_dies_while_it_joins_leaves_a_node_that_becomes_unknown() {
    let mut harness = Harness::new(Timing { unknown_after: Some(Duration::from_secs(40)), ..timing() });
    harness.hear(VmEvent::Runs(vm("a", 1)));
    let (id, action) = harness.fleet.take_due(at(0), 1).remove(0);
    harness.hear(VmEvent::Ended("id-a".to_owned()));
    harness.fleet.finish(&id, &action, &Done::Joined { uid: "uid".to_owned() }, at(1000));
    harness.run_until(100_000);
    assert_eq!(harness.log, ["41 unknown"]);
}

#[test]
fn a_pause_holds_for_those_who_come_later_too() {
    let mut harness = running(timing());
    harness.fleet.pause_all(at(10_000));
    harness.hear(VmEvent::Runs(vm("b", 1)));
    harness.run_until(100_000);
    assert_eq!(harness.happened(), [""; 0]);
    harness.fleet.resume_all(at(100_000));
    harness.run_until(109_000);
    let mut happened = harness.happened();
    happened.sort();
    assert!(
        ["join", "lease", "ready"].iter().all(|what| happened.iter().any(|line| line == what)),
        "{happened:?}"
    );
}

#[test]
fn a_reboot_is_silent_until_the_kubelet_is_up_and_then_reported() {
    let mut harness = running(Timing { boot_delay: Duration::from_secs(3), ..timing() });
    harness.run_until(20_000);
    harness.happened();
    harness.hear(VmEvent::Rebooted(vm("a", 2)));
    harness.run_until(23_001);
    assert_eq!(harness.log, ["23 ready", "23 lease"]);
    harness.log.clear();
    harness.hear(VmEvent::Runs(vm("a", 2)));
    harness.run_until(23_100);
    assert_eq!(harness.happened(), [""; 0], "the same boot twice is one boot");
}

#[test]
fn a_kubelet_whose_node_was_deleted_stops() {
    let mut harness = running(timing());
    harness.answers = vec![Done::Missing, Done::Missing];
    harness.run_until(500_000);
    assert_eq!(harness.happened(), ["lease", "ready"], "the Lease was gone, so it looked at the Node");
    assert_eq!(harness.fleet.stats().registered, 0);
}

#[test]
fn a_failed_heartbeat_is_repeated_soon() {
    let mut harness = running(timing());
    harness.answers = vec![Done::Failed];
    harness.run_until(22_600);
    let leases: Vec<i64> =
        harness.log.iter().map(|line| line.split_once(' ').unwrap().0.parse().unwrap()).collect();
    assert!(leases.len() >= 2 && leases[1] - leases[0] <= 3, "{:?}", harness.log);
    assert_eq!(harness.fleet.stats().failures, 1);
}
