use super::*;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millisecond(millis).unwrap()
}

fn pod(name: &str) -> PodFact {
    PodFact {
        key: PodKey { namespace: "shop".to_owned(), name: name.to_owned() },
        uid: format!("uid-{name}"),
        node: "n1".to_owned(),
        containers: vec![("c".to_owned(), "image".to_owned())],
        claims: Vec::new(),
        phase: PodPhase::Pending,
        deletion_grace: None,
        conduct: Conduct { hangs: false, exits_after: None, finishes_after: None, is_ready: true },
    }
}

fn ending(fact: PodFact, grace_secs: u64) -> PodFact {
    PodFact { deletion_grace: Some(Duration::from_secs(grace_secs)), phase: PodPhase::Running, ..fact }
}

/// Pods whose kubelets' requests succeed at once, and a log of what was asked when.
struct Harness {
    pods: Pods,
    is_up: bool,
    now: i64,
    log: Vec<String>,
}

impl Harness {
    fn new(timing: PodTiming) -> Self {
        Self { pods: Pods::new(timing), is_up: true, now: 0, log: Vec::new() }
    }

    fn hear(&mut self, fact: PodFact) {
        self.pods.hear(fact, at(self.now));
    }

    fn node(&mut self, attached: &[&str], reported_in_use: &[&str]) {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        self.pods.hear_node("n1", set(attached), set(reported_in_use), at(self.now));
    }

    fn run_until(&mut self, end: i64) -> Vec<String> {
        loop {
            let is_up = self.is_up;
            for (subject, action) in self.pods.take_due(at(self.now), 100, |_| is_up) {
                let what = match &action {
                    PodAction::Run(fact) => format!("run {}", fact.key.name),
                    PodAction::Finish(fact) => format!("finish {}", fact.key.name),
                    PodAction::Remove { key, .. } => format!("remove {}", key.name),
                    PodAction::TellInUse { volumes, .. } => format!("in use {volumes:?}"),
                };
                self.log.push(format!("{} {what}", self.now));
                self.pods.finish(&subject, &action, PodDone::Done, at(self.now));
            }
            match self.pods.next_wake().map(Timestamp::as_millisecond).filter(|next| *next <= end) {
                Some(next) => self.now = next.max(self.now),
                None => break,
            }
        }
        self.now = end;
        std::mem::take(&mut self.log)
    }
}

fn started() -> PodTiming {
    PodTiming { start: Duration::from_millis(100), exit: None }
}

#[test]
fn a_pod_runs_after_its_start_and_goes_after_its_whole_grace_period() {
    let mut harness = Harness::new(started());
    harness.hear(pod("a"));
    assert_eq!(harness.run_until(1000), ["100 run a"]);
    harness.hear(ending(pod("a"), 30));
    assert_eq!(harness.run_until(100_000), ["31000 remove a"]);
    harness.hear(ending(pod("a"), 30));
    assert_eq!(harness.run_until(200_000), [""; 0], "what a finalizer holds is not removed again");
}

#[test]
fn a_pod_may_end_before_its_grace_period_and_never_after_it() {
    let quick = PodTiming { exit: Some(Duration::from_secs(2)), ..PodTiming::default() };
    let mut harness = Harness::new(quick);
    harness.hear(ending(pod("a"), 30));
    harness.hear(ending(pod("b"), 1));
    let mut own = ending(pod("c"), 30);
    own.conduct.exits_after = Some(Duration::from_millis(300));
    harness.hear(own);
    assert_eq!(harness.run_until(9000), ["300 remove c", "1000 remove b", "2000 remove a"]);
}

#[test]
fn a_second_deletion_with_a_shorter_grace_period_counts_from_the_first() {
    let mut harness = Harness::new(PodTiming::default());
    harness.hear(ending(pod("a"), 30));
    harness.run_until(4000);
    harness.hear(ending(pod("a"), 5));
    assert_eq!(harness.run_until(9000), ["5000 remove a"]);
}

#[test]
fn a_pod_that_hangs_stays_until_it_does_not() {
    let mut harness = Harness::new(PodTiming::default());
    let mut hangs = ending(pod("a"), 1);
    hangs.conduct.hangs = true;
    harness.hear(hangs);
    assert_eq!(harness.run_until(100_000), [""; 0]);
    harness.hear(ending(pod("a"), 1));
    assert_eq!(harness.run_until(100_000), ["100000 remove a"]);
}

#[test]
fn what_has_finished_or_never_ran_goes_at_once() {
    let mut harness = Harness::new(PodTiming { start: Duration::from_secs(60), exit: None });
    harness.hear(PodFact { phase: PodPhase::Finished, ..ending(pod("a"), 30) });
    harness.hear(PodFact { phase: PodPhase::Pending, ..ending(pod("b"), 30) });
    assert_eq!(harness.run_until(0), ["0 remove a", "0 remove b"]);
}

#[test]
fn a_job_finishes_by_itself() {
    let mut harness = Harness::new(PodTiming::default());
    let mut job = pod("a");
    job.conduct.finishes_after = Some(Duration::from_secs(3));
    harness.hear(job);
    assert_eq!(harness.run_until(60_000), ["0 run a", "3000 finish a"]);
    assert_eq!(harness.pods.stats().running, 0);
}

#[test]
fn nothing_happens_while_the_kubelet_is_down_and_all_of_it_soon_after() {
    let mut harness = Harness::new(PodTiming::default());
    harness.is_up = false;
    harness.hear(pod("a"));
    harness.hear(ending(pod("b"), 1));
    assert_eq!(harness.run_until(60_000), [""; 0]);
    harness.is_up = true;
    let mut happened = harness.run_until(60_000 + 300);
    happened.sort();
    let whats: Vec<&str> = happened.iter().map(|line| line.split_once(' ').unwrap().1).collect();
    assert_eq!(whats, ["remove b", "run a"]);
}

#[test]
fn a_kubelet_that_is_down_is_looked_at_for_its_node_and_not_for_each_pod() {
    let mut pods = Pods::new(PodTiming::default());
    for number in 0..100 {
        pods.hear(pod(&format!("p{number}")), at(0));
    }
    let looks = std::cell::Cell::new(0);
    let mut look = |now| {
        let due = pods.take_due(at(now), 1_000, |_| {
            looks.set(looks.get() + 1);
            now >= 20_000
        });
        due.len()
    };
    for second in 1..20 {
        assert_eq!(look(second * 1_000), 0);
    }
    assert!(looks.get() < 150, "{} looks for 100 pods in 20 s", looks.get());
    assert_eq!(look(20_000), 100);
}

#[test]
fn a_pod_with_volumes_waits_for_them_and_gives_them_back_before_it_goes() {
    let mut harness = Harness::new(PodTiming::default());
    harness.pods.catalogue(at(0), |catalogue| {
        catalogue.hear_claim(&from(
            r#"{"metadata":{"namespace":"shop","name":"data"},"spec":{"volumeName":"pv"}}"#,
        ));
        catalogue.hear_volume(&from(
            r#"{"metadata":{"name":"pv"},"spec":{"csi":{"driver":"d","volumeHandle":"h"}}}"#,
        ));
    });
    let mut with_volume = pod("a");
    with_volume.claims = vec!["data".to_owned()];
    harness.hear(with_volume.clone());
    assert_eq!(harness.run_until(1000), [r#"0 in use {"kubernetes.io/csi/d^h"}"#]);
    harness.node(&["kubernetes.io/csi/d^h"], &["kubernetes.io/csi/d^h"]);
    assert_eq!(harness.run_until(2000), ["1000 run a"]);
    harness.hear(ending(with_volume, 5));
    assert_eq!(harness.run_until(60_000), ["7000 in use {}", "7000 remove a"]);
}

#[test]
fn a_pod_whose_claim_is_unknown_waits_for_it() {
    let mut harness = Harness::new(PodTiming::default());
    let mut with_volume = pod("a");
    with_volume.claims = vec!["data".to_owned()];
    harness.hear(with_volume);
    harness.node(&["kubernetes.io/csi/d^h"], &[]);
    assert_eq!(harness.run_until(1000), [""; 0]);
}

#[test]
fn a_pod_of_the_same_name_is_another_pod() {
    let mut harness = Harness::new(PodTiming::default());
    harness.hear(ending(pod("a"), 5));
    harness.run_until(5000);
    harness.hear(PodFact { uid: "another".to_owned(), ..pod("a") });
    assert_eq!(harness.run_until(6000), ["5000 run a"]);
    harness.pods.keep_only(&BTreeSet::new(), at(6000));
    assert_eq!(harness.pods.stats().bound, 0);
}

#[test]
fn a_removal_counts_also_when_the_pod_is_gone_before_the_answer_comes() {
    let mut harness = Harness::new(PodTiming::default());
    harness.hear(ending(pod("a"), 0));
    harness.pods.take_due(at(0), 1, |_| true);
    let (subject, action) =
        (Subject::Pod(pod("a").key), PodAction::Remove { key: pod("a").key, uid: "uid-a".to_owned() });
    harness.pods.forget(&pod("a").key, at(1));
    harness.pods.finish(&subject, &action, PodDone::Done, at(2));
    assert_eq!(harness.pods.stats().removed, 1);
}

fn from<T: serde::de::DeserializeOwned>(json: &str) -> T {
    serde_json::from_str(json).unwrap()
}
