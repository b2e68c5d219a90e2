//! `machinist plugin list`: what the host wrote onto the plugins' ConfigMaps.

use std::sync::Arc;

use anyhow::Context as _;
use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ListParams, PartialObjectMeta};
use machinist_runtime::clusters::{Access, client, config};
use machinist_runtime::metrics::Metrics;
use machinist_runtime::names::PLUGIN_STATUS;
use serde::{Deserialize, Serialize};

use crate::args::{ListFlags, Output};

/// The status annotation, as far as it is shown.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Status {
    plugin: Option<String>,
    state: Option<String>,
    reason: Option<String>,
    since: Option<String>,
    serving: bool,
    digest: Option<String>,
    warnings: Vec<String>,
    held: Option<Held>,
}

#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Held {
    driver: String,
    version: String,
    providers: Vec<String>,
    digest: String,
}

#[derive(Debug, Serialize)]
struct Row {
    config_map: String,
    #[serde(flatten)]
    status: Status,
}

pub(crate) async fn list(flags: ListFlags) -> anyhow::Result<()> {
    let access = flags.kubeconfig.map_or(Access::InCluster, Access::Kubeconfig);
    let client = client(config(&access).await?, Arc::new(Metrics::default()))?;
    let api: Api<ConfigMap> = Api::namespaced(client, &flags.namespace);
    let params = ListParams::default().labels(machinist_api::names::labels::PLUGIN);
    let maps = api
        .list_metadata(&params)
        .await
        .with_context(|| format!("failed to list the plugins of namespace {}", flags.namespace))?;
    let rows: Vec<Row> = maps.items.iter().map(row).collect();
    match flags.output {
        Output::Json => println!("{}", serde_json::to_string_pretty(&rows)?),
        Output::Table if rows.is_empty() => {
            println!(
                "No plugins in namespace {}: a plugin is a ConfigMap with the label machinist.dev/plugin.",
                flags.namespace
            );
        }
        Output::Table => println!("{}", table(&rows)),
    }
    Ok(())
}

fn row(map: &PartialObjectMeta<ConfigMap>) -> Row {
    let meta = &map.metadata;
    let written = meta.annotations.as_ref().and_then(|all| all.get(PLUGIN_STATUS));
    let status = written.map_or_else(Status::default, |text| {
        serde_json::from_str(text).unwrap_or_else(|error| Status {
            reason: Some(format!("its status annotation cannot be read: {error}")),
            ..Status::default()
        })
    });
    Row { config_map: meta.name.clone().unwrap_or_default(), status }
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header([
        "NAME",
        "CONFIGMAP",
        "STATE",
        "SERVING",
        "DRIVER",
        "VERSION",
        "PROVIDERS",
        "DIGEST",
        "MESSAGE",
    ]);
    for row in rows {
        let status = &row.status;
        let held = status.held.as_ref();
        let digest =
            held.map_or_else(|| status.digest.clone().unwrap_or_default(), |held| held.digest.clone());
        let digest = digest.trim_start_matches("sha256:").chars().take(12).collect::<String>();
        let message = status.reason.iter().chain(&status.warnings).cloned().collect::<Vec<_>>().join("; ");
        table.add_row([
            status.plugin.clone().unwrap_or_else(|| row.config_map.clone()),
            row.config_map.clone(),
            // No host has looked at it: none runs, or none leads.
            status.state.clone().unwrap_or_else(|| "Pending".to_owned()),
            if status.serving { "yes" } else { "no" }.to_owned(),
            held.map(|held| held.driver.clone()).unwrap_or_default(),
            held.map(|held| held.version.clone()).unwrap_or_default(),
            held.map(|held| held.providers.join(",")).unwrap_or_default(),
            digest,
            message,
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(annotation: &str) -> String {
        let map: PartialObjectMeta<ConfigMap> = serde_json::from_value(json!({
            "metadata": { "name": "sim", "annotations": { PLUGIN_STATUS: annotation } },
        }))
        .unwrap();
        table(&[row(&map)]).to_string()
    }

    #[test]
    fn a_rejected_plugin_shows_its_reason_and_what_goes_on_serving() {
        let status = json!({
            "plugin": "sim", "state": "Rejected", "reason": "no component", "serving": true,
            "held": { "driver": "sim", "version": "1.2.3", "providers": ["sim"], "digest": "sha256:0123456789abcdef" },
        });
        let shown = check(&status.to_string());
        for part in ["Rejected", "yes", "1.2.3", "0123456789ab", "no component"] {
            assert!(shown.contains(part), "{part} is missing in\n{shown}");
        }
    }

    #[test]
    fn an_annotation_that_is_damaged_is_said_to_be() {
        assert!(check("{").contains("cannot be read"));
    }
}
