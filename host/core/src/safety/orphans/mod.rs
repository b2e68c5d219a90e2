//! Orphans: which VMs have no Machine, and which evidence is enough to delete them.
//!
//! A VM that is deleted by mistake is a loss; a VM that is deleted an hour later costs little. So any doubt keeps it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::driver::Listed;
use crate::value::id::{ClassName, Name, ProviderId, Uid};
use crate::value::same_vm::vm_name;

/// The identity of a Machine, to find its VMs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VmOwner {
    pub name: Name,
    pub uid: Uid,
    /// Its provider id, once stored.
    pub provider_id: Option<ProviderId>,
}

/// The Machines that are there.
#[derive(Clone, Debug, Default)]
pub struct VmOwners {
    by_vm: BTreeMap<ProviderId, Name>,
    by_uid: BTreeMap<Uid, VmOwner>,
    by_name: BTreeMap<Name, VmOwner>,
    has_unmade: bool,
    kin: Option<SeenUids>,
    on_nodes: BTreeSet<String>,
    infrastructure: InfrastructureVms,
}

/// The VMs of infrastructure machines of Cluster API. None of them is ever an orphan: they go with their objects alone.
#[derive(Clone, Debug, Default)]
pub struct InfrastructureVms {
    /// The keys that their objects have stored.
    pub keys: BTreeSet<Uid>,
    /// The ids that their objects have stored.
    pub vms: BTreeSet<ProviderId>,
}

/// The uids of Machines that this process has seen. They show that a VM without a Machine was one of this control
/// plane. Another control plane with the same mark by mistake has other Machines. Names prove nothing: two control
/// planes named after one cluster have sets of the same names.
#[derive(Clone, Debug, Default)]
pub struct SeenUids(pub BTreeSet<Uid>);

impl VmOwners {
    /// Returns all Machines. A Machine that is left out loses its VM.
    pub fn new(machines: impl IntoIterator<Item = VmOwner>) -> Self {
        let mut owners = Self::default();
        for machine in machines {
            match &machine.provider_id {
                Some(id) => drop(owners.by_vm.insert(id.clone(), machine.name.clone())),
                None => owners.has_unmade = true,
            }
            owners.by_uid.insert(machine.uid.clone(), machine.clone());
            owners.by_name.insert(machine.name.clone(), machine);
        }
        owners
    }

    /// Adds the seen uids. Without them every VM without a Machine counts as this control plane's.
    #[must_use]
    pub fn with_kin(self, kin: SeenUids) -> Self {
        Self { kin: Some(kin), ..self }
    }

    /// Adds the VMs of all Nodes, as `same_vm::vm_name` names them.
    #[must_use]
    pub fn with_nodes(self, on_nodes: BTreeSet<String>) -> Self {
        Self { on_nodes, ..self }
    }

    /// Adds the VMs of infrastructure machines, which another mark keeps out of listings unless somebody has given both
    /// the same one.
    #[must_use]
    pub fn with_infrastructure(self, infrastructure: InfrastructureVms) -> Self {
        Self { infrastructure, ..self }
    }

    fn has_infrastructure(&self, vm: &Listed) -> bool {
        let InfrastructureVms { keys, vms } = &self.infrastructure;
        vms.contains(&vm.provider_id) || vm.machine_uid.as_ref().is_some_and(|key| keys.contains(key))
    }

    fn has_node(&self, vm: &ProviderId) -> bool {
        vm_name(vm.as_str()).is_some_and(|name| self.on_nodes.contains(&name))
    }

    /// Returns true when a Machine has stored this VM as its own.
    pub fn have(&self, vm: &ProviderId) -> bool {
        self.by_vm.contains_key(vm)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VmOwnership {
    /// It belongs to a Machine that has stored it, or is being created or deleted.
    Owned,
    /// It has the name or uid of a Machine with another VM. A delete request by name or uid would reach the other one,
    /// so it is left alone and reported.
    Second {
        machine: Name,
        /// The provider id of the Machine.
        has: ProviderId,
        /// A Node has its provider id: pods may run there.
        has_node: bool,
    },
    /// It has neither name nor uid, and some Machine has no VM yet.
    Unattributable,
    /// It has no Machine and no uid of one: nothing proves that this control plane, or any, has created it. Never
    /// deleted, but reported.
    Foreign,
    /// It has no Machine any more.
    Orphan,
    /// It has no Machine, and nothing shows that its Machine was ever one of this control plane. It may belong to
    /// another one with the same mark: if there are many, only a person may decide to delete them.
    Stranger,
}

pub fn ownership(vm: &Listed, owners: &VmOwners) -> VmOwnership {
    if owners.have(&vm.provider_id) || owners.has_infrastructure(vm) {
        return VmOwnership::Owned;
    }
    let by_uid = vm.machine_uid.as_ref().and_then(|uid| owners.by_uid.get(uid));
    // The name counts as well: a Machine that was restored from a backup has another uid, and drivers find VMs without
    // a uid by name.
    let namesake = by_uid.or_else(|| owners.by_name.get(&vm.machine_name));
    match namesake {
        Some(VmOwner { provider_id: None, .. }) => VmOwnership::Owned,
        Some(VmOwner { name, provider_id: Some(has), .. }) => {
            let has_node = owners.has_node(&vm.provider_id);
            VmOwnership::Second { machine: name.clone(), has: has.clone(), has_node }
        }
        None if vm.machine_uid.is_none() && vm.machine_name.is_empty() && owners.has_unmade => {
            VmOwnership::Unattributable
        }
        None => match &vm.machine_uid {
            None => VmOwnership::Foreign,
            Some(uid) if owners.kin.as_ref().is_some_and(|SeenUids(machines)| !machines.contains(uid)) => {
                VmOwnership::Stranger
            }
            Some(_) => VmOwnership::Orphan,
        },
    }
}

impl VmOwnership {
    /// Merges two listings that differ about a VM: the one with an owner counts, or else the one that keeps the VM.
    fn or(self, other: impl FnOnce() -> Self) -> Self {
        match self {
            Self::Orphan | Self::Stranger => other(),
            Self::Foreign => match other() {
                Self::Orphan | Self::Stranger => Self::Foreign,
                other => other,
            },
            known @ (Self::Owned | Self::Second { .. } | Self::Unattributable) => known,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrphanRule {
    /// The number of complete listings that must show the VM without a Machine.
    pub sightings: u32,
    /// Listings closer together than this count as one.
    pub spacing: SignedDuration,
    /// Listings further apart than this have nothing to do with each other.
    pub staleness: SignedDuration,
    /// A younger VM is left alone. If the cloud does not say when a VM was created, its age counts from its first
    /// sighting.
    pub minimum_age: SignedDuration,
}

impl OrphanRule {
    /// More orphans than this, if they are a large share of all VMs, need more sightings: it is likelier that Machines
    /// were lost, for example because a control plane was restored from an old backup, than that so many VMs were.
    /// Those that nothing shows to be of this control plane are not deleted at all then: it is likelier that another
    /// one has the same mark.
    pub const FEW: usize = 3;

    /// One of this many is a large share.
    pub const SHARE: usize = 5;

    /// The factor of the sightings.
    pub const CAUTION: u32 = 4;

    /// Returns the least time between a listing of this many VMs and the next one that an event triggers. With many VMs
    /// there are always events: without this the cloud would be listed all the time.
    pub fn pause(&self, vms: usize) -> SignedDuration {
        let thousands = i32::try_from(vms / 1_000).unwrap_or(i32::MAX).max(1);
        SignedDuration::from_mins(1).saturating_mul(thousands).min(self.spacing)
    }

    fn needed(&self, is_mass: bool) -> u32 {
        let sightings = self.sightings.max(1);
        if is_mass { sightings.saturating_mul(Self::CAUTION) } else { sightings }
    }

    fn is_mass(orphans: usize, listed: usize) -> bool {
        orphans > Self::FEW && orphans.saturating_mul(Self::SHARE) >= listed
    }
}

/// A complete, trusted listing of one class.
#[derive(Clone, Debug)]
pub struct ClassListing {
    pub class: ClassName,
    pub vms: Vec<Listed>,
    /// The class permits to delete all of its VMs without a Machine.
    pub releases_strangers: bool,
    /// Its driver can delete one VM of two.
    pub deletes_by_id: bool,
}

/// A VM that was seen without a Machine.
#[derive(Clone, Debug)]
struct Sighting {
    vm: Listed,
    /// Classes whose listing showed it; any of them can delete it.
    classes: BTreeSet<ClassName>,
    first: Timestamp,
    last: Timestamp,
    count: u32,
    request: DeleteRequest,
    /// It is one VM of two.
    beside: Option<(Name, ProviderId)>,
}

/// The state of the delete request.
#[derive(Clone, Debug, Default)]
struct DeleteRequest {
    failures: u32,
    /// Not to be sent again before this time.
    not_before: Option<Timestamp>,
    /// The state to pass to the driver next time.
    state: Option<String>,
    is_accepted: bool,
}

/// A VM that may be deleted, unless a last read of the API server shows a Machine for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrphanCandidate {
    pub vm: Listed,
    /// The class through which to delete it: another one after each failure.
    pub class: ClassName,
    /// How often it was seen without a Machine.
    pub sightings: u32,
    /// Since when it is known to have none.
    pub since: Timestamp,
    /// The state that its driver returned for the last delete request.
    pub state: Option<String>,
    /// How often deleting it has failed.
    pub failures: u32,
    /// A delete request was accepted before, and it still exists.
    pub is_repeated: bool,
    /// It is one VM of two: the Machine, and the VM that it keeps. It may only be deleted by its id.
    pub beside: Option<(Name, ProviderId)>,
}

/// A VM of a Machine that has another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecondVm {
    pub vm: ProviderId,
    /// The class that listed it.
    pub class: ClassName,
    pub machine: Name,
    /// The other VM, which the Machine keeps.
    pub has: ProviderId,
    /// It is deleted once enough listings have shown both.
    pub may_go: bool,
}

/// The result of a round of listings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// VMs in trusted listings, each once.
    pub listed: usize,
    /// How many of them have no Machine.
    pub orphans: usize,
    /// How many of them nothing shows to be of this control plane, and are kept since there are too many.
    pub strangers: usize,
    /// VMs that were seen without a Machine for the first time.
    pub fresh: Vec<(ProviderId, ClassName)>,
    /// VMs without a Machine and without a Machine's uid, with a class that listed them.
    pub foreign: Vec<(ProviderId, ClassName)>,
    /// VMs of Machines that have another one.
    pub seconds: Vec<SecondVm>,
    /// VMs with enough evidence, by id.
    pub candidates: Vec<OrphanCandidate>,
    /// The number of sightings that this round requires.
    pub needed: u32,
}

impl Findings {
    /// Returns whether more evidence than usual is required, since most VMs have no Machine.
    pub fn are_suspicious(&self, rule: &OrphanRule) -> bool {
        self.needed > rule.sightings.max(1)
    }
}

/// A VM that has no clear owner.
struct UnclearVm<'a> {
    vm: &'a Listed,
    /// The classes that list it.
    through: BTreeSet<ClassName>,
    ownership: VmOwnership,
    is_released: bool,
    deletes_by_id: bool,
}

/// Returns the number of listed VMs, and those without a clear owner: these are few, so that a round costs little more
/// than one check of each VM.
fn doubts(
    listings: &[ClassListing],
    ownership: impl Fn(&Listed) -> VmOwnership,
) -> (BTreeSet<&ProviderId>, BTreeMap<&ProviderId, UnclearVm<'_>>) {
    let mut seen: BTreeSet<&ProviderId> = BTreeSet::new();
    let mut doubts: BTreeMap<&ProviderId, UnclearVm<'_>> = BTreeMap::new();
    for listing in listings {
        for vm in &listing.vms {
            let id = &vm.provider_id;
            let is_first = seen.insert(id);
            match doubts.get_mut(id) {
                Some(doubt) => {
                    doubt.through.insert(listing.class.clone());
                    doubt.is_released |= listing.releases_strangers;
                    doubt.deletes_by_id &= listing.deletes_by_id;
                    doubt.ownership = doubt.ownership.clone().or(|| ownership(vm));
                }
                None if is_first => {
                    let ownership = ownership(vm);
                    if ownership != VmOwnership::Owned {
                        let through = BTreeSet::from([listing.class.clone()]);
                        let is_released = listing.releases_strangers;
                        let deletes_by_id = listing.deletes_by_id;
                        let doubt = UnclearVm { vm, through, ownership, is_released, deletes_by_id };
                        doubts.insert(id, doubt);
                    }
                }
                // Its owner was clear in another listing.
                None => {}
            }
        }
    }
    (seen, doubts)
}

/// All VMs that were seen without a Machine. A restart forgets them, which only delays deletions.
#[derive(Clone, Debug, Default)]
pub struct Sightings {
    vms: BTreeMap<ProviderId, Sighting>,
}

impl Sightings {
    /// Notes a round of listings. `ownership` returns the owner of a VM; its Machines must be read after the listings,
    /// so that the Machine of each listed VM is among them. `classes` are all that could be listed: a VM that was seen
    /// through one of them and is not listed now may still exist when the listing of that class is missing from
    /// `listings`.
    pub fn look(
        &mut self,
        listings: &[ClassListing],
        classes: &BTreeSet<ClassName>,
        ownership: impl Fn(&Listed) -> VmOwnership,
        rule: &OrphanRule,
        now: Timestamp,
    ) -> Findings {
        let (seen, doubts) = doubts(listings, ownership);
        self.forget_gone(listings, classes, &seen);
        self.vms.retain(|id, _| !seen.contains(id) || doubts.contains_key(id));
        let mut findings = Findings { listed: seen.len(), ..Findings::default() };
        let (mut shown, mut strangers) = (Vec::new(), BTreeSet::new());
        for (id, UnclearVm { vm, through, ownership, is_released, deletes_by_id }) in doubts {
            match ownership {
                VmOwnership::Owned | VmOwnership::Unattributable => drop(self.vms.remove(id)),
                VmOwnership::Foreign => {
                    self.vms.remove(id);
                    let class = through.into_iter().next();
                    findings.foreign.extend(class.map(|class| (id.clone(), class)));
                }
                VmOwnership::Second { machine, has, has_node } => {
                    // If the Machine's own VM is missing, this one may be its only one. One with only the Machine's
                    // name may be anybody's.
                    let is_marked = vm.machine_uid.is_some();
                    let may_go = deletes_by_id && is_marked && !has_node && seen.contains(&has);
                    if may_go {
                        shown.push(id.clone());
                        self.sight(vm, through.clone(), Some((machine.clone(), has.clone())), rule, now);
                    } else {
                        self.vms.remove(id);
                    }
                    let class = through.into_iter().next();
                    let second = |class| SecondVm { vm: id.clone(), class, machine, has, may_go };
                    findings.seconds.extend(class.map(second));
                }
                VmOwnership::Orphan | VmOwnership::Stranger => {
                    findings.orphans += 1;
                    if ownership == VmOwnership::Stranger && !is_released {
                        strangers.insert(id.clone());
                    }
                    shown.push(id.clone());
                    if self.sight(vm, through.clone(), None, rule, now) {
                        let class = through.into_iter().next();
                        findings.fresh.extend(class.map(|class| (id.clone(), class)));
                    }
                }
            }
        }
        let is_mass = OrphanRule::is_mass(findings.orphans, findings.listed - findings.foreign.len());
        findings.needed = rule.needed(is_mass);
        if is_mass {
            findings.strangers = strangers.len();
            shown.retain(|id| !strangers.contains(id));
        }
        findings.candidates = self.candidates(&shown, findings.needed, rule, now);
        findings
    }

    /// Forgets VMs that are missing in their listing, unless there is no listing.
    fn forget_gone(
        &mut self,
        listings: &[ClassListing],
        classes: &BTreeSet<ClassName>,
        seen: &BTreeSet<&ProviderId>,
    ) {
        let is_listed = |class: &ClassName| listings.iter().any(|listing| listing.class == *class);
        self.vms.retain(|id, sighting| {
            seen.contains(id)
                || sighting.classes.iter().any(|class| classes.contains(class) && !is_listed(class))
        });
    }

    /// Returns true for a first sighting.
    fn sight(
        &mut self,
        vm: &Listed,
        through: BTreeSet<ClassName>,
        beside: Option<(Name, ProviderId)>,
        rule: &OrphanRule,
        now: Timestamp,
    ) -> bool {
        let known = self.vms.get_mut(&vm.provider_id);
        // A clock that was set back moves a sighting into the future: it does not count.
        let is_connected = |sighting: &Sighting| {
            let passed = now.duration_since(sighting.last);
            passed >= SignedDuration::ZERO && passed <= rule.staleness
        };
        // Evidence that it has no owner is no evidence that it is one of two, and the other way round.
        let is_same = |sighting: &Sighting| is_connected(sighting) && sighting.beside == beside;
        match known.filter(|sighting| is_same(sighting)) {
            Some(sighting) => {
                if now.duration_since(sighting.last) >= rule.spacing {
                    sighting.count = sighting.count.saturating_add(1);
                    sighting.last = now;
                }
                sighting.vm = vm.clone();
                sighting.classes = through;
                false
            }
            None => {
                let sighting = Sighting {
                    vm: vm.clone(),
                    classes: through,
                    first: now,
                    last: now,
                    count: 1,
                    request: DeleteRequest::default(),
                    beside,
                };
                self.vms.insert(vm.provider_id.clone(), sighting);
                true
            }
        }
    }

    /// Returns the candidates of this round's VMs only: nothing is known of the others.
    fn candidates(
        &self,
        shown: &[ProviderId],
        needed: u32,
        rule: &OrphanRule,
        now: Timestamp,
    ) -> Vec<OrphanCandidate> {
        let is_ripe = |sighting: &Sighting| {
            // A cloud with a fast clock returns VMs of the future. They count as young.
            let made = sighting.vm.created_at.unwrap_or(sighting.first);
            sighting.count >= needed
                && now.duration_since(made) >= rule.minimum_age
                && sighting.request.not_before.is_none_or(|at| at <= now)
        };
        let shown = shown.iter().filter_map(|id| self.vms.get(id));
        shown.filter(|sighting| is_ripe(sighting)).filter_map(Sighting::candidate).collect()
    }

    /// Returns how many VMs are tracked.
    pub fn len(&self) -> usize {
        self.vms.len()
    }

    /// Returns true when no VM is without a Machine.
    pub fn is_empty(&self) -> bool {
        self.vms.is_empty()
    }

    /// Returns when the next delete request is due.
    pub fn next_request(&self) -> Option<Timestamp> {
        self.vms.values().filter_map(|sighting| sighting.request.not_before).min()
    }

    /// Notes that a Machine was found for the VM.
    pub fn owned(&mut self, vm: &ProviderId) {
        self.vms.remove(vm);
    }

    /// Notes that the delete request was accepted. It is sent again if the VM still exists after `repeat_after`.
    pub fn accepted(&mut self, vm: &ProviderId, repeat_after: SignedDuration, now: Timestamp) {
        self.requested(vm, repeat_after, now, |request| {
            request.failures = 0;
            request.state = None;
            request.is_accepted = true;
        });
    }

    /// Notes that the cloud works on it.
    pub fn in_progress(&mut self, vm: &ProviderId, state: String, ask_again: SignedDuration, now: Timestamp) {
        self.requested(vm, ask_again, now, |request| request.state = Some(state));
    }

    /// Notes that the delete request failed, to be repeated after `pause`.
    pub fn failed(&mut self, vm: &ProviderId, state: Option<String>, pause: SignedDuration, now: Timestamp) {
        self.requested(vm, pause, now, |request| {
            request.failures = request.failures.saturating_add(1);
            if state.is_some() {
                request.state = state;
            }
        });
    }

    fn requested(
        &mut self,
        vm: &ProviderId,
        pause: SignedDuration,
        now: Timestamp,
        change: impl FnOnce(&mut DeleteRequest),
    ) {
        if let Some(sighting) = self.vms.get_mut(vm) {
            sighting.request.not_before = Some(now.checked_add(pause).unwrap_or(Timestamp::MAX));
            change(&mut sighting.request);
        }
    }
}

impl Sighting {
    fn candidate(&self) -> Option<OrphanCandidate> {
        let turn = usize::try_from(self.request.failures).unwrap_or_default();
        let class = self.classes.iter().cycle().nth(turn % self.classes.len().max(1))?;
        Some(OrphanCandidate {
            vm: self.vm.clone(),
            class: class.clone(),
            sightings: self.count,
            since: self.first,
            state: self.request.state.clone(),
            failures: self.request.failures,
            is_repeated: self.request.is_accepted,
            beside: self.beside.clone(),
        })
    }
}

#[cfg(test)]
mod tests;
