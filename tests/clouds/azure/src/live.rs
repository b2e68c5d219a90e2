//! VMs as kubelets see them, and how many were created.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::arm;
use crate::cloud::Cloud;
use crate::state::{Key, Kind, Resource, State, UID_TAG};

/// A VM that is not being deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VirtualMachine {
    /// The id that no other VM has, whatever its name.
    pub id: String,
    pub name: String,
    /// The uid of its Machine; empty if it has none.
    pub uid: String,
    pub subscription: String,
    pub group: String,
    pub location: String,
    /// The number of its zone; empty if it is in none.
    pub zone: String,
    pub size: String,
    pub cores: u32,
    pub memory_gib: u32,
    /// The address that it has in its subnet.
    pub address: String,
    pub is_running: bool,
    /// How often it was restarted: tells one boot from another.
    pub restarts: u32,
    /// Its custom data, as it reads them at boot.
    pub user_data: Option<Vec<u8>>,
}

impl Cloud {
    /// The VMs that are not being deleted, also those that reads do not show yet.
    pub fn virtual_machines(&self) -> Vec<VirtualMachine> {
        let live = self.resources().filter(|one| one.kind == Kind::Vm && one.state != State::Deleting);
        live.map(|vm| self.virtual_machine(vm)).collect()
    }

    /// VMs that were created and did not fail, by the uid of their Machine.
    pub fn created(&self) -> &BTreeMap<String, u64> {
        &self.created
    }

    /// The number of uids that had more than one VM at one time.
    pub fn duplicates(&self) -> usize {
        self.most_at_once.values().filter(|most| **most > 1).count()
    }

    /// Somebody deletes a VM, with the parts that go with it. False: it is not there.
    pub fn remove_by_hand(&mut self, group: &str, name: &str) -> bool {
        let key = Key::new(Kind::Vm, group, name);
        let is_there = self.resources.contains_key(&key);
        arm::delete(self, &key, false);
        is_there
    }

    fn virtual_machine(&self, vm: &Resource) -> VirtualMachine {
        let properties = &vm.body["properties"];
        let name = text(&properties["hardwareProfile"]["vmSize"]);
        let size = self.options.sizes.iter().find(|size| size.name.eq_ignore_ascii_case(name));
        let data = properties["osProfile"]["customData"].as_str();
        VirtualMachine {
            id: text(&properties["vmId"]).to_owned(),
            name: vm.name.clone(),
            uid: vm.tag(UID_TAG).unwrap_or_default().to_owned(),
            subscription: self.options.subscription.clone(),
            group: vm.group.clone(),
            location: vm.location.clone(),
            zone: vm.zones.first().cloned().unwrap_or_default(),
            size: name.to_owned(),
            cores: size.map_or(1, |size| size.cores),
            memory_gib: size.map_or(1, |size| size.memory_mib / 1_024),
            address: self.address(properties).unwrap_or_default(),
            is_running: vm.is_running,
            restarts: vm.restarts,
            user_data: data.and_then(|data| STANDARD.decode(data).ok()),
        }
    }

    /// The address of the first network interface.
    fn address(&self, properties: &Value) -> Option<String> {
        let id = properties["networkProfile"]["networkInterfaces"][0]["id"].as_str()?;
        let nic = self.resources.get(&Key::of_id(Kind::Nic, id)?)?;
        let address = &nic.body["properties"]["ipConfigurations"][0]["properties"]["privateIPAddress"];
        address.as_str().map(str::to_owned)
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
