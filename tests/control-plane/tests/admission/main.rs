//! The objects that a real API server with the definitions of `deploy/crds` accepts and refuses. No host runs.
//!
//! | module | content |
//! | --- | --- |
//! | `accepted` | machine-controller-manager's objects are accepted, however unusual they are |
//! | `refused` | invalid objects are refused, with the field and the text to write there |
//! | `stored` | invalid objects that were stored before there were rules can still be written |
//! | `host_writes` | the writes to Secrets and ConfigMaps that the host's account may send |
//! | `surface` | the output of `kubectl get`, and the effect of `kubectl scale` |
//! | `objects` | valid objects, and each thing that can be wrong with one |
//! | `support` | waits for conditions, and reads manifests |

mod accepted;
mod host_writes;
mod objects;
mod refused;
mod stored;
#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "other tests use the rest of it")]
mod support;
mod surface;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use control_plane::{ControlPlane, Options};
use kube::api::{Api, ApiResource, DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use kube::{Client, Error};
use serde::Deserialize;
use serde_json::Value;
use support::until;

const NAMESPACE: &str = "default";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/crds")
}

/// The definitions of `deploy/crds`.
fn definitions() -> Result<Vec<Value>> {
    let mut definitions = Vec::new();
    for entry in std::fs::read_dir(folder())? {
        let text = std::fs::read_to_string(entry?.path())?;
        for document in serde_yaml_ng::Deserializer::from_str(&text) {
            definitions.push(Value::deserialize(document)?);
        }
    }
    ensure!(definitions.len() == 4, "four kinds");
    Ok(definitions)
}

async fn install(plane: &ControlPlane, definitions: &[Value]) -> Result<()> {
    for definition in definitions {
        plane.apply(&serde_yaml_ng::to_string(definition)?).await?;
    }
    Ok(())
}

/// Objects of a kind, whatever they hold.
fn objects_of(client: &Client, kind: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("machine.sapcloud.io", "v1alpha1", kind);
    let plural = match kind.kind.as_str() {
        "MachineClass" => "machineclasses".to_owned(),
        other => format!("{}s", other.to_lowercase()),
    };
    Api::namespaced_with(client.clone(), NAMESPACE, &ApiResource::from_gvk_with_plural(&kind, &plural))
}

fn object(json: &Value) -> Result<(String, DynamicObject)> {
    let kind = json["kind"].as_str().context("an object has a kind")?.to_owned();
    Ok((kind, serde_json::from_value(json.clone())?))
}

/// Whether the server would create it.
async fn trial(client: &Client, json: &Value) -> Result<(), Error> {
    let (kind, object) = object(json).expect("it is an object");
    let trial = PostParams { dry_run: true, ..PostParams::default() };
    objects_of(client, &kind).create(&trial, &object).await.map(drop)
}

/// The complaints of a server: fields and messages.
fn complaints(refused: Result<(), Error>) -> Result<Vec<(String, String)>> {
    let Err(Error::Api(status)) = refused else { anyhow::bail!("not refused: {refused:?}") };
    ensure!(status.code == 422, "refused for another reason: {status:?}");
    let causes = status.details.map(|details| details.causes).unwrap_or_default();
    Ok(causes.into_iter().map(|cause| (cause.field, cause.message)).collect())
}

/// Waits until the server refuses this, which it takes over from a changed definition a moment later.
async fn until_refused(client: &Client, json: &Value) {
    until("the rules hold", async || trial(client, json).await.is_err()).await;
}

async fn admission() -> Result<()> {
    let plane = ControlPlane::start(Options::without_controller_manager()).await?;
    let client = plane.client()?;
    let definitions = definitions()?;
    let stored = stored::before_the_rules(&plane, &client, &definitions).await?;
    refused::every_invalid_field_is_named(&client, &definitions).await?;
    refused::a_typo_is_reported_and_its_correction_is_applied(&client).await?;
    accepted::all_are_accepted(&client).await?;
    stored::all_can_be_written(&stored).await?;
    surface::columns(&client).await?;
    surface::scale(&client).await
}

/// One server for all of it, since a server takes longer to start than all of this takes.
#[tokio::test]
async fn invalid_objects_are_refused_and_valid_or_stored_ones_are_not() {
    admission().await.unwrap_or_else(|error| panic!("{error:#}"));
}
