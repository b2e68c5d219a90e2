//! Azure's names of persistent volumes.

use machinist_sdk::driver::{Failure, invalid};
use serde_json::Value;

const CSI: &str = "disk.csi.azure.com";

/// Returns the disk of a PersistentVolume: its name in the tree of Kubernetes, its id with CSI. `None` for volumes of
/// another kind.
pub(crate) fn id(spec: &str, index: usize) -> Result<Option<String>, Failure> {
    let value: Value = serde_json::from_str(spec)
        .map_err(|_| invalid(format!("the volume spec at position {index} is not JSON")))?;
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
    let in_tree = text("/azureDisk/diskName");
    let by_csi = text("/csi/volumeHandle").filter(|_| text("/csi/driver") == Some(CSI));
    Ok(in_tree.or(by_csi).map(str::to_owned))
}
