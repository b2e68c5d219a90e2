//! Google's ids of persistent volumes.

use machinist_sdk::driver::{Code, Failure};
use serde_json::Value;

const CSI_DRIVER: &str = "pd.csi.storage.gke.io";

/// Returns the volume id of a PersistentVolume's spec; `None` if it is of another kind.
///
/// Fails for text that is not JSON.
pub(crate) fn id(spec: &str, index: usize) -> Result<Option<String>, Failure> {
    let spec: Value = serde_json::from_str(spec).map_err(|_| {
        Failure::new(Code::InvalidArgument, format!("failed to read volume spec {index}: it is not JSON"))
    })?;
    let text = |kind: &str, field: &str| spec.get(kind)?.get(field)?.as_str().filter(|text| !text.is_empty());
    if let Some(disk) = text("gcePersistentDisk", "pdName") {
        return Ok(Some(disk.to_owned()));
    }
    let is_ours = text("csi", "driver") == Some(CSI_DRIVER);
    Ok(text("csi", "volumeHandle").filter(|_| is_ours).map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_kind_of_volume_has_its_id() {
        let handle = "projects/p/zones/z/disks/d";
        let csi = |driver: &str, handle: &str| json!({ "csi": { "driver": driver, "volumeHandle": handle } });
        for (spec, expected) in [
            (json!({ "gcePersistentDisk": { "pdName": "d-1" } }), Some("d-1")),
            (json!({ "gcePersistentDisk": { "pdName": "" } }), None),
            (csi(CSI_DRIVER, handle), Some(handle)),
            (csi(CSI_DRIVER, ""), None),
            (csi("other.csi", handle), None),
            (json!({ "hostPath": { "path": "/" } }), None),
            (json!(null), None),
            (json!([1]), None),
        ] {
            assert_eq!(id(&spec.to_string(), 0).unwrap().as_deref(), expected, "{spec}");
        }
        assert!(id("{", 7).unwrap_err().message.contains("volume spec 7"));
    }
}
