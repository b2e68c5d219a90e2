//! One machine, one VM.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use machinist_core::driver::Creation;
use machinist_core::driver::error::CallError;

use super::checks;
use crate::case::{Case, Outcome, failed, fine, must, said, skipped};
use crate::profile::contains;
use crate::proxy::RequestKind;

checks! {
    "create/one" Shared cloud one "a create makes one VM and names it";
    "create/again" Shared cloud again "a create that is repeated answers with the same VM";
    "create/after-crash" Shared cloud after_crash
        "a create that is repeated by a host that has forgotten everything makes no second VM";
    "create/at-once" Shared cloud at_once "creates of one machine at the same time make one VM";
    "create/window" Shared offline window "a driver whose cloud keeps no idempotency keys says how long reads may lag";
    "create/class-changed" Shared cloud class_changed
        "a create that is repeated after its class has changed makes no second VM";
    "create/two" Shared cloud two "two machines get two VMs";
    "create/after-delete" Shared cloud after_delete
        "a create after a deletion does not answer with the VM that is gone";
    "create/user-data" Shared cloud user_data "what the machine gets at boot reaches the cloud";
    "create/namesake" Shared cloud namesake "another cluster's VM of the same name is not taken for this machine's";
}

async fn one(case: Case) -> Outcome {
    let mut machine = case.machine("one");
    let vm = fine(case.create_to_end(&mut machine).await, "create")?;
    must(!vm.node_name.as_str().is_empty(), || "the VM has no node-name".to_owned())?;
    case.expect_vms(&machine, 1, "after a create").await
}

async fn again(case: Case) -> Outcome {
    let mut machine = case.made("again").await?;
    let first = machine.provider_id.clone();
    let vm = fine(case.create_to_end(&mut machine).await, "the same create again")?;
    must(Some(&vm.provider_id) == first.as_ref(), || {
        format!("the same create again answers with {} instead of {first:?}", vm.provider_id)
    })
}

async fn after_crash(case: Case) -> Outcome {
    let machine = case.made("after-crash").await?;
    for _ in 0..3 {
        let mut forgotten = machine.forgotten();
        fine(case.create_to_end(&mut forgotten).await, "create by a host that has forgotten everything")?;
        must(forgotten.provider_id == machine.provider_id, || {
            "create by a host that has forgotten everything answers with another VM".to_owned()
        })?;
    }
    case.expect_vms(&machine, 1, "after creates by hosts that had forgotten everything").await
}

async fn at_once(case: Case) -> Outcome {
    case.needs_keys()?;
    let machine = case.machine("at-once");
    let create = || async {
        let mut machine = machine.clone();
        case.create_to_end(&mut machine).await
    };
    let answers = futures::future::join_all([create(), create(), create(), create()]).await;
    for answer in &answers {
        if let Err(error @ (CallError::Broken(_) | CallError::Refused(_))) = answer {
            return failed(format!("one of four creates at the same time failed: {error}"));
        }
    }
    case.expect_vms(&machine, 1, "after four creates at the same time").await
}

async fn window(case: Case) -> Outcome {
    let says_a_window = !case.bench.about.consistency_window.is_zero();
    must(case.capabilities().idempotency_key || says_a_window, || {
        "describe names neither the capability idempotency-key nor a consistency-window-ms: without keys the host \
         waits for this window after a create that may have happened, and without the window it cannot know how long"
            .to_owned()
    })
}

async fn class_changed(case: Case) -> Outcome {
    let Some(other) = case.profile().class.other.clone() else {
        return skipped("the profile has no other valid class (class.other)");
    };
    let machine = case.made("class-changed").await?;
    let mut changed = machine.forgotten();
    changed.spec = other;
    // It may be adopted or refused.
    if let Err(error @ CallError::Broken(_)) = case.create_to_end(&mut changed).await {
        return failed(format!("create with another class failed: {}", said(&error)));
    }
    case.expect_vms(&machine, 1, "after a create with another class").await
}

async fn two(case: Case) -> Outcome {
    let (first, second) = (case.made("two-a").await?, case.made("two-b").await?);
    must(first.provider_id != second.provider_id, || {
        format!("two machines have the same VM {:?}", first.provider_id)
    })
}

async fn after_delete(case: Case) -> Outcome {
    let mut machine = case.made("after-delete").await?;
    let gone = machine.provider_id.clone();
    fine(case.delete_to_end(&mut machine).await, "delete")?;
    let mut reborn = machine.forgotten();
    match case.create(&mut reborn).await {
        Ok(Creation::Created(vm)) if Some(&vm.provider_id) != gone.as_ref() => Ok(()),
        // Where ids are names, the new VM has the id of the one that is gone.
        Ok(Creation::Created(_)) => {
            case.expect_vms(&reborn, 1, "after a create that answers with the id of a VM that was deleted")
                .await
        }
        Ok(Creation::InProgress(_)) | Err(CallError::Guest(_)) => Ok(()),
        Err(error) => failed(format!("create after a deletion failed: {}", said(&error))),
    }
}

async fn user_data(case: Case) -> Outcome {
    if case.profile().requests.create.is_none() {
        return skipped("the profile does not say which request makes a VM (requests.create)");
    }
    case.made("user-data").await?;
    let text = &case.profile().user_data;
    let base64 = STANDARD.encode(text);
    let escaped = serde_json::Value::from(text.as_str()).to_string();
    let form = base64.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
    let forms = [text.as_str(), &base64, escaped.trim_matches('"'), &form];
    let journal = case.stage.proxy.journal();
    let creates = journal.iter().filter(|entry| entry.kind == RequestKind::Create);
    let arrives = |body: &[u8]| forms.iter().any(|form| contains(body, form.as_bytes()));
    must(creates.clone().any(|entry| arrives(&entry.body)), || {
        "the request that makes the VM does not carry the user data (plain, base64, form or JSON)".to_owned()
    })
}

async fn namesake(case: Case) -> Outcome {
    let mut machine = case.machine("namesake");
    let mut twin = machine.clone();
    "another-uid".clone_into(&mut twin.uid);
    let theirs = case.plant(&case.other_cluster(), &twin).await?;
    let vm =
        fine(case.create_to_end(&mut machine).await, "create beside another cluster's VM of the same name")?;
    must(vm.provider_id != theirs, || "create answers with another cluster's VM".to_owned())
}
