//! From the cloud's objects to the contract's types.

use machinist_sdk::driver::{self as wit, Code, Failure, rfc3339_ms};
use serde_json::Value;

use crate::answer::{NAME_TAG, Size, State, UID_TAG, Vm};

/// The CSI driver of the cloud's volumes.
pub(crate) const CSI_DRIVER: &str = "sim.csi.machinist.dev";
const PREFIX: &str = "sim:///";

/// Returns `sim:///ZONE/ID`, with which Nodes register.
pub(crate) fn provider_id(vm: &Vm) -> String {
    format!("{PREFIX}{}/{}", vm.zone, vm.id)
}

/// Returns zone and id of a provider id; `None` if it is not one of this cloud.
pub(crate) fn parts(provider_id: &str) -> Option<(&str, &str)> {
    let (zone, id) = provider_id.strip_prefix(PREFIX)?.split_once('/')?;
    (!zone.is_empty() && !id.is_empty() && !id.contains('/')).then_some((zone, id))
}

/// Converts a VM. Its Node registers under its name.
pub(crate) fn vm(vm: &Vm) -> wit::Vm {
    let address =
        |(kind, address): &(String, String)| wit::Address { kind: kind.clone(), address: address.clone() };
    wit::Vm {
        provider_id: provider_id(vm),
        node_name: vm.name.clone(),
        state: match vm.state {
            State::Pending => wit::VmState::Pending,
            State::Running => wit::VmState::Running,
            State::Stopping => wit::VmState::Stopping,
            State::Terminated => wit::VmState::Stopped,
            State::Other => wit::VmState::Unknown,
        },
        addresses: vm.addresses.iter().map(address).collect(),
        failure_domain: Some(vm.zone.clone()),
        conditions: Vec::new(),
        last_known_state: None,
    }
}

/// Converts the size of a type into the resources of its Nodes.
pub(crate) fn resources(size: &Size) -> wit::NodeResources {
    let mut resources = vec![
        ("cpu".to_owned(), size.cpus.to_string()),
        ("memory".to_owned(), format!("{}Gi", size.memory_gib)),
    ];
    if size.gpus > 0 {
        resources.push(("nvidia.com/gpu".to_owned(), size.gpus.to_string()));
    }
    wit::NodeResources {
        resources,
        architecture: Some("amd64".to_owned()),
        operating_system: Some("linux".to_owned()),
    }
}

/// Converts a VM of a listing.
pub(crate) fn listed(vm: &Vm) -> wit::Listed {
    wit::Listed {
        provider_id: provider_id(vm),
        machine_name: vm.tag(NAME_TAG).unwrap_or_default().to_owned(),
        machine_uid: vm.tag(UID_TAG).map(str::to_owned),
        created_at_ms: vm.created.as_deref().and_then(rfc3339_ms),
    }
}

/// Returns the volume handle of a PersistentVolume's spec; `None` if it is of another kind.
pub(crate) fn volume_id(spec: &str, index: usize) -> Result<Option<String>, Failure> {
    let spec: Value = serde_json::from_str(spec).map_err(|_| {
        Failure::new(Code::InvalidArgument, format!("failed to read volume spec {index}: it is not JSON"))
    })?;
    let csi = spec.get("csi");
    let text = |field: &str| csi.and_then(|csi| csi.get(field)).and_then(Value::as_str);
    let handle = text("volumeHandle").filter(|handle| !handle.is_empty());
    Ok(handle.filter(|_| text("driver") == Some(CSI_DRIVER)).map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_id_has_a_zone_and_an_id() {
        assert_eq!(parts("sim:///sim-1a/vm-1"), Some(("sim-1a", "vm-1")));
        for other in
            ["", "vm-1", "sim:///vm-1", "sim:////vm-1", "sim:///sim-1a/", "sim:///a/b/c", "aws:///a/b"]
        {
            assert_eq!(parts(other), None, "{other}");
        }
    }

    #[test]
    fn volumes_of_other_kinds_have_no_id_here() {
        let id = |spec: &str| volume_id(spec, 7).map_err(|failure| failure.message.clone());
        let ours = r#"{"csi": {"driver": "sim.csi.machinist.dev", "volumeHandle": "vol-1"}, "capacity": {}}"#;
        assert_eq!(id(ours), Ok(Some("vol-1".to_owned())));
        assert_eq!(id(r#"{"csi": {"driver": "other", "volumeHandle": "vol-1"}}"#), Ok(None));
        assert_eq!(id(r#"{"csi": {"driver": "sim.csi.machinist.dev"}}"#), Ok(None));
        assert_eq!(id(r#"{"hostPath": {"path": "/"}}"#), Ok(None));
        assert!(id("{").unwrap_err().contains("volume spec 7"));
    }
}
