//! Which calls go first where calls wait in line.

use machinist_core::driver::Operation;

/// How long a call can wait without harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Urgency {
    /// Makes something that nobody misses yet.
    Patient,
    /// Removes what costs money, or looks: others decide by what it finds.
    Urgent,
}

impl Urgency {
    pub(crate) fn of(operation: Operation) -> Self {
        match operation {
            Operation::Create | Operation::Initialize => Self::Patient,
            _ => Self::Urgent,
        }
    }
}

/// So many urgent ones go before a patient one does, where both wait.
const URGENT_IN_A_ROW: usize = 3;

/// Lets urgent ones go first, and patient ones now and then.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Alternation {
    /// Urgent ones that went since the last patient one.
    urgent: usize,
}

impl Alternation {
    /// One went.
    pub(crate) fn went(&mut self, urgency: Urgency) {
        self.urgent = match urgency {
            Urgency::Urgent => (self.urgent + 1).min(URGENT_IN_A_ROW),
            Urgency::Patient => 0,
        };
    }

    /// Which goes next where both wait.
    pub(crate) fn next(self) -> Urgency {
        if self.urgent < URGENT_IN_A_ROW { Urgency::Urgent } else { Urgency::Patient }
    }

    /// Patient ones that go before the urgent one at this place of its line.
    pub(crate) fn patient_before(self, place: usize) -> usize {
        (self.urgent + place) / URGENT_IN_A_ROW
    }

    /// Urgent ones that go before the patient one at this place of its line.
    pub(crate) fn urgent_before(self, place: usize) -> usize {
        (place + 1) * URGENT_IN_A_ROW - self.urgent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_four_turns_one_is_a_patient_ones_and_each_knows_how_many_go_before_it() {
        for gone in 0..=URGENT_IN_A_ROW {
            let mut alternation = Alternation::default();
            (0..gone).for_each(|_| alternation.went(Urgency::Urgent));
            let known = alternation;
            let (mut urgent, mut patient) = (0, 0);
            for _ in 0..40 {
                let next = alternation.next();
                match next {
                    Urgency::Urgent => {
                        assert_eq!(known.patient_before(urgent), patient);
                        urgent += 1;
                    }
                    Urgency::Patient => {
                        assert_eq!(known.urgent_before(patient), urgent);
                        patient += 1;
                    }
                }
                alternation.went(next);
            }
            assert!((9..=11).contains(&patient), "{patient}");
        }
    }

    #[test]
    fn creates_are_patient_and_deletions_and_looks_are_not() {
        assert_eq!(Urgency::of(Operation::Create), Urgency::Patient);
        for operation in [Operation::Delete, Operation::GetStatus, Operation::List, Operation::Reboot] {
            assert_eq!(Urgency::of(operation), Urgency::Urgent);
        }
    }
}
