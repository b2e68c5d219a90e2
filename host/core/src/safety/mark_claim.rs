//! The holder of the cluster's mark, in an object of the target cluster: of two control planes with the same mark and
//! the same Nodes, one works and the other waits.
//!
//! As with a Lease, a holder renews the time, and another one takes over when the renewals have stopped: so a control
//! plane that was moved continues, and a copied one does not.

use jiff::{SignedDuration, Timestamp};

/// How often the holder renews.
pub const RENEWAL: SignedDuration = SignedDuration::from_mins(2);

/// A record that another process has seen unchanged for this long has lost its holder.
pub const LAPSE: SignedDuration = SignedDuration::from_mins(6);

/// A record with a time this long past has no holder either, whenever it was seen first: no two clocks differ that
/// much.
pub const STALE: SignedDuration = SignedDuration::from_mins(20);

/// The stored record of the holder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkHolder {
    /// The name of the control plane; the same for all of its replicas.
    pub holder: String,
    /// When the holder wrote it last, by its own clock.
    pub renewed: Timestamp,
}

/// The name of a control plane in the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HolderName {
    /// The name that no other control plane has.
    pub unique: String,
    /// The name of the same control plane before it had a unique one. A record under it is its own, and gets the unique
    /// name at once.
    pub before: String,
}

/// The next step with the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MarkStep {
    /// There is no record: write it.
    Create,
    /// The record is this control plane's and getting old, or has an earlier name: write name and time.
    Renew,
    /// The holder has stopped: write this control plane into it.
    TakeOver,
    /// The record is this control plane's, and young.
    Rest,
    /// Another control plane holds the mark, and works.
    Held,
}

/// The record as this process has seen it.
#[derive(Clone, Debug, Default)]
pub struct MarkWatch {
    seen: Option<(MarkHolder, Timestamp)>,
}

impl MarkWatch {
    /// Notes the stored record, and returns the next step of the control plane `own`.
    pub fn observe(&mut self, found: Option<&MarkHolder>, own: &HolderName, now: Timestamp) -> MarkStep {
        let Some(claim) = found else {
            self.seen = None;
            return MarkStep::Create;
        };
        let since = match &self.seen {
            // A clock that was set back must not move a sighting into the future.
            Some((seen, since)) if seen == claim => (*since).min(now),
            Some(_) | None => now,
        };
        self.seen = Some((claim.clone(), since));
        let age = now.duration_since(claim.renewed);
        if claim.holder == own.before && own.before != own.unique {
            return MarkStep::Renew;
        }
        if claim.holder == own.unique {
            let is_due = age >= RENEWAL || age < SignedDuration::ZERO;
            return if is_due { MarkStep::Renew } else { MarkStep::Rest };
        }
        let has_lapsed = now.duration_since(since) >= LAPSE || age >= STALE;
        if has_lapsed { MarkStep::TakeOver } else { MarkStep::Held }
    }
}

/// Returns the name of the object for a mark. It never changes.
pub fn object_name(mark: &str) -> String {
    // 64-bit FNV-1a: marks are any text, names of objects are restricted.
    let hash = mark.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("machinist-cluster-mark-{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(10_000 + second).unwrap()
    }

    /// Of a control plane that is called so.
    fn own(name: &str) -> HolderName {
        HolderName { unique: name.into(), before: "namespace x".into() }
    }

    fn claim(holder: &str, renewed: i64) -> MarkHolder {
        MarkHolder { holder: holder.into(), renewed: at(renewed) }
    }

    #[test]
    fn who_comes_first_holds_it_and_keeps_it() {
        let mut watch = MarkWatch::default();
        assert_eq!(watch.observe(None, &own("a"), at(0)), MarkStep::Create);
        assert_eq!(watch.observe(Some(&claim("a", 0)), &own("a"), at(119)), MarkStep::Rest);
        assert_eq!(watch.observe(Some(&claim("a", 0)), &own("a"), at(120)), MarkStep::Renew);
        assert_eq!(
            watch.observe(Some(&claim("a", 500)), &own("a"), at(120)),
            MarkStep::Renew,
            "its clock was ahead"
        );
    }

    #[test]
    fn a_second_control_plane_waits_as_long_as_the_first_one_works() {
        let mut watch = MarkWatch::default();
        for second in (0..100_000).step_by(60) {
            let renewed = second - second % 120;
            assert_eq!(
                watch.observe(Some(&claim("a", renewed)), &own("b"), at(second)),
                MarkStep::Held,
                "{second}"
            );
        }
    }

    #[test]
    fn a_control_plane_that_was_moved_takes_it_over_once_the_other_one_has_stopped() {
        for skew in [-600, 0, 600] {
            let mut watch = MarkWatch::default();
            let stopped = claim("a", skew);
            assert_eq!(watch.observe(Some(&stopped), &own("b"), at(0)), MarkStep::Held, "{skew}");
            assert_eq!(watch.observe(Some(&stopped), &own("b"), at(359)), MarkStep::Held, "{skew}");
            assert_eq!(watch.observe(Some(&stopped), &own("b"), at(360)), MarkStep::TakeOver, "{skew}");
        }
        let mut watch = MarkWatch::default();
        assert_eq!(
            watch.observe(Some(&claim("a", -1_200)), &own("b"), at(0)),
            MarkStep::TakeOver,
            "long ago"
        );
    }

    #[test]
    fn a_control_plane_that_elects_leaders_from_now_on_keeps_the_claim_that_it_made_without() {
        let mut watch = MarkWatch::default();
        let without = HolderName { unique: "namespace x".into(), before: "namespace x".into() };
        let made = claim("namespace x", 0);
        assert_eq!(watch.observe(Some(&made), &without, at(1)), MarkStep::Rest);
        assert_eq!(watch.observe(Some(&made), &own("a"), at(1)), MarkStep::Renew);
        assert_eq!(watch.observe(Some(&claim("a", 1)), &own("a"), at(2)), MarkStep::Rest);
        assert_eq!(watch.observe(Some(&claim("namespace y", 0)), &own("a"), at(2)), MarkStep::Held);
    }

    #[test]
    fn a_clock_that_is_set_back_makes_nobody_take_it_over() {
        let mut watch = MarkWatch::default();
        assert_eq!(watch.observe(Some(&claim("a", 0)), &own("b"), at(300)), MarkStep::Held);
        assert_eq!(watch.observe(Some(&claim("a", 0)), &own("b"), at(-4_000)), MarkStep::Held);
    }

    #[test]
    fn names_are_names_of_objects_whatever_the_mark_is() {
        assert_eq!(object_name("shoot--a--b"), object_name("shoot--a--b"));
        assert_ne!(object_name("a"), object_name("b"));
        for mark in ["", "Ä b/ü", &"x".repeat(1_000)] {
            let name = object_name(mark);
            assert!(
                name.len() < 64
                    && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            );
        }
    }
}
