//! Instances as kubelets see them, and how many were created.

use serde_json::Value;

use super::{Cloud, Instance, Key};

/// The label with the uid of the Machine that an instance was made for.
const UID_LABEL: &str = "machinist-machine-uid";

/// An instance that is not being deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveInstance {
    /// The number that no other instance has, whatever its name.
    pub id: String,
    pub name: String,
    /// The uid of its Machine; empty if it has none.
    pub uid: String,
    pub project: String,
    pub zone: String,
    pub machine_type: String,
    pub cores: u32,
    pub memory_gib: u32,
    /// The address that it has in its subnetwork.
    pub address: String,
    pub is_running: bool,
    /// How often it was reset: tells one boot from another.
    pub resets: u32,
    /// The value of its metadata that it reads at boot.
    pub user_data: Option<String>,
}

impl Cloud {
    /// Returns the instances that are not being deleted, also those that reads do not show yet.
    pub fn live_instances(&self) -> Vec<LiveInstance> {
        let live = self.instances.iter().filter(|(_, instance)| instance.delete.is_none());
        live.map(|(key, instance)| self.live(key, instance)).collect()
    }

    /// Returns kind, zone and name of all instances, also those that are being deleted, and of all disks.
    pub fn leftovers(&self) -> Vec<String> {
        let instances = self.instances.keys().map(|(zone, name)| format!("instance {zone}/{name}"));
        let disks = self.disks.keys().map(|(zone, name)| format!("disk {zone}/{name}"));
        instances.chain(disks).collect()
    }

    /// The number of uids that had more than one instance at one time.
    pub fn duplicates(&self) -> usize {
        self.most_at_once.values().filter(|most| **most > 1).count()
    }

    /// Counts an instance with this uid that was created now.
    pub(super) fn count(&mut self, uid: &str) {
        *self.created.entry(uid.to_owned()).or_default() += 1;
        let is_it = |instance: &&Instance| {
            instance.delete.is_none() && instance.resource["labels"][UID_LABEL].as_str() == Some(uid)
        };
        let now = self.instances.values().filter(is_it).count();
        let most = self.most_at_once.entry(uid.to_owned()).or_default();
        *most = now.max(*most);
    }

    fn live(&self, (zone, name): &Key, instance: &Instance) -> LiveInstance {
        let resource = &instance.resource;
        let machine_type = text(&resource["machineType"]).rsplit('/').next().unwrap_or_default();
        let kind = self.config.machine_type(zone, machine_type);
        LiveInstance {
            id: text(&resource["id"]).to_owned(),
            name: name.clone(),
            uid: text(&resource["labels"][UID_LABEL]).to_owned(),
            project: self.config.project.clone(),
            zone: zone.clone(),
            machine_type: machine_type.to_owned(),
            cores: kind.map_or(1, |kind| kind.cpus),
            memory_gib: kind.map_or(1, |kind| kind.memory_mb / 1024),
            address: text(&resource["networkInterfaces"][0]["networkIP"]).to_owned(),
            is_running: resource["status"] == "RUNNING",
            resets: instance.resets,
            user_data: user_data(resource),
        }
    }
}

/// The item of the metadata that cloud-init or Google's agent reads.
fn user_data(resource: &Value) -> Option<String> {
    let items = resource["metadata"]["items"].as_array()?;
    let item = items.iter().find(|item| matches!(text(&item["key"]), "user-data" | "startup-script"))?;
    item["value"].as_str().map(str::to_owned)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
