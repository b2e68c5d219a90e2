//! Resources, operations that take time, and tokens.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// The tag with the uid of the Machine that a resource was made for.
pub const UID_TAG: &str = "machinist.dev-machine-uid";

/// The kind of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Vm,
    Nic,
    Disk,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Vm => "Microsoft.Compute/virtualMachines",
            Self::Nic => "Microsoft.Network/networkInterfaces",
            Self::Disk => "Microsoft.Compute/disks",
        }
    }
}

/// The provisioning state of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Creating,
    Updating,
    Succeeded,
    Failed,
    Deleting,
}

impl State {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Creating => "Creating",
            Self::Updating => "Updating",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
            Self::Deleting => "Deleting",
        }
    }
}

/// A resource of the subscription.
#[derive(Clone, Debug, PartialEq)]
pub struct Resource {
    pub kind: Kind,
    pub group: String,
    pub name: String,
    pub location: String,
    pub tags: BTreeMap<String, String>,
    pub zones: Vec<String>,
    /// `properties` and other fields at the top, as they were sent, with what Azure adds.
    pub body: Value,
    pub state: State,
    pub failure: Option<(String, String)>,
    pub created_ms: u64,
    /// The VM of a network interface or disk.
    pub attached_to: Option<String>,
    pub is_running: bool,
    /// The time until which the network interface of a failed VM is kept.
    pub reserved_until_ms: u64,
    /// How often the VM was restarted.
    pub restarts: u32,
}

impl Resource {
    /// The id, in the case in which it was created.
    pub fn id(&self, subscription: &str) -> String {
        id(subscription, &self.group, self.kind, &self.name)
    }

    pub fn tag(&self, key: &str) -> Option<&str> {
        self.tags.iter().find(|(known, _)| known.eq_ignore_ascii_case(key)).map(|(_, value)| value.as_str())
    }
}

pub(crate) fn id(subscription: &str, group: &str, kind: Kind, name: &str) -> String {
    format!("/subscriptions/{subscription}/resourceGroups/{group}/providers/{}/{name}", kind.name())
}

/// The place of a resource: Azure ignores the case of ids.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) kind: Kind,
    pub(crate) group: String,
    pub(crate) name: String,
}

impl Key {
    pub(crate) fn new(kind: Kind, group: &str, name: &str) -> Self {
        Self { kind, group: group.to_lowercase(), name: name.to_lowercase() }
    }

    /// The resource that an id names. `None` for an id of another kind.
    pub(crate) fn of_id(kind: Kind, id: &str) -> Option<Self> {
        let lower = id.to_lowercase();
        let (head, tail) = lower.split_once("/resourcegroups/")?;
        let (group, tail) = tail.split_once("/providers/")?;
        let name = tail.strip_prefix(&kind.name().to_lowercase())?.strip_prefix('/')?;
        (head.starts_with("/subscriptions/") && !name.contains('/')).then(|| Self::new(kind, group, name))
    }
}

/// The effect of an operation, in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Create,
    Update,
    Restart,
    Delete { leaves_parts: bool },
}

/// An operation that takes time.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(crate) id: String,
    pub(crate) done_ms: u64,
    pub(crate) is_finished: bool,
    pub(crate) key: Key,
    pub(crate) action: Action,
    /// The error with which it fails.
    pub(crate) failure: Option<(String, String)>,
}

impl Operation {
    /// The answer of `Azure-AsyncOperation`.
    pub(crate) fn status(&self) -> Value {
        match (&self.failure, self.is_finished) {
            (_, false) => {
                json!({ "name": self.id, "status": "InProgress", "startTime": "2026-01-01T00:00:00+00:00" })
            }
            (None, true) => json!({ "name": self.id, "status": "Succeeded" }),
            (Some((code, message)), true) => {
                json!({ "name": self.id, "status": "Failed", "error": { "code": code, "message": message } })
            }
        }
    }
}

/// The tokens that are out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tokens {
    until_ms: BTreeMap<String, u64>,
    issued: u64,
}

impl Tokens {
    /// `None`: there is no such token. False: it has expired.
    pub(crate) fn is_valid(&self, token: &str, now_ms: u64) -> Option<bool> {
        self.until_ms.get(token).map(|until| *until > now_ms)
    }

    pub(crate) fn expire(&mut self) {
        for until in self.until_ms.values_mut() {
            *until = 0;
        }
    }

    pub(crate) fn issue(&mut self, until_ms: u64) -> String {
        self.issued += 1;
        let token = format!("eyJ.tests-access-token-{:06}.x", self.issued);
        self.until_ms.insert(token.clone(), until_ms);
        token
    }
}
