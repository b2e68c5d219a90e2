//! A tiny API server: Nodes and Leases, two kinds of tokens, and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, patch, post};
use axum::{Json, body::Bytes};
use serde_json::{Value, json};

/// The account under which kubelets go on after they joined.
pub(crate) const OWN_TOKEN: &str = "own";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

/// The objects on the server.
#[derive(Default)]
pub(crate) struct Store {
    pub(crate) bootstrap_tokens: BTreeSet<String>,
    pub(crate) nodes: BTreeMap<String, Value>,
    pub(crate) leases: BTreeMap<String, Value>,
    pub(crate) renewals: usize,
    uids: usize,
}

/// The server; it ends with its runtime.
pub(crate) struct FakeApi {
    pub(crate) url: String,
    pub(crate) store: Arc<Mutex<Store>>,
}

type Shared = State<Arc<Mutex<Store>>>;
type Reply = Result<(StatusCode, Json<Value>), StatusCode>;

impl FakeApi {
    pub(crate) async fn start() -> Self {
        let store: Arc<Mutex<Store>> = Arc::default();
        let app = Router::new()
            .route("/api/v1/nodes", post(create_node))
            .route("/api/v1/nodes/{name}", get(read_node))
            .route("/api/v1/nodes/{name}/status", patch(patch_status))
            .route(LEASES, post(create_lease))
            .route(&format!("{LEASES}/{{name}}"), patch(renew_lease))
            .with_state(Arc::clone(&store));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { url, store }
    }

    /// A client configuration with the account that kubelets go on under.
    pub(crate) async fn config(&self) -> kube::Config {
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "fake",
            "clusters": [{"name": "fake", "cluster": {"server": self.url}}],
            "users": [{"name": "own", "user": {"token": OWN_TOKEN}}],
            "contexts": [{"name": "fake", "context": {"cluster": "fake", "user": "own"}}],
        });
        let kubeconfig = kube::config::Kubeconfig::from_yaml(&kubeconfig.to_string()).unwrap();
        kube::Config::from_custom_kubeconfig(kubeconfig, &kube::config::KubeConfigOptions::default())
            .await
            .unwrap()
    }

    pub(crate) fn with<T>(&self, ask: impl FnOnce(&mut Store) -> T) -> T {
        ask(&mut self.store.lock().unwrap())
    }

    /// The status of a Node's condition.
    pub(crate) fn condition(&self, node: &str, kind: &str) -> Option<String> {
        self.with(|store| {
            let conditions = store.nodes.get(node)?["status"]["conditions"].as_array()?;
            let found = conditions.iter().find(|condition| condition["type"] == kind)?;
            Some(found["status"].as_str()?.to_owned())
        })
    }
}

/// Waits until something holds.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..4000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it never came true that {what}");
}

fn admit(headers: &HeaderMap, may: impl FnOnce(&str) -> bool) -> Result<(), StatusCode> {
    let token = headers.get("authorization").and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    if token.is_some_and(may) { Ok(()) } else { Err(StatusCode::UNAUTHORIZED) }
}

fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap().to_owned()
}

async fn create_node(State(store): Shared, headers: HeaderMap, Json(mut node): Json<Value>) -> Reply {
    let mut store = store.lock().unwrap();
    admit(&headers, |token| store.bootstrap_tokens.contains(token))?;
    if store.nodes.contains_key(&name(&node)) {
        return Err(StatusCode::CONFLICT);
    }
    store.uids += 1;
    node["metadata"]["uid"] = json!(format!("uid-{}", store.uids));
    store.nodes.insert(name(&node), node.clone());
    Ok((StatusCode::CREATED, Json(node)))
}

async fn read_node(State(store): Shared, headers: HeaderMap, Path(name): Path<String>) -> Reply {
    admit(&headers, |token| token == OWN_TOKEN)?;
    let store = store.lock().unwrap();
    store.nodes.get(&name).map(|node| (StatusCode::OK, Json(node.clone()))).ok_or(StatusCode::NOT_FOUND)
}

async fn patch_status(
    State(store): Shared,
    headers: HeaderMap,
    Path(name): Path<String>,
    body: Bytes,
) -> Reply {
    admit(&headers, |token| token == OWN_TOKEN)?;
    assert_eq!(headers["content-type"], "application/strategic-merge-patch+json");
    let patch: Value = serde_json::from_slice(&body).unwrap();
    let mut store = store.lock().unwrap();
    let node = store.nodes.get_mut(&name).ok_or(StatusCode::NOT_FOUND)?;
    if patch["metadata"]["uid"] != node["metadata"]["uid"] {
        return Err(StatusCode::CONFLICT);
    }
    let conditions = node["status"]["conditions"].as_array_mut().unwrap();
    for fresh in patch["status"]["conditions"].as_array().unwrap() {
        conditions.retain(|condition| condition["type"] != fresh["type"]);
        conditions.push(fresh.clone());
    }
    if let Some(boot) = patch["status"]["nodeInfo"].get("bootID") {
        node["status"]["nodeInfo"]["bootID"] = boot.clone();
    }
    Ok((StatusCode::OK, Json(node.clone())))
}

async fn create_lease(State(store): Shared, headers: HeaderMap, Json(lease): Json<Value>) -> Reply {
    admit(&headers, |token| token == OWN_TOKEN)?;
    let mut store = store.lock().unwrap();
    if store.leases.contains_key(&name(&lease)) {
        return Err(StatusCode::CONFLICT);
    }
    store.leases.insert(name(&lease), lease.clone());
    Ok((StatusCode::CREATED, Json(lease)))
}

async fn renew_lease(
    State(store): Shared,
    headers: HeaderMap,
    Path(name): Path<String>,
    body: Bytes,
) -> Reply {
    admit(&headers, |token| token == OWN_TOKEN)?;
    assert_eq!(headers["content-type"], "application/merge-patch+json");
    let patch: Value = serde_json::from_slice(&body).unwrap();
    let mut store = store.lock().unwrap();
    store.renewals += 1;
    let lease = store.leases.get_mut(&name).ok_or(StatusCode::NOT_FOUND)?;
    lease["spec"]["renewTime"] = patch["spec"]["renewTime"].clone();
    Ok((StatusCode::OK, Json(lease.clone())))
}
