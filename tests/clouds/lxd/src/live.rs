//! An instance as tests and kubelets see it.

use serde_json::Value;

use crate::instance::Instance;
use crate::ledger::UID_KEY;

/// An instance that exists. It has no address: there are no networks here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveInstance {
    /// Unique in its project: also its id.
    pub name: String,
    pub project: String,
    /// The uid of its Machine; empty if it has none.
    pub uid: String,
    /// The cluster member that it is on; `none` on a server alone.
    pub zone: String,
    /// Its type: `container` or `virtual-machine`.
    pub kind: String,
    pub cores: u32,
    pub memory_gib: u32,
    pub is_running: bool,
    /// Tells one boot from another.
    pub boot_id: String,
    /// Empty if it has none.
    pub user_data: String,
}

impl LiveInstance {
    pub(crate) fn read(value: &Value) -> Option<Self> {
        let Instance { name, project, status, mut config } = Instance::read(value)?;
        let text = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default();
        let mut own = |key: &str| config.remove(key).unwrap_or_default();
        Some(Self {
            uid: own(UID_KEY),
            zone: text("location").to_owned(),
            kind: text("type").to_owned(),
            cores: own("limits.cpu").parse().unwrap_or(1),
            memory_gib: gib(&own("limits.memory")),
            is_running: status == "Running",
            boot_id: format!("{name}-{}", text("last_used_at")),
            user_data: own("cloud-init.user-data"),
            name,
            project,
        })
    }
}

/// Returns a limit such as `2GiB` in whole GiB, at least one.
fn gib(limit: &str) -> u32 {
    let number = limit.strip_suffix("GiB").and_then(|number| number.parse::<u32>().ok());
    number.unwrap_or(1).max(1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_instance_is_read_with_its_limits_its_marks_and_its_user_data() {
        let value = json!({
            "name": "m-1", "project": "default", "status": "Running", "location": "lab-1", "type": "container",
            "last_used_at": "2026-11-28T01:00:00Z",
            "config": {
                "limits.cpu": "2", "limits.memory": "4GiB", UID_KEY: "uid-1",
                "cloud-init.user-data": "#cloud-config\n",
            },
        });
        let expected = LiveInstance {
            name: "m-1".to_owned(),
            project: "default".to_owned(),
            uid: "uid-1".to_owned(),
            zone: "lab-1".to_owned(),
            kind: "container".to_owned(),
            cores: 2,
            memory_gib: 4,
            is_running: true,
            boot_id: "m-1-2026-11-28T01:00:00Z".to_owned(),
            user_data: "#cloud-config\n".to_owned(),
        };
        assert_eq!(LiveInstance::read(&value), Some(expected));
    }

    #[test]
    fn limits_below_a_gib_and_missing_ones_count_as_one() {
        assert_eq!(["128MiB", "", "3GiB"].map(gib), [1, 1, 3]);
    }
}
