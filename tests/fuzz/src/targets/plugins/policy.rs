//! Answers of health policies.

use jiff::Timestamp;
use machinist_core::health_policy::{
    Action, Asked, MAX_HOLD, MIN_HOLD, Mode, PolicyVerdict as Health, RawAnswer, opinion_of,
};
use machinist_plugin_host::testing::fuzz::{is_visible, policy_about, policy_reason};
use serde_json::{Value, json};

use crate::mutate::Grammar;
use crate::target::{Shape, Target, Verdict, promise};

pub(crate) const TARGET: Target = Target {
    name: "policy",
    about: "answers of health policies: an opinion is one visible sentence, began in the past and ends",
    grammar: Grammar::Json,
    samples,
    words: &["healthy", "unhealthy", "unknown", "reboot", "replace", "none"],
    share: 30,
    check,
};

/// The time of each call.
const NOW: i64 = 1_800_000_000_000;

fn samples() -> Vec<Vec<u8>> {
    let answer = |health: &str, action: &str| {
        json!({ "name": "zone", "version": "1.2.3", "schema": "{}", "health": health, "since": NOW - 60_000,
            "holds_until": NOW + 60_000, "action": action, "reason": "no heartbeat since 60 s" })
    };
    let answers = [answer("healthy", "none"), answer("unhealthy", "replace"), answer("unknown", "reboot")];
    answers.iter().map(|answer| answer.to_string().into_bytes()).collect()
}

fn check(input: &[u8]) -> Verdict {
    let answer: Value = serde_json::from_slice(input).unwrap_or_default();
    let text = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
    let about = policy_about(text("name"), text("version"), answer["schema"].as_str().map(str::to_owned));
    let shape = Shape::of_result(&about);
    match about {
        Ok(about) => {
            let short = about.name.len() <= 253 && about.version.to_string().len() <= 253;
            promise(short && is_visible(&about.name), || format!("a policy is called {:?}", about.name))?;
        }
        Err(failure) => {
            let message = failure.to_string();
            promise(message.len() < 1024 && is_visible(&message), || format!("a failure says {message:?}"))?;
        }
    }
    Ok(shape.and(opinion(&answer, &policy_reason(&text("reason")))?))
}

fn opinion(answer: &Value, reason: &str) -> Result<Shape, String> {
    let time = |name: &str| Timestamp::from_millisecond(answer[name].as_i64().unwrap_or_default());
    let now = Timestamp::from_millisecond(NOW).unwrap_or_default();
    let raw = RawAnswer {
        verdict: match answer["health"].as_str() {
            Some("healthy") => Health::Healthy,
            Some("unhealthy") => Health::Unhealthy { since: time("since").unwrap_or(Timestamp::MAX) },
            _ => Health::Unknown,
        },
        reason: reason.to_owned(),
        action: match answer["action"].as_str() {
            Some("reboot") => Action::Reboot,
            Some("replace") => Action::Replace,
            _ => Action::None,
        },
        holds_until: time("holds_until").unwrap_or(Timestamp::MIN),
    };
    let asked = Asked { policy: "zone".into(), mode: Mode::Enforce, generation: 1 };
    let opinion = opinion_of(&asked, Ok(raw), now);
    let said = &opinion.reason;
    promise(is_visible(said) && said.chars().count() <= 301 && !said.is_empty(), || {
        format!("it says {said:?}")
    })?;
    if let Health::Unhealthy { since } = opinion.verdict {
        promise(since <= now, || "it is unhealthy from tomorrow on".to_owned())?;
    }
    let holds = opinion.holds_until.duration_since(now);
    promise((MIN_HOLD..=MAX_HOLD).contains(&holds), || format!("an opinion holds for {holds}"))?;
    Ok(Shape::of(&format!("{:?}", opinion.verdict)))
}
