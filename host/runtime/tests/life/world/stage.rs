//! Everything around the hosts of a test: API server, cloud, kubelets, plugins, and what users do.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use jiff::SignedDuration;
use kube::Client;
use machinist_core::scheduling::lease::LeaseTimes;
use machinist_core::value::id::ProviderName;
use machinist_runtime::client::clusters::counted;
use machinist_runtime::context::clock::Clock;
use machinist_runtime::context::settings::Settings;
use machinist_runtime::metrics::Metrics;
use machinist_runtime::ports::{PluginConfigMap, PluginMessage, PluginStatus, Plugins, Ports};
use machinist_runtime::tenant::election::{Candidate, LeaseNames, take_part};
use machinist_runtime::tenant::{ShutdownResult, Tenant};
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tower::Layer;

use crate::policies::panel::Panel;
use crate::world::cloud::{Cloud, Habits};
use crate::world::kubelet::{KubeletHabits, Kubelets};
use memory_api::wire::{Call, Fate, Wire};
use memory_api::{ApiServer, encode};

/// The namespace of all that is not in `kube-system`.
pub(crate) const NAMESPACE: &str = "shoot";

/// When every test begins.
const BEGIN: &str = "2026-01-01T00:00:00Z";

/// Where hosts run.
pub(crate) struct Stage {
    pub(crate) wire: Wire,
    pub(crate) api: ApiServer,
    pub(crate) cloud: Cloud,
    pub(crate) kubelets: Kubelets,
    pub(crate) clock: Clock,
    news: Arc<Mutex<Vec<mpsc::UnboundedSender<PluginMessage>>>>,
    /// Names of the ConfigMaps that hosts have handed to their plugins, each time.
    pub(crate) declared: Arc<Mutex<Vec<String>>>,
    pub(crate) policies: Panel,
    /// Of the hosts that are started from here on.
    pub(crate) settings: Mutex<Settings>,
    /// Of the Machines of the hosts that are started from here on.
    pub(crate) namespace: Mutex<&'static str>,
    hosts: Mutex<u8>,
    /// How far the clocks of hosts are ahead, in milliseconds.
    ahead_ms: Arc<AtomicI64>,
}

impl Stage {
    /// A cloud without flaws, and nothing in the API server.
    pub(crate) fn empty() -> Self {
        Self::with(Habits::default(), KubeletHabits::default())
    }

    /// As `empty`, with class `small` and its Secret `account`.
    pub(crate) fn set() -> Self {
        let stage = Self::empty();
        stage.add_class();
        stage
    }

    /// Nothing in the API server.
    pub(crate) fn with(habits: Habits, kubelet_habits: KubeletHabits) -> Self {
        let clock = Clock::virtual_from(BEGIN.parse().unwrap());
        let wire = Wire::new();
        let api = ApiServer::new(wire.clone(), {
            let clock = clock.clone();
            move || clock.now()
        });
        let kubelets = Kubelets::new(api.clone(), clock.clone(), kubelet_habits);
        let cloud = Cloud::new(habits, wire.clone(), kubelets.clone());
        Self {
            wire,
            api,
            cloud,
            kubelets,
            clock,
            news: Arc::default(),
            declared: Arc::default(),
            policies: Panel::default(),
            settings: Mutex::new(Settings::for_cluster("test")),
            namespace: Mutex::new(NAMESPACE),
            hosts: Mutex::new(0),
            ahead_ms: Arc::default(),
        }
    }

    /// Class `small` and its Secret `account`.
    pub(crate) fn add_class(&self) {
        self.api.create("secrets", &secret()).unwrap();
        self.api.create("machineclasses", &class()).unwrap();
    }

    /// A Machine of class `small`.
    pub(crate) fn add_machine(&self, name: &str) {
        self.api.create("machines", &machine(name)).unwrap();
    }

    /// A Machine of class `small` with something else than usual.
    pub(crate) fn add_machine_with(&self, name: &str, change: impl FnOnce(&mut Value)) {
        let mut object = machine(name);
        change(&mut object);
        self.api.create("machines", &object).unwrap();
    }

    /// A Node says this of its readiness.
    pub(crate) fn report_ready(&self, node: &str, status: &str) {
        self.report_ready_since(node, status, Duration::ZERO);
    }

    /// A Node has said this of its readiness for so long.
    pub(crate) fn report_ready_since(&self, node: &str, status: &str, ago: Duration) {
        let since = self.clock.now().checked_sub(ago).unwrap();
        let mut conditions = self.api.find("nodes", node).unwrap()["status"]["conditions"].clone();
        for condition in conditions.as_array_mut().unwrap() {
            if condition["type"] == "Ready" {
                condition["status"] = json!(status);
                condition["lastTransitionTime"] = json!(since.to_string());
            }
        }
        self.api.edit_status("nodes", node, &json!({ "status": { "conditions": conditions } })).unwrap();
    }

    /// What a condition of a Node says: status, reason, message.
    pub(crate) fn node_says(&self, node: &str, kind: &str) -> (String, String, String) {
        let object = self.api.find("nodes", node).unwrap_or_default();
        let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let told = conditions.into_iter().find(|condition| condition["type"] == kind).unwrap_or_default();
        let text = |field: &str| told[field].as_str().unwrap_or_default().to_owned();
        (text("status"), text("reason"), text("message"))
    }

    /// The Machine, while it is there.
    pub(crate) fn machine(&self, name: &str) -> Option<Value> {
        self.api.find("machines", &in_namespace(name))
    }

    /// The phase, while the Machine is there and has one.
    pub(crate) fn phase(&self, name: &str) -> String {
        let machine = self.machine(name).unwrap_or_default();
        machine["status"]["currentStatus"]["phase"].as_str().unwrap_or_default().to_owned()
    }

    /// The reason of our condition.
    pub(crate) fn reason(&self, name: &str) -> String {
        let machine = self.machine(name).unwrap_or_default();
        condition(&machine, "Ready")["reason"].as_str().unwrap_or_default().to_owned()
    }

    /// What one of our conditions of the Machine says: status, reason, message.
    pub(crate) fn told(&self, name: &str, kind: &str) -> (String, String, String) {
        let machine = self.machine(name).unwrap_or_default();
        let told = condition(&machine, kind);
        let text = |field: &str| told[field].as_str().unwrap_or_default().to_owned();
        (text("status"), text("reason"), text("message"))
    }

    /// Reasons of the Events about an object.
    pub(crate) fn events(&self, name: &str) -> Vec<String> {
        let events = self.api.all("events").into_iter().filter(|event| is_about(event, name));
        events.map(|event| event["reason"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// Notes of the Events about an object.
    pub(crate) fn event_notes(&self, name: &str) -> Vec<String> {
        let events = self.api.all("events").into_iter().filter(|event| is_about(event, name));
        events.map(|event| event["note"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// The clocks of all hosts are so far ahead of the API server's from now on; negative: behind.
    pub(crate) fn shift_hosts(&self, by: SignedDuration) {
        self.ahead_ms.store(i64::try_from(by.as_millis()).unwrap(), Ordering::Relaxed);
    }

    fn hosts_clock(&self) -> Clock {
        Clock::Shifted { clock: Box::new(self.clock.clone()), by_ms: self.ahead_ms.clone() }
    }

    /// A client whose requests a host counts.
    fn client(&self, name: &str, metrics: &Arc<Metrics>) -> Client {
        let counted = counted(self.hosts_clock(), metrics.clone());
        Client::new(counted.layer(self.api.service(name)), "default")
    }

    /// A host that leads from its start on.
    pub(crate) fn host(&self, name: &str) -> Host {
        let (leads, is_leading) = watch::channel(true);
        self.start(name, Some(self.api.client(name)), (leads, is_leading), None)
    }

    /// A host without a cluster that Nodes could join.
    pub(crate) fn host_without_target(&self, name: &str) -> Host {
        let (leads, is_leading) = watch::channel(true);
        self.start(name, None, (leads, is_leading), None)
    }

    /// A host that takes part in an election.
    pub(crate) fn candidate(&self, name: &str) -> Host {
        let (leads, is_leading) = watch::channel(false);
        let candidate = Candidate {
            client: self.api.client(name),
            namespace: NAMESPACE.to_owned(),
            leases: LeaseNames::Both("machine-controller-manager", "machine-controller"),
            identity: name.to_owned(),
            times: LeaseTimes::default(),
            clock: self.clock.clone(),
        };
        let resign = CancellationToken::new();
        let election = take_part(candidate, leads.clone(), Arc::default(), resign.clone());
        let target = Some(self.api.client(name));
        self.start(name, target, (leads, is_leading), Some((resign, tokio::spawn(election))))
    }

    fn start(
        &self,
        name: &str,
        target: Option<Client>,
        (leads, is_leading): (watch::Sender<bool>, watch::Receiver<bool>),
        election: Option<(CancellationToken, JoinHandle<()>)>,
    ) -> Host {
        let start = {
            let mut hosts = self.hosts.lock().unwrap();
            *hosts += 1;
            *hosts
        };
        let (outbox, inbox) = mpsc::unbounded_channel();
        self.news.lock().unwrap().push(outbox);
        let plugins = Arc::new(NoPlugins { news: Mutex::new(Some(inbox)), declared: self.declared.clone() });
        let metrics: Arc<Metrics> = Arc::default();
        let tenant = Tenant {
            control: self.client(name, &metrics),
            namespace: (*self.namespace.lock().unwrap()).to_owned(),
            plugin_namespace: "plugins".to_owned(),
            target,
            settings: self.settings.lock().unwrap().clone(),
            ports: Ports {
                drivers: self.cloud.drivers(name),
                policies: Arc::new(self.policies.clone()),
                plugins,
            },
            clock: self.hosts_clock(),
            // Another start has other random numbers.
            seed: [start; 32],
            identity: name.to_owned(),
            metrics: metrics.clone(),
        };
        let stop = CancellationToken::new();
        let (synced, is_synced) = watch::channel(false);
        let run = tokio::spawn(tenant.run(is_leading, synced, stop.clone()));
        Host {
            name: name.to_owned(),
            leads,
            is_synced,
            stop,
            run,
            election,
            metrics,
            wire: self.wire.clone(),
        }
    }

    /// The plugins of these providers have changed.
    pub(crate) fn tell_of_plugins(&self, providers: &[&str]) {
        self.send(&plugin_news("none", "{}", providers));
    }

    /// A plugin of these providers has come one step further, and does not serve yet.
    pub(crate) fn tell_of_a_step(&self, providers: &[&str]) {
        let state = "Fetched".into();
        self.send(&PluginStatus { state, is_final: false, ..plugin_news("none", "{}", providers) });
    }

    /// The plugin in ConfigMap `plugins/driver` has this status.
    pub(crate) fn tell_of_plugin(&self, status: &str) {
        self.tell_of_plugin_in("driver", status);
    }

    /// The plugin in this ConfigMap of the namespace `plugins` has this status.
    pub(crate) fn tell_of_plugin_in(&self, name: &str, status: &str) {
        let map = self.api.find("configmaps", &format!("plugins/{name}")).unwrap();
        let news = plugin_news(map["metadata"]["uid"].as_str().unwrap(), status, &[]);
        self.send(&PluginStatus { config_map: Some(name.to_owned()), ..news });
    }

    /// A policy has come, gone or changed.
    pub(crate) fn tell_of_policies(&self) {
        self.send(&PluginStatus {
            source: "machinist/policy".into(),
            config_map: Some("policy".into()),
            uid: "none".into(),
            state: "Ready".into(),
            is_warning: false,
            is_final: true,
            message: String::new(),
            status: "{}".into(),
            providers: Vec::new(),
            is_policy: true,
        });
    }

    fn send(&self, news: &PluginStatus) {
        for host in self.news.lock().unwrap().iter() {
            // A host that has ended hears nothing.
            let _ = host.send(PluginMessage::State(news.clone()));
        }
    }

    /// Waits until `holds`, at most `limit`.
    pub(crate) async fn until(&self, what: &str, limit: Duration, holds: impl Fn() -> bool) {
        let (begin, mut pause) = (self.wire.elapsed(), Duration::from_millis(5));
        let end = begin + limit;
        while !holds() {
            assert!(self.wire.elapsed() < end, "not within {limit:?}: {what}\n{}", self.story());
            tokio::time::sleep(pause).await;
            if self.wire.elapsed() - begin > Duration::from_secs(5) {
                pause = Duration::from_millis(50);
            }
        }
    }

    /// What there is to say when a test fails.
    fn story(&self) -> String {
        let machines = self.api.all("machines");
        let status: Vec<String> =
            machines.iter().take(3).map(|machine| machine["status"].to_string()).collect();
        format!("machines: {status:#?}\ntrace:\n{}", self.wire.trace())
    }

    /// Waits until the Machine is Running.
    pub(crate) async fn until_running(&self, name: &str) {
        let what = format!("{name} is Running");
        // A call that hangs takes five minutes.
        self.until(&what, Duration::from_secs(600), || self.phase(name) == "Running").await;
    }

    /// Waits until the Machine is gone.
    pub(crate) async fn until_gone(&self, name: &str) {
        let what = format!("{name} is gone");
        self.until(&what, Duration::from_secs(600), || self.machine(name).is_none()).await;
    }

    /// Nothing of any Machine is left: no VM, Node, token or Machine.
    pub(crate) fn assert_nothing_left(&self) {
        assert_eq!(self.cloud.vms(), 0, "VMs left:\n{}", self.wire.trace());
        for plural in ["machines", "nodes"] {
            assert_eq!(self.api.all(plural), Vec::<Value>::new(), "{plural} left:\n{}", self.wire.trace());
        }
        assert_eq!(self.tokens(), Vec::<String>::new(), "tokens left:\n{}", self.wire.trace());
    }

    /// Every Machine has had exactly one VM in its life.
    pub(crate) fn assert_one_vm_each(&self, machines: usize) {
        let made = self.cloud.made();
        let is_one_each = made.len() == machines && made.values().all(|count| *count == 1);
        assert!(is_one_each, "VMs by Machine: {made:?}\n{}", self.wire.trace());
        assert_eq!(self.cloud.changed_parameters(), 0, "a key was repeated with other parameters");
        assert_eq!(self.kubelets.refused(), Vec::<String>::new(), "tokens were refused");
    }

    /// Names of the bootstrap tokens that are there.
    pub(crate) fn tokens(&self) -> Vec<String> {
        let secrets = self.api.all("secrets").into_iter();
        let tokens = secrets.filter(|secret| secret["type"] == "bootstrap.kubernetes.io/token");
        tokens.map(|secret| secret["metadata"]["name"].to_string()).collect()
    }

    /// From now on the `number`th further call kills its host, before or after it is carried out.
    pub(crate) fn crash_at(&self, number: usize, is_carried_out: bool) {
        let last = self.wire.len() + number;
        self.wire.plan(
            move |call: &Call| {
                if call.number == last { Fate::Crash(is_carried_out) } else { Fate::Pass }
            },
        );
    }
}

/// In the words of either group.
fn is_about(event: &Value, name: &str) -> bool {
    event["regarding"]["name"] == name || event["involvedObject"]["name"] == name
}

fn condition(machine: &Value, kind: &str) -> Value {
    let conditions = machine["status"]["machinist"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.into_iter().find(|condition| condition["type"] == kind).unwrap_or_default()
}

/// `namespace/name`.
pub(crate) fn in_namespace(name: &str) -> String {
    format!("{NAMESPACE}/{name}")
}

/// The Secret `account`.
pub(crate) fn secret() -> Value {
    json!({
        "metadata": { "name": "account", "namespace": NAMESPACE },
        "data": {
            "key": encode(b"123"),
            "userData": encode(b"#!/bin/sh\njoin --token=<<BOOTSTRAP_TOKEN>> --name=<<MACHINE_NAME>>\n"),
        },
    })
}

/// The class `small`, as hosts leave it once they have seen a VM of it.
pub(crate) fn class() -> Value {
    json!({
        "metadata": {
            "name": "small", "namespace": NAMESPACE, "annotations": { "machinist.dev/cluster-id": "test" },
        },
        "provider": "sim",
        "providerSpec": { "size": 1 },
        "secretRef": { "name": "account", "namespace": NAMESPACE },
    })
}

/// A Machine of the class `small`.
pub(crate) fn machine(name: &str) -> Value {
    json!({
        "metadata": { "name": name, "namespace": NAMESPACE },
        "spec": {
            "class": { "kind": "MachineClass", "name": "small" },
            "nodeTemplate": {
                "metadata": { "labels": { "pool": "a" } },
                "spec": { "taints": [{ "key": "pool", "value": "a", "effect": "NoSchedule" }] },
            },
        },
    })
}

/// A host that runs. Dropped, it dies without a word.
pub(crate) struct Host {
    name: String,
    leads: watch::Sender<bool>,
    is_synced: watch::Receiver<bool>,
    stop: CancellationToken,
    run: JoinHandle<ShutdownResult>,
    election: Option<(CancellationToken, JoinHandle<()>)>,
    metrics: Arc<Metrics>,
    wire: Wire,
}

impl Host {
    /// The lines of its metrics that begin so.
    pub(crate) fn figures(&self, begin: &str) -> Vec<String> {
        let mut registry = Registry::default();
        self.metrics.register(&mut registry);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        text.lines().filter(|line| line.starts_with(begin)).map(str::to_owned).collect()
    }

    /// True while it leads.
    pub(crate) fn leads(&self) -> bool {
        *self.leads.borrow()
    }

    /// True once its caches were complete.
    pub(crate) fn is_synced(&self) -> bool {
        *self.is_synced.borrow()
    }

    /// The value of a metric without labels.
    pub(crate) fn metric(&self, name: &str) -> String {
        let lines = self.figures(name);
        let value = lines.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.unwrap_or_else(|| panic!("no metric {name}")).to_owned()
    }

    /// Takes leadership away.
    pub(crate) fn depose(&self) {
        self.leads.send_replace(false);
    }

    /// Ends it in order: passes first, then the Leases.
    pub(crate) async fn end(mut self) {
        self.stop.cancel();
        let ended = (&mut self.run).await.unwrap();
        if let Some((resign, election)) = self.election.take().filter(|_| ended == ShutdownResult::Complete) {
            resign.cancel();
            election.await.unwrap();
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.run.abort();
        if let Some((_, election)) = &self.election {
            election.abort();
        }
        // What has been sent and has not arrived never does.
        if !self.run.is_finished() {
            self.wire.cut(&self.name);
        }
    }
}

/// A plugin host without plugins, whose news a test makes up.
struct NoPlugins {
    news: Mutex<Option<mpsc::UnboundedReceiver<PluginMessage>>>,
    declared: Arc<Mutex<Vec<String>>>,
}

impl Plugins for NoPlugins {
    fn declare(&self, map: PluginConfigMap) -> BoxFuture<'_, ()> {
        self.declared.lock().unwrap().push(map.name);
        Box::pin(async {})
    }

    fn withdraw(&self, _: String, _: String) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    fn messages(&self) -> BoxStream<'static, PluginMessage> {
        let Some(inbox) = self.news.lock().unwrap().take() else { return futures::stream::empty().boxed() };
        futures::stream::unfold(inbox, |mut inbox| async { inbox.recv().await.map(|news| (news, inbox)) })
            .boxed()
    }
}

/// The driver in ConfigMap `plugins/driver` serves.
fn plugin_news(uid: &str, status: &str, providers: &[&str]) -> PluginStatus {
    PluginStatus {
        source: "machinist/driver".into(),
        config_map: Some("driver".into()),
        uid: uid.into(),
        state: "Ready".into(),
        is_warning: false,
        is_final: true,
        message: format!("serves {status}"),
        status: status.into(),
        providers: providers.iter().map(|name| ProviderName::folded(name)).collect(),
        is_policy: false,
    }
}
