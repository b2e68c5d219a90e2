//! The order of calls that are queued.

use machinist_core::driver::Operation;

/// How long a call can wait without harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Urgency {
    /// Creates something that nothing depends on yet.
    Normal,
    /// Deletes something that costs money, or queries state that others decide by.
    Urgent,
}

impl Urgency {
    pub(crate) fn of(operation: Operation) -> Self {
        match operation {
            Operation::Create | Operation::Initialize => Self::Normal,
            _ => Self::Urgent,
        }
    }
}

/// The number of urgent calls that go before a normal one, where both wait.
const URGENT_IN_A_ROW: usize = 3;

/// Lets urgent calls go first, and one normal call after every few urgent ones.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Alternation {
    /// Urgent calls since the last normal one.
    urgent: usize,
}

impl Alternation {
    pub(crate) fn went(&mut self, urgency: Urgency) {
        self.urgent = match urgency {
            Urgency::Urgent => (self.urgent + 1).min(URGENT_IN_A_ROW),
            Urgency::Normal => 0,
        };
    }

    /// Returns the kind that goes next, where both wait.
    pub(crate) fn next(self) -> Urgency {
        if self.urgent < URGENT_IN_A_ROW { Urgency::Urgent } else { Urgency::Normal }
    }

    /// Returns how many normal calls go before the urgent one at this place of its queue.
    pub(crate) fn normal_before(self, place: usize) -> usize {
        (self.urgent + place) / URGENT_IN_A_ROW
    }

    /// Returns how many urgent calls go before the normal one at this place of its queue.
    pub(crate) fn urgent_before(self, place: usize) -> usize {
        (place + 1) * URGENT_IN_A_ROW - self.urgent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_four_calls_is_normal_and_each_place_is_predicted() {
        for gone in 0..=URGENT_IN_A_ROW {
            let mut alternation = Alternation::default();
            (0..gone).for_each(|_| alternation.went(Urgency::Urgent));
            let known = alternation;
            let (mut urgent, mut normal) = (0, 0);
            for _ in 0..40 {
                let next = alternation.next();
                match next {
                    Urgency::Urgent => {
                        assert_eq!(known.normal_before(urgent), normal);
                        urgent += 1;
                    }
                    Urgency::Normal => {
                        assert_eq!(known.urgent_before(normal), urgent);
                        normal += 1;
                    }
                }
                alternation.went(next);
            }
            assert!((9..=11).contains(&normal), "{normal}");
        }
    }

    #[test]
    fn creates_are_normal_and_deletions_and_queries_urgent() {
        assert_eq!(Urgency::of(Operation::Create), Urgency::Normal);
        for operation in [Operation::Delete, Operation::GetStatus, Operation::List, Operation::Reboot] {
            assert_eq!(Urgency::of(operation), Urgency::Urgent);
        }
    }
}
