//! Optional functions of a driver.

use machinist_core::driver::error::Code;

use super::checks;
use crate::case::{Case, Outcome, failed, fine, guest, must, said, skipped};
use machinist_core::driver::error::CallError;

checks! {
    "initialize/twice" Shared cloud initialize_twice
        "an initialisation that is repeated is success, and the VM is the same";
    "initialize/absent" Shared cloud initialize_absent
        "an initialisation of what was never made is not-found or unimplemented";
    "reboot/keeps" Shared cloud reboot_keeps "a reboot keeps the VM";
    "reboot/absent" Shared cloud reboot_absent "a reboot of what was never made is not-found";
    "volumes/ids" Shared offline volume_ids "ids of volumes are found, in the order of the input";
    "volumes/no-json" Shared offline volume_no_json
        "a volume spec that is no JSON is an error or has no id, and never a trap";
}

async fn initialize_twice(case: Case) -> Outcome {
    case.offers("initialize")?;
    let mut machine = case.made("twice").await?;
    let made = machine.provider_id.clone();
    for _ in 0..2 {
        match case.initialize(&mut machine).await {
            Ok(vm) => must(Some(&vm.provider_id) == made.as_ref(), || {
                format!("initialize answers with {} instead of {made:?}", vm.provider_id)
            })?,
            Err(CallError::Guest(error)) if error.code == Code::Unimplemented => {}
            Err(error) => return failed(format!("initialize failed: {}", said(&error))),
        }
    }
    Ok(())
}

async fn initialize_absent(case: Case) -> Outcome {
    case.offers("initialize")?;
    let error =
        guest(case.initialize(&mut case.machine("absent")).await, "initialize of what was never made")?;
    must(matches!(error.code, Code::NotFound | Code::Unimplemented), || {
        format!("initialize of what was never made answers {} instead of not-found", error.code)
    })
}

async fn reboot_keeps(case: Case) -> Outcome {
    case.offers("reboot")?;
    let machine = case.made("keeps").await?;
    fine(case.reboot(&machine).await, "reboot")?;
    case.expect_vms(&machine, 1, "after a reboot").await
}

async fn reboot_absent(case: Case) -> Outcome {
    case.offers("reboot")?;
    let error = guest(case.reboot(&case.machine("absent")).await, "reboot of what was never made")?;
    must(error.code == Code::NotFound, || {
        format!("reboot of what was never made answers {} instead of not-found", error.code)
    })
}

async fn ids(case: &Case, specs: Vec<String>) -> machinist_core::driver::DriverResult<Vec<Option<String>>> {
    case.stage.host.get_volume_ids(case.bench.provider.clone(), None, specs).await
}

async fn volume_ids(case: Case) -> Outcome {
    case.offers("get-volume-ids")?;
    let volumes = &case.profile().volumes;
    if volumes.is_empty() {
        return skipped("the profile names no volumes (volumes)");
    }
    // Once more in the other order: a list that is sorted fits one of them at most.
    for volumes in [volumes.iter().collect::<Vec<_>>(), volumes.iter().rev().collect()] {
        let wanted: Vec<Option<String>> = volumes.iter().map(|volume| volume.id.clone()).collect();
        let specs = volumes.iter().map(|volume| volume.spec.to_string()).collect();
        let found = fine(ids(&case, specs).await, "get-volume-ids")?;
        must(found == wanted, || format!("get-volume-ids answers {found:?} instead of {wanted:?}"))?;
    }
    Ok(())
}

async fn volume_no_json(case: Case) -> Outcome {
    case.offers("get-volume-ids")?;
    for spec in ["", "{", "7", "[]", "{\"csi\": 7}"] {
        match ids(&case, vec![spec.to_owned()]).await {
            Ok(ids) => must(ids == [None], || format!("get-volume-ids finds {ids:?} in {spec:?}"))?,
            Err(CallError::Guest(_)) => {}
            Err(error) => return failed(format!("get-volume-ids of {spec:?} does not answer: {error}")),
        }
    }
    Ok(())
}
