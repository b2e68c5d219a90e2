//! The cloud is in trouble.

use machinist_core::driver::DriverResult;
use machinist_core::driver::error::{Code, DriverError};

use super::lost::{disturbed_create, knows_requests};
use crate::case::{Case, Outcome, fine, guest, must, skipped};
use crate::checks::checks;
use crate::proxy::{Effect, On, RequestKind, Times, canned};

checks! {
    "outage/create" Shared cloud create "a create that meets 500 passes, and says that it may have happened";
    "outage/create-done" Shared cloud create_done
        "a create that was done and answered with 500 is repeated without a second VM";
    "outage/status" Shared cloud status "a look that meets 500 passes, and does not say that the machine is not there";
    "outage/delete" Shared cloud delete "a deletion that meets 500 is no success";
    "outage/list" Shared cloud list "a listing that meets 500 is an error, not an empty page";
    "outage/second-page" Shared cloud second_page
        "a listing of which a later page fails is an error, not a shorter listing";
    "outage/patience" Shared cloud does_not_ask_on "a driver that meets 500 does not ask on and on";
    "outage/unreachable" Unreachable cloud unreachable
        "a cloud that refuses connections is unavailable, and nothing has happened";
}

/// Requests of one call while nothing works.
const MOST_REQUESTS: usize = 10;

fn broken() -> Effect {
    Effect::Instead(canned(500, &[("content-type", "text/plain")], "internal error"))
}

fn passes<T>(answer: DriverResult<T>, call: &str) -> Outcome<DriverError> {
    let error = guest(answer, call)?;
    let is_passing =
        matches!(error.code, Code::Unavailable | Code::Internal | Code::Unknown | Code::DeadlineExceeded);
    must(is_passing && !error.terminal, || {
        format!("{call} answers {error:?}: an outage passes, and is unavailable, internal or unknown")
    })?;
    Ok(error)
}

async fn create(case: Case) -> Outcome {
    knows_requests(&case)?;
    case.stage.proxy.disturb(On::Only(RequestKind::Create), Times::Always, broken());
    let error = passes(case.create(&mut case.machine("create")).await, "create that meets 500")?;
    must(error.may_have_happened, || {
        "create that meets 500 says that nothing has happened: who knows?".to_owned()
    })
}

async fn create_done(case: Case) -> Outcome {
    let machine =
        disturbed_create(&case, "create-done", Effect::After(canned(500, &[], "internal error"))).await?;
    case.expect_vms(&machine, 1, "after a create that was done and answered with 500, and another").await
}

async fn status(case: Case) -> Outcome {
    case.offers("get-status")?;
    let mut machine = case.made("status").await?;
    case.stage.proxy.disturb(On::Any, Times::Always, broken());
    passes(case.status(&mut machine).await, "get-status that meets 500").map(drop)
}

async fn delete(case: Case) -> Outcome {
    let mut machine = case.made("delete").await?;
    case.stage.proxy.disturb(On::Any, Times::Always, broken());
    passes(case.delete(&mut machine).await, "delete that meets 500").map(drop)
}

async fn list(case: Case) -> Outcome {
    case.offers("list")?;
    case.stage.proxy.disturb(On::Any, Times::Always, broken());
    passes(case.list().await, "list that meets 500").map(drop)
}

async fn second_page(case: Case) -> Outcome {
    case.offers("list")?;
    let Some(paging) = case.profile().paging.clone().filter(|paging| paging.query.is_some()) else {
        return skipped("the profile does not say which parameter makes pages small (paging.query)");
    };
    for index in 0..=paging.size {
        case.made(&format!("second-page-{index}")).await?;
    }
    case.stage.proxy.cut_pages(&paging);
    fine(case.list().await, "list of two pages")?;
    case.stage.proxy.disturb(On::Any, Times::From(2), broken());
    passes(case.list().await, "list of which the second page meets 500").map(drop)
}

async fn does_not_ask_on(case: Case) -> Outcome {
    case.offers("get-status")?;
    let mut machine = case.made("patience").await?;
    case.stage.proxy.forget();
    case.stage.proxy.disturb(On::Any, Times::Always, broken());
    let _ = case.status(&mut machine).await;
    let requests = case.stage.proxy.journal().len();
    must(requests <= MOST_REQUESTS, || {
        format!("get-status asks {requests} times while nothing works: repeating is the host's")
    })
}

async fn unreachable(case: Case) -> Outcome {
    let answer = case.create(&mut case.machine("unreachable")).await;
    let error = guest(answer, "create while nobody listens")?;
    must(error.code == Code::Unavailable && !error.terminal && !error.may_have_happened, || {
        format!("create while nobody listens answers {error:?}: it is unavailable, and nothing was sent")
    })
}
