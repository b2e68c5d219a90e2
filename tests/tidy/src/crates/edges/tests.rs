use serde_json::json;

use super::*;

/// Members as (name, folder), others by name alone; edges as (from, to, kind).
fn complaints(members: &[(&str, &str)], edges: &[(&str, &str, &str)]) -> Vec<Complaint> {
    let mut names: BTreeSet<&str> = members.iter().map(|(name, _)| *name).collect();
    names.extend(edges.iter().flat_map(|(from, to, _)| [*from, *to]));
    let folder = |name: &str| members.iter().find(|(member, _)| *member == name).map(|(_, folder)| *folder);
    let packages: Vec<_> = names
        .iter()
        .map(|name| {
            let path = folder(name).map_or(format!("/registry/{name}"), |folder| format!("/clone/{folder}"));
            json!({ "id": name, "name": name, "manifest_path": format!("{path}/Cargo.toml") })
        })
        .collect();
    let nodes: Vec<_> = names
        .iter()
        .map(|name| {
            let deps: Vec<_> = edges
                .iter()
                .filter(|(from, _, _)| from == name)
                .map(|(_, to, kind)| {
                    let kind = (*kind != "normal").then_some(*kind);
                    json!({ "pkg": to, "dep_kinds": [{ "kind": kind }] })
                })
                .collect();
            json!({ "id": name, "deps": deps })
        })
        .collect();
    let metadata = json!({
        "packages": packages,
        "resolve": { "nodes": nodes },
        "workspace_root": "/clone",
        "workspace_members": members.iter().map(|(name, _)| name).collect::<Vec<_>>(),
    });
    check(&parse(metadata.to_string().as_bytes()).unwrap())
}

const CORE: (&str, &str) = ("machinist-core", "host/core");
const API: (&str, &str) = ("machinist-api", "host/api");
const RUNTIME: (&str, &str) = ("machinist-runtime", "host/runtime");
const PLUGIN_HOST: (&str, &str) = ("machinist-plugin-host", "host/plugin-host");
const APP: (&str, &str) = ("machinist", "host/app");

#[test]
fn the_architecture_as_it_is_meant_passes() {
    let found = complaints(
        &[CORE, API, RUNTIME, PLUGIN_HOST, APP],
        &[
            ("machinist-core", "jiff", "normal"),
            ("machinist-core", "proptest", "dev"),
            ("machinist-api", "machinist-core", "normal"),
            ("machinist-api", "kube-core", "normal"),
            ("machinist-runtime", "machinist-api", "normal"),
            ("machinist-runtime", "kube", "normal"),
            ("machinist-plugin-host", "machinist-core", "normal"),
            ("machinist-plugin-host", "wasmtime", "normal"),
            ("machinist", "machinist-runtime", "normal"),
            ("machinist", "machinist-plugin-host", "normal"),
        ],
    );
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn anything_new_in_the_core_is_found() {
    let found = complaints(&[CORE], &[("machinist-core", "serde", "normal")]);
    assert_eq!(found, ["machinist-core → serde: the core depends on jiff and thiserror only"]);
}

#[test]
fn a_dependency_of_the_core_through_others_is_found() {
    let found = complaints(&[CORE], &[("machinist-core", "jiff", "normal"), ("jiff", "tokio", "normal")]);
    assert_eq!(found, ["machinist-core → jiff → tokio: the core decides from facts"]);
}

#[test]
fn a_client_in_the_api_is_found() {
    let edges = [("machinist-api", "kube", "normal"), ("kube", "kube-client", "normal")];
    assert_eq!(complaints(&[API], &edges), ["machinist-api → kube: the API is types, not a client"]);
    let edges = [("machinist-api", "k8s-openapi", "normal"), ("k8s-openapi", "tokio", "normal")];
    assert_eq!(complaints(&[API], &edges).len(), 1);
}

#[test]
fn wasmtime_in_the_runtime_is_found_by_any_way() {
    let edges = [("machinist-runtime", "a", "normal"), ("a", "wasmtime-wasi", "normal")];
    let found = complaints(&[RUNTIME], &edges);
    assert_eq!(
        found,
        ["machinist-runtime → a → wasmtime-wasi: runtime and plugin host do not know each other"]
    );
}

#[test]
fn kubernetes_in_the_plugin_host_is_found() {
    for to in ["kube", "kube-core", "k8s-openapi", "machinist-api", "machinist-runtime"] {
        assert_eq!(complaints(&[PLUGIN_HOST], &[("machinist-plugin-host", to, "normal")]).len(), 1, "{to}");
    }
}

#[test]
fn the_app_reaches_wasmtime_only_through_the_plugin_host() {
    let found = complaints(&[APP], &[("machinist", "wasmtime", "normal")]);
    assert_eq!(found, ["machinist → wasmtime: only the plugin host links wasmtime"]);
}

#[test]
fn a_driver_or_sdk_that_knows_the_host_is_found_even_in_its_tests() {
    for folder in ["plugins/sim", "sdk/rust"] {
        let found = complaints(&[("guest", folder), CORE], &[("guest", "machinist-core", "dev")]);
        assert_eq!(found.len(), 1, "{folder}");
    }
}

#[test]
fn what_is_shipped_may_use_test_crates_in_tests_only() {
    let simcloud = ("simcloud", "tests/clouds/simcloud");
    assert!(complaints(&[RUNTIME, simcloud], &[("machinist-runtime", "simcloud", "dev")]).is_empty());
    assert_eq!(complaints(&[RUNTIME, simcloud], &[("machinist-runtime", "simcloud", "normal")]).len(), 1);
    // The one exception is the conformance kit, and only for the binary.
    let (app, kit) = (("machinist", "host/app"), ("machinist-conformance", "tests/conformance"));
    assert!(complaints(&[app, kit], &[("machinist", "machinist-conformance", "normal")]).is_empty());
    assert_eq!(
        complaints(&[RUNTIME, kit], &[("machinist-runtime", "machinist-conformance", "normal")]).len(),
        1
    );
}
