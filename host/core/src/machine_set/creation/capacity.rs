//! Chooses the class of a Machine, if its owner names alternatives for a cloud without capacity.
//!
//! The class of an existing Machine never changes. A Machine without a VM for which the cloud had no capacity is
//! deleted and replaced by one of the first class that is not known to be exhausted. If all classes are, it stays and
//! retries as usual, so that the autoscaler sees it.

use jiff::{SignedDuration, Timestamp};

use crate::disruption::maintenance::left;
use crate::driver::alternatives::{Choice, Exhausted};
use crate::value::id::Name;

use crate::machine_set::effect::SetProgress;
use crate::machine_set::facts::{ChildFact, SetView};
use crate::machine_set::members;

/// Classes to choose from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Alternatives {
    /// The class of the template and the alternatives that its owner names, in order, as far as they can be used. Empty
    /// without alternatives.
    pub classes: Vec<Name>,
    /// Those that are named and cannot be used.
    pub unusable: Vec<Name>,
    /// The classes that were found exhausted.
    pub exhausted: Exhausted,
}

impl Alternatives {
    fn choose(&self, now: Timestamp) -> Choice<'_> {
        self.exhausted.choose(&self.classes, now)
    }
}

/// Returns the class for new Machines; `None` for that of the template.
pub(crate) fn class(view: &SetView, now: Timestamp) -> Option<Name> {
    let own = view.set.template.as_ref().and_then(|template| template.class.as_ref());
    match view.alternatives.choose(now) {
        Choice::Pool(class) | Choice::Later { pool: class, .. } => {
            Some(class.clone()).filter(|class| own.is_none_or(|own| own.as_str() != class.as_str()))
        }
        Choice::None => None,
    }
}

/// Returns whether the cloud had no capacity for it, and there is another class to try.
pub(crate) fn is_to_move(view: &SetView, machine: &ChildFact, now: Timestamp) -> bool {
    let is_other = match view.alternatives.choose(now) {
        Choice::Pool(class) => machine.class.as_ref() != Some(class),
        Choice::Later { .. } | Choice::None => false,
    };
    machine.is_exhausted && is_other
}

/// Returns the time until a class can be tried again, if a Machine waits for it.
pub(crate) fn rest(view: &SetView, progress: &SetProgress, now: Timestamp) -> Option<SignedDuration> {
    let Choice::Later { until, .. } = view.alternatives.choose(now) else { return None };
    let waits = members::living(view, progress).into_iter().any(|machine| machine.is_exhausted);
    waits.then(|| left(until, now))
}

/// Returns the problem of the alternatives, for people.
pub(crate) fn problem(view: &SetView) -> Option<String> {
    let names: Vec<&str> = view.alternatives.unusable.iter().map(Name::as_str).collect();
    let message = format!(
        "class alternatives are not there, or being deleted, and are left out: {}; create them, or take them off the list",
        names.join(", ")
    );
    (!names.is_empty()).then_some(message)
}
