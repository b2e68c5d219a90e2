//! Kubelets: one a VM. Each joins with the token out of its VM's user data.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use simcloud::{Event, EventKind, Method, Request};

use super::{Cluster, Due, SILENCE};
use crate::names::{is_of_cluster_api, provider_id};
use crate::rng::Rng;

/// The kubelet of one VM.
#[derive(Clone, Debug)]
pub(super) struct Kubelet {
    pub(super) node: String,
    pub(super) provider_id: String,
    /// As its Node says it.
    id_on_node: String,
    pub(super) zone: String,
    /// The VM runs, and so does the process.
    pub(super) works: bool,
    /// The VM is gone for good.
    is_gone: bool,
    pub(super) has_node: bool,
    /// A condition of the Node that says that something is wrong.
    flaw: Option<&'static str>,
}

impl Cluster {
    pub(super) fn vm_changed(&self, event: &Event) {
        let Some(vm) = &event.vm else { return };
        if event.kind == EventKind::Created {
            self.watchman.vm_appears(vm);
        }
        // Its kubelet joins a workload cluster, which no host here reads.
        if vm.tags.get("cluster").is_some_and(|mark| is_of_cluster_api(mark)) {
            return;
        }
        match event.kind {
            EventKind::Created | EventKind::Reset => {}
            EventKind::Running => {
                let kubelet = Kubelet {
                    node: vm.name.clone(),
                    provider_id: provider_id(&vm.zone, &vm.id),
                    id_on_node: self.id_on_node(&vm.zone, &vm.id),
                    zone: vm.zone.clone(),
                    works: true,
                    is_gone: false,
                    has_node: false,
                    flaw: None,
                };
                self.lock().kubelets.insert(vm.id.clone(), kubelet);
                let after = self.between(2, 40);
                self.later(after, Due::Join(vm.id.clone()));
            }
            EventKind::Rebooted => {
                self.stop_kubelet(&vm.id);
                let after = self.between(10, 120);
                self.later(after, Due::Back(vm.id.clone()));
            }
            EventKind::Stopping | EventKind::Terminated => {
                if let Some(kubelet) = self.lock().kubelets.get_mut(&vm.id) {
                    kubelet.is_gone = true;
                }
                self.stop_kubelet(&vm.id);
            }
        }
    }

    /// The kubelet of this VM dies.
    pub(crate) fn stop_kubelet(&self, vm: &str) {
        let mut state = self.lock();
        let Some(kubelet) = state.kubelets.get_mut(vm).filter(|kubelet| kubelet.works) else { return };
        kubelet.works = false;
        let node = kubelet.node.clone();
        drop(state);
        self.tell_truth(vm);
        self.log(("kubelet stops", &node));
        self.later(SILENCE, Due::Silence(vm.to_owned()));
    }

    /// The kubelet of this VM is started again after a while, if its VM still runs.
    pub(crate) fn repair_kubelet(&self, vm: &str, after: Duration) {
        self.later(after, Due::Back(vm.to_owned()));
    }

    /// Something is wrong with the Node of this VM from now on, or nothing is.
    pub(crate) fn set_flaw(&self, vm: &str, flaw: Option<&'static str>) {
        if let Some(kubelet) = self.lock().kubelets.get_mut(vm) {
            kubelet.flaw = flaw;
        }
        self.tell_truth(vm);
        self.report(vm);
    }

    /// A VM whose kubelet has joined.
    pub(crate) fn any_joined(&self, rng: &mut Rng) -> Option<String> {
        let state = self.lock();
        let joined = || state.kubelets.iter().filter(|(_, one)| one.has_node && !one.is_gone);
        joined().nth(rng.below(joined().count())).map(|(vm, _)| vm.clone())
    }

    /// The Node's name of this VM.
    pub(crate) fn node_of(&self, vm: &str) -> Option<String> {
        self.lock().kubelets.get(vm).map(|kubelet| kubelet.node.clone())
    }

    /// No kubelet reaches the API server for so long; the controller beside it does, and tells so.
    pub(crate) fn go_dark(&self, duration: Duration) {
        self.lock().dark_until = self.clock.now().checked_add(duration).ok();
        if duration > SILENCE {
            self.later(SILENCE, Due::Blackout);
        }
        let vms: Vec<String> = self.lock().kubelets.keys().cloned().collect();
        for vm in vms {
            let after = duration + self.between(1, 60);
            self.later(after, Due::Back(vm));
        }
    }

    /// Everything that was broken works again, where there still is a VM.
    pub(crate) fn repair_all(&self) {
        self.lock().dark_until = None;
        self.lock().dark_zones.clear();
        let vms: Vec<String> = self.lock().kubelets.keys().cloned().collect();
        for vm in vms {
            if let Some(kubelet) = self.lock().kubelets.get_mut(&vm) {
                kubelet.flaw = None;
            }
            let after = self.between(1, 60);
            self.tell_truth(&vm);
            self.later(after, Due::Back(vm));
        }
    }

    pub(super) fn join(&self, vm: &str) {
        let Some(kubelet) = self.lock().kubelets.get(vm).filter(|one| one.works && !one.has_node).cloned()
        else {
            return;
        };
        if self.is_dark() || self.is_cut_off(&kubelet.zone) || !self.may_join(vm) {
            return self.later(Duration::from_secs(20), Due::Join(vm.to_owned()));
        }
        let node = json!({
            "metadata": { "name": kubelet.node, "labels": {
                "kubernetes.io/hostname": kubelet.node, "topology.kubernetes.io/zone": kubelet.zone,
            } },
            "spec": { "providerID": kubelet.id_on_node },
            "status": { "conditions": self.conditions("True", None, None) },
        });
        if self.api.create("nodes", &node).is_err() {
            // The Node of an earlier VM of that name is there yet.
            return self.later(Duration::from_secs(20), Due::Join(vm.to_owned()));
        }
        self.log(("kubelet joins", &kubelet.node));
        let mut state = self.lock();
        state.by_node.insert(kubelet.node.clone(), vm.to_owned());
        if let Some(kubelet) = state.kubelets.get_mut(vm) {
            kubelet.has_node = true;
        }
        state.pods.nodes.push(kubelet.node);
        drop(state);
        self.tell_truth(vm);
    }

    /// In some clusters as the driver writes it, in others in a form of its own, as most clouds' controllers do.
    pub(crate) fn id_on_node(&self, zone: &str, vm: &str) -> String {
        if self.has_own_ids { format!("sim://{vm}") } else { provider_id(zone, vm) }
    }

    /// The token is the one of a Secret that the server would accept.
    fn may_join(&self, vm: &str) -> bool {
        let call = Request::new(Method::Get, &format!("/v1/vms/{vm}/user-data")).with_token("sim-admin");
        let answer: Value = self.cloud.handle(&call).json().unwrap_or_default();
        let user_data = STANDARD.decode(answer["userData"].as_str().unwrap_or_default()).unwrap_or_default();
        let user_data = String::from_utf8_lossy(&user_data);
        world::may_join(&self.api, &user_data, self.clock.now())
    }

    pub(super) fn silence(&self, vm: &str) {
        self.report(vm);
    }

    pub(super) fn back(&self, vm: &str) {
        let mut state = self.lock();
        let Some(kubelet) = state.kubelets.get_mut(vm).filter(|kubelet| !kubelet.is_gone) else { return };
        let was_down = !std::mem::replace(&mut kubelet.works, true);
        let has_node = kubelet.has_node;
        drop(state);
        if was_down {
            self.tell_truth(vm);
        }
        if has_node { self.report(vm) } else { self.later(Duration::from_secs(5), Due::Join(vm.to_owned())) }
    }

    pub(super) fn all_silent(&self) {
        if !self.is_dark() {
            return;
        }
        let vms: Vec<String> = self.lock().kubelets.keys().cloned().collect();
        for vm in vms {
            self.report(&vm);
        }
    }

    pub(super) fn node_gone(&self, node: &str) {
        let mut state = self.lock();
        state.cordoned.remove(node);
        state.pods.nodes.retain(|other| other != node);
        if let Some(vm) = state.by_node.remove(node) {
            // A kubelet that lost its Node does not create another one. The kubelet of a VM that is gone for good is
            // forgotten.
            if state.kubelets.get(&vm).is_some_and(|kubelet| kubelet.is_gone) {
                state.kubelets.remove(&vm);
            } else if let Some(kubelet) = state.kubelets.get_mut(&vm) {
                kubelet.has_node = false;
            }
        }
        drop(state);
        let after = self.between(20, 60);
        self.later(after, Due::Collect(node.to_owned()));
    }

    fn is_dark(&self) -> bool {
        let now = self.clock.now();
        self.lock().dark_until.is_some_and(|until| now < until)
    }

    /// Writes what everyone sees of this Node into its object.
    pub(super) fn report(&self, vm: &str) {
        let Some(kubelet) = self.lock().kubelets.get(vm).filter(|kubelet| kubelet.has_node).cloned() else {
            return;
        };
        let is_heard = kubelet.works && !self.is_dark() && !self.is_cut_off(&kubelet.zone);
        let ready = match (is_heard, kubelet.flaw) {
            (false, _) => "Unknown",
            (true, Some("Ready")) => "False",
            (true, _) => "True",
        };
        let Some(old) = self.api.find("nodes", &kubelet.node) else { return };
        if old["spec"]["providerID"] != kubelet.id_on_node.as_str() {
            return;
        }
        let conditions = self.conditions(ready, kubelet.flaw, Some(&old["status"]["conditions"]));
        if old["status"]["conditions"] != conditions {
            // The Node may be gone by now.
            let _ = self.api.edit_status(
                "nodes",
                &kubelet.node,
                &json!({ "status": { "conditions": conditions } }),
            );
            self.pods_of_node(&kubelet.node, ready == "True");
        }
    }

    fn conditions(&self, ready: &str, flaw: Option<&str>, old: Option<&Value>) -> Value {
        let now = self.clock.now().to_string();
        let condition = |kind: &str, status: &str| {
            let same = old.and_then(Value::as_array).into_iter().flatten();
            let same =
                same.into_iter().find(|condition| condition["type"] == kind && condition["status"] == status);
            same.cloned().unwrap_or_else(|| {
                json!({
                    "type": kind, "status": status, "reason": "Kubelet", "message": "",
                    "lastHeartbeatTime": now, "lastTransitionTime": now,
                })
            })
        };
        let pressure = if flaw == Some("DiskPressure") { "True" } else { "False" };
        // Others have theirs beside.
        let others = old.and_then(Value::as_array).into_iter().flatten();
        let others =
            others.filter(|other| other["type"] != "DiskPressure" && other["type"] != "Ready").cloned();
        let own = [condition("DiskPressure", pressure), condition("Ready", ready)];
        own.into_iter().chain(others).collect()
    }

    /// Keeps what the rules know of this Node right.
    pub(super) fn tell_truth(&self, vm: &str) {
        let Some(kubelet) = self.lock().kubelets.get(vm).cloned() else { return };
        if !kubelet.has_node {
            return;
        }
        let is_heard = kubelet.works && !self.is_cut_off(&kubelet.zone);
        let is_fit = is_heard && !kubelet.is_gone && kubelet.flaw.is_none();
        let now = self.clock.now();
        let mut facts = self.watchman.facts();
        let entry = facts
            .nodes
            .entry(kubelet.node)
            .or_insert(crate::check::NodeTruth { fit_since: None, provider_id: kubelet.provider_id.clone() });
        entry.provider_id = kubelet.provider_id;
        entry.fit_since = if is_fit { entry.fit_since.or(Some(now)) } else { None };
    }

    pub(super) fn log(&self, what: (&str, &str)) {
        self.watchman.note(what);
    }
}
