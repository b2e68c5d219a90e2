//! The cloud says no, and the driver says why.

use machinist_core::driver::error::{Code, DriverError};

use super::lost::knows_requests;
use crate::case::{Case, Outcome, guest, must, skipped};
use crate::checks::checks;
use crate::profile::Refused;
use crate::proxy::{Effect, On, RequestKind, Times, canned};

checks! {
    "refusal/code" Own cloud code "each refusal of the cloud has its code of the contract";
    "refusal/terminal" Own cloud terminal "a refusal is terminal when no retry helps, and else it is not";
    "refusal/nothing-happened" Own cloud nothing_happened "a refused create has not happened";
    "refusal/no-secret" Shared cloud no_secret
        "a Secret without credentials is an error that names the trouble, and nothing is asked";
    "refusal/message" Shared cloud message
        "a message has one line and at most 2,000 characters, whatever the cloud writes";
}

/// Each refusal of the profile, and what the driver makes of it.
async fn refused(case: &Case) -> Outcome<Vec<(String, Refused, DriverError)>> {
    knows_requests(case)?;
    let mut all = Vec::new();
    for (name, refused) in &case.profile().refusals {
        case.stage.proxy.disturb(
            On::Only(RequestKind::Create),
            Times::Always,
            Effect::Instead(refused.answer.clone()),
        );
        let mut machine = case.machine(&format!("refused-{name}"));
        let error = guest(case.create(&mut machine).await, &format!("create that is refused ({name})"))?;
        all.push((name.clone(), refused.clone(), error));
    }
    if all.is_empty() { skipped("the profile names no refusals of the cloud (refusals)") } else { Ok(all) }
}

async fn code(case: Case) -> Outcome {
    for (name, refused, error) in refused(&case).await? {
        must(Some(error.code) == refused.code(), || {
            format!("create that is refused ({name}) answers {} instead of {}", error.code, refused.code)
        })?;
    }
    Ok(())
}

async fn terminal(case: Case) -> Outcome {
    for (name, refused, error) in refused(&case).await? {
        must(refused.terminal.is_none_or(|terminal| terminal == error.terminal), || {
            format!("create that is refused ({name}) says terminal: {}", error.terminal)
        })?;
    }
    Ok(())
}

async fn nothing_happened(case: Case) -> Outcome {
    for (name, refused, error) in refused(&case).await? {
        must(!error.may_have_happened || refused.answer.status >= 500, || {
            format!("create that is refused ({name}) says that it may have happened: the host looks in vain")
        })?;
    }
    Ok(())
}

async fn no_secret(case: Case) -> Outcome {
    if case.profile().secrets.is_empty() {
        return skipped("the profile has no secrets");
    }
    let mut machine = case.machine("no-secret");
    machine.has_secrets = false;
    let error = guest(case.create(&mut machine).await, "create without credentials")?;
    let fits = matches!(
        error.code,
        Code::Unauthenticated | Code::InvalidArgument | Code::FailedPrecondition | Code::PermissionDenied
    );
    must(fits && !error.message.is_empty(), || {
        format!(
            "create without credentials answers {error:?} instead of unauthenticated (a cloud without credentials: leave \
             `secrets` out of the profile)"
        )
    })?;
    must(case.stage.proxy.journal().is_empty(), || "create without credentials asks the cloud".to_owned())
}

async fn message(case: Case) -> Outcome {
    let long = format!("{{\"code\": \"internal\", \"message\": \"{}\"}}", "it is broken\\n ".repeat(2_000));
    case.stage.proxy.disturb(On::Any, Times::Always, Effect::Instead(canned(500, &[], &long)));
    let error = guest(case.create(&mut case.machine("message")).await, "create that meets 500")?;
    let characters = error.message.chars().count();
    must(characters <= 2_000 && !error.message.contains(char::is_control), || {
        format!(
            "a message has {characters} characters or several lines: Events and conditions carry one line"
        )
    })
}
