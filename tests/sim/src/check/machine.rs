//! A Machine as the API server has it.

use jiff::{SignedDuration, Timestamp};
use machinist_api::names;
use machinist_api::names::annotations;
use machinist_core::driver::error::Code;
use serde_json::Value;

use super::facts::text;
use super::owners::controller;
use crate::names::HOST;

/// How long hooks hold a deletion, and a Machine is preserved, when it says nothing itself: the defaults.
const HOOK_LIMIT: SignedDuration = SignedDuration::from_hours(1);
const KEPT_FOR: SignedDuration = SignedDuration::from_hours(96);

#[derive(Clone, Debug, Default)]
pub(crate) struct MachineFact {
    pub(crate) name: String,
    pub(crate) deleting_since: Option<Timestamp>,
    pub(crate) is_forced: bool,
    pub(crate) node: String,
    pub(crate) provider_id: String,
    /// Its class, which is named after the zone.
    pub(crate) zone: String,
    /// Machines with the same label `name` are replaced one after the other.
    pub(crate) group: String,
    pub(crate) phase: String,
    /// Since when it has this phase.
    pub(crate) phase_since: Option<Timestamp>,
    /// Coming, going, or failed and not kept: since when.
    pub(crate) away_since: Option<Timestamp>,
    pub(crate) failed_by: String,
    /// Until when it is preserved.
    pub(crate) kept_until: Option<Timestamp>,
    /// The value of its preservation annotation, and since when.
    pub(crate) wish: (String, Option<Timestamp>),
    /// For how long it is to be preserved.
    pub(crate) kept_for: SignedDuration,
    pub(crate) hooks: HooksFact,
    /// The cloud said last that it has no capacity for it, and has made no VM.
    pub(crate) is_exhausted: bool,
    /// Uid of the set that controls it; empty without one.
    pub(crate) set: String,
    /// When another set, or somebody else, has left it to this one.
    pub(crate) came_at: Option<Timestamp>,
    /// It has its place in the order of its set's Machines.
    pub(crate) has_ordinal: bool,
    /// The autoscaler has chosen it: the time of its choice, and since when that is known here.
    pub(crate) marked_at: Option<Timestamp>,
    pub(crate) marked_since: Option<Timestamp>,
    /// It was updated in place, and its set does not count it yet.
    pub(crate) is_labelled_updated: bool,
    /// Since when it is not available.
    pub(crate) fell: Option<Timestamp>,
    /// A host has ordered it away while it was available.
    pub(crate) is_taken: bool,
}

/// Hooks that hold a deletion.
#[derive(Clone, Debug, Default)]
pub(crate) struct HooksFact {
    /// One before the drain is there: since when.
    pub(crate) pre_drain: Option<Timestamp>,
    /// One before the removal of the VM is there: since when.
    pub(crate) pre_terminate: Option<Timestamp>,
    /// Since when the host has it written down that it waits for the latter.
    pub(crate) is_noted_since: Option<Timestamp>,
    /// How long they hold.
    pub(crate) limit: SignedDuration,
}

impl MachineFact {
    /// Reads the object. `before` is the earlier state, `actor` the writer.
    pub(super) fn learn(machine: &Value, before: Option<&Self>, actor: &str, now: Timestamp) -> Self {
        let object = Some(machine);
        let fresh = Self::default();
        let before = before.unwrap_or(&fresh);
        let meta = &machine["metadata"];
        let has = |prefix: &str| {
            let mut keys = meta["annotations"].as_object().into_iter().flatten();
            keys.any(|(key, _)| key.starts_with(prefix))
        };
        let annotation = |key: &str| meta["annotations"][key].as_str();
        let since = |is: bool, before: Option<Timestamp>| is.then(|| before.unwrap_or(now));
        let limit =
            |text: Option<&str>| text.and_then(|text| machinist_core::value::duration::parse(text).ok());
        let phase = text(object, "/status/currentStatus/phase");
        let is_same_phase = before.phase == phase;
        let wish = annotation(annotations::PRESERVE).unwrap_or_default();
        let marked_at = annotation(annotations::MARKED_FOR_DELETION_TIME)
            .filter(|_| annotation(annotations::PRIORITY) == Some(annotations::FIRST_PRIORITY))
            .and_then(|time| time.parse().ok());
        let mut fact = Self {
            name: text(object, "/metadata/name").to_owned(),
            deleting_since: text(object, "/metadata/deletionTimestamp").parse().ok(),
            is_forced: meta["labels"][names::labels::FORCE_DELETION] == "True",
            node: meta["labels"][names::labels::NODE].as_str().unwrap_or_default().to_owned(),
            provider_id: text(object, "/spec/providerID").to_owned(),
            zone: text(object, "/spec/class/name").to_owned(),
            group: meta["labels"][names::labels::DEPLOYMENT].as_str().unwrap_or_default().to_owned(),
            phase: phase.to_owned(),
            phase_since: if is_same_phase { before.phase_since } else { Some(now) },
            away_since: None,
            failed_by: if is_same_phase { before.failed_by.clone() } else { actor.to_owned() },
            kept_until: text(object, "/status/currentStatus/preserveExpiryTime").parse().ok(),
            wish: (wish.to_owned(), if before.wish.0 == wish { before.wish.1 } else { Some(now) }),
            kept_for: limit(machine["spec"]["machinePreserveTimeout"].as_str()).unwrap_or(KEPT_FOR),
            hooks: HooksFact {
                pre_drain: since(has(annotations::PRE_DRAIN_HOOK), before.hooks.pre_drain),
                pre_terminate: since(has(annotations::PRE_TERMINATE_HOOK), before.hooks.pre_terminate),
                is_noted_since: since(
                    annotation(annotations::PRE_TERMINATE_SINCE).is_some(),
                    before.hooks.is_noted_since,
                ),
                limit: limit(annotation(annotations::DELETION_HOOK_TIMEOUT)).unwrap_or(HOOK_LIMIT),
            },
            is_exhausted: text(object, "/spec/providerID").is_empty() && is_out_of_capacity(machine),
            set: controller(machine),
            came_at: before.came_at,
            has_ordinal: annotation(annotations::ORDINAL).is_some(),
            marked_at,
            marked_since: None,
            is_labelled_updated: meta["labels"][names::labels::UPDATE_RESULT] == "successful",
            fell: None,
            is_taken: false,
        };
        if !before.name.is_empty() && before.set != fact.set {
            fact.came_at = Some(now);
        }
        fact.away_since = since(fact.is_away(), before.away_since);
        fact.fell = since(!fact.is_available(), before.fell);
        fact.marked_since = since(fact.marked_at.is_some(), before.marked_since);
        let is_ordered_away = fact.deleting_since.is_some() && before.deleting_since.is_none();
        fact.is_taken =
            before.is_taken || (is_ordered_away && before.is_available() && actor.starts_with(HOST));
        fact
    }

    /// It counts: it is not on its way out.
    pub(super) fn is_living(&self) -> bool {
        self.deleting_since.is_none() && self.phase != "Terminating"
    }

    /// It is of use, as far as its own status says.
    pub(super) fn is_available(&self) -> bool {
        self.deleting_since.is_none() && matches!(self.phase.as_str(), "Running" | "Available")
    }

    /// It would count against a disruption budget if it were taken away: it is in service, and nobody has chosen it.
    pub(super) fn is_disrupted(&self) -> bool {
        self.is_available() && self.marked_at.is_none()
    }

    fn is_away(&self) -> bool {
        if self.deleting_since.is_some() {
            return true;
        }
        match self.phase.as_str() {
            "Running" | "Unknown" | "InPlaceUpdateFailed" => false,
            "Terminating" => true,
            _ => self.kept_until.is_none(),
        }
    }

    /// In service, healthy or not.
    pub(super) fn serves(&self) -> bool {
        self.deleting_since.is_none()
            && matches!(self.phase.as_str(), "Running" | "Unknown" | "InPlaceUpdateFailed")
    }
}

/// `lastOperation` is a creation that failed because of missing capacity.
fn is_out_of_capacity(machine: &Value) -> bool {
    let last = &machine["status"]["lastOperation"];
    last["type"] == "Create"
        && last["state"] == "Failed"
        && last["errorCode"] == Code::ResourceExhausted.name()
}
