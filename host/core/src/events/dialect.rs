//! Through which API group Events are written.

use jiff::{SignedDuration, Timestamp};

/// An API group for Events. Both show the same objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Events,
    /// `v1`, the core group, which older roles name alone.
    Core,
}

/// How long the core group is used before the other is tried again: it may be permitted by then.
const LOOK_AGAIN: SignedDuration = SignedDuration::from_mins(30);

/// Remembers which group takes Events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dialects {
    core_until: Option<Timestamp>,
}

impl Dialects {
    /// Returns the group for the next Event.
    pub fn choose(self, now: Timestamp) -> Dialect {
        match self.core_until {
            Some(until) if now < until => Dialect::Core,
            Some(_) | None => Dialect::Events,
        }
    }

    /// Notes that this group is forbidden or not served. Returns the group to try at once with the same Event; `None`
    /// if there is none.
    pub fn refused(&mut self, dialect: Dialect, now: Timestamp) -> Option<Dialect> {
        match dialect {
            Dialect::Events => {
                self.core_until = Some(now.checked_add(LOOK_AGAIN).unwrap_or(Timestamp::MAX));
                Some(Dialect::Core)
            }
            Dialect::Core => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forbidden_group_is_left_for_a_while_and_then_looked_at_again() {
        let at = |minute: i64| Timestamp::from_second(minute * 60).unwrap();
        let mut dialects = Dialects::default();
        assert_eq!(dialects.choose(at(0)), Dialect::Events);
        assert_eq!(dialects.refused(Dialect::Events, at(0)), Some(Dialect::Core));
        assert_eq!(dialects.choose(at(29)), Dialect::Core);
        assert_eq!(dialects.refused(Dialect::Core, at(29)), None, "both are forbidden");
        assert_eq!(dialects.choose(at(30)), Dialect::Events);
    }
}
