//! Kubelets of a simulated cloud's VMs against a tiny API server.

mod support;

use std::sync::Arc;
use std::time::Duration;

use nodesim::{Config, NodeSim, SimcloudSource, Target, Timing};
use serde_json::{Value, json};
use simcloud::{Latency, Method, Request, Server};
use support::{FakeApi, until};

const TOKEN: &str = "abc123.0123456789abcdef";

struct Harness {
    cloud: Server,
    api: FakeApi,
    nodesim: NodeSim,
}

impl Harness {
    async fn new(timing: Timing) -> Self {
        let config = simcloud::Config { latency: Latency::ZERO, ..simcloud::Config::default() };
        let cloud = Server::start(config).unwrap();
        let api = FakeApi::start().await;
        api.with(|store| store.bootstrap_tokens.insert(TOKEN.to_owned()));
        let nodesim = start(&cloud, &api, timing).await;
        Self { cloud, api, nodesim }
    }

    /// The id of a VM that got this user data.
    fn vm(&self, name: &str, user_data: &str) -> String {
        let user_data = base64(user_data);
        let (status, vm) = self.call(
            Method::Post,
            "/v1/vms",
            &json!({"name": name, "zone": "sim-1a",
            "type": "sim.gpu", "image": "linux-1", "userData": user_data}),
        );
        assert_eq!(status, 201, "{vm}");
        vm["id"].as_str().unwrap().to_owned()
    }

    fn call(&self, method: Method, target: &str, body: &Value) -> (u16, Value) {
        self.cloud.with(|cloud, now| {
            let request = Request::new(method, target).with_token("sim-token").with_json(body).unwrap();
            let answer = cloud.handle(&request, now);
            (answer.status, answer.json().unwrap())
        })
    }
}

async fn start(cloud: &Server, api: &FakeApi, timing: Timing) -> NodeSim {
    let source = SimcloudSource::new(&cloud.url(), cloud.admin_token()).unwrap();
    let config = Config {
        timing,
        labels: [("worker.example/pool".to_owned(), "p1".to_owned())].into(),
        ..Config::new(Target::Config(Box::new(api.config().await)))
    };
    NodeSim::start(config, Arc::new(source)).unwrap()
}

fn timing() -> Timing {
    Timing {
        heartbeat: Duration::from_millis(40),
        join_retry: Duration::from_millis(10),
        ..Timing::default()
    }
}

fn base64(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

fn user_data(token: &str) -> String {
    format!("#cloud-config\nruncmd:\n- kubelet --bootstrap-token {token}\n")
}

#[tokio::test]
async fn a_running_vm_becomes_a_node_that_says_who_it_is() {
    let harness = Harness::new(timing()).await;
    let id = harness.vm("a", &user_data(TOKEN));
    until("the Node is there", || harness.nodesim.stats().joined == 1).await;
    let node = harness.api.with(|store| store.nodes["a"].clone());
    assert_eq!(node["spec"]["providerID"], format!("sim:///sim-1a/{id}"));
    let labels = &node["metadata"]["labels"];
    assert_eq!(labels["kubernetes.io/hostname"], "a");
    assert_eq!(labels["topology.kubernetes.io/zone"], "sim-1a");
    assert_eq!(labels["node.kubernetes.io/instance-type"], "sim.gpu");
    assert_eq!(labels["worker.example/pool"], "p1");
    assert_eq!(node["status"]["capacity"]["nvidia.com/gpu"], "1");
    assert_eq!(node["status"]["addresses"][0]["type"], "InternalIP");
    assert_eq!(harness.api.condition("a", "Ready").as_deref(), Some("True"));
    assert_eq!(harness.api.condition("a", "MemoryPressure").as_deref(), Some("False"));
    until("its Lease is renewed", || harness.api.with(|store| store.renewals >= 3)).await;
    let lease = harness.api.with(|store| store.leases["a"].clone());
    assert_eq!(lease["metadata"]["ownerReferences"][0]["uid"], node["metadata"]["uid"]);
}

#[tokio::test]
async fn a_kubelet_whose_token_is_not_valid_yet_keeps_trying() {
    let harness = Harness::new(timing()).await;
    let late = "zzzzzz.zzzzzzzzzzzzzzzz";
    harness.vm("a", &user_data(late));
    until("joins were refused", || harness.nodesim.stats().joins_refused >= 3).await;
    assert_eq!(harness.nodesim.stats().joined, 0);
    harness.api.with(|store| store.bootstrap_tokens.insert(late.to_owned()));
    until("the Node is there", || harness.nodesim.stats().joined == 1).await;
    harness.vm("b", "#!/bin/sh\necho no token here\n");
    until("the other VM is given up", || harness.nodesim.stats().without_token == 1).await;
    assert_eq!(harness.nodesim.registered(), ["a"]);
}

#[tokio::test]
async fn a_kubelet_goes_on_when_its_token_is_deleted() {
    let harness = Harness::new(timing()).await;
    harness.vm("a", &user_data(TOKEN));
    until("the Node is there", || harness.nodesim.stats().joined == 1).await;
    harness.api.with(|store| store.bootstrap_tokens.clear());
    let before = harness.nodesim.stats().lease_writes;
    until("heartbeats go on", || harness.nodesim.stats().lease_writes > before + 3).await;
    assert!(harness.nodesim.set_ready("a", false));
    until("the Node is not ready", || harness.api.condition("a", "Ready").as_deref() == Some("False")).await;
    assert_eq!(harness.nodesim.stats().failures, 0);
}

#[tokio::test]
async fn a_dead_vm_leaves_its_node_which_turns_unknown() {
    let grace = Timing { unknown_after: Some(Duration::from_millis(100)), ..timing() };
    let harness = Harness::new(grace).await;
    let id = harness.vm("a", &user_data(TOKEN));
    until("the Lease is there", || harness.api.with(|store| store.leases.contains_key("a"))).await;
    harness.call(Method::Delete, &format!("/v1/vms/{id}"), &json!({}));
    until("the Node is unknown", || harness.api.condition("a", "Ready").as_deref() == Some("Unknown")).await;
    let renewals = harness.api.with(|store| store.renewals);
    until("the kubelet is gone", || harness.nodesim.stats().alive == 0).await;
    assert!(harness.api.with(|store| store.nodes.contains_key("a") && store.leases.contains_key("a")));
    assert_eq!(harness.api.with(|store| store.renewals), renewals);
}

#[tokio::test]
async fn a_silent_kubelet_turns_unknown_and_comes_back() {
    let grace = Timing { unknown_after: Some(Duration::from_millis(100)), ..timing() };
    let harness = Harness::new(grace).await;
    harness.vm("a", &user_data(TOKEN));
    until("the Node is there", || harness.nodesim.stats().registered == 1).await;
    assert!(harness.nodesim.silence("a"));
    until("the Node is unknown", || harness.api.condition("a", "Ready").as_deref() == Some("Unknown")).await;
    assert!(harness.nodesim.resume("a"));
    until("the Node is ready", || harness.api.condition("a", "Ready").as_deref() == Some("True")).await;
    assert!(!harness.nodesim.silence("unheard-of"));
}

#[tokio::test]
async fn a_restarted_simulator_adopts_its_nodes_and_leaves_those_of_others() {
    let harness = Harness::new(timing()).await;
    harness.vm("a", &user_data(TOKEN));
    until("the Node is there", || harness.nodesim.stats().joined == 1).await;
    drop(harness.nodesim);
    harness.api.with(|store| {
        let mut foreign = store.nodes["a"].clone();
        foreign["metadata"]["name"] = json!("b");
        store.nodes.insert("b".to_owned(), foreign);
    });
    let harness = Harness { nodesim: start(&harness.cloud, &harness.api, timing()).await, ..harness };
    harness.vm("b", &user_data(TOKEN));
    until("one is adopted and one in conflict", || {
        let stats = harness.nodesim.stats();
        (stats.adopted, stats.conflicts, stats.joined) == (1, 1, 0)
    })
    .await;
    assert_eq!(harness.nodesim.registered(), ["a"]);
}

#[tokio::test]
async fn a_reboot_shows_as_another_boot_of_the_same_node() {
    let harness = Harness::new(timing()).await;
    let id = harness.vm("a", &user_data(TOKEN));
    until("the Node is there", || harness.nodesim.stats().registered == 1).await;
    assert_eq!(harness.call(Method::Post, &format!("/v1/vms/{id}/reboot"), &json!({})).0, 202);
    let boot = |store: &mut support::Store| store.nodes["a"]["status"]["nodeInfo"]["bootID"].clone();
    until("the boot id changes", || harness.api.with(boot) == format!("{id}-2")).await;
    assert_eq!(harness.nodesim.stats().joined, 1);
}

#[tokio::test]
async fn only_vms_with_the_tag_belong_to_the_cluster() {
    let harness = Harness::new(timing()).await;
    let source = SimcloudSource::new(&harness.cloud.url(), harness.cloud.admin_token()).unwrap();
    let source = source.only_tagged("cluster", "other");
    let config =
        Config { timing: timing(), ..Config::new(Target::Config(Box::new(harness.api.config().await))) };
    let other = NodeSim::start(config, Arc::new(source)).unwrap();
    harness.vm("a", &user_data(TOKEN));
    until("the Node is there", || harness.nodesim.stats().joined == 1).await;
    let id = harness.vm("b", "none");
    harness.call(Method::Patch, &format!("/v1/vms/{id}/tags"), &json!({"set": {"cluster": "other"}}));
    harness.call(Method::Post, &format!("/v1/vms/{id}/reboot"), &json!({}));
    until("the other simulator has its own VM", || other.stats().without_token == 1).await;
    assert_eq!(other.stats().alive, 1);
}

#[tokio::test]
async fn a_thousand_vms_join_with_few_requests_in_flight() {
    let harness = Harness::new(Timing { heartbeat: Duration::from_secs(300), ..timing() }).await;
    for number in 0..1000 {
        harness.vm(&format!("vm-{number}"), &user_data(TOKEN));
    }
    until("all have joined", || harness.nodesim.stats().joined == 1000).await;
    let stats = harness.nodesim.stats();
    assert_eq!((stats.joins_refused, stats.failures, stats.registered), (0, 0, 1000));
}
