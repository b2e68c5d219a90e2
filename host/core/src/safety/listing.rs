//! Decides whether a listing of the cloud can be trusted.
//!
//! A cloud that returns half of its VMs as a complete list is worse than one that does not answer: missing VMs look
//! gone. A listing that lacks many VMs of existing Machines is not trusted before further ones agree.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use crate::value::id::ProviderId;

/// Fewer missing VMs than this are not suspicious.
pub const FEW: usize = 3;

/// The number of complete listings that must agree that the VMs are gone.
pub const CONFIRMATIONS: u32 = 3;

/// Whether decisions may be based on a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListingTrust {
    Trusted,
    Distrusted {
        /// How many VMs of existing Machines it should show.
        before: usize,
        /// How many of them are missing.
        missing: usize,
        /// How many listings must agree with it before it is trusted.
        left: u32,
    },
}

/// The history of one class's listings.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    last: BTreeSet<ProviderId>,
    /// The number of listings that agreed about the missing VMs, and when the last one was counted.
    doubt: Option<(u32, Timestamp)>,
}

impl Trust {
    /// Notes a complete listing. It should show `expected`, the VMs that Machines of the class have stored, and earlier
    /// VMs that are `is_awaited`: of an existing Machine that is not being deleted. VMs that disappear with their
    /// Machines make no listing suspicious. Listings closer together than `spacing` confirm nothing, since one error
    /// may affect them all.
    pub fn observe(
        &mut self,
        listed: &BTreeSet<ProviderId>,
        expected: &BTreeSet<ProviderId>,
        is_awaited: impl Fn(&ProviderId) -> bool,
        spacing: SignedDuration,
        now: Timestamp,
    ) -> ListingTrust {
        let awaited: BTreeSet<&ProviderId> =
            self.last.iter().filter(|id| is_awaited(id)).chain(expected).collect();
        let missing = awaited.iter().filter(|id| !listed.contains(**id)).count();
        let before = awaited.len();
        if before <= FEW || missing * 2 <= before {
            return self.trust(listed);
        }
        let (agreeing, counted_at) = match self.doubt {
            None => (1, now),
            Some((agreeing, at)) if now.duration_since(at) < spacing => (agreeing, at),
            Some((agreeing, _)) => (agreeing.saturating_add(1), now),
        };
        if agreeing >= CONFIRMATIONS {
            return self.trust(listed);
        }
        self.doubt = Some((agreeing, counted_at));
        ListingTrust::Distrusted { before, missing, left: CONFIRMATIONS - agreeing }
    }

    fn trust(&mut self, listed: &BTreeSet<ProviderId>) -> ListingTrust {
        self.last.clone_from(listed);
        self.doubt = None;
        ListingTrust::Trusted
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SPACING: SignedDuration = SignedDuration::from_mins(5);

    fn vms(count: usize) -> BTreeSet<ProviderId> {
        (0..count).map(|number| ProviderId::new(format!("vm-{number}"))).collect()
    }

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(minute * 60).unwrap()
    }

    /// Whether each of these listings is trusted, taken five minutes apart, while all Machines stay.
    fn check(counts: &[usize]) -> Vec<bool> {
        let mut trust = Trust::default();
        let listings = counts.iter().zip((0..).step_by(5));
        listings
            .map(|(count, minute)| {
                trust.observe(&vms(*count), &vms(0), |_| true, SPACING, at(minute)) == ListingTrust::Trusted
            })
            .collect()
    }

    #[test]
    fn a_listing_that_loses_more_than_half_is_trusted_when_three_agree() {
        assert_eq!(check(&[10, 5, 10]), [true, true, true], "half is not more than half");
        assert_eq!(check(&[10, 4, 4, 4, 4]), [true, false, false, true, true]);
        assert_eq!(check(&[10, 0, 3, 1]), [true, false, false, true], "they agree that much is missing");
    }

    #[test]
    fn a_listing_that_recovers_in_between_starts_doubt_again() {
        assert_eq!(check(&[10, 4, 4, 10, 4, 4]), [true, false, false, true, false, false]);
    }

    #[test]
    fn a_few_vms_come_and_go_as_they_like() {
        assert_eq!(check(&[FEW, 0, FEW, 1]), [true; 4]);
        assert_eq!(check(&[FEW + 1, 0]), [true, false]);
    }

    #[test]
    fn vms_that_go_with_their_machines_make_nothing_suspicious() {
        let mut trust = Trust::default();
        trust.observe(&vms(100), &vms(100), |_| true, SPACING, at(0));
        let verdict = trust.observe(&vms(5), &vms(5), |_| false, SPACING, at(5));
        assert_eq!(verdict, ListingTrust::Trusted);
    }

    #[test]
    fn the_first_listing_is_trusted_and_growth_is() {
        assert_eq!(check(&[0, 100, 1_000]), [true; 3]);
    }

    #[test]
    fn a_first_listing_without_most_vms_of_machines_is_not_trusted() {
        let mut trust = Trust::default();
        let verdict = trust.observe(&vms(2), &vms(10), |_| true, SPACING, at(0));
        assert_eq!(verdict, ListingTrust::Distrusted { before: 10, missing: 8, left: 2 });
    }

    #[test]
    fn listings_at_the_same_time_confirm_nothing() {
        let mut trust = Trust::default();
        trust.observe(&vms(10), &vms(0), |_| true, SPACING, at(0));
        for _ in 0..10 {
            let verdict = trust.observe(&vms(1), &vms(0), |_| true, SPACING, at(1));
            assert_eq!(verdict, ListingTrust::Distrusted { before: 10, missing: 9, left: 2 });
        }
    }

    proptest! {
        /// Doubt ends: after any history, the same listing three times, apart, is trusted.
        #[test]
        fn doubt_ends(counts in proptest::collection::vec(0..30_usize, 0..20), last in 0..30_usize) {
            let all: Vec<usize> = counts.into_iter().chain([last; 3]).collect();
            prop_assert!(check(&all).ends_with(&[true]));
        }
    }
}
