//! Machines that a deployment replaces one by one, because they failed or are too old; and the budget for all Machines
//! that it takes away, rollouts included.
//!
//! Each replacement is noted on the deployment before it happens ([`ledger`]). A set deletes a failed Machine once the
//! note names it. If the replacement comes first, the deployment wants one Machine more than its replicas, and one less
//! when the replacement is available; the Machine to be replaced has the mark of those that are deleted first. The
//! bounds of rollouts apply here too: never above replicas plus surge (or plus one, without a surge). Sets know nothing
//! of this.
//!
//! | module | what it does |
//! | --- | --- |
//! | `ledger` | the note on the deployment: Machines that may go or are gone, replacements that are awaited |
//! | `failed` | failed Machines that are not preserved |
//! | `aged` | Machines that are too old |
//! | `replace` | Machines whose replacement comes first |
//! | `limit` | limits a rollout to the budget |

mod aged;
mod failed;
mod ledger;
mod limit;
mod replace;

use jiff::{SignedDuration, Timestamp};

use crate::machine::summary::FIRST_PRIORITY;
use crate::value::id::Name;
use crate::value::phase::Phase;

use super::conclusion::DeploymentReason;
use super::effect::{DeploymentChange, DeploymentEffect, MachineChange};
use super::facts::{DeploymentView, OwnedMachineFact, RolloutNodeFact};
use super::rollout::strategy::{RolloutBounds, Strategy};
use super::rollout::targets::Targets;
use super::sets::group::{SetGroup, Tally, count, is_available};

pub(super) use ledger::Ledger;

/// The numbers of a rollout that may be changed here.
pub(super) struct RolloutNumbers<'a, 'b> {
    pub targets: &'b mut Targets,
    pub selected: &'b mut Vec<&'a RolloutNodeFact>,
    /// They are a step of a rollout, and no request of a user.
    pub are_a_rollout: bool,
    /// Machines that were updated in place are being counted, which must end before anything else begins.
    pub count_updated_first: bool,
}

/// The decision about disruptions.
#[derive(Default)]
pub(super) struct DisruptionPlan {
    /// Marks of Machines that are deleted first. The numbers wait until the cache shows them.
    pub marks: Vec<DeploymentEffect>,
    /// The reason to wait, if it is worth reporting.
    pub reported: Option<DeploymentReason>,
    /// The same for people; empty for nothing.
    pub message: String,
    pub left: Option<SignedDuration>,
    /// A rollout waits for the budget.
    pub holds_rollout: bool,
}

impl DisruptionPlan {
    fn requeue_after(&mut self, left: Option<SignedDuration>) {
        self.left = self.left.min(left).or(self.left).or(left);
    }

    /// Adds a text. The first one decides the reason.
    fn report(&mut self, reason: Option<DeploymentReason>, message: &str) {
        self.reported = self.reported.or(reason);
        let separator = if self.message.is_empty() { "" } else { "; " };
        self.message.push_str(separator);
        self.message.push_str(message);
    }

    fn mark(&mut self, machine: &OwnedMachineFact, now: Timestamp) {
        let at = machine.marked_at.is_none().then(|| Timestamp::from_second(now.as_second()).unwrap_or(now));
        self.marks.push(DeploymentEffect::WriteMachine {
            machine: machine.into(),
            change: MachineChange::Mark { at },
        });
    }
}

/// Decides which Machines are deleted, and changes the numbers and the note on the deployment accordingly.
pub(super) fn decide<'a>(
    view: &DeploymentView,
    group: &SetGroup<'a>,
    (strategy, bounds): (Strategy, RolloutBounds),
    numbers: &mut RolloutNumbers<'a, '_>,
    change: &mut DeploymentChange,
    now: Timestamp,
) -> DisruptionPlan {
    let mut disruptions = DisruptionPlan::default();
    let mut ledger = Ledger::read(view, group, now);
    // Failed Machines come before running ones.
    failed::permit_deletions(view, group, bounds, &mut ledger, &mut disruptions, now);
    match group.new.as_ref().filter(|_| group.has_only_new()) {
        _ if numbers.count_updated_first => {}
        Some(new) => {
            let target = replace::step(
                view,
                new,
                (bounds, numbers.targets.get(new)),
                &mut ledger,
                &mut disruptions,
                now,
            );
            numbers.targets.set(new, target);
        }
        None => {
            ledger.ends_replacing();
            if numbers.are_a_rollout {
                limit::limit(view, (group, strategy), numbers, &mut ledger, &mut disruptions, now);
            }
        }
    }
    ledger.write(view, change);
    disruptions
}

/// Returns whether pods may run on it: it has a Node, or it is available and there is no target cluster.
fn is_in_use(machine: &OwnedMachineFact) -> bool {
    machine.node.is_some() || machine.phase == Phase::Available
}

fn is_marked(machine: &OwnedMachineFact) -> bool {
    machine.priority <= FIRST_PRIORITY
}

/// Returns how many Machines more than wanted may exist while some are replaced.
fn most_beyond(bounds: RolloutBounds) -> u32 {
    if bounds.desired == 0 { 0 } else { bounds.surge.max(1) }
}

/// Returns the number of available Machines that are not about to be replaced.
fn staying(new: &Tally<'_>, ledger: &Ledger<'_>) -> u32 {
    let stays = |machine: &&OwnedMachineFact| is_available(machine) && !ledger.is_replacing(machine);
    count(new.set.machines.iter().filter(stays))
}

/// Returns the first names, and how many more there are.
fn listed<'a>(names: impl Iterator<Item = &'a Name>) -> String {
    let names: Vec<&str> = names.map(Name::as_str).collect();
    super::status::waits::listed(&names)
}
