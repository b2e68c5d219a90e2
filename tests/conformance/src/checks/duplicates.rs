//! Two VMs that answer to one machine: what a double create of another program leaves behind.

use machinist_core::driver::error::{CallError, Code, DriverError};
use machinist_core::value::id::ProviderId;

use super::checks;
use crate::case::{Case, Machine, Outcome, fine, guest, must, skipped};

checks! {
    "duplicates/status" Shared cloud status "two VMs of one machine are out-of-range, not one of them";
    "duplicates/delete" Shared cloud delete "a deletion removes all VMs that carry the machine's marks";
    "delete-by-id/one" Shared cloud one
        "of two VMs the one that is named is removed, and no other, however often that is asked for";
    "delete-by-id/kept" Shared cloud kept "the VM that the machine keeps is failed-precondition, and stays";
    "delete-by-id/foreign" Shared cloud foreign "another cluster's VM is failed-precondition, and stays";
}

async fn doubled(case: &Case, name: &str) -> Outcome<Machine> {
    let machine = case.machine(name);
    for _ in 0..2 {
        case.plant(&case.cluster, &machine).await?;
    }
    Ok(machine)
}

async fn status(case: Case) -> Outcome {
    case.offers("get-status")?;
    let mut machine = doubled(&case, "status").await?;
    let error = guest(case.status(&mut machine).await, "get-status of a machine with two VMs")?;
    must(error.code == Code::OutOfRange, || {
        format!("get-status of a machine with two VMs answers {} instead of out-of-range", error.code)
    })
}

async fn delete(case: Case) -> Outcome {
    let mut machine = doubled(&case, "delete").await?;
    fine(case.delete_to_end(&mut machine).await, "delete of a machine with two VMs")?;
    case.expect_vms(&machine, 0, "after the deletion of a machine with two VMs").await
}

/// A machine with the VM that it keeps, and another one of it.
async fn with_second(case: &Case, name: &str) -> Outcome<(Machine, ProviderId)> {
    case.offers("delete-by-id")?;
    let mut machine = case.machine(name);
    let second = case.plant(&case.cluster, &machine).await?;
    machine.provider_id = Some(case.plant(&case.cluster, &machine).await?);
    Ok((machine, second))
}

async fn one(case: Case) -> Outcome {
    let (machine, second) = with_second(&case, "one").await?;
    for _ in 0..2 {
        fine(case.delete_by_id(&machine, &second).await, "delete-by-id")?;
        case.expect_vms(&machine, 1, "after delete-by-id of one of two").await?;
    }
    // A VM that is planted may be one that nobody has started.
    let left = match case.status(&mut machine.clone()).await {
        Err(CallError::Guest(DriverError { code: Code::Uninitialized, provider_id: Some(id), .. })) => id,
        answer => fine(answer, "get-status of the VM that is kept")?.provider_id,
    };
    must(Some(&left) == machine.provider_id.as_ref(), || {
        format!("delete-by-id leaves {left} in the place of the VM that the machine keeps")
    })
}

async fn kept(case: Case) -> Outcome {
    let (machine, _) = with_second(&case, "kept").await?;
    let Some(kept) = machine.provider_id.clone() else { return skipped("the cloud gave no id") };
    let error = guest(case.delete_by_id(&machine, &kept).await, "delete-by-id of the VM that is kept")?;
    must(error.code == Code::FailedPrecondition, || {
        format!("delete-by-id of the VM that is kept answers {} instead of failed-precondition", error.code)
    })?;
    case.expect_vms(&machine, 2, "after delete-by-id of the VM that is kept").await
}

async fn foreign(case: Case) -> Outcome {
    let (machine, _) = with_second(&case, "foreign").await?;
    let mut theirs = case.machine("theirs");
    "another-uid-of-two".clone_into(&mut theirs.uid);
    let id = case.plant(&case.other_cluster(), &theirs).await?;
    let error = guest(case.delete_by_id(&machine, &id).await, "delete-by-id of another cluster's VM")?;
    must(error.code == Code::FailedPrecondition, || {
        format!("delete-by-id of another cluster's VM answers {} instead of failed-precondition", error.code)
    })?;
    let left = case.vms_of(&case.other_cluster(), &theirs).await?;
    must(left.len() == 1, || "delete-by-id removes another cluster's VM".to_owned())
}
