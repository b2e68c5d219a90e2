//! Functions of a driver for Cluster API: ids of Nodes, failure domains, interruptions, resources of Nodes.

use machinist_core::driver::Vm;
use machinist_core::driver::error::{CallError, Code};
use serde_json::Value;

use super::checks;
use crate::case::{Case, Machine, Outcome, failed, fine, guest, must, said, skipped};

checks! {
    "node-id/same" Shared cloud same_id "the Node of a VM has the same id however often it is asked for";
    "node-id/own" Shared cloud own_id "the Nodes of two VMs have two ids";
    "placement/there" Shared cloud there "a VM is made in the failure domain that is asked for";
    "placement/same" Shared offline same_spec
        "a placed class is the same text each time, and placed again it means the same";
    "placement/nowhere" Shared cloud nowhere "a failure domain that does not exist gives no VM";
    "interruption/class" Shared offline interruption
        "a valid class is interruptible or not, and the same each time";
    "capacity/class" Shared cloud class "a valid class has a Node with cpu and memory, the same each time";
    "capacity/invalid" Shared cloud invalid "a class that cannot work has no Node";
}

/// A failure domain that no cloud has.
const NOWHERE: &str = "nowhere-9z";

/// A machine and its VM, as the driver returns it.
async fn with_vm(case: &Case, name: &str) -> Outcome<(Machine, Vm)> {
    case.offers("node-id")?;
    let mut machine = case.machine(name);
    match case.create_to_end(&mut machine).await {
        Ok(vm) => Ok((machine, vm)),
        Err(error) => failed(format!("an ordinary create failed: {}", said(&error))),
    }
}

async fn same_id(case: Case) -> Outcome {
    let (machine, vm) = with_vm(&case, "same-id").await?;
    let first = fine(case.node_id(&machine, &vm).await, "node-id")?;
    let again = fine(case.node_id(&machine, &vm).await, "node-id of the same VM")?;
    must(first == again, || format!("node-id answers {first} and then {again} for one VM"))
}

async fn own_id(case: Case) -> Outcome {
    let (one, vm_of_one) = with_vm(&case, "own-one").await?;
    let (two, vm_of_two) = with_vm(&case, "own-two").await?;
    let first = fine(case.node_id(&one, &vm_of_one).await, "node-id")?;
    let second = fine(case.node_id(&two, &vm_of_two).await, "node-id")?;
    must(first != second, || format!("node-id answers {first} for two VMs"))
}

fn failure_domain(case: &Case) -> Outcome<&str> {
    case.offers("placement")?;
    match &case.profile().failure_domain {
        Some(name) => Ok(name),
        None => skipped("the profile names no failure domain (failure_domain)"),
    }
}

/// Parses a placed class. The host has checked that it is an object.
fn read(spec: &str) -> Value {
    serde_json::from_str(spec).unwrap_or_default()
}

async fn there(case: Case) -> Outcome {
    let domain = failure_domain(&case)?;
    let mut machine = case.machine("there");
    let placed = fine(case.place(&machine, domain).await, "place")?;
    machine.spec = read(&placed);
    let checked = case.stage.host.validate_class(case.class(&machine.spec)).await;
    fine(checked, "validate-class of the placed class")?;
    let vm = fine(case.create_to_end(&mut machine).await, "create with the placed class")?;
    let found = vm.failure_domain.as_ref().map(ToString::to_string);
    must(found.as_deref() == Some(domain), || {
        format!("create with a class in {domain} answers with a VM in {}", found.as_deref().unwrap_or("none"))
    })
}

async fn same_spec(case: Case) -> Outcome {
    let domain = failure_domain(&case)?;
    let mut machine = case.machine("same-spec");
    let first = fine(case.place(&machine, domain).await, "place")?;
    let again = fine(case.place(&machine, domain).await, "place of the same class")?;
    must(first == again, || format!("place answers {first} and then {again} for one class"))?;
    machine.spec = read(&first);
    let twice = fine(case.place(&machine, domain).await, "place of a class that is there already")?;
    must(read(&twice) == machine.spec, || format!("place makes {twice} of {first}, which is there already"))
}

async fn nowhere(case: Case) -> Outcome {
    failure_domain(&case)?;
    let mut machine = case.machine("nowhere");
    match case.place(&machine, NOWHERE).await {
        Ok(placed) => {
            machine.spec = read(&placed);
            guest(case.create_to_end(&mut machine).await, "create in a failure domain that does not exist")?;
        }
        Err(CallError::Guest(error)) => must(error.code == Code::InvalidArgument, || {
            format!("place answers {} instead of invalid-argument: {:?}", error.code, error.message)
        })?,
        Err(error) => return failed(format!("place does not answer: {error}")),
    }
    case.expect_vms(&machine, 0, "after a create in a failure domain that does not exist").await
}

async fn interruption(case: Case) -> Outcome {
    case.offers("interruption")?;
    let machine = case.machine("interruption");
    let first = fine(case.is_interruptible(&machine).await, "is-interruptible")?;
    let again = fine(case.is_interruptible(&machine).await, "is-interruptible of the same class")?;
    must(first == again, || format!("is-interruptible answers {first} and then {again} for one class"))
}

async fn class(case: Case) -> Outcome {
    case.offers("capacity")?;
    let valid = &case.profile().class.valid;
    let first = fine(case.node_capacity(valid).await, "node-capacity")?;
    let again = fine(case.node_capacity(valid).await, "node-capacity of the same class")?;
    must(first == again, || format!("node-capacity answers {first:?} and then {again:?} for one class"))
}

async fn invalid(case: Case) -> Outcome {
    case.offers("capacity")?;
    for class in &case.profile().class.invalid {
        let call = format!("node-capacity of a class with an invalid {}", class.field);
        guest(case.node_capacity(&class.spec).await, &call)?;
    }
    Ok(())
}
