//! The cloud asks for fewer requests.

use machinist_core::driver::DriverResult;
use machinist_core::driver::error::Code;

use crate::case::{Case, Outcome, guest, must};
use crate::checks::checks;
use crate::proxy::{Effect, On, Times, canned};

checks! {
    "throttle/create" Own cloud create "a create that meets 429 is unavailable until Retry-After";
    "throttle/status" Own cloud status "a look that meets 429 is unavailable until Retry-After";
    "throttle/delete" Own cloud delete "a deletion that meets 429 is unavailable until Retry-After";
    "throttle/list" Own cloud list "a listing that meets 429 is unavailable until Retry-After";
    "throttle/patience" Own cloud does_not_ask_on "a driver that meets 429 does not ask on and on";
}

const PAUSE_SECONDS: i64 = 7;
/// A retry may have been made before the host was asked.
const MOST_REQUESTS: usize = 3;

fn slow_down(case: &Case) {
    let answer = canned(429, &[("retry-after", &PAUSE_SECONDS.to_string())], "slow down");
    case.stage.proxy.disturb(On::Any, Times::Always, Effect::Instead(answer));
}

fn judged<T>(answer: DriverResult<T>, call: &str) -> Outcome {
    let error = guest(answer, &format!("{call} that meets 429"))?;
    must(error.code == Code::Unavailable && !error.terminal, || {
        format!("{call} that meets 429 answers {error:?} instead of unavailable")
    })?;
    // The host may have held the last of several back for a little less.
    let pause = error.retry_after.map_or(0, |pause| pause.as_secs());
    must((PAUSE_SECONDS - 1..=PAUSE_SECONDS + 1).contains(&pause), || {
        format!("{call} that meets 429 with Retry-After {PAUSE_SECONDS} asks for a pause of {pause} s")
    })
}

async fn create(case: Case) -> Outcome {
    slow_down(&case);
    judged(case.create(&mut case.machine("create")).await, "create")
}

async fn status(case: Case) -> Outcome {
    case.offers("get-status")?;
    slow_down(&case);
    judged(case.status(&mut case.machine("status")).await, "get-status")
}

async fn delete(case: Case) -> Outcome {
    slow_down(&case);
    judged(case.delete(&mut case.machine("delete")).await, "delete")
}

async fn list(case: Case) -> Outcome {
    case.offers("list")?;
    slow_down(&case);
    judged(case.page(&case.cluster, None).await, "list")
}

async fn does_not_ask_on(case: Case) -> Outcome {
    // Without Retry-After, so that it is the driver and not the host who is patient.
    case.stage.proxy.disturb(On::Any, Times::Always, Effect::Instead(canned(429, &[], "slow down")));
    let _ = case.create(&mut case.machine("patience")).await;
    let requests = case.stage.proxy.journal().len();
    must(requests <= MOST_REQUESTS, || {
        format!("create asks {requests} times while the cloud asks for fewer requests: waiting is the host's")
    })
}
