//! How a machine is, and what is no machine.

use machinist_core::driver::VmState;
use machinist_core::driver::error::{CallError, Code};
use machinist_core::value::id::ProviderId;

use super::checks;
use crate::case::{Case, Outcome, failed, fine, guest, must, said};
use crate::proxy::RequestKind;

checks! {
    "status/by-id" Shared cloud by_id "a machine is found by its provider id";
    "status/by-uid" Shared cloud by_uid "a machine is found without its provider id";
    "status/same" Shared cloud same "create and status agree about provider id and node name";
    "status/absent" Shared cloud absent "a machine that was never made is not-found";
    "status/gone" Shared cloud gone "a machine that was deleted is not-found, or no longer running";
    "status/foreign" Shared cloud foreign
        "a provider id that leads to another cluster's VM is failed-precondition, and never not-found";
    "status/unmarked" Shared cloud unmarked
        "a provider id that leads to a VM without any mark is failed-precondition, whatever its name";
    "status/changes-nothing" Shared cloud changes_nothing "looking changes nothing";
    "status/odd-id" Shared cloud invalid_id
        "a provider id of another cloud is an error or leads nowhere, and never a trap";
}

async fn by_id(case: Case) -> Outcome {
    case.offers("get-status")?;
    let mut machine = case.made("by-id").await?;
    fine(case.status(&mut machine).await, "get-status by provider id").map(drop)
}

async fn by_uid(case: Case) -> Outcome {
    case.offers("get-status")?;
    let machine = case.made("by-uid").await?;
    let mut forgotten = machine.forgotten();
    let vm = fine(case.status(&mut forgotten).await, "get-status without provider id")?;
    must(Some(&vm.provider_id) == machine.provider_id.as_ref(), || {
        format!(
            "get-status without provider id answers with {} instead of {:?}",
            vm.provider_id, machine.provider_id
        )
    })
}

async fn same(case: Case) -> Outcome {
    case.offers("get-status")?;
    let mut machine = case.machine("same");
    let made = fine(case.create_to_end(&mut machine).await, "create")?;
    let seen = fine(case.status(&mut machine).await, "get-status")?;
    let (made, seen) = ((made.provider_id, made.node_name), (seen.provider_id, seen.node_name));
    must(made == seen, || format!("create says {made:?} and get-status {seen:?}"))
}

async fn absent(case: Case) -> Outcome {
    case.offers("get-status")?;
    let error = guest(case.status(&mut case.machine("absent")).await, "get-status of what was never made")?;
    must(error.code == Code::NotFound, || {
        format!("get-status of what was never made answers {} instead of not-found", error.code)
    })
}

async fn gone(case: Case) -> Outcome {
    case.offers("get-status")?;
    let mut machine = case.made("gone").await?;
    fine(case.delete_to_end(&mut machine).await, "delete")?;
    match case.status(&mut machine).await {
        Err(CallError::Guest(error)) if error.code == Code::NotFound => Ok(()),
        Ok(vm) if matches!(vm.state, VmState::Stopping | VmState::Stopped | VmState::Unknown) => Ok(()),
        Ok(vm) => failed(format!("get-status says that a deleted machine is {:?}", vm.state)),
        Err(error) => failed(format!("get-status of a deleted machine failed: {}", said(&error))),
    }
}

async fn foreign(case: Case) -> Outcome {
    case.offers("get-status")?;
    let mut twin = case.machine("foreign");
    "another-uid".clone_into(&mut twin.uid);
    twin.name = "somebody-elses".to_owned();
    let theirs = case.plant(&case.other_cluster(), &twin).await?;
    let mut machine = case.machine("foreign");
    machine.provider_id = Some(theirs);
    match case.status(&mut machine).await {
        // The host would take not-found for the end of a VM that lives on under the mark that its control plane had
        // before.
        Err(CallError::Guest(error)) => must(error.code == Code::FailedPrecondition, || {
            format!(
                "get-status answers {} for a VM with another cluster's mark: {}",
                error.code, error.message
            )
        }),
        Ok(_) => failed("get-status takes another cluster's VM for this machine's"),
        Err(error) => failed(format!("get-status failed: {}", said(&error))),
    }
}

async fn unmarked(case: Case) -> Outcome {
    case.offers("get-status")?;
    let mut machine = case.machine("unmarked");
    machine.provider_id = Some(case.plant_unmarked(&machine).await?);
    match case.status(&mut machine).await {
        // Otherwise anyone who can write Machines could delete any VM of the account; and the host would take not-found
        // for the deletion of a VM that another program created for this very machine.
        Err(CallError::Guest(error)) => must(error.code == Code::FailedPrecondition, || {
            format!("get-status answers {} for a VM without any mark: {}", error.code, error.message)
        }),
        Ok(_) => {
            failed("get-status takes a VM without any mark for this machine's, since its name is the same")
        }
        Err(error) => failed(format!("get-status failed: {}", said(&error))),
    }
}

async fn changes_nothing(case: Case) -> Outcome {
    case.offers("get-status")?;
    let machine = case.made("changes-nothing").await?;
    case.stage.proxy.forget();
    for mut machine in [machine.clone(), machine.forgotten(), case.machine("never-made")] {
        // Its answer is for other checks.
        let _ = case.status(&mut machine).await;
    }
    let changes = case.stage.proxy.count(RequestKind::Create) + case.stage.proxy.count(RequestKind::Delete);
    must(changes == 0, || format!("get-status sends {changes} requests that make or remove VMs"))
}

async fn invalid_id(case: Case) -> Outcome {
    case.offers("get-status")?;
    for id in ["x", "other:///zone/id", "///", "a/../b", "sim:///ä/%00"] {
        let mut machine = case.machine("odd-id");
        machine.provider_id = Some(ProviderId::new(id));
        guest(case.status(&mut machine).await, &format!("get-status with the provider id {id:?}"))?;
    }
    Ok(())
}
