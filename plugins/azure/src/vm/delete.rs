//! The removal of VMs with all their parts.
//!
//! Azure deletes a VM's parts with it if the VM says so. The driver says so before it orders the VM away, and looks
//! afterwards whether they are gone (`remains`). Each call orders or looks, and answers "in progress" until nothing is
//! left.

use machinist_sdk::driver::{Code, Deletion, Failure, Progress as Wait, Request};
use serde_json::{Value, json};

use crate::arm::answer::{Part, Provisioning, VmFacts};
use crate::arm::errors;
use crate::arm::names::{self, Kind, ResourceId};
use crate::arm::operation::{self, Progress};
use crate::arm::pending::{Doing, Pending};
use crate::vm::machine::{Known, Look, Machines, Outcome, id_of, of_another_cluster, of_nobody};
use crate::vm::map;
use crate::vm::marks::Whose;

/// The time until the next look at what is being removed.
pub(crate) const LOOK_MS: u64 = 2_000;
const DOING: &str = "delete the VM";

impl Machines<'_> {
    /// Removes the machine's VM and all its parts.
    pub(crate) fn delete(&self, request: &Request) -> Outcome<Deletion> {
        let mut known = self.known(request);
        if let Some(poll) = known.state.poll_of(Doing::Delete).map(str::to_owned) {
            match self.arm.progress(&poll, DOING)? {
                Progress::Running { retry_after_ms } => {
                    return Ok(wait(
                        &known.state,
                        "the VM is being deleted",
                        operation::pause(retry_after_ms),
                    ));
                }
                Progress::Failed { code, message } => {
                    let mut failure = errors::failed_later(DOING, &code, &message);
                    failure.terminal = false;
                    failure.last_known_state = Some(Pending { poll: None, ..known.state.clone() }.text());
                    return Err(failure);
                }
                Progress::Done => {
                    known.state.poll = None;
                    return self.remains(&known);
                }
                Progress::Unknown => known.state.poll = None,
            }
        }
        known.state.poll = None;
        let Some(id) = known.id.clone() else { return self.remains(&known) };
        match self.look(&known, &id)? {
            Look::Here(facts) => self.order(&mut known, &facts),
            Look::Absent | Look::Foreign(_) => self.remains(&known),
            Look::NoGroup if self.arm.lacks_group(&id.group)? => Ok(Deletion::Deleted(None)),
            Look::NoGroup => {
                Ok(wait(&known.state, "Azure does not agree whether the resource group exists", LOOK_MS))
            }
        }
    }

    /// Orders the VM away, with its parts.
    pub(crate) fn order(&self, known: &mut Known<'_>, facts: &VmFacts) -> Outcome<Deletion> {
        let id = id_of(&facts.id)?;
        known.state.vm = Some(id.clone());
        for disk in parts(facts).filter(|part| names::is_disk_of(&id.name, &part.name)) {
            if !known.state.disks.contains(&disk.name) {
                known.state.disks.push(disk.name.clone());
            }
        }
        if facts.state == Provisioning::Deleting {
            return Ok(wait(&known.state, "the VM is being deleted", LOOK_MS));
        }
        if let Some(change) = cascade(facts, &id) {
            // Azure applies it at once, or refuses: then the parts are removed one by one.
            match self.arm.patch(&id, "let the VM's parts go with it", change) {
                Ok(accepted) => {
                    self.log.info("the VM's parts go with it", &[("name", &id.name)]);
                    if accepted.poll.is_some() {
                        return Ok(wait(&known.state, "the VM is being changed", accepted.ask_again_ms()));
                    }
                }
                Err(failed) if failed.failure.code == Code::Unavailable => return Err(failed.into()),
                Err(failed) => {
                    let reason = &failed.failure.message;
                    self.log.info("the VM's parts are removed after it", &[("reason", reason)]);
                }
            }
        }
        match self.arm.delete(&id)? {
            None => self.remains(known),
            Some(accepted) => {
                self.log.info("VM ordered away", &[("name", &id.name)]);
                known.state.poll = accepted.poll.clone().map(|path| (Doing::Delete, path));
                Ok(wait(&known.state, "the VM is being deleted", accepted.ask_again_ms()))
            }
        }
    }

    /// Removes this VM and no other.
    pub(crate) fn delete_one(&self, request: &Request, provider_id: &str) -> Outcome<()> {
        let Some(name) = map::name_of(provider_id) else {
            let message = format!("{provider_id:?} is no id of this driver");
            return Err(Failure::new(Code::InvalidArgument, message));
        };
        let known = self.known(request);
        let Some(kept) = &known.id else { return Err(crate::vm::machine::no_group()) };
        if kept.name.eq_ignore_ascii_case(name) {
            let message = format!("the VM {name} is the one that the Machine keeps, left alone");
            return Err(Failure::new(Code::FailedPrecondition, message));
        }
        let id = kept.beside(Kind::Vm, name);
        let crate::arm::Found::Here(facts) = self.arm.vm(&id)? else { return Ok(()) };
        match known.whose(&facts.tags, name) {
            Whose::Own | Whose::Neighbours => {}
            Whose::OfCluster { cluster, .. } => return Err(of_another_cluster(name, &cluster)),
            Whose::Unmarked { .. } => return Err(of_nobody(name, known.marks.cluster)),
        }
        if facts.state != Provisioning::Deleting {
            self.arm.delete(&id)?;
            self.log.info("second VM ordered away", &[("name", name)]);
        }
        Ok(())
    }
}

fn parts(facts: &VmFacts) -> impl Iterator<Item = &Part> {
    facts.os_disk.iter().chain(&facts.data_disks)
}

/// Returns the change by which Azure deletes the machine's own parts with the VM. `None` if it does so already, or if
/// Azure takes no change: of a VM that has failed, or that gives a disk away.
///
/// Parts are compared by their whole ids. Others, such as the volumes of pods, stay.
fn cascade(facts: &VmFacts, id: &ResourceId) -> Option<Value> {
    let takes_changes =
        facts.state != Provisioning::Failed && !facts.data_disks.iter().any(|disk| disk.is_leaving);
    let nic = id.beside(Kind::Nic, &names::nic(&id.name));
    let is_own_nic = |part: &Part| nic.is(&part.id);
    let is_own_disk = |part: &Part| {
        let disk = ResourceId::parse(&part.id);
        disk.is_some_and(|disk| {
            id.beside(Kind::Disk, &disk.name).is(&part.id) && names::is_disk_of(&id.name, &disk.name)
        })
    };
    let lacks = |part: &Part, is_own: bool| is_own && !part.goes_with_vm;
    let mut properties = json!({});
    if facts.nics.iter().any(|part| lacks(part, is_own_nic(part))) {
        let mut nics = facts.raw_nics.clone();
        for (raw, _) in entries(&mut nics, &facts.nics).filter(|(_, part)| is_own_nic(part)) {
            raw["properties"]["deleteOption"] = json!("Delete");
        }
        properties["networkProfile"] = json!({ "networkInterfaces": nics });
    }
    if facts.data_disks.iter().any(|part| lacks(part, is_own_disk(part))) {
        let mut disks = facts.raw_data_disks.clone();
        for (raw, _) in entries(&mut disks, &facts.data_disks).filter(|(_, part)| is_own_disk(part)) {
            raw["deleteOption"] = json!("Delete");
        }
        properties["storageProfile"]["dataDisks"] = disks;
    }
    if facts.os_disk.as_ref().is_some_and(|part| lacks(part, is_own_disk(part))) {
        properties["storageProfile"]["osDisk"] =
            json!({ "createOption": "FromImage", "deleteOption": "Delete" });
    }
    (takes_changes && properties != json!({})).then(|| json!({ "properties": properties }))
}

/// Returns the raw entries of a list beside what was read of them.
fn entries<'a>(raw: &'a mut Value, parts: &'a [Part]) -> impl Iterator<Item = (&'a mut Value, &'a Part)> {
    raw.as_array_mut().into_iter().flatten().zip(parts)
}

pub(crate) fn wait(state: &Pending, message: &str, ask_again_ms: u64) -> Deletion {
    Deletion::InProgress(Wait { resume_token: state.text(), ask_again_ms, message: message.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arm::answer;

    const VM: &str = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/vm-1";

    fn facts(nic: &str, state: &str, leaving: bool) -> VmFacts {
        let group = "/SUBSCRIPTIONS/s/resourceGroups/G/providers";
        let disk = |name: &str| format!("{group}/Microsoft.Compute/disks/{name}");
        let value = json!({ "id": VM, "name": "vm-1", "properties": {
            "provisioningState": state,
            "networkProfile": { "networkInterfaces": [
                { "id": format!("{group}/Microsoft.Network/networkInterfaces/{nic}"), "properties": { "primary": true } },
            ] },
            "storageProfile": {
                "osDisk": { "name": "vm-1-os-disk", "deleteOption": "Delete", "managedDisk": { "id": disk("vm-1-os-disk") } },
                "dataDisks": [
                    { "lun": 0, "name": "vm-1-0-data-disk", "deleteOption": "Detach", "toBeDetached": leaving,
                      "managedDisk": { "id": disk("vm-1-0-data-disk") } },
                    { "lun": 1, "name": "pvc-1", "deleteOption": "Detach", "managedDisk": { "id": disk("pvc-1") } },
                ],
            },
        } });
        answer::vm(&value).unwrap()
    }

    fn change(facts: &VmFacts) -> Option<Value> {
        cascade(facts, &ResourceId::parse(VM).unwrap())
    }

    #[test]
    fn the_machine_s_own_parts_go_with_it_and_volumes_of_pods_stay() {
        let change = change(&facts("vm-1-nic", "Succeeded", false)).unwrap();
        let at = |pointer: &str| change.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let nic = "/properties/networkProfile/networkInterfaces/0/properties";
        assert_eq!(at(&format!("{nic}/deleteOption")).as_deref(), Some("Delete"));
        assert_eq!(change.pointer(&format!("{nic}/primary")), Some(&json!(true)));
        let disks = "/properties/storageProfile/dataDisks";
        assert_eq!(at(&format!("{disks}/0/deleteOption")).as_deref(), Some("Delete"));
        assert_eq!(at(&format!("{disks}/1/deleteOption")).as_deref(), Some("Detach"));
        assert_eq!(at("/properties/storageProfile/osDisk/deleteOption"), None);
    }

    #[test]
    fn a_failed_vm_and_one_that_gives_a_disk_away_take_no_change() {
        assert_eq!(change(&facts("vm-1-nic", "Failed", false)), None);
        assert_eq!(change(&facts("vm-1-nic", "Succeeded", true)), None);
        let mut other = facts("other-nic", "Succeeded", false);
        other.data_disks.remove(0);
        assert_eq!(change(&other), None);
    }
}
