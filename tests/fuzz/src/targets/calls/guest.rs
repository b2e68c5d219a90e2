//! Answers of drivers to calls of the host.

use std::sync::Arc;

use machinist_core::driver::error::{CallError, GuestFailure};
use machinist_core::driver::{SecretValues, Vm};
use machinist_plugin_host::Grants;
use machinist_plugin_host::testing::Vault;
use machinist_plugin_host::testing::fuzz::{UsedPart, guest_answer, is_visible};
use serde_json::{Value, json};

use crate::mutate::Grammar;
use crate::samples;
use crate::target::{Shape, Target, Verdict, promise};

pub(crate) const TARGET: Target = Target {
    name: "guest",
    about: "answers of drivers: what is shown is bounded and visible, identifiers are whole, and no secret comes back",
    grammar: Grammar::Json,
    samples,
    words: &[
        SECRET, "creation", "deletion", "vm", "page", "volume-ids", "warnings", "about", "error", "Created",
        "InProgress", "Deleted", "Running", "Pending", "Stopping", "Stopped", "NotFound", "Internal",
        "provider_id", "node_name", "state", "addresses", "failure_domain", "conditions", "last_known_state",
        "resume_token", "ask_again_ms", "message", "machines", "next", "code", "cloud_code",
        "retry_after_ms", "terminal", "may_have_happened", "kind", "address", "status", "reason",
        "created_at_ms", "machine_uid",
    ],
    share: 60,
    check,
};

const SECRET: &str = "hunter2-hunter2-Zx9-canary";
/// The longest note behind a text that was cut.
const ROOM: usize = 48;

fn samples() -> Vec<Vec<u8>> {
    let kind = |operation: &str| match operation {
        "CreateMachine" => "creation",
        "InitializeMachine" | "GetMachineStatus" => "vm",
        "DeleteMachine" => "deletion",
        "ListMachines" => "page",
        "GetVolumeIDs" => "volume-ids",
        "ValidateClass" => "warnings",
        _ => "about",
    };
    let mut all = vec![
        json!({ "kind": "about", "answer": { "name": "sim", "version": "1.2.3", "providers": ["sim", "AWS"],
            "class_schema": "{}", "capabilities": ["status", "listing"], "consistency_window_ms": 10_000,
            "hosts": ["api.example"] } }),
        json!({ "kind": "creation", "answer": { "InProgress": { "resume_token": "t", "ask_again_ms": 500,
            "message": format!("waits for {SECRET}") } } }),
        json!({ "kind": "warnings", "answer": ["providerSpec.x is not a field and is ignored"] }),
    ];
    for recording in samples::recordings() {
        let recording: Value = serde_json::from_slice(&recording).unwrap_or_default();
        let kind = kind(recording["operation"].as_str().unwrap_or_default());
        let answer = &recording["end"]["answered"]["answer"];
        if let Some(answer) = answer.get("Ok") {
            all.push(json!({ "kind": kind, "answer": answer }));
        }
        if let Some(error) = answer.get("Err") {
            all.push(json!({ "kind": "error", "answer": error }));
        }
    }
    all.iter().map(|answer| answer.to_string().into_bytes()).collect()
}

fn check(input: &[u8]) -> Verdict {
    let Ok(Value::Object(mut fields)) = serde_json::from_slice(input) else { return Ok(Shape::of("none")) };
    let kind = fields.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    let answer = fields.remove("answer").unwrap_or_default();
    let values = [("password".to_owned(), SECRET.as_bytes().to_vec())].into();
    let vault = Vault::new(SecretValues { values, ..SecretValues::default() }, Arc::new(Grants::default()));
    match guest_answer(&kind, answer, &vault) {
        None => Ok(Shape::of("no guest answers this")),
        Some(Err(failure)) => failure_is_bounded(&failure).map(|()| Shape::of(&failure.to_string())),
        Some(Ok(taken)) => {
            holds(&taken)?;
            Ok(Shape::of(&format!("{taken:?}")))
        }
    }
}

fn holds(taken: &UsedPart) -> Result<(), String> {
    match taken {
        UsedPart::Creation(machinist_core::driver::Creation::Created(vm)) | UsedPart::Vm(vm) => vm_holds(vm),
        UsedPart::Creation(machinist_core::driver::Creation::InProgress(waiting))
        | UsedPart::Deletion(machinist_core::driver::Deletion::InProgress(waiting)) => {
            promise(waiting.resume_token.len() <= 64 * 1024, || "a token floods".to_owned())?;
            shown(&waiting.message, 4096)
        }
        UsedPart::Deletion(machinist_core::driver::Deletion::Deleted { last_known_state }) => {
            let length = last_known_state.as_ref().map_or(0, String::len);
            promise(length <= 64 * 1024, || "a state floods".to_owned())
        }
        UsedPart::Page(page) => {
            promise(page.machines.len() <= 10_000, || "a page floods".to_owned())?;
            page.machines.iter().try_for_each(|listed| {
                identifier(listed.provider_id.as_str(), 1024)?;
                shown_as_is(listed.machine_name.as_str(), 253 + ROOM)
            })
        }
        UsedPart::VolumeIds(ids) => {
            promise(ids.len() == 2, || "ids for other volumes".to_owned())?;
            ids.iter().flatten().try_for_each(|id| identifier(id, 1024))
        }
        UsedPart::Warnings(warnings) => {
            promise(warnings.len() <= 101, || "warnings flood".to_owned())?;
            warnings.iter().try_for_each(|warning| shown(warning, 4096))
        }
        UsedPart::About(about) => {
            promise(!about.providers.is_empty() && about.providers.len() <= 100, || {
                "odd providers".to_owned()
            })?;
            about.providers.iter().try_for_each(|name| identifier(name.as_str(), 253))?;
            identifier(&about.name, 253)
        }
        UsedPart::Error(error) => error_holds(error),
    }
}

fn vm_holds(vm: &Vm) -> Result<(), String> {
    identifier(vm.provider_id.as_str(), 1024)?;
    promise(!vm.provider_id.is_empty(), || "a VM without an id".to_owned())?;
    promise(vm.node_name.as_str().len() <= 253, || "a node name floods".to_owned())?;
    promise(vm.addresses.len() <= 100 && vm.conditions.len() <= 100, || "lists flood".to_owned())?;
    vm.addresses.iter().try_for_each(|address| {
        identifier(&address.kind, 253)?;
        identifier(&address.address, 253)
    })?;
    vm.conditions.iter().try_for_each(|condition| {
        identifier(&condition.kind, 253)?;
        shown(&condition.reason, 256)?;
        shown(&condition.message, 4096)
    })
}

fn error_holds(error: &CallError) -> Result<(), String> {
    match error {
        CallError::Guest(error) => {
            shown(&error.message, 4096)?;
            error.cloud_code.iter().try_for_each(|code| shown(code, 256))?;
            error.provider_id.iter().try_for_each(|id| identifier(id.as_str(), 1024))?;
            let day = jiff::SignedDuration::from_hours(24);
            let wait = error.retry_after.unwrap_or_default();
            promise((jiff::SignedDuration::ZERO..=day).contains(&wait), || format!("a wait of {wait}"))
        }
        CallError::Broken(broken) => shown_as_is(&broken.to_string(), 8 * 1024),
        CallError::Refused(refusal) => Err(format!("the host refuses an answer: {refusal}")),
    }
}

fn failure_is_bounded(failure: &GuestFailure) -> Result<(), String> {
    shown_as_is(&failure.to_string(), 8 * 1024)
}

fn identifier(id: &str, most: usize) -> Result<(), String> {
    promise(id.len() <= most && is_visible(id), || format!("an identifier is odd: {id:?}"))
}

fn shown(text: &str, most: usize) -> Result<(), String> {
    shown_as_is(text, most + ROOM)?;
    promise(!text.contains(SECRET), || "a secret comes back".to_owned())
}

fn shown_as_is(text: &str, most: usize) -> Result<(), String> {
    promise(text.len() <= most && is_visible(text), || format!("a text commands or floods: {text:?}"))
}
