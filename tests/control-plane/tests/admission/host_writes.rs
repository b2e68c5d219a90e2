//! The writes to Secrets and ConfigMaps that the host's account may send under the policies of `deploy/policies`,
//! whatever RBAC allows.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use control_plane::{ControlPlane, Options, client_from};
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Client, Error};
use serde_json::{Value, json};

use super::support::until;

const OWN: &str = "machinist-system";
const SYSTEM: &str = "kube-system";

enum Write {
    Create(&'static str, Value),
    Patch(&'static str, &'static str, Value),
    Delete(&'static str, &'static str),
}

fn kinds(kind: &str) -> (GroupVersionKind, &'static str) {
    let plural = if kind == "Secret" { "secrets" } else { "configmaps" };
    (GroupVersionKind::gvk("", "v1", kind), plural)
}

fn api(client: &Client, kind: &str, namespace: &str) -> Api<DynamicObject> {
    let (kind, plural) = kinds(kind);
    Api::namespaced_with(client.clone(), namespace, &ApiResource::from_gvk_with_plural(&kind, plural))
}

/// Of `kind`, unless the server refuses it. `trial` leaves everything as it is.
async fn send(client: &Client, kind: &str, write: &Write, is_trial: bool) -> Result<(), Error> {
    match write {
        Write::Create(namespace, object) => {
            let object = serde_json::from_value(object.clone()).map_err(Error::SerdeError)?;
            let params = PostParams { dry_run: is_trial, ..PostParams::default() };
            api(client, kind, namespace).create(&params, &object).await.map(drop)
        }
        Write::Patch(namespace, name, patch) => {
            let params = PatchParams { dry_run: is_trial, ..PatchParams::default() };
            api(client, kind, namespace).patch(name, &params, &Patch::Merge(patch)).await.map(drop)
        }
        Write::Delete(namespace, name) => {
            let params = DeleteParams { dry_run: is_trial, ..DeleteParams::default() };
            api(client, kind, namespace).delete(name, &params).await.map(drop)
        }
    }
}

fn object(kind: &str, name: &str, metadata: &Value, rest: &Value) -> Value {
    let mut object = json!({ "apiVersion": "v1", "kind": kind, "metadata": metadata });
    object["metadata"]["name"] = json!(name);
    for (field, value) in rest.as_object().into_iter().flatten() {
        object[field] = value.clone();
    }
    object
}

fn token(name: &str, metadata: &Value) -> Value {
    let data = json!({
        "token-id": "abcdef", "token-secret": "0123456789abcdef", "expiration": "2030-01-01T00:00:00Z",
        "auth-extra-groups": "system:bootstrappers:machines",
    });
    object("Secret", name, metadata, &json!({ "type": "bootstrap.kubernetes.io/token", "stringData": data }))
}

fn owned() -> Value {
    json!({ "annotations": { "machinist.dev/machine-uid": "u-1" } })
}

fn mark() -> Value {
    let rest = json!({ "type": "machinist.dev/cluster-mark", "stringData": { "mark": "m" } });
    object(
        "Secret",
        "machinist-cluster-mark-1",
        &json!({ "annotations": { "machinist.dev/holder": "a" } }),
        &rest,
    )
}

/// The existing objects: of users, of the operator and of the cluster.
async fn scene(admin: &Client) -> Result<()> {
    // As large as they get: the policy must be able to look at it.
    let component = "a".repeat(900 << 10);
    let plugin = json!({
        "labels": { "machinist.dev/plugin": "driver" },
        "annotations": { "machinist.dev/status": "{}", "machinist.dev/plugin-version": "1" },
    });
    let rest = json!({ "data": { "grants.yaml": "egress: []", "component": component } });
    let there = [
        ("ConfigMap", OWN, object("ConfigMap", "aws", &plugin, &rest)),
        (
            "Secret",
            OWN,
            object(
                "Secret",
                "cloud",
                &json!({ "annotations": { "machinist.dev/plugins": "aws" } }),
                &json!({ "stringData": { "k": "v" } }),
            ),
        ),
        ("Secret", SYSTEM, object("Secret", "etcd-key", &json!({}), &json!({ "stringData": { "k": "v" } }))),
        ("Secret", SYSTEM, token("bootstrap-token-abcdef", &json!({}))),
    ];
    for (kind, namespace, object) in there {
        send(admin, kind, &Write::Create(namespace, object), false).await.context(namespace)?;
    }
    Ok(())
}

/// All that the host does, in its order.
fn needed() -> Vec<(&'static str, &'static str, Write)> {
    const HOST: &str = "machine.sapcloud.io/machine-controller";
    let status = |text: Value| json!({ "metadata": { "annotations": { "machinist.dev/status": text } } });
    vec![
        (
            "Secret",
            "it holds a Secret",
            Write::Patch(OWN, "cloud", json!({ "metadata": { "finalizers": [HOST] } })),
        ),
        (
            "Secret",
            "it lets a Secret go",
            Write::Patch(OWN, "cloud", json!({ "metadata": { "finalizers": null } })),
        ),
        ("ConfigMap", "it shows a state", Write::Patch(OWN, "aws", status(json!("{\"state\":\"Ready\"}")))),
        ("ConfigMap", "it shows it first", Write::Patch(OWN, "aws", status(Value::Null))),
        ("Secret", "it makes a token", Write::Create(SYSTEM, token("bootstrap-token-ghijkl", &owned()))),
        (
            "Secret",
            "it extends a token",
            Write::Patch(
                SYSTEM,
                "bootstrap-token-ghijkl",
                json!({ "stringData": { "expiration": "2031-01-01T00:00:00Z" } }),
            ),
        ),
        ("Secret", "it deletes a token", Write::Delete(SYSTEM, "bootstrap-token-ghijkl")),
        ("Secret", "it claims the mark", Write::Create(SYSTEM, mark())),
        (
            "Secret",
            "it renews the claim",
            Write::Patch(
                SYSTEM,
                "machinist-cluster-mark-1",
                json!({ "metadata": { "annotations": { "machinist.dev/holder": "b" } } }),
            ),
        ),
    ]
}

fn patch(kind: &'static str, name: &'static str, patch: Value) -> (&'static str, Write) {
    let namespace = if ["cloud", "aws"].contains(&name) { OWN } else { SYSTEM };
    (kind, Write::Patch(namespace, name, patch))
}

/// The writes that are forbidden, although RBAC allows them.
fn forbidden() -> Vec<(&'static str, Write)> {
    let meta = |field: &str, value: Value| json!({ "metadata": { field: value } });
    vec![
        // Credentials and their bindings are the operator's.
        patch("Secret", "cloud", json!({ "stringData": { "k": "w" } })),
        patch("Secret", "cloud", json!({ "stringData": { "more": "w" } })),
        patch("Secret", "cloud", json!({ "data": null })),
        patch("Secret", "cloud", json!({ "immutable": true })),
        patch("Secret", "cloud", meta("annotations", json!({ "machinist.dev/plugins": "evil" }))),
        patch("Secret", "cloud", meta("annotations", json!({ "machinist.dev/plugins": null }))),
        patch("Secret", "cloud", meta("labels", json!({ "a": "b" }))),
        patch("Secret", "cloud", meta("finalizers", json!(["example.com/mine"]))),
        ("Secret", Write::Delete(OWN, "cloud")),
        // An account's token that nobody gave out.
        (
            "Secret",
            Write::Create(
                OWN,
                object(
                    "Secret",
                    "stolen",
                    &json!({ "annotations": { "kubernetes.io/service-account.name": "machinist" } }),
                    &json!({ "type": "kubernetes.io/service-account-token" }),
                ),
            ),
        ),
        // Code, and what it may reach.
        patch("ConfigMap", "aws", json!({ "data": { "grants.yaml": "reveal: [k]" } })),
        patch("ConfigMap", "aws", json!({ "data": { "component": null } })),
        patch("ConfigMap", "aws", json!({ "binaryData": { "plugin.wasm": "AGFzbQ==" } })),
        patch("ConfigMap", "aws", json!({ "immutable": true })),
        patch("ConfigMap", "aws", meta("labels", json!({ "machinist.dev/plugin-name": "b" }))),
        patch("ConfigMap", "aws", meta("annotations", json!({ "machinist.dev/plugin-version": "9" }))),
        patch("ConfigMap", "aws", meta("annotations", json!({ "machinist.dev/plugin-version": null }))),
        patch("ConfigMap", "aws", meta("annotations", json!({ "more": "x" }))),
        patch("ConfigMap", "aws", meta("finalizers", json!(["example.com/mine"]))),
        ("ConfigMap", Write::Delete(OWN, "aws")),
        ("ConfigMap", Write::Create(OWN, object("ConfigMap", "b", &json!({}), &json!({})))),
        // In kube-system: nothing that is not a token of its own making, or the claim.
        patch("Secret", "etcd-key", json!({ "stringData": { "k": "w" } })),
        patch("Secret", "etcd-key", meta("finalizers", json!(["machine.sapcloud.io/machine-controller"]))),
        ("Secret", Write::Delete(SYSTEM, "etcd-key")),
        ("Secret", Write::Create(SYSTEM, object("Secret", "mine", &json!({}), &json!({})))),
        ("Secret", Write::Create(SYSTEM, object("Secret", "bootstrap-token-mnopqr", &owned(), &json!({})))),
        ("Secret", Write::Create(SYSTEM, object("Secret", "machinist-cluster-mark-2", &owned(), &json!({})))),
        ("Secret", Write::Create(SYSTEM, token("bootstrap-token-mnopqr", &json!({})))),
        ("Secret", Write::Delete(SYSTEM, "bootstrap-token-abcdef")),
        ("Secret", Write::Create(OWN, token("bootstrap-token-mnopqr", &owned()))),
        patch(
            "Secret",
            "bootstrap-token-abcdef",
            json!({ "stringData": { "expiration": "2031-01-01T00:00:00Z" } }),
        ),
        // To make another's token one's own.
        patch("Secret", "bootstrap-token-abcdef", owned_by("u-1")),
        patch("Secret", "machinist-cluster-mark-1", json!({ "stringData": { "mark": "n" } })),
    ]
}

fn owned_by(uid: &str) -> Value {
    json!({ "metadata": { "annotations": { "machinist.dev/machine-uid": uid } } })
}

/// The server says that a policy of ours refuses it.
fn is_refused(outcome: &Result<(), Error>) -> bool {
    let is_policys = |message: &str| message.contains("ValidatingAdmissionPolicy 'machinist-host-");
    matches!(outcome, Err(Error::Api(status)) if status.code == 403 && is_policys(&status.message))
}

async fn host_writes() -> Result<()> {
    let plane = ControlPlane::start(Options::without_controller_manager()).await?;
    let admin = plane.client()?;
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
    plane.apply_path(deploy.join("rbac")).await?;
    plane.apply_path(deploy.join("policies")).await?;
    let host = client_from(plane.kubeconfig_for_service_account(OWN, "machinist").await?).await?;
    scene(&admin).await?;
    let account = "system:serviceaccount:machinist-system:machinist";
    // RBAC lets it do everything: what is refused then is refused by the policies.
    plane
        .apply(
            &json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": { "name": "all" },
                "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin" },
                "subjects": [{ "kind": "ServiceAccount", "name": "machinist", "namespace": OWN }],
            })
            .to_string(),
        )
        .await?;
    plane.wait_until_allowed(account, &[], "delete", "configmaps").await?;
    // The server follows its own policies a moment later.
    for (kind, write) in [
        ("ConfigMap", Write::Delete(OWN, "aws")),
        ("Secret", Write::Delete(OWN, "cloud")),
        ("Secret", Write::Delete(SYSTEM, "etcd-key")),
    ] {
        until("the policies hold", async || is_refused(&send(&host, kind, &write, true).await)).await;
    }
    for (kind, what, write) in needed() {
        send(&host, kind, &write, false).await.with_context(|| what.to_owned())?;
    }
    for (number, (kind, write)) in forbidden().iter().enumerate() {
        let outcome = send(&host, kind, write, true).await;
        ensure!(is_refused(&outcome), "write {number} of a {kind}: {outcome:?}");
        // An administrator may, so that the request as such is sound.
        send(&admin, kind, write, true).await.with_context(|| format!("write {number} of a {kind}"))?;
    }
    Ok(())
}

#[tokio::test]
async fn attack_a_stolen_account_of_the_host_changes_no_component_no_grant_and_no_secret() {
    host_writes().await.unwrap_or_else(|error| panic!("{error:#}"));
}
