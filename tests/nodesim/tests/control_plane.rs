//! A kubelet against a real API server: what the tiny one in the other tests only pretends.

use std::sync::Arc;
use std::time::{Duration, Instant};

use control_plane::{ControlPlane, Options};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Secret};
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use nodesim::{Config, NodeSim, SimcloudSource, Target, Timing};
use serde_json::json;
use simcloud::{Latency, Method, Request, Server};

#[tokio::test]
async fn a_vm_joins_a_real_cluster_with_the_token_of_its_user_data() {
    let plane = ControlPlane::start(Options::without_controller_manager()).await.unwrap();
    let client = plane.client().unwrap();
    let cloud =
        Server::start(simcloud::Config { latency: Latency::ZERO, ..simcloud::Config::default() }).unwrap();
    let timing = Timing {
        heartbeat: Duration::from_millis(200),
        join_retry: Duration::from_millis(50),
        join_retry_limit: Duration::from_millis(200),
        unknown_after: Some(Duration::from_millis(500)),
        ..Timing::default()
    };
    let config = Config { timing, ..Config::new(Target::Kubeconfig(plane.nodesim_kubeconfig())) };
    let source = SimcloudSource::new(&cloud.url(), cloud.admin_token()).unwrap();
    let nodesim = NodeSim::start(config, Arc::new(source)).unwrap();

    let body = json!({"name": "a", "zone": "sim-1a", "type": "sim.small", "image": "linux-1",
        "userData": "I2Nsb3VkLWNvbmZpZwp0b2tlbjogYWJjMTIzLjAxMjM0NTY3ODlhYmNkZWYK"});
    let id = cloud.with(|cloud, now| {
        let request = Request::new(Method::Post, "/v1/vms").with_token("sim-token");
        let answer = cloud.handle(&request.with_json(&body).unwrap(), now);
        answer.json::<simcloud::VmView>().unwrap().id
    });
    until("the token is refused, since it does not exist", async || nodesim.stats().joins_refused > 0).await;

    let secrets: Api<Secret> = Api::namespaced(client.clone(), "kube-system");
    let secret = serde_json::from_value(json!({
        "metadata": {"name": "bootstrap-token-abc123"}, "type": "bootstrap.kubernetes.io/token",
        "stringData": {"token-id": "abc123", "token-secret": "0123456789abcdef",
                       "usage-bootstrap-authentication": "true"},
    }))
    .unwrap();
    secrets.create(&PostParams::default(), &secret).await.unwrap();
    until("the VM joins", async || nodesim.stats().joined == 1).await;

    let nodes: Api<Node> = Api::all(client.clone());
    let node = nodes.get("a").await.unwrap();
    assert_eq!(node.spec.as_ref().unwrap().provider_id, Some(format!("sim:///sim-1a/{id}")));
    assert_eq!(node.spec.as_ref().unwrap().taints, None);
    let status = node.status.as_ref().unwrap();
    assert_eq!(status.capacity.as_ref().unwrap()["cpu"].0, "2", "the create kept the status");
    assert_eq!(ready(&node), "True");

    secrets.delete("bootstrap-token-abc123", &DeleteParams::default()).await.unwrap();
    let leases: Api<Lease> = Api::namespaced(client.clone(), "kube-node-lease");
    let renewed = async || leases.get("a").await.ok()?.spec?.renew_time;
    until("there is a Lease", async || renewed().await.is_some()).await;
    let first = renewed().await;
    until("it is renewed without the token", async || renewed().await > first).await;

    assert!(nodesim.set_ready("a", false));
    until("Ready is False", async || ready(&nodes.get("a").await.unwrap()) == "False").await;
    assert!(nodesim.silence("a"));
    until("Ready is Unknown", async || ready(&nodes.get("a").await.unwrap()) == "Unknown").await;
    assert!(nodesim.resume("a") && nodesim.set_ready("a", true));
    until("Ready is True", async || ready(&nodes.get("a").await.unwrap()) == "True").await;

    cloud.kill_vm(&id).unwrap();
    until("the kubelet ends with its VM", async || nodesim.stats().alive == 0).await;
    until("the Node stays, unknown", async || ready(&nodes.get("a").await.unwrap()) == "Unknown").await;
    assert_eq!(nodesim.stats().failures, 0);
}

fn ready(node: &Node) -> String {
    let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions
        .filter(|condition| condition.type_ == "Ready")
        .map(|condition| condition.status.clone())
        .collect()
}

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !holds().await {
        assert!(Instant::now() < end, "it never came true that {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
