//! The removal of what is left without a VM: network interfaces and disks, and VMs under other names.

use std::collections::BTreeSet;

use machinist_sdk::driver::Deletion;

use crate::arm::Found;
use crate::arm::answer::Provisioning;
use crate::arm::names::{self, Kind, ResourceId};
use crate::tags::Tags;
use crate::vm::delete::{LOOK_MS, wait};
use crate::vm::machine::{Known, Look, Machines, Outcome};
use crate::vm::marks::Whose;

/// A resource that may be left.
struct Remnant {
    tags: Tags,
    state: Provisioning,
    /// The VM that it is attached to.
    vm: Option<String>,
}

impl Machines<'_> {
    /// Removes what is left of the machine: by the names that its parts have, and by what Resource Graph shows with its
    /// uid, which may be old. Everything is looked at before it is removed.
    pub(crate) fn remains(&self, known: &Known<'_>) -> Outcome<Deletion> {
        let mut looked_at = BTreeSet::new();
        let mut waits: Option<String> = None;
        for id in own_names(known) {
            looked_at.insert(id.text().to_lowercase());
            if let Some(left) = self.remove(known, &id)? {
                waits.get_or_insert(left);
            }
        }
        if let Some(left) = waits {
            return Ok(wait(&known.state, &left, LOOK_MS));
        }
        for row in self.rows_of(known)? {
            let is_vm_of_name = known.id.as_ref().is_some_and(|id| id.is(&row.id.text()));
            if is_vm_of_name || !looked_at.insert(row.id.text().to_lowercase()) {
                continue;
            }
            if let Some(left) = self.remove(known, &row.id)? {
                waits.get_or_insert(left);
            }
        }
        match waits {
            Some(left) => Ok(wait(&known.state, &left, LOOK_MS)),
            None => Ok(Deletion::Deleted(None)),
        }
    }

    /// Removes one resource if it is the machine's. Returns what is waited for, `None` if nothing is there.
    fn remove(&self, known: &Known<'_>, id: &ResourceId) -> Outcome<Option<String>> {
        let Some(remnant) = self.remnant(known, id)? else { return Ok(None) };
        let vm_name = known.id.as_ref().map_or(known.marks.name, |id| id.name.as_str());
        if known.whose(&remnant.tags, vm_name) != Whose::Own {
            self.log.info(
                "a resource of the machine's name is not the machine's, left alone",
                &[("name", &id.name)],
            );
            return Ok(None);
        }
        let left = format!("{} is being removed", id.name);
        if remnant.state == Provisioning::Deleting {
            return Ok(Some(left));
        }
        if let Some(vm) = remnant.vm.as_deref() {
            return self.attached(known, id, vm);
        }
        let is_there = self.arm.delete(id)?.is_some();
        if is_there {
            self.log.info("remains ordered away", &[("name", &id.name)]);
        }
        Ok(is_there.then_some(left))
    }

    fn remnant(&self, known: &Known<'_>, id: &ResourceId) -> Outcome<Option<Remnant>> {
        Ok(match id.kind {
            Kind::Vm => match self.look(known, id)? {
                Look::Here(facts) => Some(Remnant { tags: facts.tags, state: facts.state, vm: None }),
                Look::Absent | Look::NoGroup | Look::Foreign(_) => None,
            },
            Kind::Nic => match self.arm.nic(id)? {
                Found::Here(facts) => Some(Remnant { tags: facts.tags, state: facts.state, vm: facts.vm }),
                Found::Absent | Found::NoGroup => None,
            },
            Kind::Disk => match self.arm.disk(id)? {
                Found::Here(facts) => Some(Remnant { tags: facts.tags, state: facts.state, vm: facts.vm }),
                Found::Absent | Found::NoGroup => None,
            },
        })
    }

    /// A part that is attached to the machine's own VM proves that the VM exists, whatever reads show: then the VM is
    /// ordered away. A part that somebody attached to another VM goes with that one, or stays.
    fn attached(&self, known: &Known<'_>, part: &ResourceId, vm: &str) -> Outcome<Option<String>> {
        let owner = ResourceId::parse(vm).filter(|owner| owner.kind == Kind::Vm);
        let is_own = known.id.as_ref().is_some_and(|id| id.is(vm));
        match owner {
            Some(owner) if is_own => match self.arm.delete(&owner)? {
                Some(_) => Ok(Some(format!("the VM {} is being deleted", owner.name))),
                None => Ok(Some(format!("{} is being detached", part.name))),
            },
            Some(_) | None => {
                let note = "a part of the machine is attached to another VM, left alone";
                self.log.info(note, &[("name", &part.name), ("vm", vm)]);
                Ok(None)
            }
        }
    }
}

/// Returns the ids of all parts that the machine can have by their names: those of the class, and those of the note.
fn own_names(known: &Known<'_>) -> Vec<ResourceId> {
    let Some(vm) = &known.id else { return Vec::new() };
    let mut ids =
        vec![vm.beside(Kind::Nic, &names::nic(&vm.name)), vm.beside(Kind::Disk, &names::os_disk(&vm.name))];
    let of_class = known.spec.data_disks.iter().map(|disk| names::data_disk(&vm.name, disk));
    for name in of_class.chain(known.state.disks.iter().cloned()) {
        let id = vm.beside(Kind::Disk, &name);
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    ids
}
