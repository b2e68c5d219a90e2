//! The host's clock is off.

use jiff::SignedDuration;
use machinist_core::driver::error::CallError;

use super::checks;
use crate::case::{Case, Outcome, failed, must, said};

checks! {
    "clock/ahead" Shared cloud ahead
        "with a clock that is an hour ahead all works, or the error tells of the clock and passes";
    "clock/behind" Shared cloud behind
        "with a clock that is an hour behind all works, or the error tells of the clock and passes";
}

async fn ahead(case: Case) -> Outcome {
    skewed(case, SignedDuration::from_hours(1), "ahead").await
}

async fn behind(case: Case) -> Outcome {
    skewed(case, SignedDuration::from_hours(-1), "behind").await
}

async fn skewed(case: Case, by: SignedDuration, name: &str) -> Outcome {
    let mut machine = case.made(name).await?;
    case.stage.set_clock_ahead(by);
    let mut another = case.machine(&format!("{name}-another"));
    let mut answers = vec![("create", case.create_to_end(&mut another).await.map(drop))];
    if case.capabilities().status {
        answers.push(("get-status", case.status(&mut machine).await.map(drop)));
    }
    if case.capabilities().listing {
        answers.push(("list", case.list().await.map(drop)));
    }
    answers.push(("delete", case.delete_to_end(&mut machine).await));
    for (call, answer) in answers {
        match answer {
            Ok(()) => {}
            Err(CallError::Guest(error)) => {
                let tells = error.message.to_lowercase().contains("clock");
                must(tells && !error.terminal, || {
                    format!(
                        "{call} with a clock that is an hour {name} answers {error:?}, which does not tell of the clock, or does not pass"
                    )
                })?;
            }
            Err(error) => return failed(format!("{call} with a clock that is off failed: {}", said(&error))),
        }
    }
    Ok(())
}
