//! Pods and volumes against the real scheduler, controllers and API server.

use std::sync::Arc;
use std::time::{Duration, Instant};

use control_plane::{ControlPlane, Options};
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::Api;
use kube::api::{DeleteParams, EvictParams, ListParams, Patch, PatchParams};
use nodesim::{Config, NodeSim, PodTiming, SimcloudSource, Target, Timing, VolumeTiming, Workloads};
use serde_json::json;
use simcloud::{Latency, Method, Request, Server};

const MANIFESTS: &str = include_str!("manifests/workloads.yaml");
const VOLUME: &str = "kubernetes.io/csi/disks.example.com^vol-1";

struct Harness {
    plane: ControlPlane,
    cloud: Server,
    nodesim: NodeSim,
    pods: Api<Pod>,
    nodes: Api<Node>,
    attachments: Api<VolumeAttachment>,
}

impl Harness {
    async fn start() -> Self {
        let plane = ControlPlane::start(Options::with_workloads()).await.unwrap();
        let config = simcloud::Config { latency: Latency::ZERO, ..simcloud::Config::default() };
        let cloud = Server::start(config).unwrap();
        let workloads = Workloads {
            pods: PodTiming { exit: Some(Duration::from_millis(300)), ..PodTiming::default() },
            volumes: VolumeTiming { detach: Duration::from_millis(300), ..VolumeTiming::default() },
        };
        let timing = Timing { join_retry: Duration::from_millis(50), ..Timing::default() };
        let target = Target::Kubeconfig(plane.nodesim_kubeconfig());
        let config = Config { timing, workloads: Some(workloads), ..Config::new(target) };
        let source = SimcloudSource::new(&cloud.url(), cloud.admin_token()).unwrap();
        let nodesim = NodeSim::start(config, Arc::new(source)).unwrap();
        plane.apply(MANIFESTS).await.unwrap();
        let client = plane.client().unwrap();
        let pods = Api::namespaced(client.clone(), "default");
        let (nodes, attachments) = (Api::all(client.clone()), Api::all(client));
        let harness = Self { plane, cloud, nodesim, pods, nodes, attachments };
        for name in ["n1", "n2"] {
            harness.vm(name);
        }
        harness
    }

    fn vm(&self, name: &str) {
        let body = json!({"name": name, "zone": "sim-1a", "type": "sim.small", "image": "linux-1",
            "userData": "I2Nsb3VkLWNvbmZpZwp0b2tlbjogYWJjMTIzLjAxMjM0NTY3ODlhYmNkZWYK"});
        self.cloud.with(|cloud, now| {
            let request = Request::new(Method::Post, "/v1/vms").with_token("sim-token");
            assert_eq!(cloud.handle(&request.with_json(&body).unwrap(), now).status, 201);
        });
    }

    /// The pod, once it is Ready.
    async fn ready(&self, name: &str) -> Pod {
        until(&format!("{name} is Ready"), async || {
            let pod = self.pods.get_opt(name).await.unwrap()?;
            let conditions = pod.status.as_ref()?.conditions.as_ref()?;
            let is_ready = conditions.iter().any(|one| one.type_ == "Ready" && one.status == "True");
            (is_ready && pod.metadata.deletion_timestamp.is_none()).then_some(pod)
        })
        .await
    }

    async fn attached(&self, node: &str) -> Vec<String> {
        let status = self.nodes.get(node).await.unwrap().status.unwrap_or_default();
        status.volumes_attached.into_iter().flatten().map(|volume| volume.name).collect()
    }

    async fn cordon(&self, node: &str) {
        let patch = Patch::Merge(json!({ "spec": { "unschedulable": true } }));
        self.nodes.patch(node, &PatchParams::default(), &patch).await.unwrap();
    }
}

fn node_of(pod: &Pod) -> String {
    pod.spec.as_ref().unwrap().node_name.clone().unwrap()
}

#[tokio::test]
async fn a_pod_moves_with_its_volume_and_stays_where_the_kubelet_is_dead() {
    let harness = Harness::start().await;
    let first = harness.ready("db-0").await;
    let (from, to) = if node_of(&first) == "n1" { ("n1", "n2") } else { ("n2", "n1") };
    assert_eq!(harness.attached(from).await, [VOLUME]);
    let status = harness.nodes.get(from).await.unwrap().status.unwrap();
    assert_eq!(status.volumes_in_use.unwrap(), [VOLUME]);
    assert!(first.status.unwrap().container_statuses.unwrap()[0].ready);

    // It goes where db-0 is, and must be there before that moves.
    assert_eq!(node_of(&harness.ready("other").await), from);
    harness.cordon(from).await;
    harness.pods.evict("db-0", &EvictParams::default()).await.unwrap();
    let second = harness.ready("db-0").await;
    assert_eq!(node_of(&second), to);
    assert_ne!(second.metadata.uid, first.metadata.uid);
    assert_eq!(harness.attached(to).await, [VOLUME]);
    assert_eq!(harness.attached(from).await, [""; 0]);
    let all = harness.attachments.list(&ListParams::default()).await.unwrap().items;
    assert!(all.iter().all(|one| one.spec.node_name == to), "{all:?}");

    // Nobody ends the pods of a dead machine; a hanging cloud holds what is attached there.
    let id = harness.cloud.live_vms().into_iter().find(|vm| vm.name == to).unwrap().id;
    harness.nodesim.set_detaching_stuck(to, true);
    harness.cloud.kill_vm(&id).unwrap();
    until("the kubelet is dead", async || (harness.nodesim.stats().alive == 1).then_some(())).await;
    let removed = harness.nodesim.pod_stats().removed;
    harness.pods.delete("db-0", &DeleteParams::default().grace_period(1)).await.unwrap();
    let name = all[0].metadata.name.clone().unwrap();
    harness.attachments.delete(&name, &DeleteParams::default()).await.unwrap();
    // A pod of the other Node goes meanwhile: time has passed.
    harness.pods.delete("other", &DeleteParams::default()).await.unwrap();
    until("the other pod is gone", async || {
        harness.pods.get_opt("other").await.unwrap().is_none().then_some(())
    })
    .await;
    until("it is counted", async || (harness.nodesim.pod_stats().removed > removed).then_some(())).await;
    assert_eq!(harness.nodesim.pod_stats().removed, removed + 1);
    let stays = harness.pods.get("db-0").await.unwrap();
    assert!(stays.metadata.deletion_timestamp.is_some());
    let held = harness.attachments.get(&name).await.unwrap();
    assert!(held.metadata.deletion_timestamp.is_some());
    harness.nodesim.set_detaching_stuck(to, false);
    until("the volume comes off", async || {
        let now = harness.attachments.get_opt(&name).await.unwrap();
        now.is_none_or(|now| now.metadata.uid != held.metadata.uid).then_some(())
    })
    .await;
    assert_eq!(harness.nodesim.pod_stats().failures, 0);
    drop(harness.plane);
}

async fn until<T>(what: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(Instant::now() < end, "it never came true that {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
