//! The simulated cloud in this process: the model of `simcloud`.
//!
//! | module | what it does |
//! | --- | --- |
//! | `ask` | sends one request of a driver, and interprets its answer |
//! | `lies` | listings in which VMs are missing, or carry no marks |
//! | `seconds` | VMs with the marks of a Machine's VM that no host has created |

mod ask;
mod lies;
mod seconds;

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use machinist_runtime::context::clock::Clock;
use memory_api::wire::Wire;
use simcloud::{Answer, Changes, Cloud, Config, CreateVm, Faults, Latency, Method, Request, VmState, VmView};
use tokio::sync::Notify;

use crate::names::{CLUSTER, STRANGER, UID_TAG, ZONES};
use crate::plan::CloudHabits;
pub(crate) use lies::Lie;
use seconds::Seconds;

#[derive(Clone)]
pub(crate) struct SimCloud {
    model: Arc<Mutex<Cloud>>,
    pub(crate) habits: CloudHabits,
    clock: Clock,
    pub(crate) wire: Wire,
    changed: Arc<Notify>,
    lie: Arc<Mutex<Option<Lie>>>,
    seconds: Arc<Mutex<Seconds>>,
}

impl SimCloud {
    pub(crate) fn new(seed: u64, habits: CloudHabits, clock: Clock, wire: Wire) -> Self {
        let config = Config { seed, journal_events: 1_000_000, ..Config::default() };
        let model = Cloud::new(config, clock.now());
        let cloud = Self {
            model: Arc::new(Mutex::new(model)),
            habits,
            clock,
            wire,
            changed: Arc::new(Notify::new()),
            lie: Arc::default(),
            seconds: Arc::default(),
        };
        cloud.calm();
        cloud
    }

    /// The cloud as it is when nothing disturbs it.
    pub(crate) fn calm(&self) {
        self.lie(None);
        self.set_faults(0.0);
    }

    /// The cloud in which some VMs die before they boot.
    pub(crate) fn disturb(&self) {
        self.set_faults(self.habits.stillborn);
    }

    fn set_faults(&self, boot_failure_probability: f64) {
        let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or_default();
        let latency = Latency {
            create_ms: 300,
            get_ms: 20,
            list_ms: 50,
            delete_ms: 100,
            change_ms: 50,
            boot_ms: ms(self.habits.boots_for),
            terminate_ms: ms(self.habits.stops_for),
            jitter_percent: 20,
        };
        let faults = Faults {
            read_lag_ms: ms(self.habits.reads_lag),
            latency: Some(latency),
            boot_failure_probability,
            ..Faults::default()
        };
        let set = self.lock().set_faults(faults);
        assert!(set.is_ok(), "the faults are within range: {set:?}");
    }

    /// How late its reads are at most, as its driver declares.
    pub(crate) fn window(&self) -> SignedDuration {
        SignedDuration::try_from(self.habits.reads_lag).unwrap_or_default()
    }

    /// One call of the cloud's API.
    pub(crate) fn handle(&self, request: &Request) -> Answer {
        let answer = self.lock().handle(request, self.now());
        self.changed.notify_one();
        answer
    }

    /// Returns the events since then, with all effects of time.
    pub(crate) fn changes(&self, since: u64) -> Changes {
        let now = self.now();
        let mut model = self.lock();
        model.advance(now);
        model.changes(Some(since))
    }

    /// When time changes something next.
    pub(crate) fn next_wake(&self) -> Option<Timestamp> {
        self.lock().next_wake()
    }

    /// Until a call may have changed something.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Applies `look` to every VM, also to those that are gone and can still be read.
    pub(crate) fn look<T>(&self, look: impl Fn(&VmView) -> Option<T>) -> Vec<T> {
        let now = self.now();
        let mut model = self.lock();
        model.advance(now);
        model.vms().filter_map(look).collect()
    }

    /// Ids of all VMs of this Machine that are not gone.
    pub(crate) fn existing(&self, uid: &str) -> Vec<String> {
        let mut model = self.lock();
        model.advance(self.now());
        let its = model.vms_of_machine(uid).filter(|vm| vm.state != VmState::Terminated);
        its.map(|vm| vm.id.clone()).collect()
    }

    /// The VM of this id that is not gone.
    pub(crate) fn find(&self, id: &str) -> Option<VmView> {
        let mut model = self.lock();
        model.advance(self.now());
        model.vm(id).filter(|vm| vm.state != VmState::Terminated).cloned()
    }

    /// How many live VMs more than one a Machine there have ever been, without those that somebody else has made.
    pub(crate) fn duplicates_ever(&self) -> u64 {
        let ever = self.lock().stats().duplicates_ever;
        ever.saturating_sub(self.duplicates_meant())
    }

    /// How many VMs were ever made.
    pub(crate) fn created(&self) -> u64 {
        self.lock().stats().created
    }

    /// A VM dies without a request.
    pub(crate) fn kill(&self, id: &str) {
        let now = self.now();
        // It may be gone already.
        let _ = self.lock().kill_vm(id, now);
        self.changed.notify_one();
    }

    /// Somebody makes a VM that looks like one of ours, and has no Machine.
    pub(crate) fn make_orphan(&self, number: usize) {
        let zone = ZONES.first().copied().unwrap_or_default();
        let tags = [
            ("cluster", CLUSTER.to_owned()),
            // Classes list what is in their zone.
            ("zone", zone.to_owned()),
            (UID_TAG, format!("{STRANGER}{number}")),
            ("machine-name", format!("{STRANGER}{number}")),
        ];
        let wanted = CreateVm {
            name: format!("{STRANGER}{number}"),
            zone: zone.to_owned(),
            kind: "sim.small".to_owned(),
            image: "linux-1".to_owned(),
            tags: tags.map(|(name, value)| (name.to_owned(), value)).into(),
            user_data: String::new(),
            volumes: Vec::new(),
            needs_initialize: false,
        };
        let request = Request::new(Method::Post, "/v1/vms").with_token("sim-token").with_json(&wanted);
        if let Ok(request) = request {
            // A cloud that has a quota may refuse.
            self.handle(&request);
        }
    }

    /// Ids of VMs of our cluster whose Machine is none of these, with the Machine's name.
    pub(crate) fn orphans(&self, uids: &std::collections::BTreeSet<String>) -> Vec<(String, String)> {
        self.look(|vm| {
            let is_ours = vm.tags.get("cluster").is_some_and(|cluster| cluster == CLUSTER);
            let has_machine = vm.tags.get(UID_TAG).is_some_and(|uid| uids.contains(uid));
            let name = || vm.tags.get("machine-name").cloned().unwrap_or_default();
            (is_ours && !has_machine && vm.state != VmState::Terminated).then(|| (vm.id.clone(), name()))
        })
    }

    /// A VM is rebooted.
    pub(crate) fn reboot(&self, id: &str) {
        self.handle(&Request::new(Method::Post, &format!("/v1/vms/{id}/reboot")).with_token("sim-token"));
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn lock(&self) -> MutexGuard<'_, Cloud> {
        self.model.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
