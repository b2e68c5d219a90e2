//! For which classes clouds have no capacity, as far as this process has been told.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use machinist_api::{MachineDeployment, MachineSet, names};
use machinist_core::driver::Creation;
use machinist_core::driver::alternatives::Exhausted;
use machinist_core::driver::error::{CallError, Code};
use machinist_core::machine_set::Alternatives;
use machinist_core::value::id::Name;

/// What is remembered. Lost with the process, after which each class is asked for once more.
#[derive(Clone, Debug, Default)]
pub(crate) struct Capacity(Arc<Mutex<Exhausted>>);

impl Capacity {
    /// What came of asking for a VM of a class. `is_there` says which classes are.
    pub(crate) fn observe(
        &self,
        class: &str,
        answer: &Result<Creation, CallError>,
        is_there: impl Fn(&Name) -> bool,
        now: Timestamp,
    ) {
        let class = Name::new(class);
        let mut exhausted = self.lock();
        match answer {
            Ok(_) => exhausted.refuted(&class),
            Err(CallError::Guest(error)) if error.code == Code::ResourceExhausted => {
                exhausted.retain(is_there);
                exhausted.found(&class, now);
            }
            // Says nothing about capacity.
            Err(_) => {}
        }
    }

    /// All of it at this moment.
    pub(crate) fn known(&self) -> Exhausted {
        self.lock().clone()
    }

    /// Each change is one operation, so that a panic elsewhere leaves it whole.
    fn lock(&self) -> MutexGuard<'_, Exhausted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The alternatives that are named on the set's deployment, or on a set that has none. `own` is the class of the template,
/// `is_usable` says which classes can be used.
pub(crate) fn alternatives(
    capacity: &Capacity,
    set: &MachineSet,
    deployment: Option<&MachineDeployment>,
    own: Option<&str>,
    is_usable: impl Fn(&str) -> bool,
) -> Alternatives {
    let (Some(list), Some(own)) = (listed(set, deployment), own) else { return Alternatives::default() };
    let mut alternatives = Alternatives { exhausted: capacity.known(), ..Alternatives::default() };
    alternatives.classes.push(Name::new(own));
    for name in list.filter(|name| *name != own) {
        let name = Name::new(name);
        let of_its_kind =
            if is_usable(name.as_str()) { &mut alternatives.classes } else { &mut alternatives.unusable };
        if !of_its_kind.contains(&name) {
            of_its_kind.push(name);
        }
    }
    alternatives
}

/// Whether a set's Machines may be of this class beside that of their template.
pub(crate) fn names_as_alternative(
    set: &MachineSet,
    deployment: Option<&MachineDeployment>,
    class: &str,
) -> bool {
    listed(set, deployment).is_some_and(|mut list| list.any(|name| name == class))
}

/// What is wished for a set: by its deployment, or by itself where there is none.
fn listed<'a>(
    set: &'a MachineSet,
    deployment: Option<&'a MachineDeployment>,
) -> Option<impl Iterator<Item = &'a str>> {
    let meta = deployment.map_or(&set.metadata, |deployment| &deployment.metadata);
    let list = meta.annotations.as_ref()?.get(names::annotations::CLASS_ALTERNATIVES)?;
    Some(list.split(',').map(str::trim).filter(|name| !name.is_empty()))
}

#[cfg(test)]
mod tests {
    use machinist_core::driver::error::DriverError;
    use serde_json::json;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[expect(clippy::result_large_err, reason = "as drivers answer")]
    fn refused(code: Code) -> Result<Creation, CallError> {
        Err(CallError::Guest(DriverError::new(code, "no")))
    }

    fn of(capacity: &Capacity, list: &str) -> Alternatives {
        let annotations = json!({ names::annotations::CLASS_ALTERNATIVES: list });
        let set = serde_json::from_value(json!({ "metadata": { "annotations": annotations }, "spec": {} }));
        alternatives(capacity, &set.unwrap(), None, Some("small"), |name| name != "gone")
    }

    #[test]
    fn the_class_of_the_template_comes_first_and_each_is_named_once() {
        let found = of(&Capacity::default(), " b, small,c ,, b,gone,gone");
        assert_eq!(found.classes, ["small".into(), "b".into(), "c".into()]);
        assert_eq!(found.unusable, ["gone".into()]);
        let set = serde_json::from_value(json!({ "metadata": {}, "spec": {} })).unwrap();
        let none = alternatives(&Capacity::default(), &set, None, Some("small"), |_| true);
        assert_eq!(none, Alternatives::default());
    }

    #[test]
    fn only_a_cloud_without_capacity_is_remembered() {
        let capacity = Capacity::default();
        for code in [Code::Internal, Code::DeadlineExceeded, Code::Unavailable] {
            capacity.observe("small", &refused(code), |_| true, at(0));
        }
        assert_eq!(capacity.known(), Exhausted::default());
        capacity.observe("small", &refused(Code::ResourceExhausted), |_| true, at(0));
        assert_ne!(capacity.known(), Exhausted::default());
    }
}
