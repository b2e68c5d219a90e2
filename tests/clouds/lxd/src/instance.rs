//! An instance as LXD has it.

use std::collections::BTreeMap;

use serde_json::Value;

/// The facts about an instance that tests check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    pub name: String,
    pub project: String,
    /// `Running`, `Stopped` and so on.
    pub status: String,
    /// Its own configuration, without that of its profiles.
    pub config: BTreeMap<String, String>,
}

impl Instance {
    pub fn is_running(&self) -> bool {
        self.status == "Running"
    }

    pub(crate) fn read(value: &Value) -> Option<Self> {
        let text = |name: &str| Some(value.get(name)?.as_str()?.to_owned());
        let config = value.get("config")?.as_object()?;
        let config = config.iter().filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())));
        Some(Self {
            name: text("name")?,
            project: text("project")?,
            status: text("status")?,
            config: config.collect(),
        })
    }
}
