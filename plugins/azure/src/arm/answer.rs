//! Azure's objects, with the fields that the driver needs.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::tags::Tags;

/// The state of the making of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Provisioning {
    Creating,
    Updating,
    Succeeded,
    Failed,
    Deleting,
    /// A state that this driver does not know.
    Other,
}

impl Provisioning {
    fn parse(name: &str) -> Self {
        match name {
            "Creating" => Self::Creating,
            "Updating" | "Migrating" => Self::Updating,
            "Succeeded" => Self::Succeeded,
            "Failed" | "Canceled" => Self::Failed,
            "Deleting" => Self::Deleting,
            _ => Self::Other,
        }
    }
}

/// Whether a VM runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Power {
    Running,
    Starting,
    Stopping,
    Stopped,
    /// The platform does not say.
    Unknown,
}

impl Power {
    fn parse(code: &str) -> Self {
        match code {
            "running" => Self::Running,
            "starting" => Self::Starting,
            "stopping" | "deallocating" => Self::Stopping,
            "stopped" | "deallocated" => Self::Stopped,
            _ => Self::Unknown,
        }
    }
}

/// A part of a VM, as the VM names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// The name of a disk; empty for network interfaces.
    pub(crate) name: String,
    pub(crate) id: String,
    /// True if Azure deletes it with the VM.
    pub(crate) goes_with_vm: bool,
    /// True if it is being detached.
    pub(crate) is_leaving: bool,
    /// The number of a data disk.
    pub(crate) lun: Option<i64>,
}

/// A VM as Azure shows it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct VmFacts {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) location: String,
    pub(crate) tags: Tags,
    pub(crate) zone: Option<String>,
    pub(crate) state: Provisioning,
    pub(crate) power: Power,
    /// Code and message of a failure, where the platform tells them.
    pub(crate) failure: Option<(String, String)>,
    pub(crate) nics: Vec<Part>,
    pub(crate) os_disk: Option<Part>,
    pub(crate) data_disks: Vec<Part>,
    /// The raw lists that a PATCH has to repeat as a whole.
    pub(crate) raw_nics: Value,
    pub(crate) raw_data_disks: Value,
}

/// A network interface as Azure shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NicFacts {
    pub(crate) tags: Tags,
    pub(crate) state: Provisioning,
    pub(crate) vm: Option<String>,
    pub(crate) subnet: Option<String>,
    pub(crate) address: Option<String>,
}

/// A disk as Azure shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DiskFacts {
    pub(crate) tags: Tags,
    pub(crate) state: Provisioning,
    pub(crate) zone: Option<String>,
    /// The VM that it is attached to.
    pub(crate) vm: Option<String>,
}

/// Reads a VM. `None` if it has no id.
pub(crate) fn vm(value: &Value) -> Option<VmFacts> {
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str);
    let statuses = value.pointer("/properties/instanceView/statuses").and_then(Value::as_array);
    let statuses = || statuses.into_iter().flatten();
    let code = |status: &Value| status.get("code").and_then(Value::as_str).map(str::to_owned);
    let power =
        statuses().filter_map(code).find_map(|code| Some(Power::parse(code.strip_prefix("PowerState/")?)));
    let failure = statuses().find_map(|status| {
        let code = code(status)?.strip_prefix("ProvisioningState/failed/")?.to_owned();
        let message = status.get("message").and_then(Value::as_str).unwrap_or_default().to_owned();
        Some((code, message))
    });
    let list = |pointer: &str| value.pointer(pointer).cloned().unwrap_or(Value::Array(Vec::new()));
    let raw_nics = list("/properties/networkProfile/networkInterfaces");
    let raw_data_disks = list("/properties/storageProfile/dataDisks");
    let parts = |raw: &Value, read: fn(&Value) -> Option<Part>| {
        raw.as_array().into_iter().flatten().map(read).collect::<Option<Vec<_>>>()
    };
    Some(VmFacts {
        id: text("/id")?.to_owned(),
        name: text("/name")?.to_owned(),
        location: text("/location").unwrap_or_default().to_owned(),
        tags: tags(value),
        zone: text("/zones/0").map(str::to_owned),
        state: state(value),
        power: power.unwrap_or(Power::Unknown),
        failure,
        nics: parts(&raw_nics, nic_part)?,
        os_disk: value.pointer("/properties/storageProfile/osDisk").and_then(disk_part),
        data_disks: parts(&raw_data_disks, disk_part)?,
        raw_nics,
        raw_data_disks,
    })
}

fn nic_part(value: &Value) -> Option<Part> {
    // A deletion sends the properties back with one field changed.
    if value.get("properties").is_some_and(|properties| !(properties.is_object() || properties.is_null())) {
        return None;
    }
    Some(Part {
        name: String::new(),
        id: value.get("id")?.as_str()?.to_owned(),
        goes_with_vm: goes_with_vm(value.pointer("/properties/deleteOption")),
        is_leaving: false,
        lun: None,
    })
}

fn disk_part(value: &Value) -> Option<Part> {
    let id = value.pointer("/managedDisk/id").and_then(Value::as_str).unwrap_or_default();
    Some(Part {
        name: value.get("name").and_then(Value::as_str).unwrap_or_default().to_owned(),
        id: id.to_owned(),
        goes_with_vm: goes_with_vm(value.get("deleteOption")),
        is_leaving: value.get("toBeDetached").and_then(Value::as_bool).unwrap_or(false),
        lun: value.get("lun").and_then(Value::as_i64),
    })
}

fn goes_with_vm(option: Option<&Value>) -> bool {
    option.and_then(Value::as_str) == Some("Delete")
}

pub(crate) fn nic(value: &Value) -> Option<NicFacts> {
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    value.get("id")?.as_str()?;
    Some(NicFacts {
        tags: tags(value),
        state: state(value),
        vm: text("/properties/virtualMachine/id"),
        subnet: text("/properties/ipConfigurations/0/properties/subnet/id"),
        address: text("/properties/ipConfigurations/0/properties/privateIPAddress"),
    })
}

pub(crate) fn disk(value: &Value) -> Option<DiskFacts> {
    value.get("id")?.as_str()?;
    let vm = value.get("managedBy").and_then(Value::as_str).filter(|id| !id.is_empty());
    let zone = value.pointer("/zones/0").and_then(Value::as_str).map(str::to_owned);
    Some(DiskFacts { tags: tags(value), state: state(value), zone, vm: vm.map(str::to_owned) })
}

fn state(value: &Value) -> Provisioning {
    let name = value.pointer("/properties/provisioningState").and_then(Value::as_str);
    name.map_or(Provisioning::Other, Provisioning::parse)
}

pub(crate) fn tags(value: &Value) -> Tags {
    let mut tags = BTreeMap::new();
    for (key, value) in value.get("tags").and_then(Value::as_object).into_iter().flatten() {
        tags.insert(key.clone(), value.as_str().unwrap_or_default().to_owned());
    }
    Tags(tags)
}
