//! Between the contract's types and core's.

use jiff::Timestamp;
use machinist_core::driver::error::GuestFailure;
use machinist_core::health_policy::{
    Action, ConditionFact, DomainFact, HistoryFact, NodeQuestion, PolicyQuestion, PolicyVerdict, RawAnswer,
    Subject,
};
use machinist_core::machine::node::health::ConditionStatus;
use machinist_core::value::phase::Phase;

use crate::calls::bindings::policy::machinist::policy::types as wit;
use crate::output_limits::{self, NAME_BYTES, SCHEMA_BYTES, TEXT_BYTES, broken, identifier, opaque};

pub(crate) fn question(question: &PolicyQuestion) -> wit::Question {
    wit::Question {
        machine: machine(&question.machine),
        node: question.node.as_ref().map(node),
        history: history(&question.history),
        domain: domain(&question.domain),
    }
}

fn machine(machine: &Subject) -> wit::Machine {
    let timeout = |timeout: jiff::SignedDuration| u64::try_from(timeout.as_millis()).unwrap_or(0);
    wit::Machine {
        namespace: machine.key.namespace.to_string(),
        name: machine.key.name.to_string(),
        uid: machine.uid.to_string(),
        class: machine.class.to_string(),
        deployment: machine.deployment.clone(),
        labels: machine.labels.clone().into_iter().collect(),
        provider_id: machine.provider_id.as_ref().map(ToString::to_string),
        created: time(machine.created),
        health_timeout_ms: machine.health_timeout.map(timeout),
        must_be_false: machine.must_be_false.clone(),
        can_reboot: machine.can_reboot,
    }
}

fn node(node: &NodeQuestion) -> wit::Node {
    wit::Node {
        name: node.name.to_string(),
        created: node.created.map(time),
        labels: node.labels.clone().into_iter().collect(),
        unschedulable: node.is_unschedulable,
        conditions: node.conditions.iter().map(condition).collect(),
    }
}

fn condition(condition: &ConditionFact) -> wit::Condition {
    wit::Condition {
        kind: condition.kind.clone(),
        status: match condition.status {
            ConditionStatus::True => wit::Status::True,
            ConditionStatus::False => wit::Status::False,
            ConditionStatus::Unknown => wit::Status::Unknown,
        },
        reason: condition.reason.clone(),
        message: condition.message.clone(),
        since: condition.since.map(time),
    }
}

fn history(history: &HistoryFact) -> wit::History {
    wit::History {
        phase: match history.phase {
            Phase::Unknown => wit::Phase::Unknown,
            Phase::Failed => wit::Phase::Failed,
            Phase::New
            | Phase::Pending
            | Phase::Available
            | Phase::Running
            | Phase::Terminating
            | Phase::CrashLoopBackOff
            | Phase::InPlaceUpdating
            | Phase::InPlaceUpdateSuccessful
            | Phase::InPlaceUpdateFailed => wit::Phase::Running,
        },
        phase_since: history.phase_since.map(time),
        reboots: history.reboots.iter().copied().map(time).collect(),
    }
}

fn domain(domain: &DomainFact) -> wit::Domain {
    wit::Domain {
        name: domain.name.as_ref().map(ToString::to_string),
        machines: domain.machines,
        silent: domain.silent,
    }
}

pub(crate) fn answer(verdict: &wit::Verdict) -> RawAnswer {
    RawAnswer {
        verdict: match verdict.health {
            wit::Health::Healthy => PolicyVerdict::Healthy,
            wit::Health::Unhealthy(since) => PolicyVerdict::Unhealthy { since: moment(since) },
            wit::Health::Unknown => PolicyVerdict::Unknown,
        },
        reason: reason(&verdict.reason),
        action: match verdict.action {
            wit::Action::None => Action::None,
            wit::Action::Reboot => Action::Reboot,
            wit::Action::Replace => Action::Replace,
        },
        holds_until: moment(verdict.holds_until),
    }
}

/// For people: in conditions, Events and logs.
pub(crate) fn reason(text: &str) -> String {
    let blank = |character: char| character.is_whitespace() || character.is_control();
    let line: String = text.chars().map(|character| if blank(character) { ' ' } else { character }).collect();
    output_limits::text(&line, TEXT_BYTES)
}

pub(crate) fn time(at: Timestamp) -> u64 {
    u64::try_from(at.as_millisecond()).unwrap_or(0)
}

/// Converts a time. Times beyond the calendar become its end: the effect of a verdict is bounded elsewhere.
fn moment(milliseconds: u64) -> Timestamp {
    i64::try_from(milliseconds)
        .ok()
        .and_then(|milliseconds| Timestamp::from_millisecond(milliseconds).ok())
        .unwrap_or(Timestamp::MAX)
}

/// A policy's description of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyAbout {
    pub name: String,
    pub version: semver::Version,
    /// JSON Schema of its settings.
    pub settings_schema: Option<String>,
}

pub(crate) fn about(about: wit::About) -> Result<PolicyAbout, GuestFailure> {
    checked(about.name, about.version, about.settings_schema)
}

/// Names and versions are identifiers: whole and visible, or refused.
pub(crate) fn checked(
    name: String,
    version: String,
    settings_schema: Option<String>,
) -> Result<PolicyAbout, GuestFailure> {
    let version = identifier("describe: a version", version, NAME_BYTES)?;
    let version = version
        .parse()
        .map_err(|_| broken(format!("describe: version {version:?} is not a semantic version")))?;
    let name = identifier("describe: a name", name, NAME_BYTES)?;
    if name.trim().is_empty() {
        return Err(broken("describe: the name is empty"));
    }
    let settings_schema = settings_schema
        .map(|schema| opaque("describe: a schema of settings", schema, SCHEMA_BYTES))
        .transpose()?;
    Ok(PolicyAbout { name, version, settings_schema })
}

#[cfg(test)]
mod about_tests {
    use super::*;

    #[test]
    fn a_policys_description_is_whole_and_visible_or_refused() {
        let says = |name: &str, version: &str, schema: Option<usize>| {
            checked(name.to_owned(), version.to_owned(), schema.map(|bytes| "x".repeat(bytes)))
        };
        assert!(says("zone", "1.2.3", Some(SCHEMA_BYTES)).is_ok());
        let long = "x".repeat(NAME_BYTES + 1);
        for (name, version, schema) in [
            (" ", "1.0.0", None),
            ("zone", "new", None),
            (long.as_str(), "1.0.0", None),
            ("zone\u{1b}[2J", "1.0.0", None),
            ("zone", &format!("1.0.0-{long}"), None),
            ("zone", "1.0.0", Some(SCHEMA_BYTES + 1)),
        ] {
            assert!(
                matches!(says(name, version, schema), Err(GuestFailure::Contract { .. })),
                "{name} {version}"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_bounded_and_commands_nothing() {
        assert_eq!(reason("no heartbeat\u{202e}\u{1b}[2J"), "no heartbeat\\u{202e} [2J");
        assert!(reason(&"x".repeat(10 << 20)).len() < TEXT_BYTES + 50);
    }
}
