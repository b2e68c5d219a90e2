//! Values that must stay secret.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use machinist_core::driver::error::CallError;

use super::checks;
use crate::case::{Case, Outcome, must, skipped};
use crate::profile::Profile;
use crate::proxy::{Effect, On, Times, canned};

checks! {
    "secrets/messages" Shared cloud messages "no error holds a secret, user data or a placeholder of one";
    "secrets/logs" Shared cloud logs "no line of the log holds a secret, user data or a placeholder of one";
    "secrets/answers" Shared cloud answers "no answer holds a secret, user data or a placeholder of one";
}

/// The text that the host puts in the place of a secret that it finds: then the driver has written one.
const MASK: &str = "***";
const PLACEHOLDER: &str = "x0machinist0secret0x";
/// Shorter values are found everywhere.
const SHORTEST: usize = 6;

/// The values and what a driver might have made of them, each with its name.
fn traces(profile: &Profile) -> Vec<(String, String)> {
    let lines = profile
        .user_data
        .lines()
        .filter(|line| line.len() >= 12)
        .map(|line| ("the user data".to_owned(), line));
    let values = profile.secrets.iter().map(|(key, value)| (format!("the secret {key}"), value.as_str()));
    let mut traces = vec![
        ("a secret that the host had to take out".to_owned(), MASK.to_owned()),
        ("a placeholder of a secret".to_owned(), PLACEHOLDER.to_owned()),
    ];
    for (name, value) in lines.chain(values).filter(|(_, value)| value.len() >= SHORTEST) {
        let hex: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
        for (form, text) in [
            ("", value.to_owned()),
            (" in base64", STANDARD_NO_PAD.encode(value)),
            (" in base64", URL_SAFE_NO_PAD.encode(value)),
            (" in hex", hex),
            (" backwards", value.chars().rev().collect()),
        ] {
            traces.push((format!("{name}{form}"), text));
        }
    }
    traces
}

fn clean(case: &Case, texts: &[String], what: &str) -> Outcome {
    for (name, trace) in traces(case.profile()) {
        // Not the text itself: the report is read by others.
        must(!texts.iter().any(|text| text.to_lowercase().contains(&trace.to_lowercase())), || {
            format!("{what} holds {name}")
        })?;
    }
    Ok(())
}

/// Calls that fail in many ways; what they say.
async fn failures(case: &Case) -> Vec<String> {
    let effects = [
        Effect::Instead(canned(500, &[], "internal error")),
        Effect::Instead(canned(403, &[], "no")),
        Effect::Instead(canned(400, &[], "bad")),
        Effect::LoseAnswer,
        Effect::Instead(canned(200, &[], "{")),
    ];
    let mut said = Vec::new();
    for (index, effect) in effects.into_iter().enumerate() {
        case.stage.proxy.disturb(On::Any, Times::Always, effect);
        let mut machine = case.machine(&format!("failure-{index}"));
        let errors = [
            case.create(&mut machine).await.err(),
            case.status(&mut machine).await.err(),
            case.delete(&mut machine).await.err(),
            case.list().await.err(),
        ];
        said.extend(errors.into_iter().flatten().map(|error| match error {
            CallError::Guest(error) => format!("{error:?}"),
            other => other.to_string(),
        }));
    }
    case.stage.proxy.calm();
    said
}

/// A life in which nothing fails; what the calls answer.
async fn successes(case: &Case, name: &str) -> Vec<String> {
    let mut machine = case.machine(name);
    let created = case.create_to_end(&mut machine).await;
    let seen = case.status(&mut machine).await;
    let finished = case.initialize(&mut machine).await;
    let listed = case.list().await;
    let deleted = case.delete(&mut machine).await;
    vec![
        created.map(|vm| format!("{vm:?}")).unwrap_or_default(),
        seen.map(|vm| format!("{vm:?}")).unwrap_or_default(),
        finished.map(|vm| format!("{vm:?}")).unwrap_or_default(),
        listed.map(|machines| format!("{machines:?}")).unwrap_or_default(),
        deleted.map(|deletion| format!("{deletion:?}")).unwrap_or_default(),
        machine.state.unwrap_or_default(),
    ]
}

async fn messages(case: Case) -> Outcome {
    let said = failures(&case).await;
    if said.is_empty() {
        return skipped("no call has failed");
    }
    clean(&case, &said, "an error")
}

async fn logs(case: Case) -> Outcome {
    successes(&case, "logs").await;
    failures(&case).await;
    let lines = case.stage.observed().lines.clone();
    clean(&case, &lines, "a line of the log")
}

async fn answers(case: Case) -> Outcome {
    let said = successes(&case, "answers").await;
    clean(&case, &said, "an answer")
}
