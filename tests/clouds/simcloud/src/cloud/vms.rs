//! All VMs, with the indexes and counts that keep every call from looking at all of them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use jiff::Timestamp;

use super::vm::Vm;
use crate::cloud::faults::Capacity;
use crate::index::{Index, Term};
use crate::stats::{Twins, VmCounts};
use crate::wire::{VmState, VmView};

#[derive(Debug)]
pub(crate) struct Vms {
    vms: BTreeMap<u64, Vm>,
    by_id: HashMap<String, u64>,
    /// By the machine that they carry in their tags as they are, whatever reads see.
    by_machine: BTreeMap<String, BTreeSet<u64>>,
    index: Index,
    last_seq: u64,
    id_seed: u64,
    machine_tag: String,
    counts: VmCounts,
    twins: Twins,
    created: u64,
    terminated: u64,
    /// VMs that are not terminated, by account.
    in_account: HashMap<Arc<str>, u64>,
    /// VMs that are not terminated, by zone and type.
    in_use: BTreeMap<(String, String), u64>,
}

/// Counts for the statistics.
#[derive(Debug)]
pub(crate) struct VmTotals {
    pub(crate) counts: VmCounts,
    pub(crate) duplicates: u64,
    pub(crate) duplicates_ever: u64,
    pub(crate) created: u64,
    pub(crate) terminated: u64,
}

impl Vms {
    pub(crate) fn new(machine_tag: &str, seed: u64) -> Self {
        Self {
            vms: BTreeMap::new(),
            by_id: HashMap::new(),
            by_machine: BTreeMap::new(),
            index: Index::default(),
            last_seq: 0,
            id_seed: seed,
            machine_tag: machine_tag.to_owned(),
            counts: VmCounts::default(),
            twins: Twins::default(),
            created: 0,
            terminated: 0,
            in_account: HashMap::new(),
            in_use: BTreeMap::new(),
        }
    }

    /// The number and id of the VM that is made next.
    pub(crate) fn next_identity(&mut self) -> (u64, String) {
        self.last_seq += 1;
        (self.last_seq, format!("vm-{:016x}", scatter(self.last_seq, self.id_seed)))
    }

    pub(crate) fn insert(&mut self, vm: Vm) {
        let truth = &vm.truth;
        *self.counts.of(truth.state) += 1;
        self.created += 1;
        *self.in_account.entry(Arc::clone(&vm.account)).or_default() += 1;
        *self.in_use.entry((truth.zone.clone(), truth.kind.clone())).or_default() += 1;
        if let Some(machine) = truth.tags.get(&self.machine_tag) {
            self.twins.appear(&vm.account, machine);
            self.by_machine.entry(machine.clone()).or_default().insert(vm.seq);
        }
        self.by_id.insert(truth.id.clone(), vm.seq);
        self.vms.insert(vm.seq, vm);
    }

    pub(crate) fn get(&self, seq: u64) -> Option<&Vm> {
        self.vms.get(&seq)
    }

    pub(crate) fn get_mut(&mut self, seq: u64) -> Option<&mut Vm> {
        self.vms.get_mut(&seq)
    }

    pub(crate) fn find(&self, id: &str) -> Option<&Vm> {
        self.vms.get(self.by_id.get(id)?)
    }

    /// VMs that carry this machine, as they are.
    pub(crate) fn of_machine(&self, machine: &str) -> impl Iterator<Item = &Vm> {
        self.by_machine.get(machine).into_iter().flatten().filter_map(|seq| self.vms.get(seq))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Vm> {
        self.vms.values()
    }

    /// VMs of an account after `cursor` that reads at `now` see under all of `terms`.
    pub(crate) fn visible<'a>(
        &'a self,
        account: &Arc<str>,
        terms: &'a [Term],
        cursor: u64,
        now: Timestamp,
    ) -> impl Iterator<Item = (u64, &'a Arc<VmView>)> {
        self.index.candidates(account, terms, cursor).filter_map(move |seq| {
            let view = self.vms.get(&seq)?.seen.get(now)?.as_ref()?;
            terms.iter().all(|term| term.holds(&view.name, &view.tags)).then_some((seq, view))
        })
    }

    /// Moves a VM to another state.
    pub(crate) fn enter(&mut self, seq: u64, state: VmState) {
        let Some(vm) = self.vms.get_mut(&seq) else { return };
        let before = std::mem::replace(&mut vm.truth.state, state);
        *self.counts.of(before) -= 1;
        *self.counts.of(state) += 1;
        if before.is_live()
            && !state.is_live()
            && let Some(machine) = vm.truth.tags.get(&self.machine_tag)
        {
            self.twins.disappear(&vm.account, machine);
        }
        if state == VmState::Terminated {
            self.terminated += 1;
            if let Some(count) = self.in_account.get_mut(&vm.account) {
                *count -= 1;
            }
            if let Some(count) = self.in_use.get_mut(&(vm.truth.zone.clone(), vm.truth.kind.clone())) {
                *count -= 1;
            }
        }
    }

    /// Replaces the tags of a VM.
    pub(crate) fn retag(&mut self, seq: u64, tags: BTreeMap<String, String>) {
        let Some(vm) = self.vms.get_mut(&seq) else { return };
        let before = std::mem::replace(&mut vm.truth.tags, tags);
        let (old, new) = (before.get(&self.machine_tag), vm.truth.tags.get(&self.machine_tag));
        if old != new {
            if let Some(machine) = old {
                forget(&mut self.by_machine, machine, seq);
            }
            if let Some(machine) = new {
                self.by_machine.entry(machine.clone()).or_default().insert(seq);
            }
        }
        if vm.truth.state.is_live() && old != new {
            if let Some(machine) = old {
                self.twins.disappear(&vm.account, machine);
            }
            if let Some(machine) = new {
                self.twins.appear(&vm.account, machine);
            }
        }
    }

    /// Lets reads see the VM as it is, from that time on.
    pub(crate) fn publish(&mut self, seq: u64, visible_from: Timestamp) {
        let Some(vm) = self.vms.get_mut(&seq) else { return };
        let view = Arc::new(vm.truth.clone());
        for term in Term::of(&view.name, &view.tags) {
            if vm.indexed.insert(term.clone()) {
                self.index.insert(&vm.account, term, seq);
            }
        }
        vm.seen.push(visible_from, Some(view));
    }

    /// Lets reads see no VM from that time on.
    pub(crate) fn unpublish(&mut self, seq: u64, visible_from: Timestamp) {
        if let Some(vm) = self.vms.get_mut(&seq) {
            vm.seen.push(visible_from, None);
        }
    }

    /// Forgets what no read will see again; the whole VM if reads see none.
    pub(crate) fn reach_final_state(&mut self, seq: u64, now: Timestamp) {
        let Some(vm) = self.vms.get_mut(&seq) else { return };
        vm.seen.prune(now);
        let wanted: BTreeSet<Term> =
            vm.seen.held().flatten().flat_map(|view| Term::of(&view.name, &view.tags)).collect();
        for term in vm.indexed.difference(&wanted) {
            self.index.remove(&vm.account, term.clone(), seq);
        }
        vm.indexed = wanted;
        if vm.seen.held().all(Option::is_none) {
            *self.counts.of(vm.truth.state) -= 1;
            self.by_id.remove(&vm.truth.id);
            if let Some(machine) = vm.truth.tags.get(&self.machine_tag) {
                forget(&mut self.by_machine, machine, seq);
            }
            self.vms.remove(&seq);
        }
    }

    /// VMs of the account that take of its quota.
    pub(crate) fn used_by(&self, account: &Arc<str>) -> u64 {
        self.in_account.get(account).copied().unwrap_or(0)
    }

    /// VMs that take of this room.
    pub(crate) fn used_of(&self, room: &Capacity) -> u64 {
        self.in_use.iter().filter(|((zone, kind), _)| room.covers(zone, kind)).map(|(_, count)| count).sum()
    }

    pub(crate) fn totals(&self) -> VmTotals {
        VmTotals {
            counts: self.counts,
            duplicates: self.twins.excess(),
            duplicates_ever: self.twins.ever(),
            created: self.created,
            terminated: self.terminated,
        }
    }

    pub(crate) fn reset_totals(&mut self) {
        self.created = 0;
        self.terminated = 0;
        self.twins.forget_ever();
    }
}

fn forget(by_machine: &mut BTreeMap<String, BTreeSet<u64>>, machine: &str, seq: u64) {
    if let Some(vms) = by_machine.get_mut(machine) {
        vms.remove(&seq);
        if vms.is_empty() {
            by_machine.remove(machine);
        }
    }
}

/// Maps numbers one to one onto ids that do not tell their order (the finaliser of SplitMix64).
pub(crate) fn scatter(seq: u64, seed: u64) -> u64 {
    let mut mixed = seq.wrapping_add(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A VM with this tag.
    fn vm(tag: (&str, &str)) -> Vm {
        let truth = VmView {
            id: "vm-1".to_owned(),
            name: "a".to_owned(),
            state: VmState::Pending,
            state_reason: None,
            region: String::new(),
            zone: String::new(),
            kind: String::new(),
            image: String::new(),
            addresses: Vec::new(),
            tags: [(tag.0.to_owned(), tag.1.to_owned())].into(),
            volumes: Vec::new(),
            source_dest_check: true,
            initialized: true,
            boot_id: 1,
            created: Timestamp::UNIX_EPOCH,
        };
        Vm::new(1, "one".into(), truth, String::new())
    }

    #[test]
    fn vms_are_found_by_their_machine_as_they_are_whatever_reads_see() {
        let mut vms = Vms::new("machine", 0);
        let found = |vms: &Vms| ["a", "b"].map(|machine| vms.of_machine(machine).count());
        vms.insert(vm(("machine", "a")));
        assert_eq!(found(&vms), [1, 0]);
        vms.retag(1, [("machine".to_owned(), "b".to_owned())].into());
        assert_eq!(found(&vms), [0, 1]);
        let now = Timestamp::UNIX_EPOCH;
        vms.publish(1, now);
        vms.enter(1, VmState::Terminated);
        vms.unpublish(1, now);
        vms.reach_final_state(1, now);
        assert_eq!((found(&vms), vms.by_machine.len()), ([0, 0], 0));
    }

    #[test]
    fn nothing_is_left_of_a_vm_that_no_read_sees() {
        let mut vms = Vms::new("machine", 0);
        let now = Timestamp::UNIX_EPOCH;
        vms.insert(vm(("role", "db")));
        vms.publish(1, now);
        vms.reach_final_state(1, now);
        assert_eq!(vms.index.terms(), 4, "any, the name, the tag's key, the tag");
        vms.retag(1, [("role".to_owned(), "web".to_owned())].into());
        vms.publish(1, now);
        assert_eq!(vms.index.terms(), 5, "reads may see either tag");
        vms.reach_final_state(1, now);
        assert_eq!(vms.index.terms(), 4);
        vms.enter(1, VmState::Terminated);
        vms.unpublish(1, now);
        vms.reach_final_state(1, now);
        assert_eq!((vms.index.terms(), vms.vms.len(), vms.by_id.len()), (0, 0, 0));
        assert_eq!(vms.counts, VmCounts::default());
    }
}
