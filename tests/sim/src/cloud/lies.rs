//! Listings that are not true: VMs are missing, or carry no marks.

use std::hash::{DefaultHasher, Hash, Hasher};

use simcloud::VmView;

use super::SimCloud;

/// How a listing lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lie {
    /// It says that nothing is there.
    Empty,
    /// So many of a hundred VMs are missing, the same ones each time.
    Lacks(u64),
    /// The marks by which VMs are known are missing on so many of a hundred.
    Unmarked(u64),
}

impl SimCloud {
    /// Listings lie so from now on, or not any more.
    pub(crate) fn lie(&self, lie: Option<Lie>) {
        *self.lie.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = lie;
    }

    /// The VM as a listing shows it, if it does.
    pub(crate) fn shown_by_listing(&self, vm: &VmView) -> Option<VmView> {
        let lie = *self.lie.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match lie {
            None => Some(vm.clone()),
            Some(Lie::Empty) => None,
            Some(Lie::Lacks(percent)) => (share(&vm.id) >= percent).then(|| vm.clone()),
            Some(Lie::Unmarked(percent)) => {
                let mut shown = vm.clone();
                if share(&vm.id) < percent {
                    shown.tags.clear();
                }
                Some(shown)
            }
        }
    }
}

/// From 0 to 99.
fn share(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish() % 100
}
