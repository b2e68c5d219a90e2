//! Pods of applications: created, placed, started, ended within their grace period, created again.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use memory_api::is_ready;
use serde_json::{Value, json};

use super::volumes::claim;
use super::{Cluster, Due};

/// Where all pods are.
pub(super) const NAMESPACE: &str = "default";

/// An application: so many pods of the same kind, and what its budget asks for.
#[derive(Clone, Debug)]
pub(super) struct App {
    pub(super) replicas: usize,
    pub(super) min_available: usize,
    pub(super) pods: BTreeSet<String>,
    pub(super) is_counting: bool,
    /// Each of its pods has a place of its own, with a volume.
    has_volumes: bool,
}

#[derive(Clone, Debug)]
struct Pod {
    app: usize,
    node: Option<String>,
    is_going: bool,
    claim: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct Pods {
    pub(super) apps: Vec<App>,
    pods: BTreeMap<String, Pod>,
    by_node: BTreeMap<String, BTreeSet<String>>,
    /// Nodes that were joined and are there.
    pub(super) nodes: Vec<String>,
    made: u64,
}

impl Pods {
    /// The claim of a place of this application that no pod has; `None` where pods have none.
    fn free_claim(&self, app: usize) -> Option<String> {
        let this = self.apps.get(app).filter(|this| this.has_volumes)?;
        let used: BTreeSet<&String> =
            this.pods.iter().filter_map(|pod| self.pods.get(pod)?.claim.as_ref()).collect();
        (0..this.replicas).map(|place| claim(app, place)).find(|claim| !used.contains(claim))
    }
}

impl Cluster {
    pub(super) fn start_apps(&self, apps: usize) {
        for app in 0..apps {
            let replicas = 2 + self.lock().rng.below(3);
            // A budget that allows nothing is what users do by mistake.
            let min_available = if self.lock().rng.happens(0.1) { replicas } else { replicas - 1 };
            let budget = json!({
                "metadata": { "name": format!("app-{app}"), "namespace": NAMESPACE },
                "spec": { "minAvailable": min_available, "selector": { "matchLabels": { "app": app.to_string() } } },
            });
            let made = self.api.create("poddisruptionbudgets", &budget);
            assert!(made.is_ok(), "nothing was there before: {made:?}");
            let has_volumes = self.lock().rng.happens(0.5);
            for place in (0..replicas).filter(|_| has_volumes) {
                self.make_volume(&claim(app, place));
            }
            let app_of_it =
                App { replicas, min_available, pods: BTreeSet::new(), is_counting: false, has_volumes };
            self.lock().pods.apps.push(app_of_it);
            self.later(Duration::from_secs(60), Due::App(app));
        }
    }

    pub(super) fn look_after(&self, app: usize) {
        let mut state = self.lock();
        let Some(this) = state.pods.apps.get(app) else { return };
        let missing = this.replicas.saturating_sub(this.pods.len());
        let replicas = this.replicas;
        for _ in 0..missing {
            state.pods.made += 1;
            let name = format!("app-{app}-{}", state.pods.made);
            let claim = state.pods.free_claim(app);
            let volumes = claim
                .iter()
                .map(|claim| json!({ "name": "data", "persistentVolumeClaim": { "claimName": claim } }));
            let volumes: Vec<Value> = volumes.collect();
            let pod = Pod { app, node: None, is_going: false, claim };
            state.pods.pods.insert(name.clone(), pod);
            if let Some(this) = state.pods.apps.get_mut(app) {
                this.pods.insert(name.clone());
            }
            drop(state);
            let pod = json!({
                "metadata": {
                    "name": name, "namespace": NAMESPACE, "labels": { "app": app.to_string() },
                    "ownerReferences": [{
                        "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": format!("app-{app}"),
                        "uid": format!("replica-set-{app}"), "controller": true,
                    }],
                },
                "spec": {
                    "terminationGracePeriodSeconds": 30, "containers": [{ "name": "c", "image": "i" }], "volumes": volumes,
                },
                "status": { "phase": "Pending" },
            });
            let _ = self.api.create("pods", &pod);
            self.later(Duration::from_millis(200), Due::Pod(name));
            state = self.lock();
        }
        drop(state);
        if missing > 0 && replicas > 0 {
            self.recount(app);
        }
    }

    /// Its kubelet ends a pod that is asked to go, or starts one.
    pub(super) fn pod_due(&self, name: &str) {
        let Some(pod) = self.lock().pods.pods.get(name).cloned() else { return };
        let path = format!("{NAMESPACE}/{name}");
        let works = pod.node.as_ref().is_some_and(|node| self.node_works(node));
        match (&pod.node, pod.is_going) {
            (None, _) => self.place(name, &path),
            (Some(_), true) if works => drop(self.api.delete_within("pods", &path, Some(0))),
            (Some(_), true) => self.later(Duration::from_secs(20), Due::Pod(name.to_owned())),
            (Some(node), false) if pod.claim.as_ref().is_some_and(|claim| !self.is_attached(claim, node)) => {
                self.later(Duration::from_secs(5), Due::Pod(name.to_owned()));
            }
            (Some(_), false) => {
                let status = if works { "True" } else { "False" };
                self.set_pod_ready(&path, status);
                self.recount(pod.app);
            }
        }
    }

    fn place(&self, name: &str, path: &str) {
        let mut state = self.lock();
        let mut found = None;
        for _ in 0..8 {
            let at = {
                let len = state.pods.nodes.len();
                state.rng.below(len)
            };
            let Some(node) = state.pods.nodes.get(at).cloned() else { break };
            if !state.cordoned.contains(&node) {
                found = Some(node);
                break;
            }
        }
        drop(state);
        let Some(node) = found.filter(|node| self.node_works(node)) else {
            return self.later(Duration::from_secs(15), Due::Pod(name.to_owned()));
        };
        let mut state = self.lock();
        if let Some(pod) = state.pods.pods.get_mut(name) {
            pod.node = Some(node.clone());
        }
        state.pods.by_node.entry(node.clone()).or_default().insert(name.to_owned());
        drop(state);
        let _ = self.api.edit("pods", path, &json!({ "spec": { "nodeName": node } }));
        let _ = self.api.edit_status("pods", path, &json!({ "status": { "phase": "Running" } }));
        let after = self.between(2, 8);
        self.later(after, Due::Pod(name.to_owned()));
    }

    /// Somebody has asked a pod to go.
    pub(super) fn pod_goes(&self, name: &str) {
        let mut state = self.lock();
        let Some(pod) = state.pods.pods.get_mut(name) else { return };
        pod.is_going = true;
        let app = pod.app;
        drop(state);
        self.recount(app);
        let after = self.between(1, 20);
        self.later(after, Due::Pod(name.to_owned()));
    }

    pub(super) fn pod_gone(&self, name: &str) {
        let mut state = self.lock();
        let Some(pod) = state.pods.pods.remove(name) else { return };
        let left = pod.claim.clone().zip(pod.node.clone());
        if let Some(node) = &pod.node
            && let Some(pods) = state.pods.by_node.get_mut(node)
        {
            pods.remove(name);
        }
        if let Some(app) = state.pods.apps.get_mut(pod.app) {
            app.pods.remove(name);
        }
        drop(state);
        if let Some((claim, node)) = left {
            self.let_go(&claim, &node);
        }
        self.recount(pod.app);
        self.later(Duration::from_secs(1), Due::App(pod.app));
    }

    /// A pod that is on this Node uses this claim.
    pub(super) fn is_used(&self, claim: &str, node: &str) -> bool {
        let state = self.lock();
        let mut pods = state.pods.by_node.get(node).into_iter().flatten();
        pods.any(|name| state.pods.pods.get(name).is_some_and(|pod| pod.claim.as_deref() == Some(claim)))
    }

    /// A Node is gone: what ran there is taken away.
    pub(super) fn collect(&self, node: &str) {
        if self.lock().by_node.contains_key(node) {
            return;
        }
        let pods = self.lock().pods.by_node.remove(node).unwrap_or_default();
        for pod in pods {
            let _ = self.api.delete_within("pods", &format!("{NAMESPACE}/{pod}"), Some(0));
        }
        self.let_go_all(node);
    }

    /// Pods of a silent Node are not ready.
    pub(super) fn pods_of_node(&self, node: &str, is_well: bool) {
        let pods = self.lock().pods.by_node.get(node).cloned().unwrap_or_default();
        for pod in pods {
            self.set_pod_ready(&format!("{NAMESPACE}/{pod}"), if is_well { "True" } else { "False" });
            let app = self.lock().pods.pods.get(&pod).map(|pod| pod.app);
            if let Some(app) = app {
                self.recount(app);
            }
        }
    }

    fn set_pod_ready(&self, path: &str, status: &str) {
        let Some(pod) = self.api.find("pods", path) else { return };
        if is_ready(&pod) != (status == "True") || pod["status"]["conditions"] == Value::Null {
            let conditions = json!([{ "type": "Ready", "status": status }]);
            let _ = self.api.edit_status("pods", path, &json!({ "status": { "conditions": conditions } }));
        }
    }

    pub(super) fn node_works(&self, node: &str) -> bool {
        let state = self.lock();
        let kubelet = state.by_node.get(node).and_then(|vm| state.kubelets.get(vm));
        kubelet.is_some_and(|one| one.works && one.has_node && !state.dark_zones.contains(&one.zone))
    }
}
