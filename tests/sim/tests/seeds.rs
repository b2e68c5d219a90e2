//! Many seeds, and one seed twice.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sim::{Plan, Report, run};

/// The number of runs of each test at the same time: as many as there are processors.
fn each(seeds: std::ops::Range<u64>, plan: impl Fn(u64) -> Plan + Sync) {
    let next = AtomicU64::new(seeds.start);
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..processors {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        return;
                    }
                    let report = run(&plan(seed)).unwrap();
                    assert!(report.violation.is_none(), "{}", describe(&report));
                }
            });
        }
    });
}

fn describe(report: &Report) -> String {
    let violation = report.violation.as_ref().map(ToString::to_string).unwrap_or_default();
    format!("{}\nseed {} failed: {violation}", report.story, report.seed)
}

#[test]
fn many_clusters_keep_all_promises_through_faults_and_come_to_rest_after_them() {
    // Two Machines are enough to roll from one to the other, a third lets both bounds of a rollout matter.
    // At night the simulator runs 2,000 of them, with optimisation.
    each(1..61, |seed| {
        let machines = 2 + usize::from(seed.is_multiple_of(5));
        Plan::new(seed, machines, Duration::from_mins(12))
    });
}

#[test]
fn the_same_seed_gives_the_same_trace_and_another_seed_another() {
    let plan = |seed| Plan::new(seed, 4, Duration::from_hours(1));
    is_repeated(plan);
    is_repeated(|seed| plan(seed).with_cluster_api());
}

fn is_repeated(plan: impl Fn(u64) -> Plan) {
    let hash = |seed| run(&plan(seed)).unwrap();
    let (one, other) = (hash(4_711), hash(4_711));
    assert!(one.calls > 300 && one.faults_injected() > 20, "it was eventful: {one:?}");
    assert_eq!((one.hash, one.calls), (other.hash, other.calls));
    assert_ne!(one.hash, hash(4_712).hash);
}

/// As many as are drawn with Cluster API among the others would be few.
#[test]
fn clusters_of_cluster_api_keep_all_promises_too() {
    each(101..113, |seed| Plan::new(seed, 2, Duration::from_mins(20)).with_cluster_api());
}
