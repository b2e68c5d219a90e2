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
pub(crate) struct ReportedEvents {
    topics: BTreeMap<&'static str, LastReport>,
    states: Budget,
    /// A rollout takes hundreds of steps: they must not use up what bad news needs.
    actions: Budget,
}

/// How many Events there may be.
#[derive(Clone, Debug, Default)]
struct Budget {
    used: u32,
    refilled: Option<Timestamp>,
}

/// What was told last about a topic.
#[derive(Clone, Debug)]
struct LastReport {
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
pub(crate) struct EventFact<'a> {
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
    pub is_action: bool,
}

/// How it is to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EventDecision {
    /// Not at all.
    Nothing,
    /// By an Event.
    Event,
    /// By the count of this Event.
    Count(String, i32),
}

impl ReportedEvents {
    /// Decides how to tell. After [`EventDecision::Event`] the caller says which one it was.
    pub(crate) fn decide(&mut self, item: EventFact<'_>, now: Timestamp) -> EventDecision {
        if item.is_action {
            return if self.actions.may_write(now) { EventDecision::Event } else { EventDecision::Nothing };
        }
        if item.is_implied {
            self.remember(item, None, now);
            return EventDecision::Nothing;
        }
        let last = self.topics.get_mut(item.topic);
        if let Some(last) = last.filter(|last| last.reason == item.reason) {
            let is_same = last.same == sameness(item);
            let is_soon = now.duration_since(last.at) < SAME_REASON;
            if is_same || is_soon {
                return last.repeated(item.repeats, now);
            }
        } else if item.is_known && !item.repeats && !self.topics.contains_key(item.topic) {
            self.remember(item, None, now);
            return EventDecision::Nothing;
        }
        if !self.states.may_write(now) {
            return EventDecision::Nothing;
        }
        self.remember(item, None, now);
        EventDecision::Event
    }

    /// The Event of this topic has this name.
    pub(crate) fn written(&mut self, topic: &'static str, event: String) {
        if let Some(last) = self.topics.get_mut(topic) {
            last.event = Some(event);
        }
    }

    fn remember(&mut self, item: EventFact<'_>, event: Option<String>, now: Timestamp) {
        let last = LastReport {
            reason: item.reason,
            same: sameness(item),
            at: now,
            event,
            count: 1,
            counted_at: now,
        };
        self.topics.insert(item.topic, last);
    }
}

/// Clouds put another id into each of their answers: a failure is compared without.
fn sameness(item: EventFact<'_>) -> String {
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

impl LastReport {
    fn repeated(&mut self, repeats: bool, now: Timestamp) -> EventDecision {
        if !repeats {
            return EventDecision::Nothing;
        }
        self.count = self.count.saturating_add(1);
        let is_due = self.count == 2 || now.duration_since(self.counted_at) >= HEARTBEAT;
        match &self.event {
            Some(event) if is_due => {
                self.counted_at = now;
                EventDecision::Count(event.clone(), self.count)
            }
            Some(_) | None => EventDecision::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn failure(same: &str) -> EventFact<'_> {
        EventFact {
            topic: "state",
            reason: "CreationFailed",
            same,
            repeats: true,
            is_known: false,
            is_implied: false,
            is_action: false,
        }
    }

    fn state<'a>(reason: &'static str, same: &'a str) -> EventFact<'a> {
        EventFact {
            topic: "state",
            reason,
            same,
            repeats: false,
            is_known: false,
            is_implied: false,
            is_action: false,
        }
    }

    /// Decides, and writes what is to be written.
    fn report(reports: &mut ReportedEvents, item: EventFact<'_>, second: i64) -> EventDecision {
        let decision = reports.decide(item, at(second));
        if decision == EventDecision::Event {
            reports.written(item.topic, format!("event-{second}"));
        }
        decision
    }

    #[test]
    fn a_machine_that_fails_for_a_day_is_one_event_with_a_count() {
        let mut reports = ReportedEvents::default();
        let (mut events, mut counts) = (0, Vec::new());
        for second in (0..86_400).step_by(120) {
            match report(&mut reports, failure("no capacity"), second) {
                EventDecision::Event => events += 1,
                EventDecision::Count(event, count) => {
                    assert_eq!(event, "event-0");
                    counts.push(count);
                }
                EventDecision::Nothing => {}
            }
        }
        assert_eq!(events, 1);
        assert_eq!(counts.first(), Some(&2), "the second failure begins the series");
        assert!(counts.len() <= 241 && counts.last() > Some(&700), "counted every six minutes: {counts:?}");
    }

    #[test]
    fn a_message_that_differs_each_time_is_no_flood() {
        let mut reports = ReportedEvents::default();
        let mut events = 0;
        for second in (0..86_400).step_by(10) {
            let message = format!("request {second} failed");
            events += i32::from(report(&mut reports, failure(&message), second) == EventDecision::Event);
        }
        assert!(events <= 25 + 86_400 / 300, "{events} Events in a day");
    }

    #[test]
    fn a_failure_whose_text_has_another_id_each_time_is_one_event() {
        let mut reports = ReportedEvents::default();
        let mut events = 0;
        for second in (0..86_400).step_by(120) {
            let message = format!("quota exceeded, request 4442587fb7d0{second:05x}");
            events += i32::from(report(&mut reports, failure(&message), second) == EventDecision::Event);
        }
        assert_eq!(events, 1);
    }

    #[test]
    fn a_state_that_changes_and_changes_back_is_reported_each_time() {
        let mut reports = ReportedEvents::default();
        let mut second = 0;
        for _ in 0..3 {
            for reason in ["NodeHealthy", "NodeUnhealthy"] {
                assert_eq!(report(&mut reports, state(reason, ""), second), EventDecision::Event);
                assert_eq!(report(&mut reports, state(reason, ""), second), EventDecision::Nothing);
                second += 1;
            }
        }
    }

    #[test]
    fn after_a_restart_nothing_is_reported_that_the_object_says_already() {
        let mut reports = ReportedEvents::default();
        let known = EventFact { is_known: true, ..state("NodeHealthy", "all is well") };
        assert_eq!(report(&mut reports, known, 0), EventDecision::Nothing);
        assert_eq!(report(&mut reports, state("NodeHealthy", "all is well"), 1), EventDecision::Nothing);
        assert_eq!(report(&mut reports, state("NodeUnhealthy", "not Ready"), 2), EventDecision::Event);
        assert_eq!(report(&mut reports, known, 3), EventDecision::Event, "it has changed back meanwhile");
    }

    #[test]
    fn a_change_that_another_event_reports_is_not_reported_then_nor_later() {
        let mut reports = ReportedEvents::default();
        let sick = EventFact { topic: "Healthy", ..state("NodeUnhealthy", "False") };
        assert_eq!(report(&mut reports, EventFact { is_implied: true, ..sick }, 0), EventDecision::Nothing);
        assert_eq!(report(&mut reports, sick, 700), EventDecision::Nothing);
        let well = EventFact { topic: "Healthy", ..state("NodeHealthy", "True") };
        assert_eq!(report(&mut reports, well, 800), EventDecision::Event);
    }

    #[test]
    fn topics_are_reported_separately() {
        let mut reports = ReportedEvents::default();
        let drained = EventFact { topic: "Drained", ..state("PodsGone", "") };
        assert_eq!(report(&mut reports, drained, 0), EventDecision::Event);
        assert_eq!(report(&mut reports, state("Deleting", ""), 0), EventDecision::Event);
        assert_eq!(report(&mut reports, drained, 1), EventDecision::Nothing);
    }

    #[test]
    fn each_action_is_reported_and_leaves_room_for_failures() {
        let mut reports = ReportedEvents::default();
        let action = |same| EventFact { topic: "deed", is_action: true, ..state("Scaled", same) };
        let decisions: Vec<EventDecision> =
            (0..100).map(|_| reports.decide(action("the same"), at(0))).collect();
        assert_eq!(decisions.iter().filter(|decision| **decision == EventDecision::Event).count(), 25);
        assert_eq!(reports.decide(failure("no capacity"), at(0)), EventDecision::Event);
    }
}
