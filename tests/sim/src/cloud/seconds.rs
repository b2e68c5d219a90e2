//! VMs beside those of Machines: with the same marks, and made by no host.

use std::collections::BTreeSet;
use std::sync::{MutexGuard, PoisonError};

use simcloud::{CreateVm, Method, Request, VmState, VmView};

use super::SimCloud;
use crate::names::{UID_TAG, provider_id};

#[derive(Debug, Default)]
pub(super) struct Seconds {
    /// Ids, also of those that are gone.
    ids: BTreeSet<String>,
    /// How many live VMs more than one a Machine they made.
    duplicates: u64,
}

impl SimCloud {
    /// Somebody makes a VM with the marks of this one, if `is_meant` agrees to its Machine's uid and its id. Returns
    /// its id.
    pub(crate) fn make_second(
        &self,
        vm: &str,
        number: usize,
        is_meant: impl Fn(&str, &str) -> bool,
    ) -> Option<String> {
        let first = self.find(vm).filter(|vm| vm.state == VmState::Running)?;
        let uid = first.tags.get(UID_TAG).cloned().unwrap_or_default();
        if !is_meant(&uid, &provider_id(&first.zone, &first.id)) {
            return None;
        }
        let wanted = CreateVm {
            name: format!("second-{number}"),
            zone: first.zone.clone(),
            kind: "sim.small".to_owned(),
            image: "linux-1".to_owned(),
            tags: first.tags,
            user_data: String::new(),
            volumes: Vec::new(),
            needs_initialize: false,
        };
        let before = self.lock().stats().duplicates_ever;
        let request =
            Request::new(Method::Post, "/v1/vms").with_token("sim-token").with_json(&wanted).ok()?;
        // A cloud that has a quota may refuse.
        let made: VmView = self.handle(&request).json().ok()?;
        let after = self.lock().stats().duplicates_ever;
        let mut seconds = self.seconds();
        seconds.duplicates += after - before;
        seconds.ids.insert(made.id.clone());
        Some(made.id)
    }

    /// It was made beside that of a Machine.
    pub(crate) fn is_second(&self, id: &str) -> bool {
        self.seconds().ids.contains(id)
    }

    /// Its driver can remove one VM of two.
    pub(crate) fn deletes_by_id(&self) -> bool {
        self.habits.deletes_by_id
    }

    pub(super) fn duplicates_meant(&self) -> u64 {
        self.seconds().duplicates
    }

    fn seconds(&self) -> MutexGuard<'_, Seconds> {
        self.seconds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
