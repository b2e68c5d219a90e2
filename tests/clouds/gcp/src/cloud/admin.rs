//! Views of the cloud for tests, and changes by hand.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Cloud, Instance};

/// An instance as tests see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VmView {
    pub zone: String,
    pub name: String,
    pub id: String,
    pub status: String,
    pub labels: BTreeMap<String, String>,
    pub resource: Value,
}

impl Cloud {
    /// Returns the instances that are not being deleted, also those that reads do not show yet.
    pub fn vms(&self) -> Vec<VmView> {
        let live = self.instances.iter().filter(|(_, instance)| instance.delete.is_none());
        live.map(|((zone, name), instance)| view(zone, name, instance)).collect()
    }

    /// Returns the names of all disks.
    pub fn disk_names(&self) -> Vec<String> {
        self.disks.keys().map(|(zone, name)| format!("{zone}/{name}")).collect()
    }

    /// Whether nothing is left: no instance, no disk, no running operation.
    pub fn is_empty(&self) -> bool {
        self.instances.is_empty()
            && self.disks.is_empty()
            && self.operations.values().all(|operation| operation.is_done)
    }

    /// The most instances that existed with one uid, over all time.
    pub fn most_of_one_machine(&self) -> usize {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for instance in self.instances.values() {
            if let Some(uid) = instance.resource["labels"]["machinist-machine-uid"].as_str() {
                *counts.entry(uid).or_default() += 1;
            }
        }
        counts.values().copied().max().unwrap_or(0)
    }

    /// Creates a running instance without a request, in the last zone in which the name is free, and returns its zone.
    ///
    /// # Panics
    /// If no zone is left.
    pub fn plant(&mut self, name: &str, labels: &Value, tags: &[&str]) -> String {
        let zones = self.config.zones.clone();
        let is_free = |zone: &&String| !self.instances.contains_key(&((*zone).clone(), name.to_owned()));
        let zone = zones.iter().rev().find(is_free).expect("a zone in which the name is free").clone();
        self.plant_in(&zone, name, labels, tags);
        zone
    }

    /// Creates a running instance without a request.
    pub fn plant_in(&mut self, zone: &str, name: &str, labels: &Value, tags: &[&str]) {
        let id = self.number();
        let resource = json!({
            "kind": "compute#instance",
            "id": id.to_string(),
            "name": name,
            "zone": format!("{}projects/{}/zones/{zone}", super::ROOT, self.config.project),
            "selfLink": self.url(zone, "instances", name),
            "status": "RUNNING",
            "creationTimestamp": super::timestamp(self.now_ms()),
            "labels": labels,
            "labelFingerprint": super::insert::fingerprint(labels),
            "tags": { "items": tags },
            "networkInterfaces": [{ "networkIP": "10.9.0.2", "name": "nic0" }],
        });
        let instance =
            Instance { resource, insert: Default::default(), delete: None, disks: Vec::new(), resets: 0 };
        self.instances.insert((zone.to_owned(), name.to_owned()), instance);
    }

    /// Creates a disk without a request.
    pub fn plant_disk(&mut self, zone: &str, name: &str, labels: &Value) {
        let id = self.number();
        let resource = json!({
            "kind": "compute#disk",
            "id": id.to_string(),
            "name": name,
            "zone": format!("{}projects/{}/zones/{zone}", super::ROOT, self.config.project),
            "selfLink": self.url(zone, "disks", name),
            "status": "READY",
            "labels": labels,
        });
        self.disks.insert((zone.to_owned(), name.to_owned()), resource);
    }

    /// Removes an instance as a person does. False: it is not there.
    pub fn remove_by_hand(&mut self, zone: &str, name: &str) -> bool {
        let key = (zone.to_owned(), name.to_owned());
        let is_there = self.instances.contains_key(&key);
        self.remove_instance(&key, false);
        is_there
    }

    /// Changes the resource of an instance as a person does.
    pub fn change_by_hand(&mut self, zone: &str, name: &str, change: impl FnOnce(&mut Value)) {
        if let Some(instance) = self.instances.get_mut(&(zone.to_owned(), name.to_owned())) {
            change(&mut instance.resource);
        }
    }
}

fn view(zone: &str, name: &str, instance: &Instance) -> VmView {
    let text = |field: &str| instance.resource[field].as_str().unwrap_or_default().to_owned();
    let labels = instance.resource["labels"].as_object().into_iter().flatten();
    VmView {
        zone: zone.to_owned(),
        name: name.to_owned(),
        id: text("id"),
        status: text("status"),
        labels: labels
            .map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned()))
            .collect(),
        resource: instance.resource.clone(),
    }
}
