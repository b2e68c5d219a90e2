//! Google's objects, with the fields that the driver needs.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::names::is_name;

/// The fields of an instance that the driver reads. Without a mask each instance would come with its user data.
pub(crate) const INSTANCE_FIELDS: &str = "id,name,zone,status,labels,labelFingerprint,tags/items,deletionProtection,\
                                          creationTimestamp,networkInterfaces(networkIP,ipv6Address,accessConfigs/natIP,\
                                          ipv6AccessConfigs/externalIpv6)";

/// The state of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InstanceStatus {
    /// It has no machine yet, or has just got one.
    Starting,
    Running,
    /// It is stopped, suspended or deleted.
    Stopping,
    /// It exists and does not run. A spot VM that was taken away is one.
    Stopped,
    /// A state that this driver does not know, or a repair.
    Other,
}

impl InstanceStatus {
    fn parse(name: &str) -> Self {
        match name {
            "PROVISIONING" | "STAGING" | "PENDING" => Self::Starting,
            "RUNNING" => Self::Running,
            "STOPPING" | "SUSPENDING" | "PENDING_STOP" | "DEPROVISIONING" => Self::Stopping,
            "TERMINATED" | "STOPPED" | "SUSPENDED" => Self::Stopped,
            _ => Self::Other,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Instance {
    /// The number that no other instance ever has.
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) zone: String,
    pub(crate) status: InstanceStatus,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) label_fingerprint: String,
    pub(crate) tags: Vec<String>,
    pub(crate) is_protected: bool,
    /// The time as Google writes it.
    pub(crate) created: Option<String>,
    pub(crate) addresses: Vec<(&'static str, String)>,
}

impl Instance {
    /// Reads an instance. `None` if it lacks id, name or zone.
    pub(crate) fn parse(value: &Value) -> Option<Self> {
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        let mut addresses = Vec::new();
        for interface in entries(value.get("networkInterfaces")) {
            let own = |name: &str| interface.get(name).and_then(Value::as_str);
            addresses.extend(own("networkIP").map(|ip| ("InternalIP", ip.to_owned())));
            addresses.extend(own("ipv6Address").map(|ip| ("InternalIP", ip.to_owned())));
            for (list, field) in [("accessConfigs", "natIP"), ("ipv6AccessConfigs", "externalIpv6")] {
                let outer =
                    entries(interface.get(list)).iter().filter_map(|access| access.get(field)?.as_str());
                addresses.extend(outer.map(|ip| ("ExternalIP", ip.to_owned())));
            }
        }
        addresses.retain(|(_, ip)| !ip.is_empty());
        Some(Self {
            id: id(value)?,
            name: text("name").filter(|name| is_name(name))?.to_owned(),
            zone: last_segment(text("zone")?).to_owned(),
            status: text("status").map_or(InstanceStatus::Other, InstanceStatus::parse),
            labels: labels(value),
            label_fingerprint: text("labelFingerprint").unwrap_or_default().to_owned(),
            tags: entries(value.get("tags").and_then(|tags| tags.get("items")))
                .iter()
                .filter_map(|tag| tag.as_str().map(str::to_owned))
                .collect(),
            is_protected: value.get("deletionProtection").and_then(Value::as_bool).unwrap_or(false),
            created: text("creationTimestamp").map(str::to_owned),
            addresses,
        })
    }

    /// Returns the value of a label.
    pub(crate) fn label(&self, key: &str) -> Option<&str> {
        self.labels.get(key).map(String::as_str)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Disk {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) zone: String,
    pub(crate) labels: BTreeMap<String, String>,
    /// True if an instance uses it.
    pub(crate) is_used: bool,
}

impl Disk {
    /// Reads a disk. `None` if it lacks id, name or zone.
    pub(crate) fn parse(value: &Value) -> Option<Self> {
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        Some(Self {
            id: id(value)?,
            name: text("name")?.to_owned(),
            zone: last_segment(text("zone")?).to_owned(),
            labels: labels(value),
            is_used: !entries(value.get("users")).is_empty(),
        })
    }
}

/// An operation of a zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Operation {
    pub(crate) name: String,
    pub(crate) is_done: bool,
    /// The number of the instance or disk.
    pub(crate) target_id: Option<u64>,
    /// The name of the instance or disk.
    pub(crate) target: String,
    /// Code and message of the failure.
    pub(crate) error: Option<(String, String)>,
}

impl Operation {
    /// Reads an operation. `None` if it lacks its name or status.
    pub(crate) fn parse(value: &Value) -> Option<Self> {
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        // A failure without entries is one all the same.
        let failed = value.get("error").filter(|error| !error.is_null()).map(|error| {
            let errors = entries(error.get("errors"));
            let field =
                |name: &str| errors.last().and_then(|last| last.get(name)?.as_str()).unwrap_or_default();
            (field("code").to_owned(), field("message").to_owned())
        });
        Some(Self {
            name: text("name").filter(|name| is_name(name))?.to_owned(),
            is_done: text("status")? == "DONE",
            target_id: text("targetId").and_then(|id| id.parse().ok()),
            target: last_segment(text("targetLink").unwrap_or_default()).to_owned(),
            error: failed,
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MachineType {
    pub(crate) cpus: i64,
    pub(crate) memory_mb: i64,
    /// Empty if Google does not say.
    pub(crate) architecture: String,
    pub(crate) accelerators: Vec<(String, i64)>,
}

impl MachineType {
    /// Reads a machine type. `None` if it lacks its size.
    pub(crate) fn parse(value: &Value) -> Option<Self> {
        let accelerator = |entry: &Value| {
            let kind = entry.get("guestAcceleratorType")?.as_str()?;
            Some((kind.to_owned(), entry.get("guestAcceleratorCount")?.as_i64()?))
        };
        Some(Self {
            cpus: value.get("guestCpus")?.as_i64()?,
            memory_mb: value.get("memoryMb")?.as_i64()?,
            architecture: value.get("architecture").and_then(Value::as_str).unwrap_or_default().to_owned(),
            accelerators: entries(value.get("accelerators")).iter().filter_map(accelerator).collect(),
        })
    }
}

/// One page of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListPage<T> {
    pub(crate) entries: Vec<T>,
    pub(crate) next: Option<String>,
}

/// Reads one page of a listing of one zone.
pub(crate) fn list<T>(
    value: &Value,
    parse: impl Fn(&Value) -> Option<T>,
) -> Result<ListPage<T>, &'static str> {
    let all = match value.get("items") {
        Some(Value::Array(all)) => all.as_slice(),
        None if is_empty_page(value) => &[],
        Some(_) | None => return Err("has no items"),
    };
    let entries = all.iter().map(|entry| parse(entry).ok_or("has an unreadable entry"));
    Ok(ListPage { entries: entries.collect::<Result<_, _>>()?, next: next(value)? })
}

/// Reads one page of an aggregated listing. The error says why it is not complete: an incomplete listing is worse than
/// none.
pub(crate) fn aggregated<T>(
    value: &Value,
    kind: &str,
    parse: impl Fn(&Value) -> Option<T>,
) -> Result<ListPage<T>, &'static str> {
    // Google names each zone, also those without entries.
    let Some(Value::Object(scopes)) = value.get("items") else { return Err("has no items") };
    if !entries(value.get("unreachables")).is_empty() {
        return Err("leaves out zones that cannot be reached");
    }
    let mut all = Vec::new();
    for scope in scopes.values() {
        let warning = scope.get("warning").and_then(|warning| warning.get("code")).and_then(Value::as_str);
        if warning.is_some_and(|code| code != "NO_RESULTS_ON_PAGE") {
            return Err("leaves out a zone");
        }
        let found = match scope.get(kind) {
            Some(Value::Array(found)) => found.as_slice(),
            None if scope.is_object() => &[],
            Some(_) | None => return Err("has an unreadable zone"),
        };
        for entry in found {
            all.push(parse(entry).ok_or("has an unreadable entry")?);
        }
    }
    Ok(ListPage { entries: all, next: next(value)? })
}

/// Google leaves out what is empty, and a mask leaves out the rest.
fn is_empty_page(value: &Value) -> bool {
    value.as_object().is_some_and(|fields| fields.keys().all(|key| key == "nextPageToken"))
}

/// Reads the token of the next page. Without it the rest of a listing would be left out.
fn next(value: &Value) -> Result<Option<String>, &'static str> {
    match value.get("nextPageToken") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(token)) => Ok(Some(token.clone()).filter(|token| !token.is_empty())),
        Some(_) => Err("has an unreadable page token"),
    }
}

fn id(value: &Value) -> Option<u64> {
    match value.get("id")? {
        Value::String(text) => text.parse().ok(),
        other => other.as_u64(),
    }
}

fn labels(value: &Value) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    for (key, value) in value.get("labels").and_then(Value::as_object).into_iter().flatten() {
        if let Some(value) = value.as_str() {
            labels.insert(key.clone(), value.to_owned());
        }
    }
    labels
}

fn entries(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn last_segment(url: &str) -> &str {
    url.rsplit('/').next().unwrap_or_default()
}
