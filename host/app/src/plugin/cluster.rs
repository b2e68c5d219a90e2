//! ConfigMaps of a cluster, for the commands about plugins: the client, the host's view of them, and errors that say
//! what to do.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams};
use kube::core::ObjectMeta;
use machinist_plugin_host::PluginKeys;
use machinist_plugin_host::status::PluginStatus;
use machinist_plugin_host::{RawConfigMap, shown};
use serde_json::Value;

use crate::args::ClusterFlags;
use crate::cluster::client_of;
use crate::plugin::ship::ownership::MANAGER;

/// How often a ConfigMap is read and written that the host wrote its status into meanwhile.
pub(crate) const ATTEMPTS: usize = 5;

/// The ConfigMaps of the namespace.
pub(crate) async fn config_maps(flags: &ClusterFlags) -> anyhow::Result<Api<ConfigMap>> {
    Ok(Api::namespaced(client_of(&flags.access).await?, &flags.namespace))
}

/// Reads a ConfigMap, as the host sees it.
pub(crate) async fn read(api: &Api<ConfigMap>, name: &str) -> anyhow::Result<RawConfigMap> {
    let map = api.get(name).await.map_err(|error| explained(error, &format!("read ConfigMap {name}")))?;
    Ok(raw(map))
}

/// Reads the metadata alone, which is small also where the ConfigMap holds a component. `task`: for the error.
pub(crate) async fn metadata(api: &Api<ConfigMap>, name: &str, task: &str) -> anyhow::Result<ObjectMeta> {
    let map = api.get_metadata(name).await.map_err(|error| explained(error, task))?;
    Ok(map.metadata)
}

/// Lists the metadata of the ConfigMaps with these labels.
pub(crate) async fn list(api: &Api<ConfigMap>, labels: &str, task: &str) -> anyhow::Result<Vec<ObjectMeta>> {
    let maps = api.list_metadata(&ListParams::default().labels(labels)).await;
    let maps = maps.map_err(|error| explained(error, task))?;
    Ok(maps.items.into_iter().map(|map| map.metadata).collect())
}

/// Changes these fields of a ConfigMap.
pub(crate) async fn patch(
    api: &Api<ConfigMap>,
    name: &str,
    patch: &Value,
    task: &str,
) -> anyhow::Result<ConfigMap> {
    let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
    api.patch(name, &params, &Patch::Merge(patch)).await.map_err(|error| explained(error, task))
}

/// As [`patch`], with a patch that names the version in `metadata.resourceVersion`. `false` when the ConfigMap has
/// another: the host writes its status there at any time, so that who reads and then writes has to begin again.
pub(crate) async fn patch_version(
    api: &Api<ConfigMap>,
    name: &str,
    patch: &Value,
    task: &str,
) -> anyhow::Result<bool> {
    let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
    match api.patch(name, &params, &Patch::Merge(patch)).await {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.is_conflict() => Ok(false),
        Err(error) => Err(explained(error, task)),
    }
}

/// The status annotation, which the host writes.
pub(crate) fn status_annotation(meta: &ObjectMeta) -> Option<&str> {
    meta.annotations.as_ref()?.get(PluginKeys::STATUS_ANNOTATION).map(String::as_str)
}

/// As the host sees it.
pub(crate) fn raw(map: ConfigMap) -> RawConfigMap {
    let meta = map.metadata;
    let binary_data = map.binary_data.unwrap_or_default();
    RawConfigMap {
        namespace: meta.namespace.unwrap_or_default(),
        name: meta.name.unwrap_or_default(),
        uid: meta.uid.unwrap_or_default(),
        resource_version: meta.resource_version.unwrap_or_default(),
        created: meta.creation_timestamp.map(|time| time.0),
        labels: meta.labels.unwrap_or_default(),
        annotations: meta.annotations.unwrap_or_default(),
        data: map.data.unwrap_or_default(),
        binary_data: binary_data.into_iter().map(|(key, value)| (key, value.0.into())).collect(),
    }
}

/// Parses the status annotation of a ConfigMap. Others than the host may have written it: its texts are escaped as
/// [`shown`] escapes them.
///
/// # Errors
/// When it is no JSON, or a field has another type.
pub(crate) fn status(annotation: &str) -> serde_json::Result<PluginStatus> {
    serde_json::from_value(visible(serde_json::from_str(annotation)?))
}

/// Reads as much of a status annotation as can be read, with its texts escaped as [`shown`] escapes them.
pub(crate) fn readable_status(annotation: &str) -> PluginStatus {
    serde_json::from_str(annotation).map(|value| PluginStatus::readable(visible(value))).unwrap_or_default()
}

fn visible(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(shown(&text)),
        Value::Array(items) => items.into_iter().map(visible).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(key, value)| (shown(&key), visible_field(&key, value))).collect()
        }
        other @ (Value::Null | Value::Bool(_) | Value::Number(_)) => other,
    }
}

/// The example of a shadow's call is the only text of several lines, and is shown as such.
fn visible_field(key: &str, value: Value) -> Value {
    match value {
        Value::String(text) if key == "text" => {
            Value::String(text.lines().map(shown).collect::<Vec<_>>().join("\n"))
        }
        other => visible(other),
    }
}

/// The error of a request, what it was for, and what helps.
pub(crate) fn explained(error: kube::Error, task: &str) -> anyhow::Error {
    let (code, message) = match &error {
        kube::Error::Api(status) => (status.code, status.message.clone()),
        _ => return anyhow::Error::new(error).context(format!("failed to {task}")),
    };
    let help = match code {
        401 => "; log in again, or choose another --kubeconfig",
        403 => {
            "; ask an administrator for get, list, create, patch and delete on configmaps in this namespace: who may \
             write there runs code with the credentials of the clouds"
        }
        404 => "; check --namespace and the name",
        409 => {
            "; somebody else wrote these fields: `kubectl get configmap NAME -o yaml --show-managed-fields` says who, \
             and --force takes them over"
        }
        413 | 422 => "; if it is too large, a smaller --part-size makes smaller ConfigMaps",
        _ => "",
    };
    anyhow::anyhow!("failed to {task}: {message}{help}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(code: u16, part: &str) {
        let status = kube::core::Status { code, message: "no".to_owned(), ..kube::core::Status::default() };
        let said = explained(kube::Error::Api(Box::new(status)), "write ConfigMap sim").to_string();
        assert!(said.starts_with("failed to write ConfigMap sim: no; ") && said.contains(part), "{said}");
    }

    #[test]
    fn attack_a_status_that_somebody_has_forged_commands_no_terminal() {
        let forged = serde_json::json!({
            "reason": "x\u{1b}[2J\nsim READY yes\u{202e}", "warnings": ["\u{9b}31m"], "since": 3,
            "rollout": { "shadow": { "functions": { "a\u{1b}": {} }, "examples": [{ "text": "a\n\u{1b}b" }] } },
        });
        let status = visible(forged);
        let expected = serde_json::json!({
            "reason": "x\\u{1b}[2J\\nsim READY yes\\u{202e}", "warnings": ["\\u{9b}31m"], "since": 3,
            "rollout": { "shadow": { "functions": { "a\\u{1b}": {} }, "examples": [{ "text": "a\n\\u{1b}b" }] } },
        });
        assert_eq!(status, expected);
        let long = readable_status(&serde_json::json!({ "reason": "x".repeat(200_000) }).to_string());
        assert!(long.reason.unwrap().len() < 5_000);
    }

    #[test]
    fn an_error_says_what_helps() {
        check(401, "--kubeconfig");
        check(403, "create, patch and delete on configmaps");
        check(404, "--namespace");
        check(409, "--force");
        check(422, "--part-size");
    }
}
