//! Two VMs that answer to one machine: what a double create of another program leaves behind.

use machinist_core::driver_error::Code;

use super::{Check, check};
use crate::case::{Case, Machine, Outcome, fine, guest, must, skipped};

pub(super) fn checks() -> Vec<Check> {
    vec![
        check!(
            "duplicates",
            "status",
            Shared,
            true,
            status,
            "two VMs of one machine are out-of-range, not one of them"
        ),
        check!(
            "duplicates",
            "delete",
            Shared,
            true,
            delete,
            "a deletion removes all VMs that carry the machine's marks"
        ),
    ]
}

async fn doubled(case: &Case, name: &str) -> Outcome<Machine> {
    let machine = case.machine(name);
    for _ in 0..2 {
        case.plant(&case.cluster, &machine).await?;
    }
    Ok(machine)
}

async fn status(case: Case) -> Outcome {
    if !case.capabilities().status {
        return skipped("the driver does not offer get-status");
    }
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
