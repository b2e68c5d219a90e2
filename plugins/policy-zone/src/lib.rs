//! Health policy that answers unknown while a whole failure domain is silent. Then the zone, its network, or the API
//! server's view of the Machines is broken, and replacing the Machines would make it worse.
//!
//! The default rule judges Machines of other domains.

use machinist_sdk::policy::rule::sickness;
use machinist_sdk::policy::settings::out_of_range;
use machinist_sdk::policy::{Action, Domain, Health, LONG_MS, Log, Policy, Question, Verdict};
use serde::Deserialize;

/// The policy of the silent zone.
pub struct Zone;

/// The operator's settings of the policy.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub struct Settings {
    /// The share of silent Machines from which a domain is silent.
    silent_percent: u64,
    /// Smaller domains never count as silent: one of two is half of them.
    least_machines: u64,
    /// The time until the next check of a silent domain.
    recheck_seconds: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { silent_percent: 50, least_machines: 3, recheck_seconds: 30 }
    }
}

impl Policy for Zone {
    type Settings = Settings;

    const NAME: &'static str = "zone";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");
    const SCHEMA: &'static str = r#"{"type":"object","additionalProperties":false,"properties":{"silentPercent":{"type":"integer","minimum":1,"maximum":100,"default":50,"description":"From this share of silent Machines on, a failure domain is silent"},"leastMachines":{"type":"integer","minimum":2,"default":3,"description":"Domains with fewer Machines are never silent"},"recheckSeconds":{"type":"integer","minimum":1,"maximum":3600,"default":30,"description":"How soon a silent domain is looked at again"}}}"#;

    fn problem(settings: &Settings) -> Option<String> {
        out_of_range("silentPercent", settings.silent_percent, 1, 100)
            .or_else(|| out_of_range("leastMachines", settings.least_machines, 2, u64::from(u32::MAX)))
            .or_else(|| out_of_range("recheckSeconds", settings.recheck_seconds, 1, 3_600))
    }

    fn evaluate(settings: &Settings, question: &Question, now: u64, _: Log<'_>) -> Verdict {
        let Some(sick) = sickness(question, &question.machine.must_be_false, now) else {
            return Verdict {
                health: Health::Healthy,
                reason: "the Node is ready".to_owned(),
                action: Action::None,
                holds_until: now.saturating_add(LONG_MS),
            };
        };
        let holds_until = now.saturating_add(settings.recheck_seconds.saturating_mul(1_000));
        if is_silent(settings, &question.domain) {
            // The text has no numbers that change with each Node.
            let reason = format!(
                "at least {} % of the Machines in {} are silent: held until that is over",
                settings.silent_percent,
                place(&question.domain)
            );
            return Verdict { health: Health::Unknown, reason, action: Action::None, holds_until };
        }
        Verdict {
            health: Health::Unhealthy(sick.since),
            reason: sick.because,
            action: Action::Replace,
            holds_until,
        }
    }
}

fn is_silent(settings: &Settings, domain: &Domain) -> bool {
    let (machines, silent) = (u64::from(domain.machines), u64::from(domain.silent));
    machines >= settings.least_machines && silent * 100 >= settings.silent_percent * machines
}

fn place(domain: &Domain) -> String {
    match &domain.name {
        Some(name) => format!("failure domain {name}"),
        None => "an unknown failure domain".to_owned(),
    }
}

machinist_sdk::export_policy!(Zone);

#[cfg(test)]
mod tests {
    use machinist_sdk::mock::MockLog;
    use machinist_sdk::policy::Status;
    use machinist_sdk::policy::sample::{condition, question};

    use super::*;

    fn silent(machines: u32, silent: u32) -> Question {
        let mut asked = question();
        asked.node.as_mut().unwrap().conditions = vec![condition("Ready", Status::Unknown, 400)];
        asked.domain = Domain { name: Some("zone-a".to_owned()), machines, silent };
        asked
    }

    fn check(settings: &str, question: &Question, expected: &str) {
        let verdict =
            machinist_sdk::policy::evaluate::<Zone>(settings, question, 1_000, MockLog::default().log());
        let health = match verdict.health {
            Health::Healthy => "healthy",
            Health::Unhealthy(_) => "unhealthy",
            Health::Unknown => "unknown",
        };
        let shown = format!("{health} until {}: {}", verdict.holds_until, verdict.reason);
        assert_eq!(shown, expected);
    }

    const HELD: &str = "unknown until 31000: at least 50 % of the Machines in failure domain zone-a are silent: held until that is over";
    const SICK: &str = "unhealthy until 31000: Ready is Unknown";

    #[test]
    fn a_sick_machine_is_held_from_half_of_its_domain_on() {
        check("{}", &silent(4, 1), SICK);
        check("{}", &silent(4, 2), HELD);
        check("{}", &silent(5, 2), SICK);
        check("{}", &silent(5, 5), HELD);
        check(r#"{"silentPercent": 30}"#, &silent(10, 3), &HELD.replace("50", "30"));
    }

    #[test]
    fn a_domain_with_few_machines_is_never_silent() {
        check("{}", &silent(2, 2), SICK);
        check(r#"{"leastMachines": 2}"#, &silent(2, 2), HELD);
    }

    #[test]
    fn a_healthy_machine_is_healthy_however_silent_its_domain_is() {
        let mut asked = question();
        asked.domain.machines = 10;
        asked.domain.silent = 9;
        check("{}", &asked, "healthy until 43201000: the Node is ready");
    }

    #[test]
    fn a_domain_without_a_name_is_one_too() {
        let mut asked = silent(3, 3);
        asked.domain.name = None;
        check("{}", &asked, &HELD.replace("failure domain zone-a", "an unknown failure domain"));
    }

    #[test]
    fn numbers_that_cannot_be_are_named() {
        let problem = |settings| machinist_sdk::policy::read_settings::<Zone>(settings).unwrap_err();
        assert_eq!(problem(r#"{"silentPercent": 0}"#), "silentPercent is 0, and must be from 1 to 100");
        assert_eq!(
            problem(r#"{"leastMachines": 1}"#),
            "leastMachines is 1, and must be from 2 to 4294967295"
        );
        assert!(problem(r#"{"recheckSeconds": -1}"#).contains("-1"));
    }

    #[test]
    fn the_schema_names_the_settings() {
        for field in ["silentPercent", "leastMachines", "recheckSeconds"] {
            assert!(Zone::SCHEMA.contains(field), "{field}");
        }
    }
}
