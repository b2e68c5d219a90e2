//! Workloads of the cluster: pods and their controllers, budgets and volumes.

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Map, Value, json};

/// The namespace of workloads.
pub const WORKLOADS: &str = "default";
/// The CSI driver of the simulated cloud's volumes.
const CSI_DRIVER: &str = "sim.csi.machinist.dev";
const HOSTNAME: &str = "kubernetes.io/hostname";

/// The shape of a pod.
#[derive(Clone, Debug, Default)]
pub struct PodShape {
    pub app: String,
    /// The Node that it may be bound to; without it, any.
    pub node: Option<String>,
    /// Seconds that it may take to end.
    pub grace_secs: u32,
    /// Annotations, such as those of [`nodesim::pods`].
    pub annotations: Vec<(&'static str, String)>,
}

impl PodShape {
    /// A pod of this app that any Node may run.
    pub fn of(app: &str) -> Self {
        Self { app: app.to_owned(), grace_secs: 30, ..Self::default() }
    }

    /// Only on this Node.
    #[must_use]
    pub fn on(mut self, node: &str) -> Self {
        self.node = Some(node.to_owned());
        self
    }

    /// With so many seconds to end.
    #[must_use]
    pub fn grace(mut self, secs: u32) -> Self {
        self.grace_secs = secs;
        self
    }

    #[must_use]
    pub fn annotated(mut self, key: &'static str, value: &str) -> Self {
        self.annotations.push((key, value.to_owned()));
        self
    }

    fn metadata(&self) -> Value {
        let annotations: Map<String, Value> =
            self.annotations.iter().map(|(key, value)| ((*key).to_owned(), value.as_str().into())).collect();
        json!({ "labels": { "app": self.app }, "annotations": annotations })
    }

    fn spec(&self) -> Value {
        let mut spec = json!({
            "terminationGracePeriodSeconds": self.grace_secs,
            "containers": [{ "name": "main", "image": "registry.example.com/main:1" }],
        });
        if let (Some(node), Value::Object(fields)) = (&self.node, &mut spec) {
            fields.insert("nodeSelector".to_owned(), json!({ HOSTNAME: node }));
        }
        spec
    }
}

/// A pod without a controller, bound already.
pub fn pod(name: &str, node: &str, shape: &PodShape) -> Pod {
    let mut pod = json!({ "metadata": shape.metadata(), "spec": shape.spec() });
    pod["metadata"]["name"] = name.into();
    pod["metadata"]["namespace"] = WORKLOADS.into();
    pod["spec"]["nodeName"] = node.into();
    serde_json::from_value(pod).expect("the pod is right")
}

/// The mirror of a static pod.
pub fn mirror_pod(name: &str, node: &str) -> Pod {
    pod(name, node, &PodShape::of("static").annotated("kubernetes.io/config.mirror", "0123456789abcdef"))
}

/// So many pods that a controller creates again.
pub fn replica_set(name: &str, replicas: u32, shape: &PodShape) -> Value {
    let mut set = workload("ReplicaSet", name, shape);
    set["spec"]["replicas"] = replicas.into();
    set
}

/// A pod on each Node.
pub fn daemon_set(name: &str, shape: &PodShape) -> Value {
    workload("DaemonSet", name, shape)
}

/// So many pods with a volume each, all at once. The volumes are [`disks`] of the same name.
pub fn stateful_set(name: &str, replicas: u32, shape: &PodShape) -> Value {
    let mut set = workload("StatefulSet", name, shape);
    set["spec"]["replicas"] = replicas.into();
    set["spec"]["serviceName"] = name.into();
    set["spec"]["podManagementPolicy"] = "Parallel".into();
    set["spec"]["volumeClaimTemplates"] = json!([{
        "metadata": { "name": "data" },
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": "",
            "resources": { "requests": { "storage": "1Gi" } },
        },
    }]);
    set
}

/// The volumes of a StatefulSet's pods, by the name of the PersistentVolume.
pub fn disks(set: &str, replicas: u32) -> Vec<Value> {
    let disk = |number: u32| {
        json!({
            "apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": { "name": format!("{set}-{number}") },
            "spec": {
                "accessModes": ["ReadWriteOnce"], "storageClassName": "", "capacity": { "storage": "1Gi" },
                "persistentVolumeReclaimPolicy": "Retain",
                "claimRef": { "namespace": WORKLOADS, "name": format!("data-{set}-{number}") },
                "csi": { "driver": CSI_DRIVER, "volumeHandle": format!("vol-{set}-{number}") },
            },
        })
    };
    (0..replicas).map(disk).collect()
}

/// A PodDisruptionBudget for an app. `field` is `minAvailable` or `maxUnavailable`.
pub fn budget(name: &str, app: &str, field: &str, pods: u32) -> Value {
    json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": { "name": name, "namespace": WORKLOADS },
        "spec": { field: pods, "selector": { "matchLabels": { "app": app } } },
    })
}

fn workload(kind: &str, name: &str, shape: &PodShape) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": kind,
        "metadata": { "name": name, "namespace": WORKLOADS },
        "spec": {
            "selector": { "matchLabels": { "app": shape.app } },
            "template": { "metadata": shape.metadata(), "spec": shape.spec() },
        },
    })
}
