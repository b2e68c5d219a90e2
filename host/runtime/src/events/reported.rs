//! What is worth an Event: news, once; the same failure again and again, as a series; and never a flood.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use machinist_core::events::masked::masked;

/// Events about one object before they become rare: more than a whole life has.
const BURST: u32 = 25;

/// Beyond the burst there is one for each of these.
const REFILL: SignedDuration = SignedDuration::from_mins(5);

/// A message that changes under the same reason is told again after this time at the earliest.
const SAME_REASON: SignedDuration = SignedDuration::from_mins(1);

/// How often the count of a series is written, as Kubernetes' own components do it.
const HEARTBEAT: SignedDuration = SignedDuration::from_mins(6);

/// What was told of one object.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    topics: BTreeMap<&'static str, Last>,
    states: Budget,
    /// A rollout takes hundreds of steps: they must not use up what bad news needs.
    deeds: Budget,
}

/// How many Events there may be.
#[derive(Clone, Debug, Default)]
struct Budget {
    used: u32,
    refilled: Option<Timestamp>,
}

/// What was told last about a topic.
#[derive(Clone, Debug)]
struct Last {
    reason: &'static str,
    same: String,
    at: Timestamp,
    /// The Event, where one was written.
    event: Option<String>,
    count: i32,
    counted_at: Timestamp,
}

/// What is to be told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item<'a> {
    /// What it is about: its reason and text are compared with those told last about the same.
    pub topic: &'static str,
    /// The Event's reason.
    pub reason: &'static str,
    /// Equal texts are the same news.
    pub same: &'a str,
    /// Something was tried and failed: that it happens again is told by a count.
    pub repeats: bool,
    /// The object says the same already.
    pub is_known: bool,
    /// Another Event of the same pass says as much.
    pub is_implied: bool,
    /// It was done: each time is news.
    pub is_deed: bool,
}

/// How it is to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tell {
    /// Not at all.
    Nothing,
    /// By an Event.
    Event,
    /// By the count of this Event.
    Count(String, i32),
}

impl Told {
    /// Decides how to tell. After [`Tell::Event`] the caller says which one it was.
    pub(crate) fn decide(&mut self, item: Item<'_>, now: Timestamp) -> Tell {
        if item.is_deed {
            return if self.deeds.may_write(now) { Tell::Event } else { Tell::Nothing };
        }
        if item.is_implied {
            self.remember(item, None, now);
            return Tell::Nothing;
        }
        let last = self.topics.get_mut(item.topic);
        if let Some(last) = last.filter(|last| last.reason == item.reason) {
            let is_same = last.same == sameness(item);
            let is_soon = now.duration_since(last.at) < SAME_REASON;
            if is_same || is_soon {
                return last.again(item.repeats, now);
            }
        } else if item.is_known && !item.repeats && !self.topics.contains_key(item.topic) {
            self.remember(item, None, now);
            return Tell::Nothing;
        }
        if !self.states.may_write(now) {
            return Tell::Nothing;
        }
        self.remember(item, None, now);
        Tell::Event
    }

    /// The Event of this topic has this name.
    pub(crate) fn written(&mut self, topic: &'static str, event: String) {
        if let Some(last) = self.topics.get_mut(topic) {
            last.event = Some(event);
        }
    }

    fn remember(&mut self, item: Item<'_>, event: Option<String>, now: Timestamp) {
        let last =
            Last { reason: item.reason, same: sameness(item), at: now, event, count: 1, counted_at: now };
        self.topics.insert(item.topic, last);
    }
}

/// Clouds put another id into each of their answers: a failure is compared without.
fn sameness(item: Item<'_>) -> String {
    if item.repeats { masked(item.same) } else { item.same.to_owned() }
}

impl Budget {
    fn may_write(&mut self, now: Timestamp) -> bool {
        let since = *self.refilled.get_or_insert(now);
        let periods = now.duration_since(since).as_secs() / REFILL.as_secs();
        if periods > 0 {
            self.used = self.used.saturating_sub(u32::try_from(periods).unwrap_or(u32::MAX));
            self.refilled = Some(now);
        }
        let may = self.used < BURST;
        self.used += u32::from(may);
        may
    }
}

impl Last {
    fn again(&mut self, repeats: bool, now: Timestamp) -> Tell {
        if !repeats {
            return Tell::Nothing;
        }
        self.count = self.count.saturating_add(1);
        let is_due = self.count == 2 || now.duration_since(self.counted_at) >= HEARTBEAT;
        match &self.event {
            Some(event) if is_due => {
                self.counted_at = now;
                Tell::Count(event.clone(), self.count)
            }
            Some(_) | None => Tell::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn failure(same: &str) -> Item<'_> {
        Item {
            topic: "state",
            reason: "CreationFailed",
            same,
            repeats: true,
            is_known: false,
            is_implied: false,
            is_deed: false,
        }
    }

    fn state<'a>(reason: &'static str, same: &'a str) -> Item<'a> {
        Item {
            topic: "state",
            reason,
            same,
            repeats: false,
            is_known: false,
            is_implied: false,
            is_deed: false,
        }
    }

    /// Decides, and writes what is to be written.
    fn tell(told: &mut Told, item: Item<'_>, second: i64) -> Tell {
        let tell = told.decide(item, at(second));
        if tell == Tell::Event {
            told.written(item.topic, format!("event-{second}"));
        }
        tell
    }

    #[test]
    fn a_machine_that_fails_for_a_day_is_one_event_with_a_count() {
        let mut told = Told::default();
        let (mut events, mut counts) = (0, Vec::new());
        for second in (0..86_400).step_by(120) {
            match tell(&mut told, failure("no capacity"), second) {
                Tell::Event => events += 1,
                Tell::Count(event, count) => {
                    assert_eq!(event, "event-0");
                    counts.push(count);
                }
                Tell::Nothing => {}
            }
        }
        assert_eq!(events, 1);
        assert_eq!(counts.first(), Some(&2), "the second failure begins the series");
        assert!(counts.len() <= 241 && counts.last() > Some(&700), "counted every six minutes: {counts:?}");
    }

    #[test]
    fn a_message_that_differs_each_time_is_no_flood() {
        let mut told = Told::default();
        let mut events = 0;
        for second in (0..86_400).step_by(10) {
            let message = format!("request {second} failed");
            events += i32::from(tell(&mut told, failure(&message), second) == Tell::Event);
        }
        assert!(events <= 25 + 86_400 / 300, "{events} Events in a day");
    }

    #[test]
    fn a_failure_whose_text_has_another_id_each_time_is_one_event() {
        let mut told = Told::default();
        let mut events = 0;
        for second in (0..86_400).step_by(120) {
            let message = format!("quota exceeded, request 4442587fb7d0{second:05x}");
            events += i32::from(tell(&mut told, failure(&message), second) == Tell::Event);
        }
        assert_eq!(events, 1);
    }

    #[test]
    fn what_changes_and_changes_back_is_told_each_time() {
        let mut told = Told::default();
        let mut second = 0;
        for _ in 0..3 {
            for reason in ["NodeHealthy", "NodeUnhealthy"] {
                assert_eq!(tell(&mut told, state(reason, ""), second), Tell::Event);
                assert_eq!(tell(&mut told, state(reason, ""), second), Tell::Nothing);
                second += 1;
            }
        }
    }

    #[test]
    fn after_a_restart_nothing_is_told_that_the_object_says_already() {
        let mut told = Told::default();
        let known = Item { is_known: true, ..state("NodeHealthy", "all is well") };
        assert_eq!(tell(&mut told, known, 0), Tell::Nothing);
        assert_eq!(tell(&mut told, state("NodeHealthy", "all is well"), 1), Tell::Nothing);
        assert_eq!(tell(&mut told, state("NodeUnhealthy", "not Ready"), 2), Tell::Event);
        assert_eq!(tell(&mut told, known, 3), Tell::Event, "it has changed back meanwhile");
    }

    #[test]
    fn what_another_event_says_as_well_is_not_told_then_nor_later() {
        let mut told = Told::default();
        let sick = Item { topic: "Healthy", ..state("NodeUnhealthy", "False") };
        assert_eq!(tell(&mut told, Item { is_implied: true, ..sick }, 0), Tell::Nothing);
        assert_eq!(tell(&mut told, sick, 700), Tell::Nothing);
        let well = Item { topic: "Healthy", ..state("NodeHealthy", "True") };
        assert_eq!(tell(&mut told, well, 800), Tell::Event);
    }

    #[test]
    fn topics_are_told_apart() {
        let mut told = Told::default();
        let drained = Item { topic: "Drained", ..state("PodsGone", "") };
        assert_eq!(tell(&mut told, drained, 0), Tell::Event);
        assert_eq!(tell(&mut told, state("Deleting", ""), 0), Tell::Event);
        assert_eq!(tell(&mut told, drained, 1), Tell::Nothing);
    }

    #[test]
    fn what_is_done_is_told_each_time_and_leaves_room_for_bad_news() {
        let mut told = Told::default();
        let deed = |same| Item { topic: "deed", is_deed: true, ..state("Scaled", same) };
        let tells: Vec<Tell> = (0..100).map(|_| told.decide(deed("the same"), at(0))).collect();
        assert_eq!(tells.iter().filter(|tell| **tell == Tell::Event).count(), 25);
        assert_eq!(told.decide(failure("no capacity"), at(0)), Tell::Event);
    }
}
