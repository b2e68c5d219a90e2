//! Real kubelets join a control plane that authorises Nodes as kubeadm's do.

mod support;

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use control_plane::{ControlPlane, Kubelet, KubeletOptions, Options, client_from};
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Secret};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use support::{children_of, is_running, manifest, until};

const TOKEN: &str = "abc123.0123456789abcdef";
/// How many Nodes the test of many joins at once has.
const MANY: usize = 20;

struct Cluster {
    plane: ControlPlane,
    client: Client,
    binary: PathBuf,
}

impl Cluster {
    /// A control plane with the Secret of [`TOKEN`].
    async fn start() -> Self {
        let plane = ControlPlane::start(Options::with_node_authorization()).await.unwrap();
        plane.apply(&manifest("bootstrap-token.yaml")).await.unwrap();
        let client = plane.client().unwrap();
        let binary = tokio::task::spawn_blocking(control_plane::build::kubelet).await.unwrap().unwrap();
        let cluster = Self { plane, client, binary };
        cluster.until_token_is_known().await;
        cluster
    }

    /// The authenticator reads tokens from a cache that follows the Secrets.
    async fn until_token_is_known(&self) {
        let kubeconfig = self.plane.kubeconfig_for_token("joining", TOKEN).unwrap();
        let joining = client_from(&kubeconfig).await.unwrap();
        until("the token is known", async || joining.apiserver_version().await.is_ok()).await;
    }

    fn options(&self, name: &str, token: &str) -> KubeletOptions {
        let (server, authority) = (self.plane.server(), self.plane.authority());
        let options = KubeletOptions::with_token(name, &server, &authority, token).unwrap();
        KubeletOptions { provider_id: Some(format!("sim:///zone/{name}")), ..options }
    }

    fn kubelet(&self, options: &KubeletOptions) -> Kubelet {
        Kubelet::start(&self.binary, options).unwrap()
    }

    fn nodes(&self) -> Api<Node> {
        Api::all(self.client.clone())
    }

    async fn until_ready(&self, name: &str, kubelet: &mut Kubelet) -> Node {
        until(&format!("{name} is ready"), async || {
            kubelet.ensure_running().unwrap();
            self.nodes().get_opt(name).await.unwrap().is_some_and(|node| is_ready(&node))
        })
        .await;
        self.nodes().get(name).await.unwrap()
    }

    async fn requests(&self) -> Vec<CertificateSigningRequest> {
        Api::all(self.client.clone()).list(&ListParams::default()).await.unwrap().items
    }

    async fn delete_token(&self) {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), "kube-system");
        secrets.delete("bootstrap-token-abc123", &DeleteParams::default()).await.unwrap();
    }
}

fn is_ready(node: &Node) -> bool {
    let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

#[tokio::test]
#[ignore = "nightly: builds the kubelet, which takes five minutes the first time"]
async fn a_token_gets_a_kubelet_its_certificate_and_with_it_its_node_and_no_other() {
    let cluster = Cluster::start().await;
    a_token_may_request_a_certificate_and_nothing_else(&cluster).await;

    let mut options = cluster.options("one", TOKEN);
    options.labels = [("pool".to_owned(), "workers".to_owned())].into();
    options.machine.id = "vm-1".to_owned();
    options.machine.boot_id = "boot-1".to_owned();
    let mut one = cluster.kubelet(&options);
    let node = cluster.until_ready("one", &mut one).await;
    says_who_it_is(&node);
    was_approved_and_signed(&cluster).await;

    cluster.delete_token().await;
    goes_on_without_its_token(&cluster, "one").await;
    a_token_that_is_refused_joins_nothing(&cluster).await;
    a_kubelet_may_change_its_own_node_within_limits(&cluster, &mut one).await;

    let folder = one.folder().to_owned();
    let pid = one.pid();
    drop(one);
    assert!(!is_running(pid) && !folder.exists(), "something of the kubelet is left");
}

async fn a_token_may_request_a_certificate_and_nothing_else(cluster: &Cluster) {
    let kubeconfig = cluster.plane.kubeconfig_for_token("joining", TOKEN).unwrap();
    let joining = client_from(&kubeconfig).await.unwrap();
    let nodes: Api<Node> = Api::all(joining.clone());
    assert_eq!(refusal(nodes.create(&PostParams::default(), &node(&json!({ "name": "forged" }))).await), 403);
    assert_eq!(refusal(Api::<Secret>::all(joining).list(&ListParams::default()).await), 403);
}

fn says_who_it_is(node: &Node) {
    assert_eq!(node.spec.as_ref().unwrap().provider_id.as_deref(), Some("sim:///zone/one"));
    assert_eq!(node.labels()["kubernetes.io/hostname"], "one");
    assert_eq!(node.labels()["pool"], "workers");
    let status = node.status.as_ref().unwrap();
    let info = status.node_info.as_ref().unwrap();
    assert_eq!((info.machine_id.as_str(), info.boot_id.as_str()), ("vm-1", "boot-1"));
    assert_eq!(info.kubelet_version, control_plane::build::KUBERNETES_VERSION);
    assert_eq!(status.capacity.as_ref().unwrap()["cpu"].0, "2");
    let endpoint = status.daemon_endpoints.as_ref().and_then(|all| all.kubelet_endpoint.as_ref());
    assert_eq!(endpoint.map(|endpoint| endpoint.port), Some(0), "it serves nothing");
}

async fn was_approved_and_signed(cluster: &Cluster) {
    let requests = cluster.requests().await;
    assert_eq!(requests.len(), 1, "{requests:?}");
    let request = &requests[0];
    assert_eq!(request.spec.username.as_deref(), Some("system:bootstrap:abc123"));
    assert_eq!(request.spec.signer_name, "kubernetes.io/kube-apiserver-client-kubelet");
    let status = request.status.as_ref().unwrap();
    let conditions: Vec<_> = status.conditions.iter().flatten().map(|condition| &condition.type_).collect();
    assert_eq!(conditions, ["Approved"]);
    assert!(status.certificate.is_some());
}

async fn goes_on_without_its_token(cluster: &Cluster, name: &str) {
    let leases: Api<Lease> = Api::namespaced(cluster.client.clone(), "kube-node-lease");
    let renewed = async || leases.get_opt(name).await.unwrap()?.spec?.renew_time;
    until("there is a Lease", async || renewed().await.is_some()).await;
    let first = renewed().await;
    until("it is renewed without the token", async || renewed().await > first).await;
}

/// One that never was, one that is deleted, one that has expired.
async fn a_token_that_is_refused_joins_nothing(cluster: &Cluster) {
    let expired = "expire.0123456789abcdef";
    cluster
        .plane
        .apply(
            &json!({
                "apiVersion": "v1", "kind": "Secret", "type": "bootstrap.kubernetes.io/token",
                "metadata": { "name": "bootstrap-token-expire", "namespace": "kube-system" },
                "stringData": {
                    "token-id": "expire", "token-secret": "0123456789abcdef",
                    "usage-bootstrap-authentication": "true", "expiration": "2020-01-01T00:00:00Z",
                },
            })
            .to_string(),
        )
        .await
        .unwrap();
    for token in ["zzzzzz.zzzzzzzzzzzzzzzz", TOKEN, expired] {
        let mut refused = cluster.kubelet(&cluster.options("refused", token));
        until("the kubelet gives up", async || refused.ensure_running().is_err()).await;
        let error = refused.ensure_running().unwrap_err().to_string();
        assert!(error.contains("refuses the bootstrap token") && !error.contains(token), "{error}");
    }
    assert_eq!(cluster.requests().await.len(), 1, "a refused token requested a certificate");
    assert!(cluster.nodes().get_opt("refused").await.unwrap().is_none());
}

async fn a_kubelet_may_change_its_own_node_within_limits(cluster: &Cluster, one: &mut Kubelet) {
    let foreign = node(&json!({ "name": "two" }));
    cluster.nodes().create(&PostParams::default(), &foreign).await.unwrap();
    let client = client_from(one.kubeconfig()).await.unwrap();
    let nodes: Api<Node> = Api::all(client.clone());
    let label = async |name: &str, key: &str| {
        let patch = json!({ "metadata": { "labels": { key: "x" } } });
        nodes.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await
    };
    label("one", "kubelet.kubernetes.io/colour").await.unwrap();
    label("one", "example.com/colour").await.unwrap();
    // Those of workloads that are to be kept apart, and those that others rely on.
    for key in ["node-restriction.kubernetes.io/colour", "node-role.kubernetes.io/worker"] {
        assert_eq!(refusal(label("one", key).await), 403, "{key}");
    }
    assert_eq!(refusal(label("two", "example.com/colour").await), 403);
    let status = Patch::Merge(json!({ "status": { "phase": "Running" } }));
    assert_eq!(refusal(nodes.patch_status("two", &PatchParams::default(), &status).await), 403);
    let taints = Patch::Merge(json!({ "spec": { "taints": [{ "key": "a", "effect": "NoSchedule" }] } }));
    assert_eq!(refusal(nodes.patch("one", &PatchParams::default(), &taints).await), 403);
    assert_eq!(refusal(nodes.create(&PostParams::default(), &node(&json!({ "name": "three" }))).await), 403);
    assert_eq!(refusal(nodes.delete("one", &DeleteParams::default()).await.map(drop)), 403);
    assert_eq!(refusal(Api::<Secret>::all(client).list(&ListParams::default()).await), 403);

    // A kubelet that is to register with such a label does not even start.
    let mut options = cluster.options("four", TOKEN);
    options.labels = [("node-role.kubernetes.io/worker".to_owned(), String::new())].into();
    let mut four = cluster.kubelet(&options);
    until("the kubelet gives up", async || four.ensure_running().is_err()).await;
    let error = four.ensure_running().unwrap_err().to_string();
    assert!(error.contains("node-role.kubernetes.io/worker"), "{error}");
    one.ensure_running().unwrap();
}

/// It is not, until it starts again: then its certificate is enough, and no token is needed.
#[tokio::test]
#[ignore = "nightly: builds the kubelet, which takes five minutes the first time"]
async fn a_node_that_is_deleted_while_its_kubelet_lives_is_registered_again_at_its_next_start() {
    let cluster = Cluster::start().await;
    let mut options = cluster.options("one", TOKEN);
    options.args = vec!["--node-status-update-frequency=1s".to_owned()];
    let mut kubelet = cluster.kubelet(&options);
    let first = cluster.until_ready("one", &mut kubelet).await;
    cluster.delete_token().await;
    cluster.nodes().delete("one", &DeleteParams::default()).await.unwrap();

    let given_up = async |rounds: usize| {
        let log = kubelet.log();
        log.lines().filter(|line| line.contains("Unable to update node status")).count() >= rounds
    };
    until("the kubelet has failed to report ten times", async || given_up(10).await).await;
    assert!(cluster.nodes().get_opt("one").await.unwrap().is_none(), "it was registered again");
    let leases: Api<Lease> = Api::namespaced(cluster.client.clone(), "kube-node-lease");
    assert!(leases.get_opt("one").await.unwrap().is_none(), "its Lease came back");

    kubelet.restart(&options).unwrap();
    let second = cluster.until_ready("one", &mut kubelet).await;
    assert_ne!(first.uid(), second.uid());
    assert_eq!(cluster.requests().await.len(), 1, "the certificate that it had is enough");
}

#[tokio::test]
#[ignore = "nightly: builds the kubelet, which takes five minutes the first time"]
async fn twenty_kubelets_join_at_once() {
    let cluster = Cluster::start().await;
    let began = Instant::now();
    let names: Vec<String> = (0..MANY).map(|number| format!("node-{number}")).collect();
    let mut kubelets: Vec<Kubelet> =
        names.iter().map(|name| cluster.kubelet(&cluster.options(name, TOKEN))).collect();
    until("all Nodes are ready", async || {
        kubelets.iter_mut().for_each(|kubelet| kubelet.ensure_running().unwrap());
        cluster
            .nodes()
            .list(&ListParams::default())
            .await
            .unwrap()
            .iter()
            .filter(|node| is_ready(node))
            .count()
            == MANY
    })
    .await;
    let joined = began.elapsed();
    let ids: Vec<String> = cluster
        .nodes()
        .list(&ListParams::default())
        .await
        .unwrap()
        .into_iter()
        .filter_map(|node| node.spec?.provider_id)
        .collect();
    assert!(names.iter().all(|name| ids.contains(&format!("sim:///zone/{name}"))), "{ids:?}");
    let usages: Vec<_> = kubelets.iter().map(|kubelet| kubelet.usage().unwrap()).collect();
    let mib = |bytes: u64| bytes >> 20;
    let own: u64 = usages.iter().map(|usage| usage.anonymous_bytes).sum();
    let resident: u64 = usages.iter().map(|usage| usage.rss_bytes).sum();
    let cpu: Duration = usages.iter().map(|usage| usage.cpu).sum();
    println!(
        "{MANY} Nodes ready after {joined:?}; a kubelet has {} MiB resident, {} MiB of its own, and took {:?} of CPU",
        mib(resident / MANY as u64),
        mib(own / MANY as u64),
        cpu / MANY as u32
    );
    // Twice of what they need.
    assert!(mib(own) < 30 * MANY as u64, "{usages:?}");
}

#[tokio::test]
#[ignore = "nightly: builds the kubelet, which takes five minutes the first time"]
async fn kubelets_end_and_their_folders_go_with_a_parent_that_is_killed() {
    let mut parent = Command::new(env!("CARGO_BIN_EXE_control-plane"))
        .args(["run", "--kubelets", "2"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(parent.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let client = client_from(line.trim()).await.unwrap();
    let nodes: Api<Node> = Api::all(client);
    until("both are ready", async || {
        nodes.list(&ListParams::default()).await.unwrap().iter().filter(|node| is_ready(node)).count() == 2
    })
    .await;
    let children = children_of(parent.id());
    assert_eq!(children.len(), 5, "two kubelets and three programs of the control plane");
    let folders: Vec<PathBuf> =
        children.iter().map(|pid| std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap()).collect();
    assert_eq!(folders.iter().filter(|folder| folder.join("kubelet.log").exists()).count(), 2);

    parent.kill().unwrap();
    parent.wait().unwrap();
    until("all processes have ended", async || !children.iter().any(|pid| is_running(*pid))).await;
    assert!(!folders.iter().any(|folder| folder.exists()), "some of {folders:?} are left");
}

fn node(metadata: &Value) -> Node {
    serde_json::from_value(json!({ "metadata": metadata })).unwrap()
}

/// The status code with which the API server refused.
fn refusal<T: std::fmt::Debug>(answer: kube::Result<T>) -> u16 {
    match answer {
        Err(kube::Error::Api(status)) => status.code,
        other => panic!("expected a refusal, got {other:?}"),
    }
}
