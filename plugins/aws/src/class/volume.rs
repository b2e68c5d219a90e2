//! EC2's ids of persistent volumes.

use machinist_sdk::driver::{Code, Failure};
use serde_json::Value;

use crate::ec2::errors::error;

const CSI_DRIVER: &str = "ebs.csi.aws.com";
const URL: &str = "aws://";

/// Returns the volume id of a PersistentVolume's spec; `None` if it is of another kind.
///
/// Fails for text that is not JSON.
pub(crate) fn id(spec: &str, index: usize) -> Result<Option<String>, Failure> {
    let spec: Value = serde_json::from_str(spec).map_err(|_| {
        Failure::from(error(
            Code::InvalidArgument,
            format!("failed to read volume spec {index}: it is not JSON"),
        ))
    })?;
    let text = |kind: &str, field: &str| spec.get(kind)?.get(field)?.as_str();
    if let Some(volume) = text("awsElasticBlockStore", "volumeID") {
        return Ok(in_tree(volume).map(str::to_owned));
    }
    let is_ours = text("csi", "driver") == Some(CSI_DRIVER);
    let handle = text("csi", "volumeHandle").filter(|handle| is_ours && !handle.is_empty());
    Ok(handle.map(str::to_owned))
}

/// Parses the id itself, or `aws://ZONE/ID` with or without a zone.
fn in_tree(volume: &str) -> Option<&str> {
    let id = match volume.strip_prefix(URL) {
        None => volume,
        Some(rest) => rest.split_once('/')?.1.trim_matches('/'),
    };
    let is_id = !volume.starts_with(URL) || (id.starts_with("vol-") && !id.contains('/'));
    (is_id && !id.is_empty()).then_some(id)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_kind_of_volume_has_its_id() {
        let in_tree = |id: &str| json!({ "awsElasticBlockStore": { "volumeID": id } });
        let csi = |driver: &str, handle: &str| json!({ "csi": { "driver": driver, "volumeHandle": handle } });
        let table = [
            (in_tree("vol-1"), Some("vol-1")),
            (in_tree("aws://eu-west-1a/vol-1"), Some("vol-1")),
            (in_tree("aws:///vol-1"), Some("vol-1")),
            (in_tree("anything"), Some("anything")),
            (in_tree("aws://eu-west-1a/disk-1"), None),
            (in_tree("aws://eu-west-1a/vol-1/x"), None),
            (in_tree("aws://vol-1"), None),
            (in_tree(""), None),
            (csi("ebs.csi.aws.com", "vol-2"), Some("vol-2")),
            (csi("ebs.csi.aws.com", ""), None),
            (csi("other.csi", "vol-2"), None),
            (json!({ "csi": { "driver": "ebs.csi.aws.com" } }), None),
            (json!({ "hostPath": { "path": "/" } }), None),
            (json!(null), None),
            (json!([1]), None),
        ];
        for (spec, expected) in table {
            assert_eq!(id(&spec.to_string(), 0).unwrap().as_deref(), expected, "{spec}");
        }
        assert!(id("{", 7).unwrap_err().message.contains("volume spec 7"));
    }
}
