//! Objects that are wrong and were stored before there were rules: whoever has to write them can.

use anyhow::{Context, Result, ensure};
use control_plane::ControlPlane;
use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::objects::{Wrong, valid, with, wrong};
use super::{install, objects_of, until_refused};

/// The definition without anything that refuses.
fn without_rules(definition: &Value) -> Value {
    match definition {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(key, _)| *key != "x-kubernetes-validations");
            kept.map(|(key, value)| (key.clone(), without_rules(value))).collect()
        }
        Value::Array(items) => items.iter().map(without_rules).collect(),
        other => other.clone(),
    }
}

/// One object, and its writers.
pub(super) struct Stored {
    wrong: Wrong,
    name: String,
    api: Api<DynamicObject>,
}

impl Stored {
    async fn patch(&self, patch: Value) -> Result<DynamicObject> {
        let written = self.api.patch(&self.name, &PatchParams::default(), &Patch::Merge(&patch)).await;
        written.with_context(|| format!("{patch} for {}", self.wrong.object))
    }

    /// Replaces the whole object, as a program does that decodes, changes and encodes.
    async fn replace(&self, change: impl FnOnce(&mut Value)) -> Result<()> {
        let mut object = serde_json::to_value(self.api.get(&self.name).await?)?;
        change(&mut object);
        let replaced =
            self.api.replace(&self.name, &PostParams::default(), &serde_json::from_value(object)?).await;
        replaced.map(drop).with_context(|| format!("a replacement of {}", self.wrong.object))
    }

    async fn scale(&self, replicas: i32) -> Result<()> {
        let patch = json!({ "spec": { "replicas": replicas } });
        let scaled = self.api.patch_scale(&self.name, &PatchParams::default(), &Patch::Merge(&patch)).await;
        scaled.map(drop).with_context(|| format!("scale of {}", self.wrong.object))
    }

    /// The first writes of any controller.
    async fn marks(&self) -> Result<()> {
        let metadata =
            json!({ "labels": { "l": "1" }, "annotations": { "a": "1" }, "finalizers": ["example.com/f"] });
        self.patch(json!({ "metadata": metadata })).await?;
        let status = Patch::Merge(json!({ "status": { "machinist": { "conditions": [] } } }));
        let written = self.api.patch_status(&self.name, &PatchParams::default(), &status).await;
        written.with_context(|| format!("status of {}", self.wrong.object))?;
        self.patch(json!({ "metadata": { "labels": { "l": null }, "annotations": { "a": null } } })).await?;
        self.replace(|object| object["metadata"]["labels"] = json!({ "l": "2" })).await
    }

    /// Gives it a template where none was stored: a piece of one is never handed on alone, since what it
    /// makes then would be a new template without a class, which the rules refuse.
    async fn has_a_template(&self) -> Result<()> {
        let stored = serde_json::to_value(self.api.get(&self.name).await?)?;
        if stored.pointer("/spec/template/spec/class").is_none() {
            let template = valid(self.wrong.kind)["spec"]["template"].clone();
            self.patch(json!({ "spec": { "template": template } })).await?;
        }
        Ok(())
    }

    /// The writes of the controllers of its kind, and of the autoscaler.
    async fn duties(&self) -> Result<()> {
        let handed_on = json!({
            "nodeTemplate": { "metadata": { "labels": { "p": "1" } }, "spec": { "taints": [{ "key": "t", "effect": "Odd" }] } },
            "drainTimeout": "whenever", "maxEvictRetries": -7, "nodeConditions": "A,B",
        });
        match self.wrong.kind {
            "Machine" => {
                self.patch(json!({ "spec": { "providerID": "sim:///1" } })).await?;
                self.patch(json!({ "spec": handed_on })).await?;
                self.patch(json!({ "spec": { "class": { "kind": "OtherClass" } } })).await?;
            }
            "MachineSet" => {
                self.scale(3).await?;
                let annotations = json!({ "deployment.kubernetes.io/desired-replicas": "2" });
                self.patch(json!({ "metadata": { "annotations": annotations }, "spec": { "replicas": 2 } }))
                    .await?;
                let settings = json!({ "minReadySeconds": 5, "autoPreserveFailedMachineMax": 1 });
                self.patch(json!({ "spec": settings })).await?;
                self.has_a_template().await?;
                self.patch(json!({ "spec": { "template": { "spec": handed_on } } })).await?;
                self.patch(
                    json!({ "spec": { "template": { "spec": { "class": { "kind": "OtherClass" } } } } }),
                )
                .await?;
                let hash = json!({ "machine-template-hash": "1" });
                self.patch(json!({ "spec": { "template": { "metadata": { "labels": hash } } } })).await?;
                self.patch(json!({ "spec": { "selector": { "matchLabels": hash } } })).await?;
            }
            "MachineDeployment" => {
                self.scale(3).await?;
                let annotations =
                    json!({ "node.machine.sapcloud.io/trigger-deletion-by-mcm": "m~2026-01-01T00:00:00Z" });
                self.patch(json!({ "metadata": { "annotations": annotations }, "spec": { "replicas": 2 } }))
                    .await?;
                self.replace(|object| {
                    object["spec"]["replicas"] = json!(4);
                    leave_out_what_is_empty(object);
                })
                .await?;
                self.patch(json!({ "spec": { "rollbackTo": { "revision": 1 }, "paused": true } })).await?;
                self.patch(json!({ "spec": { "rollbackTo": null, "paused": null } })).await?;
                let restarted =
                    json!({ "annotations": { "machinist.dev/restarted-at": "2026-01-01T00:00:00Z" } });
                self.patch(json!({ "spec": { "template": { "metadata": restarted } } })).await?;
                let settings =
                    json!({ "minReadySeconds": 5, "revisionHistoryLimit": 1, "progressDeadlineSeconds": 1 });
                self.patch(json!({ "spec": settings })).await?;
            }
            "MachineClass" => {
                self.patch(json!({ "providerSpec": { "image": "2" }, "secretRef": { "name": "s" } })).await?;
            }
            other => anyhow::bail!("{other} is no kind of ours"),
        }
        Ok(())
    }

    /// It can be corrected, and then not be made invalid again.
    async fn corrected_stays_corrected(&self) -> Result<()> {
        // Whether selector and template fit is only asked of what is new.
        if self.wrong.kind != "MachineDeployment" || self.wrong.field == "spec.selector.matchLabels" {
            return Ok(());
        }
        let right = valid(self.wrong.kind);
        self.replace(|object| object["spec"] = right["spec"].clone()).await?;
        let again = self.replace(|object| object["spec"] = self.wrong.object["spec"].clone()).await;
        ensure!(again.is_err(), "the slip is refused once it is mended: {}", self.wrong.object);
        Ok(())
    }

    /// Its deletion, which its finalizer holds until that is taken off.
    async fn ends(&self) -> Result<()> {
        self.api.delete(&self.name, &DeleteParams::default()).await?;
        let held = self.api.get(&self.name).await?;
        ensure!(held.metadata.deletion_timestamp.is_some(), "{} is held", self.name);
        self.patch(json!({ "metadata": { "annotations": { "note": "going" } } })).await?;
        self.patch(json!({ "metadata": { "finalizers": null } })).await?;
        ensure!(self.api.get_opt(&self.name).await?.is_none(), "{} is gone", self.name);
        Ok(())
    }
}

/// As Go's types write an object that they have read: empty texts and empty maps are left out.
fn leave_out_what_is_empty(value: &mut Value) {
    if let Value::Object(fields) = value {
        fields.values_mut().for_each(leave_out_what_is_empty);
        fields.retain(|key, value| *value != json!("") || key.starts_with("max"));
    }
}

async fn stored(client: &Client) -> Result<Vec<Stored>> {
    let mut all = Vec::new();
    // Numbers below 0 cannot be stored: the API server refuses them for every kind that can be scaled.
    let storable = wrong().into_iter().filter(|wrong| wrong.field != "spec.replicas");
    for (number, mut wrong) in storable.enumerate() {
        let name = format!("w{number}");
        wrong.object["metadata"]["name"] = json!(name);
        let api = objects_of(client, wrong.kind);
        let object = serde_json::from_value(wrong.object.clone())?;
        api.create(&PostParams::default(), &object).await.with_context(|| format!("{}", wrong.object))?;
        all.push(Stored { wrong, name, api });
    }
    Ok(all)
}

/// One object for each invalid field, and the moment from which the rules hold.
pub(super) async fn before_the_rules(
    plane: &ControlPlane,
    client: &Client,
    definitions: &[Value],
) -> Result<Vec<Stored>> {
    let bare: Vec<Value> = definitions.iter().map(without_rules).collect();
    install(plane, &bare).await?;
    let all = stored(client).await?;
    install(plane, definitions).await?;
    for kind in ["Machine", "MachineClass", "MachineSet", "MachineDeployment"] {
        let one = all.iter().find(|stored| stored.wrong.kind == kind).context("each kind has rules")?;
        let another = with(one.wrong.object.clone(), &[("metadata.name", json!("another"))]);
        until_refused(client, &another).await;
    }
    Ok(all)
}

/// Objects stored before the rules can be written, scaled, finalised and deleted.
pub(super) async fn all_can_be_written(all: &[Stored]) -> Result<()> {
    for stored in all {
        stored.marks().await?;
        stored.duties().await?;
        stored.corrected_stays_corrected().await?;
        stored.ends().await?;
    }
    Ok(())
}
