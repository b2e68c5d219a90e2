//! The target cluster around the hosts: kubelets of the VMs, the controller that notices silent ones, and pods.
//!
//! One task does it all, in the order of time. Nodes have no heartbeats: their objects change when Ready does.
//!
//! | module | what it does |
//! | --- | --- |
//! | `hosts` | processes of hosts: each runs until it crashes, loses leadership, or the run ends |
//! | `driver` | the driver: the calls of the port, in the words of the cloud |
//! | `policies` | health policies, native and without a sandbox, with random answers |
//! | `fleet` | the number of Machines, their classes and their Secret, restored as a MachineSet would |
//! | `pools` | the same where Machines have owners: a MachineSet, or MachineDeployments |
//! | `kubelets` | a kubelet for each VM, which joins with the token in its user data |
//! | `zones` | zones that are cut off: their VMs live, and their kubelets are silent |
//! | `agents` | updates in place: an agent on each Node, and the writer that ends them |
//! | `pods` | pods of applications: created, placed, started, ended, created again |
//! | `volumes` | volumes of claims, attached where their pods are placed |
//! | `budgets` | the controller of disruption budgets |

mod agents;
mod budgets;
mod driver;
pub(crate) mod fleet;
pub(crate) mod hosts;
mod kubelets;
mod pods;
pub(crate) mod policies;
pub(crate) mod pools;
mod volumes;
mod zones;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use jiff::Timestamp;
use machinist_runtime::context::clock::Clock;
use memory_api::{ApiServer, Change};
use serde_json::Value;
use tokio::sync::Notify;

use crate::check::Watchman;
use crate::cloud::SimCloud;
use crate::plan::Owners;
use crate::rng::Rng;
pub(crate) use agents::update_of;
use kubelets::Kubelet;
use pods::Pods;
use volumes::Attachments;

/// Something that happens at its time.
#[derive(Clone, Debug)]
enum Due {
    /// The kubelet of this VM registers its Node.
    Join(String),
    /// Nobody has heard of the kubelet of this VM for a while.
    Silence(String),
    /// The kubelet of this VM works again.
    Back(String),
    /// All kubelets are out of reach.
    Blackout,
    /// Pods of this application are looked after.
    App(usize),
    /// A pod starts to serve, or has ended.
    Pod(String),
    /// The budget of this application is counted again.
    Budget(usize),
    /// Pods of a Node that is gone are taken away.
    Collect(String),
    /// A zone is heard again.
    ZoneBack(String),
    /// The agent of this Node ends its update in place.
    Update(String),
    /// This Node was updated, and goes into service again.
    TakeBack(String),
    /// The volume of this claim is on this Node.
    Attached(String, String),
    /// The volume of this claim is used no more on this Node.
    LetGo(String, String),
    /// The volume of this attachment is off its Node.
    Detached(String),
}

/// A change that was not processed yet.
#[derive(Debug)]
enum ClusterEvent {
    NodeGone(String),
    Cordon(String, bool),
    Pod(String),
    PodGone(String),
    /// The update in place of this Node has come so far.
    Update(String, String),
    Attachment(String),
}

struct State {
    kubelets: BTreeMap<String, Kubelet>,
    /// The VM behind a Node's name.
    by_node: BTreeMap<String, String>,
    pods: Pods,
    due: BTreeMap<(Timestamp, u64), Due>,
    dues: u64,
    since: u64,
    rng: Rng,
    cordoned: BTreeSet<String>,
    /// No kubelet reaches the API server until then.
    dark_until: Option<Timestamp>,
    /// Zones whose kubelets nobody hears.
    dark_zones: BTreeSet<String>,
}

#[derive(Clone)]
pub(crate) struct Cluster {
    state: Arc<Mutex<State>>,
    news: Arc<Mutex<VecDeque<ClusterEvent>>>,
    attachments: Arc<Mutex<Attachments>>,
    woken: Arc<Notify>,
    api: ApiServer,
    cloud: SimCloud,
    clock: Clock,
    watchman: Watchman,
    /// Nodes say their provider ids in another form than the driver.
    has_own_ids: bool,
    /// Nobody else takes Nodes back into service after an update in place.
    takes_back: bool,
}

/// After so long without a word a Node's conditions are Unknown.
const SILENCE: Duration = Duration::from_secs(40);

impl Cluster {
    pub(crate) fn new(
        seed: u64,
        apps: usize,
        api: ApiServer,
        cloud: SimCloud,
        clock: Clock,
        watchman: Watchman,
    ) -> Self {
        let state = State {
            kubelets: BTreeMap::new(),
            by_node: BTreeMap::new(),
            pods: Pods::default(),
            due: BTreeMap::new(),
            dues: 0,
            since: 0,
            rng: Rng::new(seed, "cluster"),
            cordoned: BTreeSet::new(),
            dark_until: None,
            dark_zones: BTreeSet::new(),
        };
        let cluster = Self {
            state: Arc::new(Mutex::new(state)),
            news: Arc::default(),
            attachments: Arc::default(),
            woken: Arc::default(),
            api,
            cloud,
            clock,
            watchman,
            has_own_ids: Rng::new(seed, "provider ids").happens(0.5),
            takes_back: true,
        };
        cluster.start_apps(apps);
        cluster
    }

    /// Nodes whose update in place is over are taken back into service by their deployment, or here.
    pub(crate) fn taken_back_by(self, owners: Owners) -> Self {
        Self { takes_back: owners != Owners::Deployments, ..self }
    }

    /// An object changes. Called while the API server is locked.
    pub(crate) fn changed(&self, change: &Change<'_>) {
        if change.plural == "volumeattachments" {
            self.attachments().change(change);
        }
        let object = change.new.or(change.old);
        let name =
            object.and_then(|object| object["metadata"]["name"].as_str()).unwrap_or_default().to_owned();
        let news = match (change.plural, change.new) {
            ("nodes", None) => ClusterEvent::NodeGone(name),
            ("nodes", Some(node)) => {
                let update = agents::update_of(node);
                if change.old.is_some_and(|old| agents::update_of(old) != update) {
                    self.tell(ClusterEvent::Update(name.clone(), update.to_owned()));
                }
                let is_cordoned = |node: &Value| node["spec"]["unschedulable"] == true;
                if change.old.is_some_and(is_cordoned) == is_cordoned(node) {
                    return;
                }
                ClusterEvent::Cordon(name, is_cordoned(node))
            }
            ("pods", None) => ClusterEvent::PodGone(name),
            ("pods", Some(pod)) => {
                let is_going = |pod: &Value| pod["metadata"]["deletionTimestamp"].is_string();
                if !is_going(pod) || change.old.is_some_and(is_going) {
                    return;
                }
                ClusterEvent::Pod(name)
            }
            ("volumeattachments", Some(attachment)) => {
                let is_going = |one: &Value| one["metadata"]["deletionTimestamp"].is_string();
                if !is_going(attachment) || change.old.is_some_and(is_going) {
                    return;
                }
                ClusterEvent::Attachment(name)
            }
            _ => return,
        };
        self.tell(news);
    }

    fn tell(&self, news: ClusterEvent) {
        self.news.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push_back(news);
        self.woken.notify_one();
    }

    pub(crate) async fn live(self) {
        loop {
            self.catch_up();
            let wake = [self.lock().due.keys().next().map(|(at, _)| *at), self.cloud.next_wake()];
            let sleep = async {
                match wake.into_iter().flatten().min() {
                    Some(at) => tokio::time::sleep_until(self.clock.instant(at)).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = self.woken.notified() => {}
                () = self.cloud.changed() => {}
                () = sleep => {}
            }
        }
    }

    /// Everything that has happened and is due.
    fn catch_up(&self) {
        loop {
            let since = self.lock().since;
            let changes = self.cloud.changes(since);
            self.lock().since = changes.next;
            for event in changes.events {
                self.vm_changed(&event);
            }
            let news = self.news.lock().unwrap_or_else(std::sync::PoisonError::into_inner).pop_front();
            if let Some(news) = news {
                self.react(news);
                continue;
            }
            let now = self.clock.now();
            let due = {
                let mut state = self.lock();
                match state.due.first_entry() {
                    Some(first) if first.key().0 <= now => first.remove(),
                    Some(_) | None => return,
                }
            };
            self.happen(due);
        }
    }

    fn react(&self, news: ClusterEvent) {
        match news {
            ClusterEvent::NodeGone(node) => self.node_gone(&node),
            ClusterEvent::Cordon(node, true) => drop(self.lock().cordoned.insert(node)),
            ClusterEvent::Cordon(node, false) => drop(self.lock().cordoned.remove(&node)),
            ClusterEvent::Pod(pod) => self.pod_goes(&pod),
            ClusterEvent::PodGone(pod) => self.pod_gone(&pod),
            ClusterEvent::Update(node, reason) => self.update_goes_on(&node, &reason),
            ClusterEvent::Attachment(name) => self.attachment_goes(&name),
        }
    }

    fn happen(&self, due: Due) {
        match due {
            Due::Join(vm) => self.join(&vm),
            Due::Silence(vm) => self.silence(&vm),
            Due::Back(vm) => self.back(&vm),
            Due::Blackout => self.all_silent(),
            Due::App(app) => self.look_after(app),
            Due::Pod(pod) => self.pod_due(&pod),
            Due::Budget(app) => self.count(app),
            Due::Collect(node) => self.collect(&node),
            Due::ZoneBack(zone) => self.zone_back(&zone),
            Due::Update(node) => self.update(&node),
            Due::TakeBack(node) => self.take_back(&node),
            Due::Attached(claim, node) => self.attached(&claim, &node),
            Due::LetGo(claim, node) => self.detach(&claim, &node),
            Due::Detached(attachment) => self.detached(&attachment),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn attachments(&self) -> MutexGuard<'_, Attachments> {
        self.attachments.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn later(&self, after: Duration, due: Due) {
        let at = self.clock.now().checked_add(after).unwrap_or(Timestamp::MAX);
        let mut state = self.lock();
        state.dues += 1;
        let number = state.dues;
        state.due.insert((at, number), due);
        drop(state);
        self.woken.notify_one();
    }

    fn between(&self, shortest: u64, longest: u64) -> Duration {
        self.lock().rng.between(Duration::from_secs(shortest), Duration::from_secs(longest))
    }
}
