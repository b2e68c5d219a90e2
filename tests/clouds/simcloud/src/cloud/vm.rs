//! A VM, and its console.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::cloud::journal::EventVm;
use crate::config::InstanceType;
use crate::index::Term;
use crate::lagged::Lagged;
use crate::wire::VmView;

/// The oldest lines of a console are dropped beyond this.
const CONSOLE_LIMIT_BYTES: usize = 64 * 1024;

/// A VM with everything that the cloud knows of it.
#[derive(Debug)]
pub(crate) struct Vm {
    /// Its number, in order of creation.
    pub(crate) seq: u64,
    pub(crate) account: Arc<str>,
    pub(crate) truth: VmView,
    /// How reads see it.
    pub(crate) seen: Lagged<Option<Arc<VmView>>>,
    /// Base64, as it was given.
    pub(crate) user_data: String,
    /// Whether it dies instead of booting.
    pub(crate) is_doomed: bool,
    /// The terms under which the index has it.
    pub(crate) indexed: BTreeSet<Term>,
    console: String,
}

impl Vm {
    pub(crate) fn new(seq: u64, account: Arc<str>, truth: VmView, user_data: String) -> Self {
        Self {
            seq,
            account,
            truth,
            seen: Lagged::new(),
            user_data,
            is_doomed: false,
            indexed: BTreeSet::new(),
            console: String::new(),
        }
    }

    /// Whether its record was dropped, though late reads may still see it.
    pub(crate) fn is_forgotten(&self) -> bool {
        self.seen.newest().is_some_and(Option::is_none)
    }

    pub(crate) fn append_console(&mut self, line: &str) {
        self.console.push_str(line);
        self.console.push('\n');
        if let Some(surplus) = self.console.len().checked_sub(CONSOLE_LIMIT_BYTES) {
            let cut = self.console.bytes().skip(surplus).position(|byte| byte == b'\n');
            self.console.drain(..cut.map_or(self.console.len(), |line_end| surplus + line_end + 1));
        }
    }

    pub(crate) fn console(&self) -> &str {
        &self.console
    }

    /// The part of the VM that its kubelet needs.
    pub(crate) fn for_kubelet(&self, types: &BTreeMap<String, InstanceType>) -> Arc<EventVm> {
        let truth = &self.truth;
        let size =
            types.get(&truth.kind).copied().unwrap_or(InstanceType { cpus: 1, memory_gib: 1, gpus: 0 });
        Arc::new(EventVm {
            id: truth.id.clone(),
            account: self.account.to_string(),
            name: truth.name.clone(),
            region: truth.region.clone(),
            zone: truth.zone.clone(),
            kind: truth.kind.clone(),
            cpus: size.cpus,
            memory_gib: size.memory_gib,
            gpus: size.gpus,
            addresses: truth.addresses.clone(),
            tags: truth.tags.clone(),
            boot_id: truth.boot_id,
        })
    }
}
