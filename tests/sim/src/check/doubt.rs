//! Creates in clouds that keep no keys: which of them may have made a VM, as the cloud and the wire know it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use machinist_core::driver::error::{CallError, Code};
use machinist_core::driver::{Creation, DriverResult};
use memory_api::Change;
use serde_json::Value;

use super::facts::{Facts, text};
use super::rules::PROPAGATION;
use crate::names::HOST;

/// After the end of a doubt a host queries the cloud once more, which may hang for a minute, and writes the result.
/// Without faults that is soon; with them a query or a write may fail, and the longest pause before the next one is
/// three minutes.
const CONCLUDES_WITHIN: SignedDuration = SignedDuration::from_mins(1);
const CONCLUDES_DISTURBED_WITHIN: SignedDuration = SignedDuration::from_mins(4);

/// The longest pauses of a host after a failed call: without quota or capacity, and after all other errors.
const LONGEST_PAUSE_WITHOUT_CAPACITY: SignedDuration = SignedDuration::from_mins(10);
const LONGEST_PAUSE: SignedDuration = SignedDuration::from_mins(3);
/// The longest pause after a create whose error is terminal.
const LONGEST_PAUSE_WITHOUT_HOPE: SignedDuration = SignedDuration::from_hours(1);

/// No call lasts longer.
const LONGEST_CALL: SignedDuration = SignedDuration::from_mins(5);

/// The host that has noted on a Machine that it is about to create its VM.
const NOTED_BY: &str = "machinist.dev/create-intent-by";

/// The last create of a host for a Machine.
#[derive(Debug)]
struct CreateFact {
    may_have_made: bool,
    sent: Timestamp,
    /// `None` while it lasts, and for one whose host has ended before.
    ended: Option<Timestamp>,
}

/// Creates, and the Machines that wait for the result of one.
#[derive(Debug, Default)]
pub(crate) struct Creates {
    /// By uid of the Machine, and host.
    last: BTreeMap<String, BTreeMap<String, CreateFact>>,
    /// Other calls that last, by uid of the Machine and host, and since when: a pass is held up by its call.
    calls: BTreeMap<(String, String), Timestamp>,
    /// Uids of Machines whose status says that a create may have made a VM.
    held: BTreeSet<String>,
    /// When a host comes back to a Machine at the latest, by what its calls of the driver have answered.
    back_by: BTreeMap<String, Timestamp>,
}

impl Creates {
    /// A host sends one: until it has ended, nobody knows.
    pub(crate) fn sent(&mut self, uid: &str, actor: &str, now: Timestamp) {
        let fact = CreateFact { may_have_made: true, sent: now, ended: None };
        self.last.entry(uid.to_owned()).or_default().insert(actor.to_owned(), fact);
    }

    pub(crate) fn ended(
        &mut self,
        uid: &str,
        actor: &str,
        answer: &DriverResult<Creation>,
        window: SignedDuration,
        now: Timestamp,
    ) {
        let may_have_made = answer.as_ref().err().is_none_or(CallError::may_have_happened);
        if let Err(error) = answer {
            let doubt = if may_have_made { window } else { SignedDuration::ZERO };
            self.failed(uid, error.code(), now, doubt);
        }
        if let Some(last) = self.last.get_mut(uid).and_then(|of| of.get_mut(actor)) {
            last.may_have_made = may_have_made;
            last.ended = Some(now);
        }
    }

    /// A host looks for the VM of a Machine, or initializes it.
    pub(crate) fn call_sent(&mut self, uid: &str, actor: &str, now: Timestamp) {
        self.calls.insert((uid.to_owned(), actor.to_owned()), now);
    }

    /// The call has ended.
    pub(crate) fn call_ended(&mut self, uid: &str, actor: &str, error: Option<Code>, now: Timestamp) {
        self.calls.remove(&(uid.to_owned(), actor.to_owned()));
        if let Some(code) = error {
            self.failed(uid, code, now, SignedDuration::ZERO);
        }
    }

    /// A call for this Machine has failed, and the host waits.
    fn failed(&mut self, uid: &str, code: Code, now: Timestamp, at_least: SignedDuration) {
        let pause = match code {
            Code::ResourceExhausted => LONGEST_PAUSE_WITHOUT_CAPACITY,
            // Its VM was made and has died: the cloud makes no other one for it, and it fails at its time for creation.
            Code::FailedPrecondition => LONGEST_PAUSE_WITHOUT_HOPE,
            _ => LONGEST_PAUSE,
        };
        let by = now + pause.max(at_least);
        let known = self.back_by.entry(uid.to_owned()).or_insert(by);
        *known = by.max(*known);
    }

    /// When a host has come back to this Machine at the latest, as far as its calls tell. `None`: no call has failed.
    pub(crate) fn back_by(&self, uid: &str, window: SignedDuration) -> Option<Timestamp> {
        let open = self.last.get(uid).into_iter().flat_map(BTreeMap::values);
        let open = open.filter(|create| create.ended.is_none());
        let open = open.map(|create| create.sent + LONGEST_CALL + window.max(LONGEST_PAUSE));
        open.chain(self.back_by.get(uid).copied()).max()
    }

    /// Takes over what a change of a Machine says.
    pub(super) fn learn(&mut self, uid: &str, machine: Option<&Value>) {
        let is_held = machine.is_some_and(|machine| is_held(machine) && !is_going(machine));
        if is_held {
            self.held.insert(uid.to_owned());
        } else {
            self.held.remove(uid);
        }
        if machine.is_none() {
            self.last.remove(uid);
            self.back_by.remove(uid);
        }
    }
}

fn is_going(machine: &Value) -> bool {
    machine["metadata"]["deletionTimestamp"].is_string()
}

/// Its status says that a create may have made a VM.
fn is_held(machine: &Value) -> bool {
    let mut conditions = machine["status"]["machinist"]["conditions"].as_array().into_iter().flatten();
    conditions.any(|condition| condition["type"] == "Ready" && condition["reason"] == "CreationUnresolved")
}

/// Returns the Machine that a host holds for longer than reads of the cloud may lag: counted from the end of the last
/// create, or from when that host began to lead, which knows no earlier create's end.
pub(super) fn lasts_too_long(facts: &Facts, window: SignedDuration, now: Timestamp) -> Option<String> {
    if facts.creates.held.is_empty() {
        return None;
    }
    let (leader, leads_since) = facts.leader()?;
    if facts.is_blind(leader, now) {
        return None;
    }
    let slack = match facts.calm_since {
        Some(calm) if now.duration_since(calm) > CONCLUDES_DISTURBED_WITHIN => CONCLUDES_WITHIN,
        Some(_) | None => CONCLUDES_DISTURBED_WITHIN,
    };
    let back = facts.back_since(leader).unwrap_or(leads_since);
    let overdue = |uid: &&String| {
        let creates = facts.creates.last.get(*uid).into_iter().flat_map(BTreeMap::values);
        let ends = creates.map(|create| create.ended.unwrap_or(create.sent + LONGEST_CALL));
        let begin = ends.chain([leads_since]).max().unwrap_or(leads_since);
        let call = facts.creates.calls.get(&((*uid).clone(), leader.to_owned()));
        let calls_until = call.map_or(begin, |sent| *sent + LONGEST_CALL);
        let by = (begin + window + slack).max(back + PROPAGATION + slack).max(calls_until + slack);
        now > by
    };
    let uid = facts.creates.held.iter().find(overdue)?;
    let name = facts.machines.get(uid).map_or(uid.as_str(), |machine| machine.name.as_str());
    Some(format!("{leader} still holds Machine {name} although reads lag {window:#} at most"))
}

/// A host that says of a Machine that it may have a VM must have sent a create that did not fail for certain. The note
/// of a host that is gone may mean anything.
pub(super) fn of_machine(creates: &Creates, change: &Change<'_>) -> Option<String> {
    let new = change.new?;
    let noted_by = &new["metadata"]["annotations"][NOTED_BY];
    if is_going(new) || !change.actor.starts_with(HOST) || *noted_by != change.actor {
        return None;
    }
    let uid = text(change.new, "/metadata/uid").to_owned();
    let last = creates.last.get(&uid).and_then(|of| of.get(change.actor));
    let may_have_made = last.is_some_and(|create| create.may_have_made);
    (is_held(new) && !may_have_made && !change.old.is_some_and(is_held)).then(|| {
        let name = text(change.new, "/metadata/name");
        format!("{} holds Machine {name} although each create of it failed for certain", change.actor)
    })
}
