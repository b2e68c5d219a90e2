//! Answers that are none.

use machinist_core::driver::DriverResult;
use machinist_core::driver::error::Code;

use super::lost::says_so;
use crate::case::{Case, Outcome, guest, must};
use crate::checks::checks;
use crate::profile::Canned;
use crate::proxy::{Effect, On, Times, canned};

checks! {
    "malformed/create" Shared cloud create "a create that is answered with nonsense says that it may have happened";
    "malformed/status" Shared cloud status "nonsense does not mean that the machine is not there";
    "malformed/empty" Shared cloud empty "an answer without a body does not mean that the machine is not there";
    "malformed/page-404" Shared cloud page_404
        "a proxy's page with status 404 does not mean that the machine is not there";
    "malformed/delete-404" Shared cloud delete_404 "a proxy's page with status 404 does not make a deletion succeed";
    "malformed/list" Shared cloud list "a listing that is nonsense is an error, not an empty page";
    "malformed/half" Shared cloud half "half of a listing is an error, not a shorter listing";
    "malformed/flood" Shared cloud flood "an answer that is far too large is an error, and never a trap";
    "malformed/deep" Shared cloud deep "an answer that is nested without end is an error, and never a trap";
}

fn nonsense() -> Canned {
    canned(200, &[("content-type", "application/json")], "\u{1}\u{2} this is <neither> {JSON nor XML")
}

fn page(status: u16) -> Canned {
    canned(status, &[("content-type", "text/html")], "<html><body><h1>Not here</h1>proxy-7</body></html>")
}

fn answered(case: &Case, canned: Canned) {
    case.stage.proxy.disturb(On::Any, Times::Always, Effect::Instead(canned));
}

async fn create(case: Case) -> Outcome {
    says_so(&case, "create", Effect::After(nonsense())).await
}

/// A look that gets this answer, and must not take it for an answer.
async fn looked(case: Case, name: &str, canned: Canned) -> Outcome {
    case.offers("get-status")?;
    let mut machine = case.made(name).await?;
    let what = format!("get-status that is answered with {} and {:?}", canned.status, brief(&canned.body));
    answered(&case, canned);
    let error = guest(case.status(&mut machine).await, &what)?;
    must(error.code != Code::NotFound, || format!("{what} answers {error:?}"))
}

fn brief(text: &str) -> String {
    text.chars().take(40).collect()
}

async fn status(case: Case) -> Outcome {
    looked(case, "status", nonsense()).await
}

async fn empty(case: Case) -> Outcome {
    looked(case, "empty", canned(200, &[], "")).await
}

async fn page_404(case: Case) -> Outcome {
    looked(case, "page-404", page(404)).await
}

async fn deep(case: Case) -> Outcome {
    let deep = "[".repeat(100_000) + &"<a>".repeat(20_000);
    looked(case, "deep", canned(200, &[("content-type", "application/json")], &deep)).await
}

async fn delete_404(case: Case) -> Outcome {
    let mut machine = case.made("delete-404").await?;
    answered(&case, page(404));
    let answer = case.delete(&mut machine).await;
    guest(answer, "delete that is answered with a proxy's page").map(drop)
}

fn no_listing<T>(answer: DriverResult<T>, what: &str) -> Outcome {
    guest(answer, &format!("list that is answered with {what}")).map(drop)
}

async fn list(case: Case) -> Outcome {
    case.offers("list")?;
    answered(&case, nonsense());
    no_listing(case.page(&case.cluster, None).await, "nonsense")
}

async fn half(case: Case) -> Outcome {
    case.offers("list")?;
    case.made("half-a").await?;
    case.made("half-b").await?;
    case.stage.proxy.disturb(On::Any, Times::Always, Effect::HalveBody);
    no_listing(case.page(&case.cluster, None).await, "half of a listing")
}

async fn flood(case: Case) -> Outcome {
    case.offers("list")?;
    case.stage.proxy.disturb(On::Any, Times::Always, Effect::Flood);
    no_listing(case.page(&case.cluster, None).await, "6 MiB of blanks")
}
