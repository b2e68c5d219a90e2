//! Applies manifests of any kind, as `kubectl apply --server-side --force-conflicts` does.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::Context;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::discovery::{ApiCapabilities, ApiResource, Scope};
use kube::{Client, ResourceExt};
use serde::Deserialize;
use serde_json::Value;

/// The field manager of everything that is applied here.
const FIELD_MANAGER: &str = "control-plane";
/// How long a kind may take to be served after its definition was applied.
const KIND_APPEARS_WITHIN: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(50);

/// Applies the documents of a YAML text in their order and returns what the server made of them. A namespaced object
/// without a namespace goes to `default`; a `List` is applied item by item; after a CustomResourceDefinition the call
/// waits until its kind is served, so the next document may use it.
pub async fn apply(client: &Client, manifests: &str) -> anyhow::Result<Vec<DynamicObject>> {
    let mut kinds = HashMap::new();
    let mut applied = Vec::new();
    for document in documents(manifests)? {
        applied.push(apply_one(client, &mut kinds, &document).await?);
    }
    Ok(applied)
}

type Kinds = HashMap<GroupVersionKind, (ApiResource, ApiCapabilities)>;

async fn apply_one(client: &Client, kinds: &mut Kinds, document: &Value) -> anyhow::Result<DynamicObject> {
    let object: DynamicObject =
        serde_json::from_value(document.clone()).context("a document is no object")?;
    let types = object.types.clone().context("a document has no apiVersion and kind")?;
    let name =
        object.metadata.name.clone().with_context(|| format!("a {} has no metadata.name", types.kind))?;
    let gvk = GroupVersionKind::try_from(&types).with_context(|| format!("{name} has a bad apiVersion"))?;
    if !kinds.contains_key(&gvk) {
        let found =
            discover(client, &gvk).await.with_context(|| format!("failed to find the kind of {name}"))?;
        kinds.insert(gvk.clone(), found);
    }
    let (resource, capabilities) = kinds.get(&gvk).context("the kind is known by now")?;
    let api: Api<DynamicObject> = match capabilities.scope {
        Scope::Cluster => Api::all_with(client.clone(), resource),
        Scope::Namespaced => {
            let namespace = object.namespace().unwrap_or_else(|| "default".to_owned());
            Api::namespaced_with(client.clone(), &namespace, resource)
        }
    };
    let params = PatchParams::apply(FIELD_MANAGER).force();
    let object = api
        .patch(&name, &params, &Patch::Apply(document))
        .await
        .with_context(|| format!("failed to apply {} {name}", gvk.kind))?;
    if gvk.kind == "CustomResourceDefinition" {
        wait_until_served(client, &name).await?;
    }
    Ok(object)
}

/// Looks the kind up, and again for a while if it is not there, since discovery follows a new definition with a delay.
async fn discover(client: &Client, gvk: &GroupVersionKind) -> anyhow::Result<(ApiResource, ApiCapabilities)> {
    let deadline = Instant::now() + KIND_APPEARS_WITHIN;
    loop {
        match kube::discovery::pinned_kind(client, gvk).await {
            Ok(found) => return Ok(found),
            Err(error @ (kube::Error::Discovery(_) | kube::Error::Api(_))) if Instant::now() < deadline => {
                tracing::debug!(%error, kind = %gvk.kind, "kind not served yet");
                tokio::time::sleep(POLL).await;
            }
            Err(error) => {
                return Err(error).with_context(|| format!("no kind {} at {}", gvk.kind, gvk.api_version()));
            }
        }
    }
}

async fn wait_until_served(client: &Client, name: &str) -> anyhow::Result<()> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let deadline = Instant::now() + KIND_APPEARS_WITHIN;
    loop {
        let definition = api.get(name).await.with_context(|| format!("failed to read definition {name}"))?;
        let conditions = definition.status.and_then(|status| status.conditions).unwrap_or_default();
        if conditions.iter().any(|c| c.type_ == "Established" && c.status == "True") {
            return Ok(());
        }
        anyhow::ensure!(Instant::now() < deadline, "definition {name} is not served: {conditions:?}");
        tokio::time::sleep(POLL).await;
    }
}

/// The documents of a text, lists taken apart, empty ones left out.
fn documents(text: &str) -> anyhow::Result<Vec<Value>> {
    let mut documents = Vec::new();
    for document in serde_yaml_ng::Deserializer::from_str(text) {
        match Value::deserialize(document).context("failed to read the manifests")? {
            Value::Null => {}
            Value::Object(mut list) if list.get("kind").and_then(Value::as_str) == Some("List") => {
                if let Some(Value::Array(items)) = list.remove("items") {
                    documents.extend(items);
                }
            }
            document => documents.push(document),
        }
    }
    Ok(documents)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_taken_apart_into_its_documents() {
        let text = "# nothing\n---\nkind: A\n---\nkind: List\nitems: [{kind: B}, {kind: C}]\n---\n";
        let kinds: Vec<_> = documents(text).unwrap().iter().map(|d| d["kind"].clone()).collect();
        assert_eq!(kinds, ["A", "B", "C"]);
    }

    #[test]
    fn a_text_that_is_no_yaml_is_an_error() {
        assert!(documents("kind: [").is_err());
    }
}
