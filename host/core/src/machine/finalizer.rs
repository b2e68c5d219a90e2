//! Decides whether our finalizer must be on an object that others use.

/// Facts about the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FinalizerFact {
    pub is_held: bool,
    /// Its deletion was asked for.
    pub is_deleting: bool,
    /// How many objects use it.
    pub users: usize,
    /// Objects that cannot be decoded may use it too.
    pub has_unknown_users: bool,
}

/// The next step with our finalizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinalizerStep {
    Put,
    Take,
    /// Leave it as it is.
    Rest,
}

/// Returns the next step. An object has the finalizer while it is used, or while an undecodable object may use it. The
/// API server refuses new finalizers on an object that is being deleted.
pub fn hold(fact: FinalizerFact) -> FinalizerStep {
    match (fact.users, fact.is_held) {
        (0, true) if !fact.has_unknown_users => FinalizerStep::Take,
        (1.., false) if !fact.is_deleting => FinalizerStep::Put,
        (0.., true | false) => FinalizerStep::Rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(is_held: bool, is_deleting: bool, users: usize, expected: FinalizerStep) {
        assert_eq!(
            hold(FinalizerFact { is_held, is_deleting, users, has_unknown_users: false }),
            expected,
            "{is_held} {is_deleting} {users}"
        );
    }

    #[test]
    fn an_object_is_held_exactly_while_it_is_used() {
        check(false, false, 0, FinalizerStep::Rest);
        check(false, false, 2, FinalizerStep::Put);
        check(true, false, 2, FinalizerStep::Rest);
        check(true, false, 0, FinalizerStep::Take);
    }

    #[test]
    fn an_object_stays_held_while_something_that_cannot_be_read_may_use_it() {
        let unknown =
            |is_held| FinalizerFact { is_held, is_deleting: true, users: 0, has_unknown_users: true };
        assert_eq!((hold(unknown(true)), hold(unknown(false))), (FinalizerStep::Rest, FinalizerStep::Rest));
    }

    #[test]
    fn an_object_that_is_being_deleted_is_let_go_with_its_last_user_and_never_held_again() {
        check(true, true, 1, FinalizerStep::Rest);
        check(true, true, 0, FinalizerStep::Take);
        check(false, true, 1, FinalizerStep::Rest);
    }
}
