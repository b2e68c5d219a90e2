//! Finds the VM of a machine, and lists the VMs of a cluster. `create` and `delete` have modules of their own.

use std::collections::BTreeSet;

use machinist_sdk::driver::{self as wit, Code, Failure, Log, Request, invalid, quoted};
use serde_json::{Value, json};

use crate::arm::answer::VmFacts;
use crate::arm::graph::{self, Row};
use crate::arm::names::{self, Kind, ResourceId};
use crate::arm::pending::Pending;
use crate::arm::{Arm, ArmResult, Found};
use crate::class::spec::{self, Place, Spec};
use crate::tags::{CLUSTER_TAG, TagKeys};
use crate::vm::marks::{Marks, Whose, is_unmarked, lacks_marks};
use crate::vm::{adoption, map};

pub(crate) type Outcome<T> = Result<T, Failure>;

/// Pages of one search. No machine has so many resources: a cloud that returns more pages is broken.
const PAGES: usize = 20;

/// Azure, the keys by which the cluster adopts there, and a log.
#[derive(Clone, Copy)]
pub(crate) struct Machines<'a> {
    pub(crate) arm: &'a Arm<'a>,
    pub(crate) adopted: Option<&'a TagKeys>,
    pub(crate) log: Log<'a>,
}

/// The VM to which name and provider id of a machine lead.
pub(crate) enum Look {
    /// It is the machine's own.
    Here(Box<VmFacts>),
    Absent,
    /// The resource group does not exist.
    NoGroup,
    /// There is a VM that is not the machine's, and nothing says that it could be.
    Foreign(Failure),
}

/// The facts about a machine before any request.
pub(crate) struct Known<'a> {
    pub(crate) request: &'a Request,
    pub(crate) spec: Spec,
    pub(crate) marks: Marks<'a>,
    pub(crate) state: Pending,
    class_keys: Option<TagKeys>,
    /// The id of the VM. `None` if nothing tells the resource group.
    pub(crate) id: Option<ResourceId>,
}

impl Known<'_> {
    /// True if the provider id, which others write as well, leads to the VM.
    fn has_id(&self) -> bool {
        self.request.machine.provider_id.as_deref().and_then(map::name_of).is_some()
    }

    /// Puts the class into the zone that an earlier create has noted.
    pub(crate) fn stay_in_zone(&mut self) {
        if let Some(zone) = self.state.zone {
            self.spec.place = Place::Zone(zone);
        }
    }

    /// Returns the owner of a resource by its tags and its name.
    pub(crate) fn whose(&self, tags: &crate::tags::Tags, vm_name: &str) -> Whose {
        let is_named = vm_name.eq_ignore_ascii_case(self.marks.name);
        self.marks.whose(tags, is_named, self.class_keys.as_ref())
    }
}

impl<'a> Machines<'a> {
    /// Returns what is known of a machine. The VM's name is that of the provider id, else the Machine's. Its resource
    /// group is that of the driver's own note, else the class's: a class that moves to another group strands nothing.
    pub(crate) fn known<'b>(&self, request: &'b Request) -> Known<'b>
    where
        'a: 'b,
    {
        let machine = &request.machine;
        let spec = spec::read_in_part(&request.class);
        let mut state = Pending::parse(machine.last_known_state.as_deref());
        let named = machine.provider_id.as_deref().and_then(map::name_of).unwrap_or(&machine.name);
        if state.vm.as_ref().is_some_and(|id| !id.name.eq_ignore_ascii_case(named)) {
            state = Pending::default();
        }
        let by_class = || {
            let group = spec.usable_group()?.to_owned();
            let subscription = self.arm.subscription.clone();
            let fits = names::problem(named).is_none();
            fits.then(|| ResourceId { subscription, group, kind: Kind::Vm, name: named.to_owned() })
        };
        let id = state.vm.clone().or_else(by_class);
        let class_keys = spec.tag_keys();
        Known { request, marks: Marks::new(request, self.adopted), state, class_keys, id, spec }
    }

    /// Returns the state of the machine's VM. Changes nothing.
    pub(crate) fn get_status(&self, request: &Request) -> Outcome<wit::Vm> {
        let known = self.known(request);
        let facts = self.locate(&known)?.ok_or_else(|| not_found(request))?;
        let vm = self.with_address(&known, &facts)?;
        if !lacks_marks(&facts.tags) {
            return Ok(vm);
        }
        let message = format!("the VM {} is adopted; due is to mark it as the Machine's", facts.name);
        let mut failure = Failure::new(Code::Uninitialized, message);
        failure.provider_id = Some(vm.provider_id);
        failure.node_name = Some(vm.node_name);
        Err(failure)
    }

    /// Converts a VM, with its address: a network interface keeps it, so it is asked for once.
    pub(crate) fn with_address(&self, known: &Known<'_>, facts: &VmFacts) -> Outcome<wit::Vm> {
        let mut state = Pending { vm: ResourceId::parse(&facts.id), poll: None, ..known.state.clone() };
        let primary = facts.nics.first().and_then(|nic| ResourceId::parse(&nic.id));
        if let (None, Some(nic)) = (&state.address, primary)
            && let Found::Here(nic) = self.arm.nic(&nic)?
        {
            state.address = nic.address;
        }
        Ok(map::vm(facts, &state))
    }

    /// Restarts the machine's VM.
    pub(crate) fn reboot(&self, request: &Request) -> Outcome<()> {
        let known = self.known(request);
        let facts = self.locate(&known)?.ok_or_else(|| not_found(request))?;
        let id = ResourceId::parse(&facts.id).ok_or_else(|| unusual_id(&facts.id))?;
        if self.arm.restart(&id)? { Ok(()) } else { Err(not_found(request)) }
    }

    /// Finds the VM by its name, else by the Machine's uid: the class may have moved to another resource group.
    pub(crate) fn locate(&self, known: &Known<'_>) -> Outcome<Option<VmFacts>> {
        if let Some(id) = &known.id
            && let Look::Here(facts) = self.look(known, id)?
        {
            return Ok(Some(*facts));
        }
        let mut found = self.by_uid(known)?;
        if found.len() > 1 {
            let names: BTreeSet<&str> = found.iter().map(|facts| facts.name.as_str()).collect();
            let shown = names.iter().take(5).copied().collect::<Vec<_>>().join(", ");
            return Err(Failure::new(
                Code::OutOfRange,
                format!("{} VMs carry this Machine's marks: {shown}; delete all but one", found.len()),
            ));
        }
        Ok(found.pop())
    }

    /// Looks at the VM of this id, which only its tags prove to be the machine's.
    pub(crate) fn look(&self, known: &Known<'_>, id: &ResourceId) -> Outcome<Look> {
        Ok(match self.arm.vm(id)? {
            Found::NoGroup => Look::NoGroup,
            Found::Absent => Look::Absent,
            Found::Here(facts) => match known.whose(&facts.tags, &facts.name) {
                Whose::Own => Look::Here(Box::new(facts)),
                Whose::OfCluster { cluster, is_moved } => {
                    let refused = of_another_cluster(&facts.name, &cluster);
                    if is_moved || known.has_id() {
                        return Err(refused);
                    }
                    Look::Foreign(refused)
                }
                Whose::Unmarked { is_likely } => {
                    let refused = of_nobody(&facts.name, known.marks.cluster);
                    if is_likely || known.has_id() {
                        return Err(refused);
                    }
                    Look::Foreign(refused)
                }
                Whose::Neighbours => Look::Foreign(Failure::new(
                    Code::AlreadyExists,
                    format!(
                        "the name {} belongs to the VM of an earlier Machine of this cluster, which is deleted first",
                        facts.name
                    ),
                )),
            },
        })
    }

    /// Returns the machine's VMs that Resource Graph shows by the uid, and that still exist.
    fn by_uid(&self, known: &Known<'_>) -> Outcome<Vec<VmFacts>> {
        let mut found = Vec::new();
        for row in self.rows_of(known)? {
            let is_looked_at = known.id.as_ref().is_some_and(|id| id.is(&row.id.text()));
            if row.id.kind != Kind::Vm || is_looked_at {
                continue;
            }
            if let Look::Here(facts) = self.look(known, &row.id)? {
                found.push(*facts);
            }
        }
        Ok(found)
    }

    /// Returns everything that Resource Graph shows with the Machine's uid. It may be gone, and what is new may lack.
    pub(crate) fn rows_of(&self, known: &Known<'_>) -> Outcome<Vec<Row>> {
        let query = graph::of_machine(known.marks.uid);
        let mut rows: Vec<Row> = Vec::new();
        let mut skip: Option<String> = None;
        for _ in 0..PAGES {
            let page = self.arm.query(&query, skip.as_deref())?;
            // Azure filters; a resource that passes wrongly is still not ours.
            let own = |row: &Row| row.tags.get(crate::tags::UID_TAG) == Some(known.marks.uid);
            rows.extend(page.rows.into_iter().filter(own));
            skip = page.next;
            if skip.is_none() {
                return Ok(rows);
            }
        }
        Err(Failure::new(
            Code::Internal,
            "failed to query Resource Graph: the listing has no end: if this lasts, look at what is between here and Azure",
        ))
    }

    /// Returns one page of the cluster's VMs and of what is left of them, and of those that it adopts.
    pub(crate) fn list(&self, class: &wit::Class, cluster: &str, token: Option<&str>) -> Outcome<wit::Page> {
        let token = Token::parse(token)?;
        let query = match (&token.part, self.adopted) {
            (ListPart::Marked, _) => graph::of_cluster(cluster),
            (ListPart::Keyed, Some(keys)) => {
                let spec = spec::read_in_part(class);
                let group = spec.usable_group().ok_or_else(no_group)?;
                graph::of_keys(group, keys)
            }
            // The settings have changed between two pages.
            (ListPart::Keyed, None) => return Ok(wit::Page { machines: Vec::new(), next: None }),
        };
        let page = self.arm.query(&query, token.skip.as_deref())?;
        let is_ours = |row: &&Row| match token.part {
            ListPart::Marked => row.tags.get(CLUSTER_TAG) == Some(cluster),
            ListPart::Keyed => {
                is_unmarked(&row.tags) && self.adopted.is_some_and(|keys| keys.are_in(&row.tags))
            }
        };
        let mut machines: Vec<wit::Listed> = Vec::new();
        let mut last = token.last;
        for listed in page.rows.iter().filter(is_ours).filter_map(map::listed) {
            // A machine has several resources, next to each other, perhaps on two pages.
            let key = format!("{} {}", listed.machine_uid.as_deref().unwrap_or_default(), listed.provider_id);
            let is_it = |known: &&mut wit::Listed| {
                known.provider_id == listed.provider_id && known.machine_uid == listed.machine_uid
            };
            if let Some(known) = machines.iter_mut().find(is_it) {
                known.created_at_ms = known.created_at_ms.max(listed.created_at_ms);
                continue;
            }
            if last.as_ref() == Some(&key) {
                continue;
            }
            machines.push(listed);
            last = Some(key);
        }
        let next = match (page.next, &token.part) {
            (Some(skip), part) => Some(Token { part: *part, skip: Some(skip), last }),
            (None, ListPart::Marked) if self.adopted.is_some() => {
                Some(Token { part: ListPart::Keyed, skip: None, last: None })
            }
            (None, _) => None,
        };
        Ok(wit::Page { machines, next: next.map(|token| token.text()) })
    }
}

/// The part of a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ListPart {
    /// Resources with the cluster's mark.
    Marked,
    /// Resources without marks, with the keys by which the cluster adopts.
    Keyed,
}

/// The place of a page in a listing.
struct Token {
    part: ListPart,
    skip: Option<String>,
    /// The machine that ended the page before.
    last: Option<String>,
}

impl Token {
    fn parse(text: Option<&str>) -> Outcome<Self> {
        let Some(text) = text else { return Ok(Self { part: ListPart::Marked, skip: None, last: None }) };
        let value: Value = serde_json::from_str(text).unwrap_or_default();
        let own = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        let part = match own("part").as_deref() {
            Some("marked") => ListPart::Marked,
            Some("keyed") => ListPart::Keyed,
            _ => return Err(invalid("failed to list VMs: the page token is not one of this driver's")),
        };
        Ok(Self { part, skip: own("skip"), last: own("last") })
    }

    fn text(&self) -> String {
        let part = match self.part {
            ListPart::Marked => "marked",
            ListPart::Keyed => "keyed",
        };
        json!({ "part": part, "skip": self.skip, "last": self.last }).to_string()
    }
}

/// Refuses a VM of another cluster: both "there is none" and "it is removed" would be wrong. The host waits, and says
/// why.
pub(crate) fn of_another_cluster(name: &str, cluster: &str) -> Failure {
    let cluster = quoted(cluster);
    Failure::new(
        Code::FailedPrecondition,
        format!(
            "the VM {name} carries the mark of cluster {cluster}: start the host with --cluster-id={cluster}"
        ),
    )
}

/// Refuses a VM without marks: nothing proves that it is this Machine's, and nothing that it is not.
pub(crate) fn of_nobody(name: &str, cluster: &str) -> Failure {
    Failure::new(
        Code::FailedPrecondition,
        format!(
            "the VM {name} carries no mark of a cluster: if another program made it for this cluster, let the plugin \
             adopt it by its settings: {}",
            adoption::advice(cluster)
        ),
    )
}

pub(crate) fn not_found(request: &Request) -> Failure {
    wit::not_found(format!("Azure has no VM of the Machine {}", request.machine.name))
}

pub(crate) fn no_group() -> Failure {
    invalid("the MachineClass's providerSpec is invalid: resourceGroup is missing, or not a name")
}

pub(crate) fn unusual_id(id: &str) -> Failure {
    Failure::new(
        Code::Internal,
        format!("Azure names a resource in another way than it promises: {}", quoted(id)),
    )
}

/// Returns the parsed id of something that Azure has shown.
pub(crate) fn id_of(text: &str) -> Outcome<ResourceId> {
    ResourceId::parse(text).ok_or_else(|| unusual_id(text))
}

/// A request that only tidies up: its failure is left to the next call.
pub(crate) fn or_log<T>(log: Log<'_>, line: &'static str, result: ArmResult<T>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(failed) => {
            log.info(line, &[("reason", &failed.failure.message)]);
            None
        }
    }
}
