//! Which version answers a call while one is on trial.

use sha2::{Digest as _, Sha256};

use super::record::TrialSide;
use crate::sources::release::Release;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Caller {
    pub(crate) class: Option<String>,
    /// The Machine's uid, where there is a Machine.
    pub(crate) machine: Option<String>,
}

impl Caller {
    /// Returns the key of the caller: the Machine, else the class, else empty.
    pub(crate) fn lot(&self) -> &str {
        self.machine.as_deref().or(self.class.as_deref()).unwrap_or_default()
    }
}

/// Returns the side of a caller: the new version for all Machines of named classes and for a share of the others, by
/// the Machine, so that one Machine stays with one version. Calls without a Machine go by their class; calls without
/// either stay with the stable version.
pub(crate) fn side(terms: &Release, caller: &Caller) -> TrialSide {
    if caller.class.as_ref().is_some_and(|class| terms.classes.contains(class)) {
        return TrialSide::New;
    }
    match caller.lot() {
        "" => TrialSide::Stable,
        lot if per_cent(lot) < terms.share => TrialSide::New,
        _ => TrialSide::Stable,
    }
}

/// A number from 0 to below 100 that follows from the text and is spread evenly.
fn per_cent(text: &str) -> f64 {
    let digest: [u8; 32] = Sha256::digest(text.as_bytes()).into();
    let [a, b, c, d, ..] = digest;
    f64::from(u32::from_be_bytes([a, b, c, d])) / (f64::from(u32::MAX) + 1.0) * 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Release {
        Release::parse(text).expect("terms")
    }

    fn machine(class: &str, uid: usize) -> Caller {
        Caller { class: Some(class.to_owned()), machine: Some(format!("uid-{uid}")) }
    }

    fn new_ones(terms: &Release, class: &str) -> usize {
        (0..10_000).filter(|&uid| side(terms, &machine(class, uid)) == TrialSide::New).count()
    }

    #[test]
    fn a_share_is_what_it_says() {
        assert_eq!(new_ones(&terms("{mode: canary, share: 100%}"), "a"), 10_000);
        let tenth = new_ones(&terms("{mode: canary, share: 10%}"), "a");
        assert!((900..1_100).contains(&tenth), "{tenth}");
    }

    #[test]
    fn a_machine_in_a_small_share_is_in_a_larger_one() {
        let (small, large) = (terms("{mode: canary, share: 5%}"), terms("{mode: canary, share: 50%}"));
        for uid in 0..1_000 {
            let caller = machine("a", uid);
            if side(&small, &caller) == TrialSide::New {
                assert_eq!(side(&large, &caller), TrialSide::New);
            }
        }
    }

    #[test]
    fn classes_belong_to_the_trial_as_a_whole_and_others_not() {
        let terms = terms("{mode: canary, classes: [small]}");
        assert_eq!(new_ones(&terms, "small"), 10_000);
        assert_eq!(new_ones(&terms, "large"), 0);
    }

    #[test]
    fn a_call_without_class_and_machine_stays() {
        let terms = terms("{mode: canary, share: 100%}");
        assert_eq!(side(&terms, &Caller::default()), TrialSide::Stable);
        assert_eq!(side(&terms, &Caller { class: Some("a".to_owned()), machine: None }), TrialSide::New);
    }
}
