//! Health policy that escalates: wait, reboot, wait for the effect, replace.
//!
//! The question contains earlier reboots, so the policy has no state. If the driver cannot reboot VMs, the policy skips
//! the second step; a failed Machine is at the end of the ladder.

use machinist_sdk::policy::rule::sickness;
use machinist_sdk::policy::settings::out_of_range;
use machinist_sdk::policy::{Action, Health, LONG_MS, Log, Phase, Policy, Question, Verdict};
use serde::Deserialize;

/// The policy with the ladder.
pub struct Ladder;

/// The operator's settings of the policy.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub struct Settings {
    /// How long a Machine is unhealthy before its VM is rebooted.
    reboot_after_seconds: u64,
    /// The number of reboots within the window.
    reboots: u64,
    /// The time for a reboot to help.
    recovery_seconds: u64,
    /// Earlier reboots do not count.
    window_seconds: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { reboot_after_seconds: 120, reboots: 1, recovery_seconds: 600, window_seconds: 6 * 3_600 }
    }
}

const DAY_SECONDS: u64 = 86_400;

impl Policy for Ladder {
    type Settings = Settings;

    const NAME: &'static str = "ladder";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");
    const SCHEMA: &'static str = r#"{"type":"object","additionalProperties":false,"properties":{"rebootAfterSeconds":{"type":"integer","minimum":0,"maximum":86400,"default":120,"description":"How long a Machine is sick before its VM is rebooted"},"reboots":{"type":"integer","minimum":0,"maximum":10,"default":1,"description":"How often that is tried within the window"},"recoverySeconds":{"type":"integer","minimum":1,"maximum":86400,"default":600,"description":"How long each reboot has to help"},"windowSeconds":{"type":"integer","minimum":1,"maximum":86400,"default":21600,"description":"Reboots that lie further back do not count"}}}"#;

    fn problem(settings: &Settings) -> Option<String> {
        out_of_range("rebootAfterSeconds", settings.reboot_after_seconds, 0, DAY_SECONDS)
            .or_else(|| out_of_range("reboots", settings.reboots, 0, 10))
            .or_else(|| out_of_range("recoverySeconds", settings.recovery_seconds, 1, DAY_SECONDS))
            .or_else(|| out_of_range("windowSeconds", settings.window_seconds, 1, DAY_SECONDS))
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
        let rung = rung(settings, question, sick.since, now);
        Verdict {
            health: Health::Unhealthy(sick.since),
            reason: format!("{}; {}", sick.because, rung.why),
            action: rung.action,
            holds_until: rung.until,
        }
    }
}

/// A step of the ladder, and its end.
struct Rung {
    action: Action,
    why: &'static str,
    until: u64,
}

/// The time until the next check after a reboot was requested: by then the history contains it.
const AFTER_ASKING_MS: u64 = 60_000;

fn rung(settings: &Settings, question: &Question, since: u64, now: u64) -> Rung {
    let milliseconds = |seconds: u64| seconds.saturating_mul(1_000);
    let replace = |why| Rung { action: Action::Replace, why, until: now.saturating_add(LONG_MS) };
    if question.history.phase == Phase::Failed {
        return replace("it has failed, so it is to be replaced");
    }
    if !question.machine.can_reboot {
        return replace("its driver cannot reboot the VM, so it is to be replaced");
    }
    let window_began = now.saturating_sub(milliseconds(settings.window_seconds));
    let tried: Vec<u64> =
        question.history.reboots.iter().copied().filter(|time| *time > window_began).collect();
    let has_tries_left = u64::try_from(tried.len()).is_ok_and(|tried| tried < settings.reboots);
    let wait_until = match tried.iter().max() {
        None if settings.reboots == 0 => now,
        None => since.saturating_add(milliseconds(settings.reboot_after_seconds)),
        Some(last) => last.saturating_add(milliseconds(settings.recovery_seconds)),
    };
    if now < wait_until {
        let why = if tried.is_empty() {
            "it gets time to recover before its VM is rebooted"
        } else {
            "its VM was rebooted, and gets time to come up"
        };
        return Rung { action: Action::None, why, until: wait_until };
    }
    if has_tries_left {
        let until = now.saturating_add(AFTER_ASKING_MS);
        return Rung { action: Action::Reboot, why: "it does not recover by itself", until };
    }
    replace("rebooting its VM has not helped, so it is to be replaced")
}

machinist_sdk::export_policy!(Ladder);

#[cfg(test)]
mod tests {
    use machinist_sdk::mock::MockLog;
    use machinist_sdk::policy::Status;
    use machinist_sdk::policy::sample::{condition, question};

    use super::*;

    /// Checks a Machine that is unhealthy since second 0; `reboots` and `now` are in seconds.
    fn check(settings: &str, reboots: &[u64], now: u64, expected: &str) {
        let mut asked = question();
        asked.node.as_mut().unwrap().conditions = vec![condition("Ready", Status::False, 0)];
        asked.history.reboots = reboots.iter().map(|second| second * 1_000).collect();
        check_question(settings, &asked, now, expected);
    }

    fn check_question(settings: &str, asked: &Question, now: u64, expected: &str) {
        let verdict =
            machinist_sdk::policy::evaluate::<Ladder>(settings, asked, now * 1_000, MockLog::default().log());
        let until = (verdict.holds_until / 1_000).saturating_sub(now);
        assert_eq!(format!("{:?} for {until} s: {}", verdict.action, verdict.reason), expected);
    }

    const SOON: &str = "Ready is False; it gets time to recover before its VM is rebooted";
    const REBOOT: &str = "Action::Reboot for 60 s: Ready is False; it does not recover by itself";
    const HOPE: &str = "Ready is False; its VM was rebooted, and gets time to come up";
    const REPLACE: &str = "Action::Replace for 43200 s: Ready is False; rebooting its VM has not helped, so it is to be replaced";

    #[test]
    fn a_sick_machine_is_rebooted_then_replaced() {
        check("{}", &[], 20, &format!("Action::None for 100 s: {SOON}"));
        check("{}", &[], 120, REBOOT);
        check("{}", &[120], 120, &format!("Action::None for 600 s: {HOPE}"));
        check("{}", &[120], 719, &format!("Action::None for 1 s: {HOPE}"));
        check("{}", &[120], 720, REPLACE);
    }

    #[test]
    fn each_reboot_gets_its_time() {
        let twice = r#"{"reboots": 2, "recoverySeconds": 700}"#;
        check(twice, &[100], 300, &format!("Action::None for 500 s: {HOPE}"));
        check(twice, &[100], 800, REBOOT);
        check(twice, &[100, 800], 1_500, REPLACE);
        check(r#"{"reboots": 0}"#, &[], 1, REPLACE);
    }

    #[test]
    fn reboots_of_an_older_problem_do_not_count() {
        check(r#"{"windowSeconds": 1000}"#, &[500], 1_501, REBOOT);
    }

    #[test]
    fn where_nothing_can_be_rebooted_a_sick_machine_is_replaced() {
        let mut asked = question();
        asked.node = None;
        asked.machine.can_reboot = false;
        check_question(
            "{}",
            &asked,
            5,
            "Action::Replace for 43200 s: the Node is gone; its driver cannot reboot the VM, so it is to be replaced",
        );
    }

    #[test]
    fn a_machine_that_has_failed_is_to_be_replaced_whatever_was_tried() {
        let mut asked = question();
        asked.node.as_mut().unwrap().conditions = vec![condition("Ready", Status::False, 0)];
        asked.history.phase = Phase::Failed;
        for reboots in [vec![], vec![4_000]] {
            asked.history.reboots = reboots;
            check_question(
                "{}",
                &asked,
                500,
                "Action::Replace for 43200 s: Ready is False; it has failed, so it is to be replaced",
            );
        }
    }

    #[test]
    fn a_healthy_machine_is_left_alone() {
        check_question("{}", &question(), 9, "Action::None for 43200 s: the Node is ready");
    }

    #[test]
    fn numbers_that_cannot_be_are_named() {
        let problem = |settings| machinist_sdk::policy::read_settings::<Ladder>(settings).unwrap_err();
        assert_eq!(problem(r#"{"reboots": 11}"#), "reboots is 11, and must be from 0 to 10");
        assert_eq!(problem(r#"{"recoverySeconds": 0}"#), "recoverySeconds is 0, and must be from 1 to 86400");
    }

    #[test]
    fn the_schema_names_the_settings() {
        for field in ["rebootAfterSeconds", "reboots", "recoverySeconds", "windowSeconds"] {
            assert!(Ladder::SCHEMA.contains(field), "{field}");
        }
    }
}
