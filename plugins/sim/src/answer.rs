//! The cloud's objects, with the fields that the driver needs.

use serde_json::{Map, Value};

/// The tag with the cluster's name.
pub(crate) const CLUSTER_TAG: &str = "cluster";
/// The tag with the Machine's uid. The cloud counts duplicates by it.
pub(crate) const UID_TAG: &str = "machine-uid";
/// The tag with the Machine's name.
pub(crate) const NAME_TAG: &str = "machine-name";

/// The state of a VM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Pending,
    Running,
    /// It was deleted and still exists.
    Stopping,
    /// Only its record is left.
    Terminated,
    /// A state that the API page does not list.
    Other,
}

/// The size of a type of VMs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) cpus: u64,
    pub(crate) memory_gib: u64,
    pub(crate) gpus: u64,
}

impl Size {
    /// Parses the size of this type from the list of all. The outer `None`: it is no such list.
    pub(crate) fn of(kind: &str, regions: &Value) -> Option<Option<Self>> {
        let types = regions.get("types")?.as_object()?;
        let Some(size) = types.get(kind) else { return Some(None) };
        let number = |field: &str| size.get(field).and_then(Value::as_u64);
        let gpus = number("gpus").unwrap_or_default();
        Some(Some(Self { cpus: number("cpus")?, memory_gib: number("memoryGib")?, gpus }))
    }
}

/// A VM of the cloud's API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Vm {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) state: State,
    pub(crate) zone: String,
    /// Pairs of kind and address.
    pub(crate) addresses: Vec<(String, String)>,
    pub(crate) tags: Map<String, Value>,
    pub(crate) initialized: bool,
    pub(crate) has_volumes: bool,
    /// The time as the cloud writes it.
    pub(crate) created: Option<String>,
}

impl Vm {
    /// Parses a VM. `None` if a required field is missing.
    pub(crate) fn parse(value: &Value) -> Option<Self> {
        let text = |field: &str| value.get(field).and_then(Value::as_str);
        Some(Self {
            id: text("id").filter(|id| !id.is_empty())?.to_owned(),
            name: text("name")?.to_owned(),
            state: match text("state")? {
                "pending" => State::Pending,
                "running" => State::Running,
                "stopping" => State::Stopping,
                "terminated" => State::Terminated,
                _ => State::Other,
            },
            zone: text("zone").filter(|zone| !zone.is_empty())?.to_owned(),
            addresses: addresses(value.get("addresses")),
            tags: value.get("tags").and_then(Value::as_object).cloned().unwrap_or_default(),
            initialized: value.get("initialized").and_then(Value::as_bool).unwrap_or(true),
            has_volumes: value.get("volumes").and_then(Value::as_array).is_some_and(|all| !all.is_empty()),
            created: text("created").map(str::to_owned),
        })
    }

    /// True until only its record is left.
    pub(crate) fn exists(&self) -> bool {
        self.state != State::Terminated
    }

    /// Returns the value of a tag.
    pub(crate) fn tag(&self, key: &str) -> Option<&str> {
        self.tags.get(key).and_then(Value::as_str)
    }

    /// True if it has the cluster's mark.
    pub(crate) fn is_of(&self, cluster: &str) -> bool {
        self.tag(CLUSTER_TAG) == Some(cluster)
    }
}

fn addresses(value: Option<&Value>) -> Vec<(String, String)> {
    let pair = |entry: &Value| {
        let text = |field: &str| Some(entry.get(field)?.as_str()?.to_owned());
        Some((text("type")?, text("address")?))
    };
    value.and_then(Value::as_array).into_iter().flatten().filter_map(pair).collect()
}

/// A volume of the cloud's API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Volume {
    pub(crate) id: String,
    /// The VM that uses it.
    pub(crate) attached_to: Option<String>,
    pub(crate) tags: Map<String, Value>,
}

impl Volume {
    /// Parses a volume. `None` if it has no id.
    pub(crate) fn parse(value: &Value) -> Option<Self> {
        Some(Self {
            id: value.get("id")?.as_str().filter(|id| !id.is_empty())?.to_owned(),
            attached_to: value.get("attachedTo").and_then(Value::as_str).map(str::to_owned),
            tags: value.get("tags").and_then(Value::as_object).cloned().unwrap_or_default(),
        })
    }

    /// True if it has the marks of this machine of this cluster.
    pub(crate) fn is_of(&self, cluster: &str, uid: &str) -> bool {
        let tag = |key: &str| self.tags.get(key).and_then(Value::as_str);
        tag(CLUSTER_TAG) == Some(cluster) && tag(UID_TAG) == Some(uid)
    }
}

/// One page of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page<T> {
    pub(crate) entries: Vec<T>,
    pub(crate) next: Option<String>,
}

impl<T> Page<T> {
    /// Parses the page of `field`. `None` if an entry is invalid: an incomplete listing is worse than an error.
    pub(crate) fn parse(value: &Value, field: &str, entry: fn(&Value) -> Option<T>) -> Option<Self> {
        let entries = value.get(field)?.as_array()?.iter().map(entry).collect::<Option<Vec<T>>>()?;
        let next = value.get("nextCursor").and_then(Value::as_str).filter(|next| !next.is_empty());
        Some(Self { entries, next: next.map(str::to_owned) })
    }
}
