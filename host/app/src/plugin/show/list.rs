//! `machinist plugin list`: what the host wrote onto the plugins' ConfigMaps.

use comfy_table::Table;
use kube::core::ObjectMeta;
use machinist_api::names::labels::PLUGIN;
use machinist_plugin_host::PluginKeys;
use machinist_plugin_host::shown;
use machinist_plugin_host::status::{BundleStatus, HeldStatus, PluginStatus};
use serde::Serialize;

use crate::args::{ListFlags, Output};
use crate::output;
use crate::plugin::cluster::{self, config_maps, status, status_annotation};

/// One plugin, as `-o json` prints it.
#[derive(Debug, Default, Serialize)]
struct Row {
    config_map: String,
    plugin: Option<String>,
    kind: Option<String>,
    state: Option<String>,
    reason: Option<String>,
    since: Option<String>,
    serving: bool,
    digest: Option<String>,
    #[serde(rename = "signedBy")]
    signed_by: Option<String>,
    bundle: Option<BundleStatus>,
    warnings: Vec<String>,
    held: Option<ListedVersion>,
}

/// The version that became Ready last.
#[derive(Debug, Serialize)]
struct ListedVersion {
    driver: String,
    version: String,
    providers: Vec<String>,
    digest: String,
    policy: Option<ListedPolicy>,
}

#[derive(Debug, Serialize)]
struct ListedPolicy {
    mode: String,
}

impl Row {
    fn of(config_map: String, status: PluginStatus) -> Self {
        let written = |text: String| Some(text).filter(|text| !text.is_empty());
        Self {
            config_map,
            plugin: written(status.plugin),
            kind: written(status.kind),
            state: written(status.state),
            reason: status.reason,
            since: written(status.since),
            serving: status.serving,
            digest: status.digest,
            signed_by: status.signed_by,
            bundle: status.bundle,
            warnings: status.warnings,
            held: status.held.map(ListedVersion::from),
        }
    }
}

impl From<HeldStatus> for ListedVersion {
    fn from(held: HeldStatus) -> Self {
        let HeldStatus { digest, driver, version, providers, policy, code: _ } = held;
        let policy = policy.map(|policy| ListedPolicy { mode: policy.mode });
        Self { driver, version, providers, digest, policy }
    }
}

pub(crate) async fn list(flags: ListFlags) -> anyhow::Result<()> {
    let namespace = &flags.cluster.namespace;
    let api = config_maps(&flags.cluster).await?;
    // A part is no plugin: the status of its plugin is on the index that names it.
    let plugins = format!("{PLUGIN},{PLUGIN}!={}", PluginKeys::PART_KIND);
    let maps = cluster::list(&api, &plugins, &format!("list the plugins of namespace {namespace}")).await?;
    let rows: Vec<Row> = maps.iter().map(row).collect();
    match flags.output {
        Output::Json => println!("{}", serde_json::to_string_pretty(&rows)?),
        Output::Table if rows.is_empty() => {
            println!(
                "No plugins in namespace {namespace}: `machinist plugin push` brings one, or write a ConfigMap with the \
                 label {PLUGIN}.",
            );
        }
        Output::Table => println!("{}", table(&rows)),
    }
    Ok(())
}

fn row(meta: &ObjectMeta) -> Row {
    let status = status_annotation(meta).map_or_else(PluginStatus::default, |text| {
        status(text).unwrap_or_else(|error| PluginStatus {
            reason: Some(shown(&format!("its status annotation cannot be read: {error}"))),
            ..PluginStatus::default()
        })
    });
    Row::of(meta.name.clone().unwrap_or_default(), status)
}

/// Columns without blanks in their names, and rows without empty cells before the last: programs such as awk count
/// columns.
const HEADER: [&str; 11] = [
    "NAME", "CONFIGMAP", "KIND", "STATE", "SERVING", "COMPONENT", "VERSION", "PROVIDERS", "DIGEST", "SIGNED",
    "MESSAGE",
];

fn table(rows: &[Row]) -> Table {
    let mut table = output::table(HEADER);
    for row in rows {
        let held = row.held.as_ref();
        let digest = held.map_or_else(|| row.digest.clone().unwrap_or_default(), |held| held.digest.clone());
        let digest = digest.trim_start_matches("sha256:").chars().take(12).collect::<String>();
        let message = row.reason.iter().chain(&row.warnings).cloned().collect::<Vec<_>>().join("; ");
        let state = row.state.clone().unwrap_or_else(|| "Pending".to_owned());
        table.add_row([
            or_dash(row.plugin.clone().unwrap_or_else(|| row.config_map.clone())),
            or_dash(row.config_map.clone()),
            or_dash(row.kind.clone().unwrap_or_default()),
            // Without a state no host has looked at it: none runs, or none leads.
            or_dash(state),
            if row.serving { "yes" } else { "no" }.to_owned(),
            or_dash(held.map(|held| held.driver.clone()).unwrap_or_default()),
            or_dash(held.map(|held| held.version.clone()).unwrap_or_default()),
            or_dash(held.map(serves).unwrap_or_default()),
            or_dash(digest),
            or_dash(signed(row)),
            message,
        ]);
    }
    table
}

/// The key, and the counter of the bundle; without one only the component is signed.
fn signed(row: &Row) -> String {
    let Some(key) = &row.signed_by else { return String::new() };
    // Names of keys are names of files.
    let key: String = key.split_whitespace().collect::<Vec<_>>().join("_");
    match &row.bundle {
        Some(bundle) => format!("{key}:{}", bundle.counter),
        None => format!("{key}:component"),
    }
}

/// A cell that a program can count: never empty.
fn or_dash(cell: String) -> String {
    if cell.is_empty() { "-".to_owned() } else { cell }
}

/// Providers of a driver, the mode of a policy.
fn serves(held: &ListedVersion) -> String {
    match &held.policy {
        Some(policy) => format!("({})", policy.mode),
        None => held.providers.join(","),
    }
}

#[cfg(test)]
mod tests {
    use machinist_plugin_host::PluginKeys;
    use serde_json::json;

    use super::*;

    fn check(annotation: &str) -> String {
        let meta = json!({ "name": "sim", "annotations": { PluginKeys::STATUS_ANNOTATION: annotation } });
        table(&[row(&serde_json::from_value(meta).unwrap())]).to_string()
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
    fn attack_a_reason_makes_neither_rows_nor_colours() {
        let reason = "x\u{1b}[2J\u{1b}[31m\nCONFIGMAP aws READY yes\u{202e}";
        let status =
            json!({ "plugin": "sim\r\u{1b}", "state": "Rejected", "reason": reason, "warnings": [reason] });
        for annotation in [status.to_string(), json!({ "warnings": reason }).to_string()] {
            let shown = check(&annotation);
            assert_eq!(shown.lines().count(), 2, "{shown}");
            assert!(!shown.contains(['\u{1b}', '\u{202e}', '\r']), "{shown:?}");
        }
    }

    #[test]
    fn a_signature_shows_its_key_and_its_counter() {
        let signed = |bundle| check(&json!({ "signedBy": "our key", "bundle": bundle }).to_string());
        assert!(signed(json!({ "counter": 7, "covers": ["component"] })).contains(" our_key:7 "));
        assert!(signed(json!(null)).contains(" our_key:component "));
    }

    #[test]
    fn a_policy_shows_its_mode() {
        let status = json!({
            "plugin": "zone", "kind": "health-policy", "state": "Ready", "serving": true,
            "held": { "driver": "zone", "version": "0.1.0", "providers": [], "digest": "sha256:01", "policy": { "mode": "enforce" } },
        });
        let shown = check(&status.to_string());
        for part in ["health-policy", "zone", "(enforce)"] {
            assert!(shown.contains(part), "{part} is missing in\n{shown}");
        }
    }

    #[test]
    fn a_program_finds_each_column_by_its_place_whatever_is_known() {
        let shown = check("{}");
        let lines: Vec<Vec<&str>> = shown.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0], HEADER);
        assert_eq!(lines[1], ["sim", "sim", "-", "Pending", "no", "-", "-", "-", "-", "-"]);
    }

    #[test]
    fn the_page_about_plugins_shows_the_columns_of_the_program() {
        let page = include_str!("../../../../../docs/operating/plugins.md");
        let mut lines = page.lines().skip_while(|line| *line != "$ machinist plugin list").skip(1);
        let header: Vec<&str> = lines.next().expect("a header").split_whitespace().collect();
        assert_eq!(header, HEADER);
        let row = lines.next().expect("a row").split_whitespace().count();
        assert_eq!(row, HEADER.len() - 1, "all but a message");
    }

    #[test]
    fn an_annotation_that_is_damaged_is_said_to_be() {
        assert!(check("{").contains("cannot be read"));
    }
}
