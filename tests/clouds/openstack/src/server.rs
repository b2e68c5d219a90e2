//! A server as tests and kubelets see it.

use std::collections::BTreeMap;

use anyhow::bail;
use serde_json::Value;

use crate::client::Client;

/// The metadata with the uid of a server's Machine.
pub(crate) const UID_MARK: &str = "machinist.dev-machine-uid";
/// From this one on Nova shows flavors whole. It shows user data to its admin alone.
const MICROVERSION: &str = "2.47";

/// A server that lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveServer {
    pub id: String,
    pub name: String,
    /// The uid of its Machine; empty if it has none.
    pub uid: String,
    pub zone: String,
    pub flavor: String,
    pub cores: u32,
    pub memory_gib: u32,
    /// Its first address; empty if it has none.
    pub address: String,
    pub is_running: bool,
    /// How often it was rebooted through the proxy: tells one boot from another.
    pub resets: u32,
    /// In base64, as Nova keeps it; empty if it has none.
    pub user_data: String,
}

impl LiveServer {
    /// Returns nothing for a server that Nova is deleting.
    fn read(server: &Value, resets: &BTreeMap<String, u32>) -> Option<Self> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let number = |value: &Value| value.as_u64().and_then(|number| u32::try_from(number).ok());
        let (id, status) = (text(&server["id"]), text(&server["status"]));
        let is_leaving = server["OS-EXT-STS:task_state"] == "deleting"
            || ["DELETED", "SOFT_DELETED"].contains(&status.as_str());
        if id.is_empty() || is_leaving {
            return None;
        }
        let flavor = &server["flavor"];
        let network = server["addresses"].as_object().and_then(|networks| networks.values().next());
        Some(Self {
            name: text(&server["name"]),
            uid: text(&server["metadata"][UID_MARK]),
            zone: text(&server["OS-EXT-AZ:availability_zone"]),
            flavor: text(&flavor["original_name"]),
            cores: number(&flavor["vcpus"]).unwrap_or(1),
            memory_gib: (number(&flavor["ram"]).unwrap_or_default() / 1024).max(1),
            address: network.map(|addresses| text(&addresses[0]["addr"])).unwrap_or_default(),
            is_running: ["ACTIVE", "REBOOT", "HARD_REBOOT"].contains(&status.as_str()),
            resets: resets.get(&id).copied().unwrap_or_default(),
            user_data: text(&server["OS-EXT-SRV-ATTR:user_data"]),
            id,
        })
    }
}

/// Returns the servers of all projects that live.
pub(crate) async fn live(admin: &Client, resets: &BTreeMap<String, u32>) -> anyhow::Result<Vec<LiveServer>> {
    let mut found = Vec::new();
    let mut marker = String::new();
    loop {
        let path = format!("/v2.1/servers/detail?all_tenants=1&limit=1000{marker}");
        let listing = admin.get_of_nova(MICROVERSION, &path).await?;
        let Some(servers) = listing["servers"].as_array() else { bail!("Nova lists no servers") };
        found.extend(servers.iter().filter_map(|server| LiveServer::read(server, resets)));
        match servers.last().and_then(|last| last["id"].as_str()) {
            Some(id) if listing.get("servers_links").is_some() => marker = format!("&marker={id}"),
            _ => return Ok(found),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn server(status: &str, task: &Value) -> Value {
        json!({
            "id": "s-1", "name": "m-1", "status": status, "OS-EXT-STS:task_state": task,
            "metadata": { UID_MARK: "uid-1" }, "OS-EXT-AZ:availability_zone": "nova",
            "flavor": { "original_name": "m1.small", "vcpus": 1, "ram": 2048 },
            "addresses": { "nodes": [{ "addr": "10.0.0.7", "version": 4 }] },
            "OS-EXT-SRV-ATTR:user_data": "YQ==",
        })
    }

    #[test]
    fn a_server_is_read_with_its_flavor_its_marks_and_its_user_data() {
        let resets = BTreeMap::from([("s-1".to_owned(), 2)]);
        let expected = LiveServer {
            id: "s-1".to_owned(),
            name: "m-1".to_owned(),
            uid: "uid-1".to_owned(),
            zone: "nova".to_owned(),
            flavor: "m1.small".to_owned(),
            cores: 1,
            memory_gib: 2,
            address: "10.0.0.7".to_owned(),
            is_running: true,
            resets: 2,
            user_data: "YQ==".to_owned(),
        };
        assert_eq!(LiveServer::read(&server("ACTIVE", &Value::Null), &resets), Some(expected));
    }

    #[test]
    fn a_server_that_is_being_deleted_does_not_live_and_one_that_is_built_does_not_run() {
        let read = |status: &str, task: Value| LiveServer::read(&server(status, &task), &BTreeMap::new());
        assert_eq!(read("ACTIVE", json!("deleting")), None);
        assert_eq!(read("DELETED", Value::Null), None);
        assert!(!read("BUILD", json!("spawning")).unwrap().is_running);
        assert!(read("HARD_REBOOT", json!("rebooting_hard")).unwrap().is_running);
    }
}
