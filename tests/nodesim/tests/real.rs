//! Real kubelets of the VMs of a cloud, against a control plane that authorises Nodes: nothing but the user data of its
//! VM tells a kubelet where to join, and with which token.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use control_plane::{ControlPlane, Options};
use ec2::Ec2;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt as _};
use nodesim::{Ec2Source, KubeletState, RealKubelets, SimcloudSource, VmSource};
use serde_json::json;
use simcloud::{Latency, Method, Request, Server};

const OF_SIM: &str = "sim:///{{ v1.availability_zone }}/{{ v1.instance_id }}";
const OF_EC2: &str = "aws:///{{ v1.availability_zone }}/{{ v1.instance_id }}";
const MANY: usize = 20;

struct Cluster {
    plane: ControlPlane,
    client: Client,
}

impl Cluster {
    async fn start() -> Self {
        let plane = ControlPlane::start(Options::with_node_authorization()).await.unwrap();
        let client = plane.client().unwrap();
        Self { plane, client }
    }

    /// User data with a bootstrap token of its own.
    async fn user_data(&self, provider_id: &str) -> String {
        let token = self.plane.create_bootstrap_token().await.unwrap();
        self.user_data_with(&token, provider_id)
    }

    fn user_data_with(&self, token: &str, provider_id: &str) -> String {
        let kubeconfig = self.plane.bootstrap_kubeconfig(token).unwrap();
        nodesim::joining_user_data(&kubeconfig, provider_id, "--node-labels=pool=workers")
    }

    async fn node(&self, name: &str) -> Option<Node> {
        Api::<Node>::all(self.client.clone()).get_opt(name).await.unwrap()
    }

    async fn ready_nodes(&self) -> BTreeMap<String, Node> {
        let nodes = Api::<Node>::all(self.client.clone()).list(&ListParams::default()).await.unwrap();
        nodes.into_iter().filter(is_ready).map(|node| (node.name_any(), node)).collect()
    }

    async fn ready_node(&self, name: &str) -> Node {
        until(&format!("{name} is ready"), async || self.node(name).await.filter(is_ready)).await
    }

    async fn requests(&self) -> usize {
        let all: Api<CertificateSigningRequest> = Api::all(self.client.clone());
        all.list(&ListParams::default()).await.unwrap().items.len()
    }
}

fn is_ready(node: &Node) -> bool {
    let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

fn provider_id(node: &Node) -> Option<&str> {
    node.spec.as_ref()?.provider_id.as_deref()
}

fn boot_id(node: &Node) -> &str {
    &node.status.as_ref().unwrap().node_info.as_ref().unwrap().boot_id
}

async fn start(source: impl VmSource) -> RealKubelets {
    let start = move || RealKubelets::start(Arc::new(source));
    tokio::task::spawn_blocking(start).await.unwrap().unwrap()
}

fn sim() -> Server {
    Server::start(simcloud::Config { latency: Latency::ZERO, ..simcloud::Config::default() }).unwrap()
}

async fn of_sim(cloud: &Server) -> RealKubelets {
    start(SimcloudSource::new(&cloud.url(), cloud.admin_token()).unwrap()).await
}

/// Sends a request of a user, and returns the id in the answer.
fn call(cloud: &Server, target: &str, body: &serde_json::Value) -> String {
    let request = Request::new(Method::Post, target).with_token("sim-token").with_json(body).unwrap();
    let answer = cloud.with(|cloud, now| cloud.handle(&request, now));
    assert!(answer.status < 300, "{target}: {}", answer.status);
    let body: serde_json::Value = answer.json().unwrap();
    body["id"].as_str().unwrap_or_default().to_owned()
}

fn vm(cloud: &Server, name: &str, user_data: &str) -> String {
    let body = json!({ "name": name, "zone": "sim-1a", "type": "sim.small", "image": "linux-1",
        "userData": STANDARD.encode(user_data) });
    call(cloud, "/v1/vms", &body)
}

fn state(kubelets: &RealKubelets, vm: &str) -> KubeletState {
    kubelets.states().get(vm).cloned().unwrap_or_default()
}

#[tokio::test]
#[ignore = "nightly: builds the kubelet, which takes five minutes the first time"]
async fn a_vm_joins_out_of_its_user_data_reboots_and_ends() {
    let (cluster, cloud) = (Cluster::start().await, sim());
    let kubelets = of_sim(&cloud).await;
    let id = vm(&cloud, "one", &cluster.user_data(OF_SIM).await);
    let node = cluster.ready_node("one").await;
    assert_eq!(provider_id(&node), Some(format!("sim:///sim-1a/{id}").as_str()));
    assert_eq!(node.labels()["pool"], "workers");

    call(&cloud, &format!("/v1/vms/{id}/reboot"), &json!({}));
    until("its Node shows another boot", async || {
        cluster.node("one").await.filter(|other| boot_id(other) != boot_id(&node))
    })
    .await;
    let rebooted = cluster.ready_node("one").await;
    assert_eq!((rebooted.uid(), cluster.requests().await), (node.uid(), 1), "its certificate survives");
    assert_eq!(state(&kubelets, &id).starts, 2);

    let late = "zzzzzz.0123456789abcdef";
    let waiting = vm(&cloud, "late", &cluster.user_data_with(late, OF_SIM));
    let without = vm(&cloud, "without", "#!/bin/sh\necho no token here\n");
    let failure = async |vm: &str| {
        until("it has failed twice", async || {
            state(&kubelets, vm).last_failure.filter(|_| vm == without || state(&kubelets, vm).starts > 1)
        })
        .await
    };
    assert!(failure(&waiting).await.contains("refuses the bootstrap token"));
    assert!(failure(&without).await.contains("writes no kubeconfig"));
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "bootstrap.kubernetes.io/token",
        "metadata": { "name": "bootstrap-token-zzzzzz", "namespace": "kube-system" },
        "stringData": { "token-id": "zzzzzz", "token-secret": "0123456789abcdef",
            "usage-bootstrap-authentication": "true" },
    });
    cluster.plane.apply(&secret.to_string()).await.unwrap();
    cluster.ready_node("late").await;
    assert!(cluster.node("without").await.is_none());

    let pid = state(&kubelets, &id).pid.unwrap();
    cloud.kill_vm(&id).unwrap();
    until("its kubelet is dead", async || (!runs(pid)).then_some(())).await;
    assert!(cluster.node("one").await.is_some(), "a VM takes no Node with it");
    nothing_is_left_of(kubelets);
}

#[tokio::test]
#[ignore = "nightly: builds the kubelet, which takes five minutes the first time"]
async fn twenty_vms_of_the_simulated_cloud_join_with_a_token_each() {
    let (cluster, cloud) = (Cluster::start().await, sim());
    let kubelets = of_sim(&cloud).await;
    let began = Instant::now();
    let mut expected = BTreeMap::new();
    for number in 0..MANY {
        let name = format!("node-{number}");
        let id = vm(&cloud, &name, &cluster.user_data(OF_SIM).await);
        expected.insert(name, format!("sim:///sim-1a/{id}"));
    }
    all_join(&cluster, &kubelets, &expected).await;
    println!("{MANY} VMs of the simulated cloud were ready after {:?}", began.elapsed());
    nothing_is_left_of(kubelets);
}

#[tokio::test]
#[ignore = "nightly: builds the kubelet, which takes five minutes the first time"]
async fn twenty_instances_of_ec2_join_under_their_private_names() {
    let (cluster, cloud) = (Cluster::start().await, Ec2::start(ec2::Options::default()).await.unwrap());
    let kubelets = start(Ec2Source::new(&cloud.moto_url(), cloud.region()).unwrap()).await;
    let began = Instant::now();
    for _ in 0..MANY {
        instance(&cloud, &cluster.user_data(OF_EC2).await).await;
    }
    let live = cloud.live_instances().await.unwrap();
    let expected: BTreeMap<_, _> = live
        .into_iter()
        .map(|made| (made.private_dns_name, format!("aws:///{}/{}", made.zone, made.id)))
        .collect();
    all_join(&cluster, &kubelets, &expected).await;
    println!("{MANY} instances were ready after {:?}", began.elapsed());
    let (name, id) = expected.first_key_value().unwrap();
    let id = id.rsplit('/').next().unwrap();
    let pid = state(&kubelets, id).pid.unwrap();
    cloud.terminate_by_hand(id).await.unwrap();
    until("its kubelet is dead", async || (!runs(pid)).then_some(())).await;
    assert!(cluster.node(name).await.is_some());
}

/// Waits until all Nodes are ready: these, with these provider ids, and no others.
async fn all_join(cluster: &Cluster, kubelets: &RealKubelets, expected: &BTreeMap<String, String>) {
    assert_eq!(expected.len(), MANY);
    let nodes = until("all Nodes are ready", async || {
        let ready = cluster.ready_nodes().await;
        (ready.len() == MANY).then_some(ready)
    })
    .await;
    for (name, node) in &nodes {
        assert_eq!(provider_id(node), expected.get(name).map(String::as_str), "{name}");
    }
    assert_eq!(cluster.requests().await, MANY, "each kubelet requests one certificate");
    assert!(kubelets.states().values().all(|state| state.starts == 1), "{:?}", kubelets.states());
}

/// Drops them: all processes end, and their folders go.
fn nothing_is_left_of(kubelets: RealKubelets) {
    let pids: Vec<u32> = kubelets.states().values().filter_map(|state| state.pid).collect();
    let folder = |pid: &u32| std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap();
    let folders: Vec<PathBuf> = pids.iter().map(folder).collect();
    assert!(!pids.is_empty() && folders.iter().all(|folder| folder.exists()));
    drop(kubelets);
    assert!(!pids.iter().any(|pid| runs(*pid)), "a kubelet outlives its cloud");
    assert!(!folders.iter().any(|folder| folder.exists()), "some of {folders:?} are left");
}

/// Creates an instance with this user data.
async fn instance(cloud: &Ec2, user_data: &str) {
    let fixture = cloud.fixture();
    let body = form_urlencoded::Serializer::new(String::new())
        .extend_pairs([("Action", "RunInstances"), ("Version", "2016-11-15"), ("ImageId", &fixture.image_id)])
        .extend_pairs([("InstanceType", fixture.instance_type.as_str()), ("SubnetId", fixture.subnet_id())])
        .append_pair("UserData", &STANDARD.encode(user_data))
        .finish();
    let scope = format!("Credential=tests/20260101/{}/ec2/aws4_request", cloud.region());
    let authorization = format!("AWS4-HMAC-SHA256 {scope}, SignedHeaders=host, Signature=none");
    let request = reqwest::Client::new().post(cloud.moto_url()).header("authorization", authorization);
    let kind = "application/x-www-form-urlencoded";
    let answer = request.header("content-type", kind).body(body).send().await.unwrap();
    assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
}

fn runs(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z')))
}

async fn until<T>(what: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(120);
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(Instant::now() < end, "it never came true that {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
