//! One pass over a Machine: observe once, then ask the core and act until it concludes.

use futures::future::join_all;
use machinist_api::names;
use machinist_core::id::{ObjectKey, ProviderId};
use machinist_core::machine::{Conclusion, Progress, Step, Wake, step};
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
        return Report { wrote: Vec::new(), wake: Wake::Gone, news: None };
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
    Report { wrote: memory.wrote, wake, news: None }
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
    let meta = &observed.machine.metadata;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let news = News {
        about: About {
            api_version: names::API_VERSION.to_owned(),
            kind: "Machine".to_owned(),
            namespace: text(&meta.namespace),
            name: text(&meta.name),
            uid: text(&meta.uid),
        },
        reason: conclusion.reason.as_str(),
        severity: conclusion.reason.severity(),
        message: conclusion.message,
    };
    Report { wrote: memory.wrote, wake, news: Some(news) }
}
