//! One pass over a Machine: observe once, then ask the core and act until it concludes.

use std::sync::atomic::Ordering;

use futures::future::join_all;
use machinist_api::names;
use machinist_core::health::Status;
use machinist_core::id::{ObjectKey, ProviderId};
use machinist_core::machine::{
    Conclusion, ConditionKind, OwnCondition, Progress, Severity, Step, Wake, step,
};
use machinist_core::retry::RetryPolicy;
use tracing::{debug, warn};

use crate::context::Context;
use crate::engine::{Kind, Report};
use crate::events::{About, News};
use crate::world::World;

use super::act::{self, Done};
use super::observe::{Observed, observe};
use super::publish::{self, Published};

/// A batch follows a batch only with new outcomes, so a pass is short. More than this is a bug, not a slow cloud.
const BATCHES_PER_PASS: usize = 16;

/// Runs a pass. `jitter` spreads retries.
pub(crate) async fn run(
    world: &World,
    context: &Context,
    key: &ObjectKey,
    failures: u32,
    jitter: f64,
) -> Report {
    let hold = *context.hold.borrow();
    let Some(observed) = observe(world, &hold, key, failures, context.clock.now()) else {
        return Report { wrote: Vec::new(), wake: Wake::Gone, news: None, remark: None };
    };
    let mut progress = Progress::default();
    let mut memory = Memory::default();
    for _ in 0..BATCHES_PER_PASS {
        match step(&observed.view, &progress, context.clock.now()) {
            Step::Act(effects) => {
                let batch =
                    effects.iter().map(|effect| act::perform(world, context, &observed, &memory, effect));
                for done in join_all(batch).await {
                    memory.learn(&done);
                    progress.record(done.outcome);
                }
            }
            Step::Finish(conclusion) => return finish(context, &observed, conclusion, memory, jitter).await,
        }
    }
    warn!("pass cut off: the steps do not come to an end");
    let wake = Wake::Retry { policy: RetryPolicy::LONG, hint: None };
    Report { wrote: memory.wrote, wake, news: None, remark: None }
}

/// What a pass carries from batch to batch beside the outcomes.
#[derive(Default)]
pub(super) struct Memory {
    pub(super) token: Option<String>,
    pub(super) provider_id: Option<ProviderId>,
    wrote: Vec<(Kind, String)>,
}

impl Memory {
    fn learn(&mut self, done: &Done) {
        if let Some(token) = &done.token {
            self.token = Some(token.clone());
        }
        if let Some(id) = &done.provider_id {
            self.provider_id = Some(id.clone());
        }
        self.wrote.extend(done.wrote.clone());
    }
}

async fn finish(
    context: &Context,
    observed: &Observed,
    conclusion: Conclusion,
    mut memory: Memory,
    jitter: f64,
) -> Report {
    debug!(reason = conclusion.reason.as_str(), message = %conclusion.message, wake = ?conclusion.wake, "pass ends");
    let wake = match publish::publish(context, observed, &conclusion, jitter).await {
        Published::Nothing => conclusion.wake,
        Published::Version(version) => {
            memory.wrote.push((Kind::Machine, version));
            conclusion.wake
        }
        Published::Failed(policy) => Wake::Retry { policy, hint: None },
    };
    let remark = remark(context, observed, &conclusion);
    let news = News {
        about: about(observed),
        reason: conclusion.reason.as_str(),
        severity: conclusion.reason.severity(),
        message: conclusion.message,
    };
    Report { wrote: memory.wrote, wake, news: Some(news), remark }
}

fn about(observed: &Observed) -> About {
    let meta = &observed.machine.metadata;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    About {
        api_version: names::API_VERSION.to_owned(),
        kind: "Machine".to_owned(),
        namespace: text(&meta.namespace),
        name: text(&meta.name),
        uid: text(&meta.uid),
    }
}

/// What policies that only observe would have done, when the status does not say so yet.
fn remark(context: &Context, observed: &Observed, conclusion: &Conclusion) -> Option<News> {
    let kind = ConditionKind::PolicyObserved;
    let is_said = |condition: &&OwnCondition| condition.kind == kind && condition.status == Status::True;
    let condition = conclusion.status.conditions.iter().find(is_said)?;
    let own = observed.machine.status.as_ref().and_then(|status| status.machinist.as_ref());
    let is_old = own.is_some_and(|own| {
        own.conditions.iter().any(|old| old.type_ == kind.as_str() && old.message == condition.message)
    });
    // Where the status cannot say it, every pass would be the first.
    if is_old || !context.keeps_own_status.load(Ordering::Relaxed) {
        return None;
    }
    Some(News {
        about: about(observed),
        reason: kind.as_str(),
        severity: Severity::Normal,
        message: condition.message.clone(),
    })
}
