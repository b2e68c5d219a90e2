//! Decides between a new Event, a series and nothing: a change once, a repeated failure as a series, and never a flood.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use machinist_core::events::masked::masked;

use super::Event;

/// Events about one object before they become rare: more than a whole life has.
const BURST: u32 = 25;

/// Beyond the burst there is one for each of these.
const REFILL: SignedDuration = SignedDuration::from_mins(5);

/// A changed message under the same reason is reported again after this time at the earliest.
const SAME_REASON: SignedDuration = SignedDuration::from_mins(1);

/// How often the count of a series is written, as Kubernetes' own components do it.
const HEARTBEAT: SignedDuration = SignedDuration::from_mins(6);

/// The Events reported about one object.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReportedEvents {
    topics: BTreeMap<&'static str, LastReport>,
    states: Budget,
    /// A rollout has hundreds of actions: they must not use up the budget of failures.
    actions: Budget,
}

/// How many Events there may be.
#[derive(Clone, Debug, Default)]
struct Budget {
    used: u32,
    refilled: Option<Timestamp>,
}

/// The last report of a topic.
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

/// How a possible Event is reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EventDecision {
    Nothing,
    Event,
    /// By the count of this Event.
    Count(String, i32),
}

impl ReportedEvents {
    /// Decides how to report. After [`EventDecision::Event`] the caller passes its name to [`ReportedEvents::written`].
    pub(crate) fn decide(&mut self, event: &Event, now: Timestamp) -> EventDecision {
        if event.is_action {
            return if self.actions.may_write(now) { EventDecision::Event } else { EventDecision::Nothing };
        }
        if event.is_implied {
            self.remember(event, now);
            return EventDecision::Nothing;
        }
        let last = self.topics.get_mut(event.topic);
        if let Some(last) = last.filter(|last| last.reason == event.reason) {
            let is_same = last.same == sameness(event);
            let is_soon = now.duration_since(last.at) < SAME_REASON;
            if is_same || is_soon {
                return last.repeated(event.repeats, now);
            }
        } else if event.is_known && !event.repeats && !self.topics.contains_key(event.topic) {
            self.remember(event, now);
            return EventDecision::Nothing;
        }
        if !self.states.may_write(now) {
            return EventDecision::Nothing;
        }
        self.remember(event, now);
        EventDecision::Event
    }

    /// The Event of this topic has this name.
    pub(crate) fn written(&mut self, topic: &'static str, event: String) {
        if let Some(last) = self.topics.get_mut(topic) {
            last.event = Some(event);
        }
    }

    fn remember(&mut self, event: &Event, now: Timestamp) {
        let last = LastReport {
            reason: event.reason,
            same: sameness(event),
            at: now,
            event: None,
            count: 1,
            counted_at: now,
        };
        self.topics.insert(event.topic, last);
    }
}

/// Clouds put another id into each of their answers: a failure is compared without.
fn sameness(event: &Event) -> String {
    let same = event.same.as_deref().unwrap_or(&event.message);
    if event.repeats { masked(same) } else { same.to_owned() }
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
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

    use super::*;
    use crate::events::About;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn state(reason: &'static str, message: &str) -> Event {
        let about = About::of("Machine", &ObjectMeta::default());
        Event::normal(about, "state", reason, message.to_owned())
    }

    fn failure(message: &str) -> Event {
        Event { repeats: true, ..state("CreationFailed", message) }
    }

    /// Decides, and notes written Events.
    fn report(reports: &mut ReportedEvents, event: &Event, second: i64) -> EventDecision {
        let decision = reports.decide(event, at(second));
        if decision == EventDecision::Event {
            reports.written(event.topic, format!("event-{second}"));
        }
        decision
    }

    #[test]
    fn a_machine_that_fails_for_a_day_is_one_event_with_a_count() {
        let mut reports = ReportedEvents::default();
        let (mut events, mut counts) = (0, Vec::new());
        for second in (0..86_400).step_by(120) {
            match report(&mut reports, &failure("no capacity"), second) {
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
            events += i32::from(report(&mut reports, &failure(&message), second) == EventDecision::Event);
        }
        assert!(events <= 25 + 86_400 / 300, "{events} Events in a day");
    }

    #[test]
    fn a_failure_whose_text_has_another_id_each_time_is_one_event() {
        let mut reports = ReportedEvents::default();
        let mut events = 0;
        for second in (0..86_400).step_by(120) {
            let message = format!("quota exceeded, request 4442587fb7d0{second:05x}");
            events += i32::from(report(&mut reports, &failure(&message), second) == EventDecision::Event);
        }
        assert_eq!(events, 1);
    }

    #[test]
    fn a_state_that_changes_and_changes_back_is_reported_each_time() {
        let mut reports = ReportedEvents::default();
        let mut second = 0;
        for _ in 0..3 {
            for reason in ["NodeHealthy", "NodeUnhealthy"] {
                assert_eq!(report(&mut reports, &state(reason, ""), second), EventDecision::Event);
                assert_eq!(report(&mut reports, &state(reason, ""), second), EventDecision::Nothing);
                second += 1;
            }
        }
    }

    #[test]
    fn after_a_restart_nothing_is_reported_that_the_object_says_already() {
        let mut reports = ReportedEvents::default();
        let known = Event { is_known: true, ..state("NodeHealthy", "all is well") };
        assert_eq!(report(&mut reports, &known, 0), EventDecision::Nothing);
        assert_eq!(report(&mut reports, &state("NodeHealthy", "all is well"), 1), EventDecision::Nothing);
        assert_eq!(report(&mut reports, &state("NodeUnhealthy", "not Ready"), 2), EventDecision::Event);
        assert_eq!(report(&mut reports, &known, 3), EventDecision::Event, "it has changed back meanwhile");
    }

    #[test]
    fn a_change_that_another_event_reports_is_not_reported_then_nor_later() {
        let mut reports = ReportedEvents::default();
        let sick = Event { topic: "Healthy", ..state("NodeUnhealthy", "False") };
        assert_eq!(
            report(&mut reports, &Event { is_implied: true, ..sick.clone() }, 0),
            EventDecision::Nothing
        );
        assert_eq!(report(&mut reports, &sick, 700), EventDecision::Nothing);
        let well = Event { topic: "Healthy", ..state("NodeHealthy", "True") };
        assert_eq!(report(&mut reports, &well, 800), EventDecision::Event);
    }

    #[test]
    fn topics_are_reported_separately() {
        let mut reports = ReportedEvents::default();
        let drained = Event { topic: "Drained", ..state("PodsGone", "") };
        assert_eq!(report(&mut reports, &drained, 0), EventDecision::Event);
        assert_eq!(report(&mut reports, &state("Deleting", ""), 0), EventDecision::Event);
        assert_eq!(report(&mut reports, &drained, 1), EventDecision::Nothing);
    }

    #[test]
    fn each_action_is_reported_and_leaves_room_for_failures() {
        let mut reports = ReportedEvents::default();
        let action = Event { topic: "deed", is_action: true, ..state("Scaled", "the same") };
        let decisions: Vec<EventDecision> = (0..100).map(|_| reports.decide(&action, at(0))).collect();
        assert_eq!(decisions.iter().filter(|decision| **decision == EventDecision::Event).count(), 25);
        assert_eq!(reports.decide(&failure("no capacity"), at(0)), EventDecision::Event);
    }
}
