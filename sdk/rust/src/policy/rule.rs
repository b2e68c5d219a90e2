//! The standard rule: `Ready` is True, and no condition on the list has another status than False.

use super::{Condition, Question, Status};

/// The condition by which a kubelet reports that its Node accepts pods.
pub const READY: &str = "Ready";

/// The reason why a Node is unhealthy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sickness {
    /// One text for one state: causes sorted, no times.
    pub because: String,
    /// The time of the earliest cause.
    pub since: u64,
}

/// Returns the problem of a Node. `None` if the Node is healthy. A missing `Ready` is unhealthy: such a Node has not
/// shown that it works.
pub fn sickness(question: &Question, must_be_false: &[String], now: u64) -> Option<Sickness> {
    let phase_since = question.history.phase_since.unwrap_or(now);
    let Some(node) = &question.node else {
        return Some(Sickness { because: "the Node is gone".to_owned(), since: phase_since });
    };
    let speaks_against = |condition: &&Condition| {
        let is_not_ready = condition.kind == READY && condition.status != Status::True;
        is_not_ready || (condition.status != Status::False && must_be_false.contains(&condition.kind))
    };
    let against: Vec<&Condition> = node.conditions.iter().filter(speaks_against).collect();
    let mut causes: Vec<String> =
        against.iter().map(|condition| format!("{} is {}", condition.kind, name(condition.status))).collect();
    let mut times: Vec<u64> =
        against.iter().map(|condition| condition.since.unwrap_or(phase_since)).collect();
    if !node.conditions.iter().any(|condition| condition.kind == READY) {
        causes.push(format!("{READY} is missing"));
        times.push(node.created.unwrap_or(phase_since));
    }
    causes.sort();
    causes.dedup();
    let since = times.into_iter().min()?;
    Some(Sickness { because: causes.join(", "), since })
}

fn name(status: Status) -> &'static str {
    match status {
        Status::True => "True",
        Status::False => "False",
        Status::Unknown => "Unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::sample::{condition, question};

    fn check(conditions: &[(&str, Status)], expected: Option<&str>) {
        let mut asked = question();
        let node = asked.node.as_mut().unwrap();
        node.conditions = conditions.iter().map(|(kind, status)| condition(kind, *status, 50)).collect();
        let found = sickness(&asked, &["DiskPressure".to_owned()], 100);
        assert_eq!(found.as_ref().map(|found| found.because.as_str()), expected, "{conditions:?}");
    }

    #[test]
    fn a_node_is_healthy_when_it_is_ready_and_nothing_listed_speaks_against_it() {
        check(&[(READY, Status::True)], None);
        check(&[(READY, Status::True), ("DiskPressure", Status::False)], None);
        check(&[(READY, Status::True), ("MemoryPressure", Status::True)], None);
        check(&[(READY, Status::False)], Some("Ready is False"));
        check(&[(READY, Status::Unknown)], Some("Ready is Unknown"));
        check(&[(READY, Status::True), ("DiskPressure", Status::Unknown)], Some("DiskPressure is Unknown"));
        check(
            &[(READY, Status::False), ("DiskPressure", Status::True)],
            Some("DiskPressure is True, Ready is False"),
        );
    }

    #[test]
    fn a_node_that_says_nothing_of_itself_is_not_healthy() {
        check(&[], Some("Ready is missing"));
        check(&[("ready", Status::True)], Some("Ready is missing"));
    }

    #[test]
    fn a_node_that_is_gone_is_not_healthy_since_its_machine_says_so() {
        let mut asked = question();
        asked.node = None;
        asked.history.phase_since = Some(70);
        let found = sickness(&asked, &[], 100).unwrap();
        assert_eq!((found.because.as_str(), found.since), ("the Node is gone", 70));
    }

    #[test]
    fn a_sickness_is_as_old_as_its_oldest_cause() {
        let mut asked = question();
        let node = asked.node.as_mut().unwrap();
        node.conditions =
            vec![condition(READY, Status::False, 80), condition("DiskPressure", Status::True, 30)];
        assert_eq!(sickness(&asked, &["DiskPressure".to_owned()], 100).unwrap().since, 30);
    }
}
