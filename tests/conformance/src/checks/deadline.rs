//! Calls of a driver whose cloud hangs.

use machinist_core::driver::DriverResult;
use machinist_core::driver::error::{CallError, Code};

use super::checks;
use super::cloud_trouble::lost::knows_requests;
use crate::case::{Case, Outcome, failed, fine, must};
use crate::proxy::{Effect, On, RequestKind, Times};

checks! {
    "deadline/create" ShortDeadline cloud create
        "a create that hangs ends before the host ends it, and says that it may have happened";
    "deadline/status" ShortDeadline cloud status
        "a look that hangs ends before the host ends it, and does not say that the machine is not there";
    "deadline/delete" ShortDeadline cloud delete "a deletion that hangs ends before the host ends it";
    "deadline/list" ShortDeadline cloud list "a listing that hangs ends before the host ends it";
    "deadline/repeated" ShortDeadline cloud repeated "a create that hung is repeated without a second VM";
}

fn hang(case: &Case) {
    case.stage.proxy.disturb(On::Any, Times::Always, Effect::HoldAnswer);
}

/// The driver's own error, or its own "in progress".
fn ended<T>(
    answer: DriverResult<T>,
    call: &str,
) -> Outcome<Option<machinist_core::driver::error::DriverError>> {
    match answer {
        Ok(_) => Ok(None),
        Err(CallError::Guest(error)) => Ok(Some(error)),
        Err(error) => failed(format!("{call} that hangs is ended by the host: {error}")),
    }
}

async fn create(case: Case) -> Outcome {
    knows_requests(&case)?;
    // A call that hangs before the VM is requested has not happened.
    case.stage.proxy.disturb(On::Only(RequestKind::Create), Times::Always, Effect::HoldAnswer);
    match ended(case.create(&mut case.machine("create")).await, "create")? {
        None => Ok(()),
        Some(error) => must(error.may_have_happened && !error.terminal, || {
            format!(
                "create that hangs answers {error:?}, which says that nothing has happened, or that no retry helps"
            )
        }),
    }
}

async fn status(case: Case) -> Outcome {
    case.offers("get-status")?;
    hang(&case);
    let error = ended(case.status(&mut case.machine("status")).await, "get-status")?;
    must(error.is_some_and(|error| error.code != Code::NotFound && !error.terminal), || {
        "get-status that hangs answers that there is no machine, or that no retry helps".to_owned()
    })
}

async fn delete(case: Case) -> Outcome {
    hang(&case);
    ended(case.delete(&mut case.machine("delete")).await, "delete").map(drop)
}

async fn list(case: Case) -> Outcome {
    case.offers("list")?;
    hang(&case);
    let error = ended(case.page(&case.cluster, None).await, "list")?;
    must(error.is_some(), || "list that hangs answers with a page".to_owned())
}

async fn repeated(case: Case) -> Outcome {
    hang(&case);
    let mut machine = case.machine("repeated");
    // How it ends is another check's.
    let _ = case.create(&mut machine).await;
    case.stage.proxy.calm();
    fine(case.create_to_end(&mut machine).await, "create after one that hung")?;
    case.expect_vms(&machine, 1, "after a create that hung, and another").await
}
