//! Reads do not show yet what was changed.

use machinist_core::driver::Deletion;
use machinist_core::driver::error::CallError;

use crate::case::{Case, Outcome, failed, fine, said, skipped};
use crate::checks::checks;
use crate::proxy::{Effect, On, RequestKind, Times};

checks! {
    "lag/create" Shared cloud create "a create that is repeated while reads do not show the VM makes no second one";
    "lag/delete" Shared cloud delete "a deletion while reads do not show the VM removes it, or is no success";
}

fn hide(case: &Case) -> Outcome {
    if case.profile().invisible.is_empty() {
        return skipped("the profile does not say what reads answer that do not show a VM (invisible)");
    }
    case.stage.proxy.disturb(On::Only(RequestKind::Other), Times::Always, Effect::Invisible);
    Ok(())
}

async fn create(case: Case) -> Outcome {
    case.needs_keys()?;
    let machine = case.made("create").await?;
    hide(&case)?;
    // It may find it by its key, or wait until reads show it.
    if let Err(error @ CallError::Broken(_)) = case.create(&mut machine.forgotten()).await {
        return failed(format!("create while reads lag does not answer: {}", said(&error)));
    }
    case.stage.proxy.calm();
    case.expect_vms(&machine, 1, "after a create that was repeated while reads did not show the VM").await
}

async fn delete(case: Case) -> Outcome {
    let mut machine = case.made("delete").await?;
    hide(&case)?;
    // An error and "in progress" are no success: the host asks again.
    if !matches!(case.delete(&mut machine).await, Ok(Deletion::Deleted { .. })) {
        case.stage.proxy.calm();
        fine(case.delete_to_end(&mut machine).await, "delete after reads had lagged")?;
    }
    case.stage.proxy.calm();
    case.expect_vms(&machine, 0, "after a deletion while reads did not show the VM").await
}
