//! Drains as tables: a Node with pods, and the next step.
//!
//! | module | what it tests |
//! | --- | --- |
//! | `pods` | which pods are evicted, and when |
//! | `volumes` | pods with volumes |
//! | `forced` | forced drains |
//! | `messages` | the text of a drain |
//! | `model` | whole drains against a model of a cluster in which anything may fail |

mod forced;
mod messages;
mod model;
mod pods;
mod volumes;

use std::collections::BTreeSet;

use expect_test::Expect;
use jiff::{SignedDuration, Timestamp};

use crate::driver::write_error::ActError;
use crate::scheduling::step::Requeue;
use crate::value::id::{Name, NodeName, ObjectKey, Uid};

use super::*;

/// When the clock of all these drains starts.
const START: Timestamp = Timestamp::UNIX_EPOCH;

const GRACE: SignedDuration = SignedDuration::from_secs(30);

fn at(seconds: i64) -> Timestamp {
    START + SignedDuration::from_secs(seconds)
}

/// One drain and what it has done in this reconcile.
#[derive(Clone)]
struct Drain {
    node: NodeName,
    settings: DrainSettings,
    facts: DrainFacts,
    pods: Vec<PodFact>,
    force: Option<Force>,
    progress: DrainProgress,
    seconds: i64,
}

fn drain(pods: impl IntoIterator<Item = PodFact>) -> Drain {
    Drain {
        node: NodeName::new("n"),
        settings: DrainSettings::default(),
        facts: DrainFacts { attachments: Some(Vec::new()), ..DrainFacts::default() },
        pods: pods.into_iter().collect(),
        force: None,
        progress: DrainProgress::default(),
        seconds: 0,
    }
}

impl Drain {
    fn at(mut self, seconds: i64) -> Self {
        self.seconds = seconds;
        self
    }

    fn forced(mut self, force: Force) -> Self {
        self.force = Some(force);
        self
    }

    fn attachment(mut self, name: &str, volume: Option<&str>) -> Self {
        self.facts.attachments.get_or_insert_default().push(attachment(name, volume));
        self
    }

    fn remembering(mut self, awaited: AwaitedVolume) -> Self {
        self.facts.memory.volumes.push(awaited);
        self
    }

    fn attached(mut self, name: &str) -> Self {
        let NodeState::Present { attached } = &mut self.facts.node else { panic!("the Node is gone") };
        attached.insert(name.to_owned());
        self
    }

    fn step(&self) -> DrainStep {
        let request = DrainRequest {
            node: &self.node,
            since: START,
            force: self.force,
            settings: &self.settings,
            facts: &self.facts,
        };
        step(&request, &self.progress, at(self.seconds))
    }

    /// Runs the reconcile to its end. `answer` gives the outcome of everything but looks.
    fn pass(&mut self, mut answer: impl FnMut(&DrainEffect) -> Option<ActError>) -> (Vec<String>, DrainStep) {
        let mut reported = Vec::new();
        for _ in 0..12 {
            let effects = match self.step() {
                DrainStep::Act(effects) => effects,
                end @ (DrainStep::Wait { .. } | DrainStep::Done { .. }) => return (reported, end),
            };
            assert!(!effects.is_empty(), "a batch of nothing");
            for effect in effects {
                reported.push(name(&effect));
                let outcome = match (&effect, answer(&effect)) {
                    (DrainEffect::ListPods { read, .. }, None) => {
                        DrainOutcome::Pods(Ok(PodListing { read: *read, pods: self.pods.clone() }))
                    }
                    (_, Some(error)) => effect.failed(error),
                    (DrainEffect::Evict(pod), None) => {
                        DrainOutcome::Evict { pod: pod.clone(), result: Ok(()) }
                    }
                    (DrainEffect::DeletePod(pod), None) => {
                        DrainOutcome::DeletePod { pod: pod.clone(), result: Ok(()) }
                    }
                    (DrainEffect::DeleteAttachment { name, .. }, None) => {
                        DrainOutcome::DeleteAttachment { name: name.clone(), result: Ok(()) }
                    }
                };
                self.progress.record(outcome);
            }
        }
        panic!("the pass does not end: {reported:?}");
    }
}

fn name(effect: &DrainEffect) -> String {
    match effect {
        DrainEffect::ListPods { read, .. } => format!("look {read:?}"),
        DrainEffect::Evict(pod) => format!("evict {pod}"),
        DrainEffect::DeletePod(pod) => format!("delete {pod}"),
        DrainEffect::DeleteAttachment { name, .. } => format!("detach {name}"),
    }
}

/// The reconcile in lines: effects, result, requeue.
fn check(mut drain: Drain, expected: &Expect) {
    let (reported, end) = drain.pass(|_| None);
    expected.assert_eq(&render(reported, &end));
}

fn render(mut lines: Vec<String>, end: &DrainStep) -> String {
    let (report, last) = match end {
        DrainStep::Act(_) => panic!("not at its end"),
        DrainStep::Wait { report, wake: Requeue::After(after) } => {
            (report, format!("back in {} s", after.as_secs()))
        }
        DrainStep::Wait { report, wake } => (report, format!("back {wake:?}")),
        DrainStep::Done { report } => (report, format!("done {:?}", report.end.unwrap())),
    };
    for group in &report.groups {
        lines.push(format!("{:?}: {}", group.cause, group.count));
    }
    for awaited in &report.memory.volumes {
        lines.push(format!("remember {}", awaited.volume));
    }
    lines.push(last);
    format!("{}\n", lines.join("\n"))
}

fn pod(name: &str) -> PodFact {
    PodFact {
        pod: PodRef { key: ObjectKey::new("d", name), uid: Uid::new(format!("uid-{name}")) },
        owner: PodOwner::Controller,
        phase: PodPhase::Running,
        is_ready: true,
        ending: None,
        grace: GRACE,
        priority: 0,
        has_local_storage: false,
        claims: Vec::new(),
        budgets: Vec::new(),
    }
}

impl PodFact {
    fn owned_by(mut self, owner: PodOwner) -> Self {
        self.owner = owner;
        self
    }

    fn ending(mut self, since: i64) -> Self {
        self.ending = Some(PodTermination { deadline: at(since) + self.grace, grace: self.grace });
        self
    }

    fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    fn with_volume(mut self, volume: &str) -> Self {
        self.claims.push(PvcFact {
            claim: Name::new(format!("claim-{volume}")),
            volume: Some(VolumeName::new(volume)),
            ids: BTreeSet::from([format!("id-{volume}")]),
        });
        self
    }

    fn under(mut self, budget: BudgetFact) -> Self {
        self.budgets.push(budget);
        self
    }
}

/// A budget that is observed, healthy, and has this many disruptions left.
fn budget(name: &str, disruptions_allowed: i32) -> BudgetFact {
    BudgetFact {
        key: ObjectKey::new("d", name),
        generation: 1,
        observed_generation: 1,
        expected_pods: 3,
        current_healthy: 2,
        desired_healthy: 2,
        disruptions_allowed,
        has_disrupted_pods: false,
        unhealthy_pods: UnhealthyPods::IfHealthyBudget,
        held_until: None,
    }
}

fn misconfigured(name: &str) -> BudgetFact {
    BudgetFact { current_healthy: 3, desired_healthy: 3, ..budget(name, 0) }
}

fn attachment(name: &str, volume: Option<&str>) -> AttachmentFact {
    AttachmentFact {
        name: Name::new(name),
        uid: Uid::new(format!("uid-{name}")),
        is_here: true,
        volume: volume.map(VolumeName::new),
        is_attached: true,
        deletion: None,
    }
}

fn awaited(volume: &str, pod: &str, since: i64) -> AwaitedVolume {
    AwaitedVolume {
        volume: VolumeName::new(volume),
        ids: BTreeSet::from([format!("id-{volume}")]),
        pod: Some(ObjectKey::new("d", pod)),
        since: at(since),
        grace: GRACE,
        detached: None,
    }
}
