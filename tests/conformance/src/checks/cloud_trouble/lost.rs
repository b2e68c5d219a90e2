//! The connection ends, and nobody knows whether the work was done.

use machinist_core::driver::error::{CallError, Code};

use crate::case::{Case, Machine, Outcome, failed, fine, guest, must, said, skipped};
use crate::checks::checks;
use crate::proxy::{Effect, On, RequestKind, Times};

checks! {
    "lost/create" Shared cloud create "a create whose answer is lost is repeated without a second VM";
    "lost/create-says-so" Shared cloud create_says_so "a create whose answer is lost says that it may have happened";
    "lost/create-half" Shared cloud create_half "a create whose answer breaks off says that it may have happened";
    "lost/request" Shared cloud request "a create whose request is lost is repeated and makes the VM";
    "lost/delete" Shared cloud delete "a deletion whose answer is lost is repeated and is success";
    "lost/status" Shared cloud status "a look whose answer is lost does not say that the machine is not there";
}

const CREATES: On = On::Only(RequestKind::Create);

pub(crate) fn knows_requests(case: &Case) -> Outcome {
    let requests = &case.profile().requests;
    if requests.create.is_some() && requests.delete.is_some() {
        Ok(())
    } else {
        skipped("the profile does not say which requests make and remove a VM (requests)")
    }
}

/// One create that is disturbed, whatever becomes of it, and then an undisturbed one.
pub(crate) async fn disturbed_create(case: &Case, name: &str, effect: Effect) -> Outcome<Machine> {
    knows_requests(case)?;
    let mut machine = case.machine(name);
    case.stage.proxy.disturb(CREATES, Times::Once, effect);
    if let Err(error @ CallError::Broken(_)) = case.create(&mut machine).await {
        return failed(format!("a create that is disturbed does not answer: {}", said(&error)));
    }
    case.stage.proxy.calm();
    fine(case.create_to_end(&mut machine).await, "the create after a disturbed one")?;
    Ok(machine)
}

async fn create(case: Case) -> Outcome {
    let machine = disturbed_create(&case, "create", Effect::LoseAnswer).await?;
    case.expect_vms(&machine, 1, "after a create whose answer was lost, and another").await
}

async fn request(case: Case) -> Outcome {
    let machine = disturbed_create(&case, "request", Effect::LoseRequest).await?;
    case.expect_vms(&machine, 1, "after a create whose request was lost, and another").await
}

async fn create_says_so(case: Case) -> Outcome {
    says_so(&case, "says-so", Effect::LoseAnswer).await
}

async fn create_half(case: Case) -> Outcome {
    says_so(&case, "half", Effect::BreakBody).await
}

/// With all creates disturbed so, the error has to say that it may have happened.
pub(crate) async fn says_so(case: &Case, name: &str, effect: Effect) -> Outcome {
    knows_requests(case)?;
    case.stage.proxy.disturb(CREATES, Times::Always, effect);
    let mut machine = case.machine(name);
    match case.create(&mut machine).await {
        // The VM was found by other means, or will be.
        Ok(_) => Ok(()),
        answer => {
            let error = guest(answer, "create")?;
            must(error.may_have_happened && !error.terminal, || {
                format!(
                    "create answers {error:?}, which says that nothing has happened, or that no retry helps"
                )
            })
        }
    }
}

async fn delete(case: Case) -> Outcome {
    knows_requests(&case)?;
    let mut machine = case.made("delete").await?;
    case.stage.proxy.disturb(On::Only(RequestKind::Delete), Times::Once, Effect::LoseAnswer);
    if let Err(error @ CallError::Broken(_)) = case.delete(&mut machine).await {
        return failed(format!("a deletion whose answer is lost does not answer: {}", said(&error)));
    }
    case.stage.proxy.calm();
    fine(case.delete_to_end(&mut machine).await, "delete after one whose answer was lost")?;
    case.expect_vms(&machine, 0, "after a deletion whose answer was lost, and another").await
}

async fn status(case: Case) -> Outcome {
    case.offers("get-status")?;
    let mut machine = case.made("status").await?;
    case.stage.proxy.disturb(On::Any, Times::Always, Effect::LoseAnswer);
    let error = guest(case.status(&mut machine).await, "get-status whose answer is lost")?;
    must(error.code != Code::NotFound && !error.terminal && !error.may_have_happened, || {
        format!(
            "get-status whose answer is lost answers {error:?}: a look changes nothing and may be repeated"
        )
    })
}
