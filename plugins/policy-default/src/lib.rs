//! Health policy with the rule of machine-controller-manager, except that a Node without a `Ready` condition is not
//! healthy. The host uses the same rule without a policy; as a policy it can apply to some Machines only, with
//! conditions of their own, beside other policies.

use machinist_sdk::policy::rule::sickness;
use machinist_sdk::policy::{Action, Health, LONG_MS, Log, Policy, Question, Verdict};
use serde::Deserialize;

/// The policy with the default rule.
pub struct Default;

/// The operator's settings of the policy.
#[derive(Debug, Deserialize, std::default::Default)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub struct Settings {
    /// Types of conditions that must be False. Absent: those of the Machine.
    must_be_false: Option<Vec<String>>,
}

impl Policy for Default {
    type Settings = Settings;

    const NAME: &'static str = "default";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");
    const SCHEMA: &'static str = r#"{"type":"object","additionalProperties":false,"properties":{"mustBeFalse":{"type":"array","items":{"type":"string"},"description":"Types of Node conditions that must be False. Absent: those of the Machine"}}}"#;

    fn problem(settings: &Settings) -> Option<String> {
        let is_empty = settings.must_be_false.iter().flatten().any(String::is_empty);
        is_empty.then(|| "mustBeFalse has an empty entry: write types of Node conditions".to_owned())
    }

    fn evaluate(settings: &Settings, question: &Question, now: u64, _: Log<'_>) -> Verdict {
        let must_be_false = settings.must_be_false.as_ref().unwrap_or(&question.machine.must_be_false);
        let holds_until = now.saturating_add(LONG_MS);
        match sickness(question, must_be_false, now) {
            None => Verdict {
                health: Health::Healthy,
                reason: "the Node is ready".to_owned(),
                action: Action::None,
                holds_until,
            },
            Some(sick) => Verdict {
                health: Health::Unhealthy(sick.since),
                reason: sick.because,
                action: Action::Replace,
                holds_until,
            },
        }
    }
}

machinist_sdk::export_policy!(Default);

#[cfg(test)]
mod tests {
    use machinist_sdk::mock::MockLog;
    use machinist_sdk::policy::Status;
    use machinist_sdk::policy::sample::{condition, question};

    use super::*;

    fn check(settings: &str, question: &Question, expected: &str) {
        let verdict =
            machinist_sdk::policy::evaluate::<Default>(settings, question, 1_000, MockLog::default().log());
        let health = match verdict.health {
            Health::Healthy => "healthy".to_owned(),
            Health::Unhealthy(since) => format!("unhealthy since {since}"),
            Health::Unknown => "unknown".to_owned(),
        };
        assert_eq!(format!("{health}, {:?}: {}", verdict.action, verdict.reason), expected);
    }

    #[test]
    fn a_healthy_node_is_healthy_and_a_sick_one_is_to_be_replaced() {
        let mut asked = question();
        check("{}", &asked, "healthy, Action::None: the Node is ready");
        asked.node.as_mut().unwrap().conditions = vec![condition("Ready", Status::Unknown, 400)];
        check("{}", &asked, "unhealthy since 400, Action::Replace: Ready is Unknown");
        asked.node.as_mut().unwrap().conditions.clear();
        check("{}", &asked, "unhealthy since 0, Action::Replace: Ready is missing");
    }

    #[test]
    fn the_conditions_are_the_machines_unless_the_settings_name_others() {
        let mut asked = question();
        asked.node.as_mut().unwrap().conditions.push(condition("DiskPressure", Status::True, 300));
        check("{}", &asked, "unhealthy since 300, Action::Replace: DiskPressure is True");
        check(r#"{"mustBeFalse": []}"#, &asked, "healthy, Action::None: the Node is ready");
    }

    #[test]
    fn settings_that_cannot_be_are_named() {
        let problem = |settings| machinist_sdk::policy::read_settings::<Default>(settings).unwrap_err();
        assert!(problem(r#"{"mustBeFals": []}"#).starts_with("unknown field `mustBeFals`"));
        assert!(problem(r#"{"mustBeFalse": [""]}"#).starts_with("mustBeFalse has an empty entry"));
        assert!(problem("[]").starts_with("invalid"), "{}", problem("[]"));
    }

    #[test]
    fn the_schema_names_the_settings() {
        assert!(Default::SCHEMA.contains("\"mustBeFalse\""));
    }
}
