//! Gone is gone, and nobody else's.

use machinist_core::driver::error::{CallError, Code};
use serde_json::json;

use super::checks;
use crate::case::{Case, Outcome, failed, fine, must};

checks! {
    "delete/removes" Shared cloud removes "a deletion removes the VM";
    "delete/again" Shared cloud again "a deletion that is repeated is success";
    "delete/absent" Shared cloud absent "a deletion of what was never made is success";
    "delete/by-uid" Shared cloud by_uid "a deletion without provider id removes the VM";
    "delete/poor-class" Shared cloud poor_class "a deletion needs no more of a class than what it uses";
    "delete/neighbour" Shared cloud neighbour "a deletion leaves the cluster's other machines alone";
    "delete/foreign" Shared cloud foreign "a deletion refuses another cluster's VM, whatever the provider id says";
    "delete/unmarked" Shared cloud unmarked
        "a deletion refuses a VM without any mark, whatever provider id and name say";
    "delete/namesake" Shared cloud namesake "a deletion leaves another cluster's VM of the same name alone";
}

async fn removes(case: Case) -> Outcome {
    let mut machine = case.made("removes").await?;
    fine(case.delete_to_end(&mut machine).await, "delete")?;
    case.expect_vms(&machine, 0, "after a deletion").await
}

async fn again(case: Case) -> Outcome {
    let mut machine = case.made("again").await?;
    for _ in 0..3 {
        fine(case.delete_to_end(&mut machine).await, "delete, repeated,")?;
    }
    Ok(())
}

async fn absent(case: Case) -> Outcome {
    fine(case.delete_to_end(&mut case.machine("absent")).await, "delete of what was never made")
}

async fn by_uid(case: Case) -> Outcome {
    let machine = case.made("by-uid").await?;
    fine(case.delete_to_end(&mut machine.forgotten()).await, "delete without provider id")?;
    case.expect_vms(&machine, 0, "after a deletion without provider id").await
}

async fn poor_class(case: Case) -> Outcome {
    let mut machine = case.made("poor-class").await?;
    machine.spec = case.profile().class.for_deletion.clone().unwrap_or_else(|| json!({}));
    fine(case.delete_to_end(&mut machine).await, "delete with a class that has only what deletions need")?;
    case.expect_vms(&machine, 0, "after a deletion with a class that has only what deletions need").await
}

async fn neighbour(case: Case) -> Outcome {
    let (mut machine, neighbour) = (case.made("leaves").await?, case.made("stays").await?);
    fine(case.delete_to_end(&mut machine).await, "delete")?;
    case.expect_vms(&neighbour, 1, "after a deletion of another machine").await
}

async fn foreign(case: Case) -> Outcome {
    let mut theirs = case.machine("foreign");
    "another-uid".clone_into(&mut theirs.uid);
    theirs.name = "somebody-elses".to_owned();
    let id = case.plant(&case.other_cluster(), &theirs).await?;
    let mut machine = case.machine("foreign");
    machine.provider_id = Some(id);
    match case.delete_to_end(&mut machine).await {
        Err(CallError::Guest(error)) if error.code == Code::FailedPrecondition => {}
        Ok(_) => return failed("delete says that a VM with another cluster's mark is removed"),
        Err(error) => {
            return failed(format!(
                "delete of a VM with another cluster's mark failed, by another code: {error}"
            ));
        }
    }
    let left = case.vms_of(&case.other_cluster(), &theirs).await?;
    must(left.len() == 1, || "delete removes another cluster's VM to which the provider id leads".to_owned())
}

async fn unmarked(case: Case) -> Outcome {
    let mut machine = case.machine("unmarked");
    machine.provider_id = Some(case.plant_unmarked(&machine).await?);
    match case.delete_to_end(&mut machine).await {
        Err(CallError::Guest(error)) if error.code == Code::FailedPrecondition => {}
        Ok(_) => return failed("delete says that a VM without any mark is removed"),
        Err(error) => {
            return failed(format!("delete of a VM without any mark failed, by another code: {error}"));
        }
    }
    if !case.capabilities().status {
        return Ok(());
    }
    // It is still there, or a look would find nothing.
    match case.status(&mut machine).await {
        Err(CallError::Guest(error)) if error.code == Code::FailedPrecondition => Ok(()),
        answer => failed(format!("after a deletion that was refused, get-status answers {answer:?}")),
    }
}

async fn namesake(case: Case) -> Outcome {
    let machine = case.made("namesake").await?;
    let mut theirs = machine.clone();
    "another-uid".clone_into(&mut theirs.uid);
    case.plant(&case.other_cluster(), &theirs).await?;
    fine(case.delete_to_end(&mut machine.forgotten()).await, "delete")?;
    let left = case.vms_of(&case.other_cluster(), &theirs).await?;
    must(left.len() == 1, || "delete removes another cluster's VM of the same name".to_owned())
}
