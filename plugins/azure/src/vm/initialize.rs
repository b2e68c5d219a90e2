//! The marks of adopted VMs.

use machinist_sdk::driver::{self as wit, Failure, Request};
use serde_json::{Map, Value, json};

use crate::arm::Found;
use crate::arm::names::{self, Kind, ResourceId};
use crate::tags::Tags;
use crate::vm::machine::{Known, Machines, Outcome, id_of, not_found};
use crate::vm::marks::{Whose, lacks_marks};

impl Machines<'_> {
    /// Writes the marks onto the VM of another program that the cluster adopts, and onto its parts: first onto the
    /// parts, so that a call that ends in between is repeated.
    pub(crate) fn initialize(&self, request: &Request) -> Outcome<wit::Vm> {
        if self.adopted.is_none() {
            return Err(Failure::new(
                wit::Code::Unimplemented,
                "nothing to initialize: the plugin's settings adopt no VMs of another program",
            ));
        }
        let known = self.known(request);
        let mut facts = self.locate(&known)?.ok_or_else(|| not_found(request))?;
        if lacks_marks(&facts.tags) {
            let id = id_of(&facts.id)?;
            for part in self.parts(&id, &facts) {
                self.mark_part(&known, &part)?;
            }
            self.mark(&known, &id, &facts.tags)?;
            self.log.info("VM marked as the machine's", &[("name", &id.name)]);
            facts.tags = Tags(marked(&known, &facts.tags).into_iter().map(|(k, v)| (k, text(&v))).collect());
        }
        self.with_address(&known, &facts)
    }

    fn parts(&self, id: &ResourceId, facts: &crate::arm::answer::VmFacts) -> Vec<ResourceId> {
        let disks = facts.os_disk.iter().chain(&facts.data_disks);
        let own = disks.filter(|disk| names::is_disk_of(&id.name, &disk.name));
        let mut parts = vec![id.beside(Kind::Nic, &names::nic(&id.name))];
        parts.extend(own.map(|disk| id.beside(Kind::Disk, &disk.name)));
        parts
    }

    fn mark_part(&self, known: &Known<'_>, id: &ResourceId) -> Outcome<()> {
        let tags = match id.kind {
            Kind::Nic => match self.arm.nic(id)? {
                Found::Here(facts) => facts.tags,
                Found::Absent | Found::NoGroup => return Ok(()),
            },
            Kind::Disk | Kind::Vm => match self.arm.disk(id)? {
                Found::Here(facts) => facts.tags,
                Found::Absent | Found::NoGroup => return Ok(()),
            },
        };
        let is_own = known.whose(&tags, known.marks.name) == Whose::Own;
        if is_own && lacks_marks(&tags) { self.mark(known, id, &tags) } else { Ok(()) }
    }

    /// Azure replaces all tags of a resource, so the others are repeated.
    fn mark(&self, known: &Known<'_>, id: &ResourceId, tags: &Tags) -> Outcome<()> {
        let body = json!({ "tags": marked(known, tags) });
        self.arm.patch(id, "mark the resource", body).map(|_| ()).map_err(Failure::from)
    }
}

fn marked(known: &Known<'_>, tags: &Tags) -> Map<String, Value> {
    let mut all = Map::new();
    for (key, value) in &tags.0 {
        all.insert(key.clone(), json!(value));
    }
    for (key, value) in known.marks.own_tags() {
        all.insert(key.to_owned(), json!(value));
    }
    all
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
