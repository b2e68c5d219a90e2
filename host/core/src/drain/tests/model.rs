//! Whole drains against a small model of a cluster, with anything that may go wrong in it.

use proptest::prelude::*;

use super::*;

/// The behaviour of a pod in the model.
#[derive(Clone, Debug)]
struct Plan {
    owner: PodOwner,
    grace: i64,
    /// How long it takes to end; `None`: it hangs.
    ends_after: Option<i64>,
    has_volume: bool,
    /// How long its volume stays attached after its end; `None`: for ever.
    detaches_after: Option<i64>,
    /// How long until its volume is elsewhere; `None`: never.
    arrives_after: Option<i64>,
    /// From when its budget lets it go; `None`: never. 0: it has no budget.
    free_from: Option<i64>,
    priority: i32,
}

fn plan() -> impl Strategy<Value = Plan> {
    let owner = prop_oneof![
        1 => Just(PodOwner::Mirror),
        1 => Just(PodOwner::DaemonSet),
        6 => Just(PodOwner::Controller),
        1 => Just(PodOwner::Nobody),
    ];
    let rarely_never = |range: std::ops::Range<i64>| prop::option::weighted(0.9, range);
    (
        owner,
        0..120_i64,
        rarely_never(0..90),
        any::<bool>(),
        rarely_never(0..200),
        rarely_never(0..200),
        prop_oneof![3 => Just(Some(0)), 1 => (1..900_i64).prop_map(Some), 1 => Just(None)],
        -2..3_i32,
    )
        .prop_map(
            |(owner, grace, ends_after, has_volume, detaches_after, arrives_after, free_from, priority)| {
                Plan {
                    owner,
                    grace,
                    ends_after,
                    has_volume,
                    detaches_after,
                    arrives_after,
                    free_from,
                    priority,
                }
            },
        )
}

/// When things happened to a pod.
#[derive(Clone, Debug, Default)]
struct PodOutcome {
    reported: Option<i64>,
    killed: Option<i64>,
}

struct Cluster {
    plans: Vec<Plan>,
    courses: Vec<PodOutcome>,
    detached: BTreeSet<String>,
}

impl Cluster {
    fn gone_at(&self, n: usize) -> Option<i64> {
        let course = &self.courses[n];
        let ended = course.reported.and_then(|reported| Some(reported + self.plans[n].ends_after?));
        match (ended, course.killed) {
            (Some(ended), Some(killed)) => Some(ended.min(killed)),
            (ended, killed) => ended.or(killed),
        }
    }

    fn is_present(&self, n: usize, now: i64) -> bool {
        self.gone_at(n).is_none_or(|gone| now < gone)
    }

    fn is_attached(&self, n: usize, now: i64) -> bool {
        let is_left = || {
            let gone = self.gone_at(n)?;
            Some(now >= gone + self.plans[n].detaches_after?)
        };
        let is_deleted = self.detached.contains(&format!("va-{n}"));
        self.plans[n].has_volume && !is_deleted && (self.is_present(n, now) || is_left() != Some(true))
    }

    fn is_elsewhere(&self, n: usize, now: i64) -> bool {
        let arrived = self.gone_at(n).and_then(|gone| Some(gone + self.plans[n].arrives_after?));
        !self.is_attached(n, now) && arrived.is_some_and(|arrived| now >= arrived)
    }

    fn budget(&self, n: usize, now: i64) -> Option<BudgetFact> {
        match self.plans[n].free_from {
            Some(0) => None,
            free_from => Some(budget(&format!("b{n}"), i32::from(free_from.is_some_and(|from| now >= from)))),
        }
    }

    fn pods(&self, now: i64) -> Vec<PodFact> {
        let one = |n: usize| {
            let plan = &self.plans[n];
            let mut fact = pod(&format!("p{n}")).owned_by(plan.owner).priority(plan.priority);
            fact.grace = SignedDuration::from_secs(plan.grace);
            if plan.has_volume {
                fact = fact.with_volume(&format!("v{n}"));
            }
            fact.budgets.extend(self.budget(n, now));
            match self.courses[n].reported {
                Some(reported) => fact.ending(reported),
                None => fact,
            }
        };
        (0..self.plans.len()).filter(|n| self.is_present(*n, now)).map(one).collect()
    }

    fn attachments(&self, now: i64) -> Vec<AttachmentFact> {
        let here = (0..self.plans.len())
            .filter(|n| self.is_attached(*n, now))
            .map(|n| attachment(&format!("va-{n}"), Some(&format!("v{n}"))));
        let elsewhere = (0..self.plans.len())
            .filter(|n| self.plans[*n].has_volume && self.is_elsewhere(*n, now))
            .map(|n| AttachmentFact {
                is_here: false,
                ..attachment(&format!("vb-{n}"), Some(&format!("v{n}")))
            });
        here.chain(elsewhere).collect()
    }

    /// Pods with volumes that are on their way and not hanging.
    fn moving(&self, now: i64, detach_timeout: i64) -> usize {
        (0..self.plans.len())
            .filter(|n| {
                let plan = &self.plans[*n];
                let Some(reported) = self.courses[*n].reported else { return false };
                let is_in_time = now < reported + plan.grace + detach_timeout;
                plan.has_volume && plan.owner > PodOwner::DaemonSet && is_in_time && self.is_attached(*n, now)
            })
            .count()
    }
}

fn index(pod: &PodRef) -> usize {
    pod.key.name.as_str()[1..].parse().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: tier::cases(400), ..ProptestConfig::default() })]

    #[test]
    fn every_drain_ends_in_time_and_harms_nobody_on_the_way(
        plans in prop::collection::vec(plan(), 0..12),
        parallel in 0..4_u32,
        retries in 0..40_u32,
        timeout in 1..1_000_i64,
        keeps_memory in any::<bool>(),
    ) {
        let mut cluster = Cluster { courses: vec![PodOutcome::default(); plans.len()], plans, detached: BTreeSet::new() };
        let mut state = drain([]);
        state.settings.parallel_volumes = parallel;
        state.settings.max_evict_retries = retries;
        state.settings.timeout = SignedDuration::from_secs(timeout);
        let eviction_ends = timeout.min(i64::from(retries) * 20);
        let mut now = 0;
        for passes in 0.. {
            prop_assert!(passes < 400, "too many passes");
            state.seconds = now;
            state.progress = DrainProgress::default();
            state.pods = cluster.pods(now);
            state.facts.attachments = Some(cluster.attachments(now));
            let before = cluster.moving(now, 120);
            let mut done = Vec::new();
            let (_, end) = state.pass(|effect| { done.push(effect.clone()); None });
            prop_assert!(done.len() <= 40);
            let mut reported = 0;
            for effect in done {
                match effect {
                    DrainEffect::ListPods { .. } => {}
                    DrainEffect::Evict(pod) => {
                        let n = index(&pod);
                        prop_assert!(now < eviction_ends, "asked for too long");
                        prop_assert!(cluster.plans[n].owner > PodOwner::DaemonSet);
                        let is_held = cluster.budget(n, now).is_some_and(|budget| budget.disruptions_allowed == 0);
                        prop_assert!(!is_held || (now >= 180 && now % 180 < 5), "a budget was overrun");
                        if is_held { continue }
                        reported += usize::from(cluster.plans[n].has_volume);
                        cluster.courses[n].reported.get_or_insert(now);
                    }
                    DrainEffect::DeletePod(pod) => {
                        let n = index(&pod);
                        prop_assert!(now >= eviction_ends, "deleted too early");
                        prop_assert!(cluster.plans[n].owner > PodOwner::DaemonSet);
                        cluster.courses[n].killed.get_or_insert(now);
                    }
                    DrainEffect::DeleteAttachment { name, .. } => {
                        cluster.detached.insert(name.to_string());
                    }
                }
            }
            let allowed = usize::try_from(parallel.max(1)).unwrap();
            prop_assert!(reported == 0 || before + reported <= allowed, "{before} moving, {reported} more told");
            match end {
                DrainStep::Done { report } => {
                    prop_assert!(now <= timeout);
                    if report.end == Some(DrainEnd::Drained) {
                        let is_left = |n: usize| cluster.plans[n].owner > PodOwner::DaemonSet
                            && (cluster.is_present(n, now) || cluster.is_attached(n, now));
                        prop_assert!(!(0..cluster.plans.len()).any(is_left), "called drained too early");
                    }
                    if report.end == Some(DrainEnd::Forced) {
                        prop_assert!(cluster.attachments(now).iter().all(|attachment| !attachment.is_here));
                    }
                    return Ok(());
                }
                DrainStep::Wait { report, wake: Requeue::After(after) } => {
                    prop_assert!(after >= SignedDuration::from_secs(1));
                    prop_assert!(now < timeout, "waits beyond the time-out");
                    if keeps_memory {
                        state.facts.memory = report.memory;
                    }
                    now = timeout.min(now + after.as_secs());
                }
                other => prop_assert!(false, "{other:?}"),
            }
        }
    }
}
