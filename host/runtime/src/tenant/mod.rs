//! One tenant: caches, event loop, safety loops and plugins of a control cluster and its target cluster, wired
//! together.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`autoscaler`] | MachineDeployments as node groups of cluster-autoscaler |
//! | [`election`] | leader election with the Leases of machine-controller-manager |

pub mod autoscaler;
pub mod election;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use futures::StreamExt;
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::core::{DeserializeGuard, NamespaceResourceScope};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, Resource};
use machinist_api::infrastructure::cluster_api::{OwnerCluster, OwnerMachine};
use machinist_api::infrastructure::{
    MachinistCluster, MachinistIdentity, MachinistMachine, MachinistMachineTemplate, MachinistRemediation,
};
use machinist_core::safety::meltdown::Meltdown;
use machinist_core::value::id::NodeName;
use serde::de::DeserializeOwned;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::cache::{Change, Refresh, Store, WatchedKind, backoff, feed};
use crate::context::Context;
use crate::context::GateState;
use crate::context::clock::Clock;
use crate::context::key::{Key, Kind};
use crate::context::settings::{ClusterApi, Settings};
use crate::controllers::state::{InfraState, TenantState};
use crate::drain::{DrainCachesFeed, trim_attachment, trim_budget};
use crate::driver_calls::call_recorder::CallRecorder;
use crate::driver_calls::capacity::Capacity;
use crate::driver_calls::class_checks::ClassChecks;
use crate::driver_calls::leader_only::LeaderOnly;
use crate::driver_calls::vm_calls::VmMemory;
use crate::event_loop::Engine;
pub use crate::event_loop::ShutdownResult;
use crate::events::{Author, EventRecorder, EventWriter};
use crate::message::Message;
use crate::metrics::{InventorySources, Metrics};
use crate::plugins::policies::Policies;
use crate::plugins::{PluginSource, watch_config_maps};
use crate::ports::Ports;
use crate::safety;

use autoscaler::{ClusterApiFeeds, NodeGroups};

/// The parts of a tenant.
pub struct Tenant {
    /// Cluster and namespace of the Machines.
    pub control: Client,
    /// Namespace of the Machines.
    pub namespace: String,
    /// Namespace of the plugins.
    pub plugin_namespace: String,
    /// The cluster that Nodes join; `None` without one.
    pub target: Option<Client>,
    pub settings: Settings,
    pub ports: Ports,
    pub clock: Clock,
    /// The seed of all randomness.
    pub seed: [u8; 32],
    /// The name of this process, in Events and Leases.
    pub identity: String,
    pub metrics: Arc<Metrics>,
    /// Node groups for cluster-autoscaler; `None` where nobody asks for them.
    pub node_groups: Option<NodeGroups>,
}

/// Time for running reconciles to end at shutdown: below the 30 s that Kubernetes gives a pod.
const GRACE: SignedDuration = SignedDuration::from_secs(20);

impl Tenant {
    /// Runs until `stop`. `synced` becomes true when the caches are complete.
    pub async fn run(
        self,
        leads: watch::Receiver<bool>,
        synced: watch::Sender<bool>,
        stop: CancellationToken,
    ) -> ShutdownResult {
        let (outbox, inbox) = mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        let (machines, classes, secrets, nodes) =
            (Store::default(), Store::default(), Store::default(), Store::default());
        let (sets, deployments) = (Store::default(), Store::default());
        let (infra, served) = (InfraStores::default(), self.settings.cluster_api.clone());
        let controllers = self.settings.controllers;
        let drains = DrainCachesFeed::default();
        let tenant = TenantState {
            drains: self
                .target
                .as_ref()
                .filter(|_| controllers.machines)
                .map(|_| drains.reader(outbox.clone())),
            machines: machines.reader(),
            classes: classes.reader(),
            secrets: secrets.reader(),
            sets: sets.reader(),
            deployments: deployments.reader(),
            unstarted: Arc::default(),
            deleted: Arc::default(),
            vms: Arc::new(VmMemory::of(self.identity.clone(), outbox.clone(), Key::Machine)),
            node_index: Arc::default(),
            capacity: Capacity::default(),
            nodes: self.target.as_ref().map(|_| nodes.reader()),
            policies: Policies::new(self.ports.policies.clone()),
            class_checks: Arc::new(ClassChecks::new(outbox.clone())),
            meltdown: Arc::new(Mutex::new(Meltdown::new(self.settings.silent_zone_percent))),
            infra: infra.reader(VmMemory::of(self.identity.clone(), outbox.clone(), Key::InfraMachine)),
            drivers: Arc::new(CallRecorder {
                drivers: LeaderOnly { drivers: self.ports.drivers.clone(), leads: leads.clone() },
                history: self.metrics.machine_queries().calls.clone(),
                metrics: self.metrics.clone(),
                clock: self.clock.clone(),
            }),
            server_clock: self.metrics.requests.control_clock(),
            settings: Arc::new(self.settings.with_pauses()),
        };
        let synced = Arc::new(synced);
        let refresh = Refresh::default();
        let watches = Watches {
            outbox: outbox.clone(),
            tenant: tenant.clone(),
            synced,
            seed: self.seed,
            refresh: refresh.clone(),
        };
        let api = Api::namespaced(self.control.clone(), &self.namespace);
        watches.start(&mut tasks, api, machines, |_| {}, (Kind::Machine, Message::Machine));
        let api = Api::namespaced(self.control.clone(), &self.namespace);
        watches.start(&mut tasks, api, classes, |_| {}, (Kind::Class, Message::Class));
        if controllers.machines {
            let api = Api::namespaced(self.control.clone(), &self.namespace);
            watches.start(&mut tasks, api, secrets, |_| {}, (Kind::Secret, Message::Secret));
        }
        if controllers.know_owners() {
            let api = Api::namespaced(self.control.clone(), &self.namespace);
            watches.start(&mut tasks, api, sets, |_| {}, (Kind::Set, Message::Set));
            let api = Api::namespaced(self.control.clone(), &self.namespace);
            watches.start(&mut tasks, api, deployments, |_| {}, (Kind::Deployment, Message::Deployment));
        }
        watches.start_infra(&mut tasks, &self.control, infra, &served);
        let serves_groups = self.node_groups.as_ref().is_some_and(NodeGroups::serves_clusters);
        let group_feeds = (serves_groups && served.is_served()).then(ClusterApiFeeds::default);
        if let Some(target) = &self.target {
            let api = Api::all(target.clone());
            watches.start(&mut tasks, api, nodes, trim_node, (Kind::Node, Message::Node));
            if controllers.machines {
                watches.start_for_drains(&mut tasks, target, drains);
            }
        }
        let mut event_writer = |client: &Client| {
            let (writer, write_events) = EventWriter::new(Author {
                client: client.clone(),
                instance: self.identity.clone(),
                clock: self.clock.clone(),
                metrics: self.metrics.clone(),
                leads: leads.clone(),
            });
            tasks.spawn(write_events);
            writer
        };
        let writer = event_writer(&self.control);
        let node_events = self.target.as_ref().map(event_writer);
        if controllers.machines {
            let plugins = PluginSource {
                client: self.control.clone(),
                namespace: self.plugin_namespace,
                plugins: self.ports.plugins,
                events: writer.clone(),
                engine: outbox,
                leads: leads.clone(),
                clock: self.clock.clone(),
                seed: self.seed,
            };
            tasks.spawn(watch_config_maps(plugins, stop.clone()));
        }
        let (gate, gate_state) = watch::channel(GateState::default());
        self.metrics.show(InventorySources {
            machines: tenant.machines.clone(),
            sets: tenant.sets.clone(),
            deployments: tenant.deployments.clone(),
            controllers,
            serves_cluster_api: tenant.settings.cluster_api.is_served(),
            gate_state: gate_state.clone(),
            cluster: tenant.settings.cluster.clone(),
            clock: self.clock.clone(),
        });
        let context =
            Context::new(self.control, self.target, self.clock, leads.clone(), gate_state, self.seed);
        let context = Arc::new(context);
        if let Some(groups) = &self.node_groups {
            groups.connect(tenant.clone(), context.clone(), group_feeds.as_ref());
        }
        if let Some(feeds) = group_feeds {
            let namespace = served.namespace();
            let (deployments, sets) =
                (within(&context.control, namespace), within(&context.control, namespace));
            feeds.start(&mut tasks, deployments, sets, self.seed);
        }
        let watch = safety::SafetyWatch {
            tenant: tenant.clone(),
            context: context.clone(),
            namespace: self.namespace,
            identity: self.identity,
            events: writer.clone(),
            node_events,
            metrics: self.metrics.clone(),
            seed: self.seed,
        };
        safety::start(&mut tasks, &watch, gate, refresh);
        let queries = self.metrics.machine_queries().connect();
        let engine = Engine::new(tenant, context, EventRecorder::new(writer), self.metrics, inbox, queries);
        let ended = engine.run(leads, stop, GRACE).await;
        // Watches and writers end here: aborted, since none of them leaves anything half done.
        tasks.shutdown().await;
        ended
    }
}

/// Starts feeds for one event loop.
struct Watches {
    outbox: mpsc::UnboundedSender<Message>,
    tenant: TenantState,
    synced: Arc<watch::Sender<bool>>,
    seed: [u8; 32],
    refresh: Refresh,
}

impl Watches {
    fn start<T>(
        &self,
        tasks: &mut JoinSet<()>,
        api: Api<DeserializeGuard<T>>,
        store: Store<T>,
        trim: impl Fn(&mut T) + Send + Sync + 'static,
        (kind, message): (Kind, impl Fn(Change<T>) -> Message + Send + Sync + 'static),
    ) where
        T: Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned + Send + Sync + 'static,
    {
        let (seed, mut rounds) = (self.seed, self.refresh.rounds(kind));
        let (changes, syncs) = (self.outbox.clone(), self.outbox.clone());
        let (tenant, synced) = (self.tenant.clone(), self.synced.clone());
        tasks.spawn(async move {
            // A closed inbox means that the loop has ended; the feed is about to be stopped too.
            let on_change = |change| drop(changes.send(message(change)));
            let on_synced = |version| {
                synced.send_if_modified(|is_synced| {
                    !std::mem::replace(is_synced, tenant.is_synced()) && *is_synced
                });
                drop(syncs.send(Message::Synced(kind, version)));
            };
            loop {
                let listing = rounds.begin();
                let on_synced = |version| {
                    on_synced(version);
                    listing.complete();
                };
                let stream = watcher(api.clone(), watcher::Config::default());
                let stream = stream.backoff(backoff(seed, kind.into())).boxed();
                tokio::select! {
                    biased;
                    () = feed(stream, &store, &trim, &on_change, on_synced) => return,
                    () = rounds.next() => {}
                }
            }
        });
    }
}

/// The stores of the kinds for Cluster API.
#[derive(Default)]
struct InfraStores {
    machines: Store<MachinistMachine>,
    clusters: Store<MachinistCluster>,
    templates: Store<MachinistMachineTemplate>,
    remediations: Store<MachinistRemediation>,
    identities: Store<MachinistIdentity>,
    owners: Store<OwnerMachine>,
    owner_clusters: Store<OwnerCluster>,
}

impl InfraStores {
    fn reader(&self, memory: VmMemory) -> InfraState {
        InfraState {
            machines: self.machines.reader(),
            clusters: self.clusters.reader(),
            templates: self.templates.reader(),
            remediations: self.remediations.reader(),
            identities: self.identities.reader(),
            owners: self.owners.reader(),
            owner_clusters: self.owner_clusters.reader(),
            vms: Arc::new(memory),
            secrets: Arc::default(),
        }
    }
}

impl Watches {
    fn start_infra(
        &self,
        tasks: &mut JoinSet<()>,
        control: &Client,
        stores: InfraStores,
        served: &ClusterApi,
    ) {
        if !served.is_served() {
            return;
        }
        let namespace = served.namespace();
        let InfraStores { machines, clusters, templates, remediations, identities, owners, owner_clusters } =
            stores;
        let kind = (Kind::InfraMachine, Message::InfraMachine);
        self.start(tasks, within(control, namespace), machines, |_| {}, kind);
        let kind = (Kind::InfraCluster, Message::InfraCluster);
        self.start(tasks, within(control, namespace), clusters, |_| {}, kind);
        let kind = (Kind::InfraTemplate, Message::InfraTemplate);
        self.start(tasks, within(control, namespace), templates, |_| {}, kind);
        let kind = (Kind::InfraRemediation, Message::InfraRemediation);
        self.start(tasks, within(control, namespace), remediations, |_| {}, kind);
        let kind = (Kind::InfraIdentity, Message::InfraIdentity);
        self.start(tasks, Api::all(control.clone()), identities, |_| {}, kind);
        let kind = (Kind::OwnerMachine, Message::OwnerMachine);
        self.start(tasks, within(control, namespace), owners, |_| {}, kind);
        let kind = (Kind::OwnerCluster, Message::OwnerCluster);
        self.start(tasks, within(control, namespace), owner_clusters, |_| {}, kind);
    }
}

/// The objects of one namespace, or of all.
fn within<T>(client: &Client, namespace: Option<&str>) -> Api<DeserializeGuard<T>>
where
    T: Resource<DynamicType = (), Scope = NamespaceResourceScope> + DeserializeOwned,
{
    match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    }
}

impl Watches {
    /// Only drains need these: nothing else waits until they are listed.
    fn start_for_drains(&self, tasks: &mut JoinSet<()>, target: &Client, drains: DrainCachesFeed) {
        let index = drains.indexer();
        let changes = self.outbox.clone();
        let on_change = move |change: Change<VolumeAttachment>| {
            index(&change);
            let nodes: BTreeSet<&str> = [&change.old, &change.new]
                .into_iter()
                .flatten()
                .map(|attachment| attachment.spec.node_name.as_str())
                .collect();
            for node in nodes {
                // A closed inbox means that the loop has ended.
                drop(changes.send(Message::DrainOf(NodeName::new(node))));
            }
        };
        let attachments = watcher(Api::all(target.clone()), watcher::Config::default())
            .backoff(backoff(self.seed, WatchedKind::Attachments));
        let store = drains.attachments;
        let syncs = self.outbox.clone();
        let on_synced = move |_| drop(syncs.send(Message::AttachmentsListed));
        tasks.spawn(async move {
            feed(attachments.boxed(), &store, trim_attachment, on_change, on_synced).await;
        });
        let budgets = watcher(Api::all(target.clone()), watcher::Config::default())
            .backoff(backoff(self.seed, WatchedKind::Budgets));
        let (store, blocked, changes) = (drains.budgets, drains.blocked, self.outbox.clone());
        let index = drains.budget_index;
        let on_change = move |change: Change<PodDisruptionBudget>| {
            index.change(&change);
            for node in blocked.unblocked_by(&change) {
                drop(changes.send(Message::DrainOf(node)));
            }
        };
        tasks.spawn(async move { feed(budgets.boxed(), &store, trim_budget, on_change, |_| {}).await });
    }
}

/// Images and the like are large, and nobody here reads them.
fn trim_node(node: &mut Node) {
    if let Some(status) = &mut node.status {
        status.images = None;
        status.volumes_in_use = None;
    }
}
