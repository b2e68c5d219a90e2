//! All that is said of a Machine or MachinistMachine, as `-o json` prints it.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use machinist_runtime::machine_query::MachineDetails;
use serde::Serialize;

/// The answer of the leader with its name, or why there is none.
pub(super) type LeaderAnswer = Result<(String, MachineDetails), String>;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Explanation {
    pub(super) kind: &'static str,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) created: Option<Timestamp>,
    pub(super) deletion_asked: Option<Timestamp>,
    /// The phase, `Creating` for the empty one.
    pub(super) state: String,
    pub(super) state_since: Option<Timestamp>,
    pub(super) awaited: Option<Awaited>,
    /// The cluster keeps no conditions of this program: the awaited one is from the leader.
    pub(super) is_from_memory: bool,
    /// Why no host may have written a reason, where none has.
    #[serde(skip)]
    pub(super) unwritten: Option<String>,
    pub(super) next: Vec<String>,
    /// The objects that it rests on.
    pub(super) chain: Vec<Link>,
    /// Those that keep the object, where they are shown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) finalizers: Vec<String>,
    pub(super) last_operation: Option<String>,
    pub(super) conditions: Vec<ConditionLine>,
    #[serde(skip_serializing_if = "EventLines::are_not_shown")]
    pub(super) events: EventLines,
    pub(super) leader: Option<String>,
    pub(super) queue: Option<MachineDetails>,
    /// Why nothing is known of queue and calls.
    pub(super) leader_unreachable: Option<String>,
}

/// The condition that the object waits for.
#[derive(Debug, Serialize)]
pub(super) struct Awaited {
    pub(super) reason: String,
    pub(super) message: String,
    pub(super) since: Timestamp,
}

/// One thing that the object rests on.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Link {
    pub(super) what: &'static str,
    pub(super) state: LinkState,
    pub(super) says: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum LinkState {
    /// As it should be.
    Good,
    /// Not there yet, or not any more.
    Absent,
    Bad,
    /// It cannot be read, or is none of this program's business.
    Unknown,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ConditionLine {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) status: String,
    pub(super) reason: String,
    pub(super) message: String,
    pub(super) since: Timestamp,
}

/// The Events about the object.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub(super) enum EventLines {
    NotShown,
    /// They cannot be read, for this reason.
    Unreadable(String),
    /// In the order of their times, the latest last.
    Read(Vec<EventLine>),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EventLine {
    /// When it happened last.
    pub(super) at: Option<Timestamp>,
    /// Its severity: Normal or Warning.
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) reason: String,
    pub(super) message: String,
    /// How often it has happened.
    pub(super) count: i32,
}

impl EventLines {
    fn are_not_shown(&self) -> bool {
        matches!(self, Self::NotShown)
    }
}

impl Link {
    pub(super) fn new(what: &'static str, state: LinkState, says: impl Into<String>) -> Self {
        Self { what, state, says: says.into() }
    }
}

impl ConditionLine {
    pub(super) fn of(conditions: &[Condition]) -> Vec<Self> {
        let line = |condition: &Condition| Self {
            kind: condition.type_.clone(),
            status: condition.status.clone(),
            reason: condition.reason.clone(),
            message: condition.message.clone(),
            since: condition.last_transition_time.0,
        };
        conditions.iter().map(line).collect()
    }

    /// Returns the condition that is awaited as long as it is this one.
    pub(super) fn awaited(&self) -> Awaited {
        Awaited { reason: self.reason.clone(), message: self.message.clone(), since: self.since }
    }
}

impl Explanation {
    /// Returns one that has the object's metadata and the answer of the leader. `vm`: the uid by which the calls of
    /// drivers are about this object, and not about another one of the same name.
    pub(super) fn about(kind: &'static str, meta: &ObjectMeta, leader: &LeaderAnswer, vm: &str) -> Self {
        let (leader, queue, leader_unreachable) = match leader {
            Ok((whom, details)) => (Some(whom.clone()), Some(of_vm(details, vm)), None),
            Err(why) => (None, None, Some(why.clone())),
        };
        Self {
            kind,
            namespace: meta.namespace.clone().unwrap_or_default(),
            name: meta.name.clone().unwrap_or_default(),
            uid: meta.uid.clone().unwrap_or_default(),
            created: meta.creation_timestamp.as_ref().map(|time| time.0),
            deletion_asked: meta.deletion_timestamp.as_ref().map(|time| time.0),
            state: String::new(),
            state_since: None,
            awaited: None,
            is_from_memory: false,
            unwritten: None,
            next: Vec::new(),
            chain: Vec::new(),
            finalizers: Vec::new(),
            last_operation: None,
            conditions: Vec::new(),
            events: EventLines::NotShown,
            leader,
            queue,
            leader_unreachable,
        }
    }
}

/// The history of calls is by name, which a Machine and a MachinistMachine may share.
fn of_vm(details: &MachineDetails, vm: &str) -> MachineDetails {
    let mut details = details.clone();
    details.calls.retain(|call| call.machine_uid == vm);
    details
}
