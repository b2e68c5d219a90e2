//! Invalid objects are refused when they are applied, with the field and the text to write there.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use kube::Client;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::Value;

use super::{complaints, object, objects, objects_of, trial};

/// A field without the index or key of what it is in.
fn place(field: &str) -> String {
    let mut place = String::new();
    let mut rest = field;
    while let Some((before, after)) = rest.split_once('[') {
        place += before;
        rest = after.split_once(']').map_or("", |(_, after)| after);
    }
    place + rest
}

/// All rules of a schema: the field that each speaks of, and what it says.
fn rules(schema: &Value, at: &str, found: &mut BTreeSet<(String, String)>) {
    for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
        let about = rule["fieldPath"].as_str().unwrap_or_default();
        let message = rule["message"].as_str().unwrap_or_default();
        // A rule at the object itself speaks of a field from the root.
        found.insert((format!("{at}{about}").trim_start_matches('.').to_owned(), message.to_owned()));
    }
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        let at = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
        rules(inner, &at, found);
    }
    for inner in ["items", "additionalProperties"].into_iter().filter_map(|keyword| schema.get(keyword)) {
        rules(inner, at, found);
    }
}

/// Every invalid object is refused with its field and the text to write there, and every rule refuses one.
pub(super) async fn every_invalid_field_is_named(client: &Client, definitions: &[Value]) -> Result<()> {
    let mut silent = BTreeSet::new();
    for definition in definitions {
        let kind = definition["spec"]["names"]["kind"].as_str().context("it has a kind")?;
        let mut found = BTreeSet::new();
        rules(&definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"], "", &mut found);
        ensure!(!found.is_empty(), "{kind} has no rules");
        silent.extend(found.into_iter().map(|(field, message)| (kind.to_owned(), field, message)));
    }
    for wrong in objects::wrong() {
        let refusals = complaints(trial(client, &wrong.object).await)
            .with_context(|| format!("{} {}: {}", wrong.kind, wrong.field, wrong.object))?;
        ensure!(
            refusals.iter().any(|(field, _)| field.trim_start_matches('.') == wrong.field),
            "{}: {refusals:?}",
            wrong.field
        );
        for (field, message) in &refusals {
            silent.retain(|(kind, at, said)| {
                kind != wrong.kind
                    || place(field.trim_start_matches('.')) != *at
                    || !message.contains(said.as_str())
            });
        }
    }
    ensure!(silent.is_empty(), "no row breaks these rules: {silent:#?}");
    Ok(())
}

/// As `kubectl apply` asks, and as it prints the answer.
async fn applied(client: &Client, json: &Value) -> Result<String> {
    let (kind, object) = object(json)?;
    let params = PatchParams::apply("kubectl");
    let name = object.metadata.name.clone().context("it has a name")?;
    match objects_of(client, &kind).patch(&name, &params, &Patch::Apply(&object)).await {
        Ok(_) => Ok("applied".to_owned()),
        Err(kube::Error::Api(status)) => Ok(status.message.clone()),
        Err(error) => Err(error.into()),
    }
}

/// `kubectl apply` reports a typo and accepts the correction.
pub(super) async fn a_typo_is_reported_and_its_correction_is_applied(client: &Client) -> Result<()> {
    let deployment = objects::valid("MachineDeployment");
    let strategy = serde_json::json!({
        "type": "RollingUpdate", "rollingUpdate": { "maxSurge": "l0%", "maxUnavailable": 1 },
    });
    let typo = objects::with(deployment.clone(), &[("spec.strategy", strategy)]);
    let message = applied(client, &typo).await?;
    ensure!(
        message
            == "MachineDeployment.machine.sapcloud.io \"workers\" is invalid: spec.strategy.rollingUpdate.maxSurge: \
                 Invalid value: set it to a number of at least 0 such as 1, or to a share such as 25%",
        "{message}"
    );
    ensure!(applied(client, &deployment).await? == "applied", "mended");
    // A valid object cannot be made invalid either, but for rules that hold for new objects only.
    let lasts = |wrong: &objects::Wrong| {
        wrong.kind == "MachineDeployment" && wrong.field != "spec.selector.matchLabels"
    };
    for wrong in objects::wrong().into_iter().filter(lasts) {
        let message = applied(client, &wrong.object).await?;
        ensure!(message.contains("is invalid"), "{}: {message}", wrong.object);
    }
    objects_of(client, "MachineDeployment").delete("workers", &DeleteParams::default()).await?;
    Ok(())
}

#[test]
fn an_index_is_no_part_of_a_place() {
    assert_eq!(place("spec.a[0].b"), "spec.a.b");
    assert_eq!(place("capacity[example.com/a]"), "capacity");
}
