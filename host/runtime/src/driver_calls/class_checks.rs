//! Results of the last checks of classes, for the reconciles of Machines.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use machinist_core::driver::ClassSpec;
use machinist_core::driver::secret_rule::SecretRefusal;
use machinist_core::value::id::{ObjectKey, ProviderName};
use tokio::sync::mpsc;

use crate::message::Message;

/// What drivers said of the classes.
pub(crate) struct ClassChecks {
    checked: Mutex<BTreeMap<ObjectKey, ClassCheck>>,
    engine: mpsc::UnboundedSender<Message>,
}

/// What a driver said of a class, and of which content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClassCheck {
    pub(crate) of: ClassSpec,
    /// A Secret that it may not use. Machines say it of themselves.
    pub(crate) refusal: Option<SecretRefusal>,
    pub(crate) problem: Option<String>,
}

impl ClassCheck {
    fn has_problem(&self) -> bool {
        self.problem.is_some() || self.refusal.is_some()
    }
}

impl ClassChecks {
    /// The loop hears of classes whose Machines must be looked at.
    pub(crate) fn new(engine: mpsc::UnboundedSender<Message>) -> Self {
        Self { checked: Mutex::default(), engine }
    }

    /// What the driver finds wrong with the class.
    pub(crate) fn problem(&self, class: &ObjectKey) -> Option<String> {
        self.lock().get(class)?.problem.clone()
    }

    /// Another version of their drivers may think otherwise.
    pub(crate) fn forget_providers(&self, providers: &[ProviderName]) {
        self.lock().retain(|_, checked| !providers.contains(&checked.of.provider));
    }

    /// The class is gone.
    pub(crate) fn forget(&self, class: &ObjectKey) {
        self.lock().remove(class);
    }

    pub(crate) fn knows(&self, class: &ObjectKey, of: &ClassSpec, refusal: Option<&SecretRefusal>) -> bool {
        let is_it = |checked: &ClassCheck| checked.of == *of && checked.refusal.as_ref() == refusal;
        self.lock().get(class).is_some_and(is_it)
    }

    /// True if the class was found wrong, by its driver or for its Secrets.
    pub(crate) fn has_problem(&self, class: &ObjectKey) -> bool {
        self.lock().get(class).is_some_and(ClassCheck::has_problem)
    }

    pub(crate) fn learn(&self, class: &ObjectKey, checked: ClassCheck) {
        let is_valid = !checked.has_problem();
        let before = self.lock().insert(class.clone(), checked);
        let was_valid = before.is_none_or(|before| !before.has_problem());
        // Another problem is as good a reason to look as the end of one: Machines say what is wrong.
        if !(is_valid && was_valid) {
            // A closed inbox means that the loop has ended.
            let _ = self.engine.send(Message::ClassChecked(class.clone()));
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ObjectKey, ClassCheck>> {
        self.checked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
