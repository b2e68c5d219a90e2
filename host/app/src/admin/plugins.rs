//! Pages about the plugins of this process: their sources, the providers that they serve, their logs.

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use machinist_core::value::id::{PluginName, ProviderName};
use machinist_plugin_host::status::{ON_TRIAL, PROMOTED, ShadowStatus, WITHDRAWN};
use machinist_plugin_host::{Decision, DirectoryReport, KeptLines, PluginHost, PluginReport, ReleaseReport};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Admin;

#[derive(Debug, Deserialize)]
pub(super) struct After {
    /// Only those with a greater number.
    #[serde(default)]
    after: u64,
}

/// The page with what a plugin has logged.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LogPage {
    /// Numbers of lines mean something only within one process.
    pub(crate) process: String,
    /// Whether a plugin of this name is declared.
    pub(crate) is_declared: bool,
    /// Names of all plugins that are declared.
    pub(crate) plugins: Vec<String>,
    #[serde(flatten)]
    pub(crate) kept: KeptLines,
}

pub(super) async fn plugins(state: State<Admin>) -> Response {
    match &state.sources.plugins {
        Some(host) => Json(page(host.directory().as_ref(), &host.plugins())).into_response(),
        None => nowhere(),
    }
}

pub(super) async fn logs(state: State<Admin>, Path(name): Path<String>, after: Query<After>) -> Response {
    let Some(host) = &state.sources.plugins else { return nowhere() };
    Json(log_page(host, &state.sources.process, &name, after.after)).into_response()
}

fn log_page(host: &PluginHost, process: &str, name: &str, after: u64) -> LogPage {
    let mut plugins: Vec<String> =
        host.plugins().into_iter().map(|report| report.plugin.to_string()).collect();
    plugins.dedup();
    LogPage {
        process: process.to_owned(),
        is_declared: plugins.iter().any(|plugin| plugin == name),
        plugins,
        kept: host.logs(&PluginName::new(name), after).unwrap_or_default(),
    }
}

fn nowhere() -> Response {
    (StatusCode::NOT_FOUND, "no Machines are looked after here, so that there are no plugins\n")
        .into_response()
}

fn page(directory: Option<&DirectoryReport>, reports: &[PluginReport]) -> Value {
    json!({
        "directory": directory.map(|directory| json!({
            "path": directory.path.display().to_string(),
            "trouble": directory.trouble,
        })),
        "plugins": reports.iter().map(plugin).collect::<Vec<_>>(),
    })
}

fn plugin(report: &PluginReport) -> Value {
    let held = report.held.as_ref();
    let (key, source) = if report.source.is_in_directory() {
        ("directory", report.source.name.to_string())
    } else {
        ("configMap", report.source.to_string())
    };
    json!({
        "name": report.plugin.as_str(),
        "kind": report.kind,
        "source": { key: source, "oci": report.resolved.as_ref().map(|resolved| json!({
            "reference": resolved.reference.to_string(),
            "manifest": resolved.manifest.to_string(),
        })) },
        "state": report.state.name(),
        "since": report.since.to_string(),
        "trouble": report.reason,
        "warnings": report.warnings,
        "digest": report.digest.map(|digest| digest.to_string()),
        "sizeBytes": report.size_bytes,
        "signedBy": report.signer,
        "bundle": report.bundle.as_ref().map(|bundle| json!({
            "counter": bundle.counter,
            "covers": bundle.covers,
        })),
        "serving": report.serving,
        "trial": report.rollout.as_ref().map(trial),
        "held": held.map(|held| json!({
            "digest": held.digest.to_string(),
            "driver": held.driver,
            "version": held.version,
            "code": held.code.name(),
            "providers": held.providers.iter().map(ProviderName::as_str).collect::<Vec<_>>(),
            "generation": held.generation,
            "calls": {
                "total": held.calls_total,
                "broken": held.calls_broken,
                "inFlight": held.calls_in_flight,
            },
        })),
    })
}

fn trial(rollout: &ReleaseReport) -> Value {
    let figures = rollout.figures;
    json!({
        "standing": match &rollout.decision {
            None => ON_TRIAL,
            Some(Decision::Promoted) => PROMOTED,
            Some(Decision::Withdrawn(_)) => WITHDRAWN,
        },
        "mode": rollout.terms.as_ref().map(|terms| terms.mode.name()),
        "calls": figures.calls,
        "failed": figures.failed,
        "broken": figures.broken,
        "stableCalls": figures.stable_calls,
        "stableFailed": figures.stable_failed,
        "shadow": rollout.shadow.as_ref().map(ShadowStatus::from),
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use jiff::Timestamp;
    use machinist_plugin_host::{PluginState, SourceId};

    use super::*;

    fn rejected(source: SourceId) -> PluginReport {
        PluginReport {
            plugin: "sim".into(),
            kind: "driver".to_owned(),
            source,
            content: None,
            state: PluginState::Rejected,
            reason: Some("no component".to_owned()),
            since: Timestamp::UNIX_EPOCH,
            warnings: Vec::new(),
            digest: None,
            size_bytes: None,
            compile_ms: None,
            from_cache: false,
            resolved: None,
            signer: None,
            bundle: None,
            serving: false,
            serves: Vec::new(),
            claim_denied: false,
            rollout: None,
            held: None,
        }
    }

    #[test]
    fn each_source_says_what_kind_of_place_it_is_and_what_is_wrong() {
        let directory = DirectoryReport { path: PathBuf::from("/plugins"), trouble: Some("gone".to_owned()) };
        let reports =
            [rejected(SourceId::in_directory("sim")), rejected(SourceId::new("machinist", "sim-2"))];
        let page = page(Some(&directory), &reports);
        assert_eq!(page["directory"], json!({ "path": "/plugins", "trouble": "gone" }));
        assert_eq!(page["plugins"][0]["source"], json!({ "directory": "sim", "oci": null }));
        assert_eq!(page["plugins"][1]["source"], json!({ "configMap": "machinist/sim-2", "oci": null }));
        for plugin in page["plugins"].as_array().unwrap() {
            assert_eq!((&plugin["state"], &plugin["trouble"]), (&json!("Rejected"), &json!("no component")));
        }
    }
}
