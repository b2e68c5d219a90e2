//! Faults of the simulated cloud that tests and benchmarks share.

use simcloud::{Code, Effect, Faults, Match, Rule};

/// Answers these shares of all calls with 429 and with 500, by chance. The cloud does nothing for such a call.
pub fn failing(throttled: f64, broken: f64) -> Faults {
    let rule = |code, retry_after, probability| Rule {
        name: None,
        matches: Match {
            path: Some("/v1/**".to_owned()),
            probability: Some(probability),
            ..Match::default()
        },
        effect: error(code, retry_after),
    };
    let rules = [
        (throttled > 0.0).then(|| rule(Code::Throttled, Some(1), throttled)),
        // This rule sees only the calls that the one before has let through.
        (broken > 0.0).then(|| rule(Code::Internal, None, broken / (1.0 - throttled))),
    ];
    Faults { rules: rules.into_iter().flatten().collect(), ..Faults::default() }
}

/// Answers all look-ups with 500.
pub fn failing_looks() -> Faults {
    let matches =
        Match { method: Some("GET".to_owned()), path: Some("/v1/**".to_owned()), ..Match::default() };
    Faults {
        rules: vec![Rule { name: None, matches, effect: error(Code::Internal, None) }],
        ..Faults::default()
    }
}

fn error(code: Code, retry_after: Option<u64>) -> Effect {
    Effect::Error { code, status: None, retry_after, message: None, after_commit: false }
}
