//! A cloud in memory: VMs that are made, boot, join as Nodes, and go.
#![expect(clippy::result_large_err, reason = "the port's own type of answers")]

mod account;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::SignedDuration;
use machinist_core::driver::error::{CallError, Code, DriverError, GuestFailure, Limit, Refusal};
use machinist_core::driver::{
    Capabilities, ClassSpec, CloudCondition, Creation, Deletion, DriverFacts, DriverResult, ListRequest,
    Listed, MachineRequest, Page, SecretValues, Vm, VmState,
};
use machinist_core::value::digest::DriverDigest;
use machinist_core::value::id::{ProviderId, ProviderName};
use machinist_runtime::ports::Drivers;
use tokio::time::Instant;

use account::Account;

use crate::world::kubelet::Kubelets;
use memory_api::wire::{Trouble, Wire};

/// How the cloud behaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Habits {
    /// A create with the same key gives the same VM.
    pub(crate) keeps_keys: bool,
    /// How late a look shows what was made, and how long drivers say that to be.
    pub(crate) reads_lag: Duration,
    /// Creation has a second step.
    pub(crate) initializes: bool,
}

impl Default for Habits {
    fn default() -> Self {
        Self { keeps_keys: true, reads_lag: Duration::ZERO, initializes: false }
    }
}

/// From the order to the VM.
const CREATES_FOR: Duration = Duration::from_millis(20);
/// Any other call.
const ANSWERS_AFTER: Duration = Duration::from_millis(5);
/// From the order to remove a VM until it is gone.
const STOPS_FOR: Duration = Duration::from_millis(300);

struct Made {
    cluster: String,
    machine_name: String,
    machine_uid: String,
    node_name: String,
    made_at: Instant,
    gone_at: Option<Instant>,
    user_data: Option<Vec<u8>>,
    conditions: Vec<CloudCondition>,
}

impl Made {
    fn is_there(&self) -> bool {
        self.gone_at.is_none_or(|at| Instant::now() < at)
    }
}

#[derive(Default)]
struct State {
    /// By provider id. VMs that are gone stay, so that everything that was ever made is counted.
    vms: BTreeMap<String, Made>,
    providers: BTreeSet<String>,
    /// Drivers are being loaded: one that is not there may be among them.
    is_loading: bool,
    /// Versions of the driver beside the one that serves, and whether creation has a second step by them.
    versions: BTreeMap<DriverDigest, bool>,
    /// Which call went to which version.
    asked: Vec<(&'static str, Option<DriverDigest>)>,
    /// Creates that repeated a key with other parameters.
    changed_parameters: usize,
    /// Provider ids, in the order of the calls.
    rebooted: Vec<String>,
    initialized: BTreeSet<String>,
    /// What is wrong with a class, by its name.
    invalid_classes: BTreeMap<String, String>,
    /// Classes that there is no capacity for.
    sold_out: BTreeSet<String>,
    /// One VM of two can be removed.
    deletes_by_id: bool,
    /// So many creates to come end the pass that asks for them in a panic, after they were carried out.
    bugs: usize,
    /// The operator lets the cluster adopt VMs that carry nobody's marks.
    adopts: bool,
    /// Listings lie: they show these only.
    shown: Option<Vec<String>>,
    /// The secrets that each call brought with it.
    secrets: Vec<(&'static str, SecretValues)>,
}

/// The cloud.
#[derive(Clone)]
pub(crate) struct Cloud {
    state: Arc<Mutex<State>>,
    habits: Habits,
    wire: Wire,
    kubelets: Kubelets,
}

impl Cloud {
    pub(crate) fn new(habits: Habits, wire: Wire, kubelets: Kubelets) -> Self {
        let cloud = Self { state: Arc::default(), habits, wire, kubelets };
        cloud.serve("sim");
        cloud
    }

    /// The drivers of a host.
    pub(crate) fn drivers(&self, actor: &str) -> Arc<dyn Drivers> {
        Arc::new(Account { cloud: self.clone(), actor: actor.to_owned() })
    }

    /// There is a driver for this provider from now on.
    pub(crate) fn serve(&self, provider: &str) {
        self.lock().providers.insert(provider.to_owned());
    }

    /// The driver of this provider is away, and drivers are being loaded.
    pub(crate) fn begin_loading(&self, provider: &str) {
        let mut state = self.lock();
        state.providers.remove(provider);
        state.is_loading = true;
    }

    /// This version of the driver can be pinned from now on, and whether creation has a second step by it.
    pub(crate) fn load(&self, version: DriverDigest, initializes: bool) {
        self.lock().versions.insert(version, initializes);
    }

    /// This version of the driver is there no more.
    pub(crate) fn unload(&self, version: DriverDigest) {
        self.lock().versions.remove(&version);
    }

    /// The calls of drivers, and the version that each was pinned to.
    pub(crate) fn asked(&self) -> Vec<(&'static str, Option<DriverDigest>)> {
        self.lock().asked.clone()
    }

    /// The secrets that each call of a driver brought to be put in or hidden, by its function.
    pub(crate) fn secrets(&self) -> Vec<(&'static str, SecretValues)> {
        self.lock().secrets.clone()
    }

    /// How many VMs are there.
    pub(crate) fn vms(&self) -> usize {
        self.lock().vms.values().filter(|vm| vm.is_there()).count()
    }

    /// How many VMs were ever made, by the uid of their Machine.
    pub(crate) fn made(&self) -> BTreeMap<String, usize> {
        let mut made = BTreeMap::new();
        for vm in self.lock().vms.values() {
            *made.entry(vm.machine_uid.clone()).or_default() += 1;
        }
        made
    }

    /// Creates that repeated a key with other parameters: a real cloud refuses these.
    pub(crate) fn changed_parameters(&self) -> usize {
        self.lock().changed_parameters
    }

    /// There is no capacity for these classes, and enough for all others.
    pub(crate) fn sell_out(&self, classes: &[&str]) {
        self.lock().sold_out = classes.iter().map(|class| (*class).to_owned()).collect();
    }

    /// The driver finds this class invalid from now on, or valid again.
    pub(crate) fn find_invalid(&self, class: &str, message: Option<&str>) {
        let mut state = self.lock();
        match message {
            Some(message) => state.invalid_classes.insert(class.to_owned(), message.to_owned()),
            None => state.invalid_classes.remove(class),
        };
    }

    /// The driver can remove one VM of two from now on.
    pub(crate) fn delete_by_id(&self) {
        self.lock().deletes_by_id = true;
    }

    /// The next create is carried out and ends the pass that has asked for it in a panic.
    pub(crate) fn plant_bug(&self) {
        self.lock().bugs += 1;
    }

    fn has_bug(&self) -> bool {
        let mut state = self.lock();
        let has_bug = state.bugs > 0;
        state.bugs = state.bugs.saturating_sub(1);
        has_bug
    }

    /// Listings show these VMs only, until `None`.
    pub(crate) fn show_only(&self, vms: Option<&[&str]>) {
        self.lock().shown = vms.map(|vms| vms.iter().map(|&vm| vm.to_owned()).collect());
    }

    /// A VM that no host made: of this cluster, for a Machine of this name and uid.
    pub(crate) fn plant(&self, cluster: &str, machine_name: &str, machine_uid: &str) -> String {
        let mut state = self.lock();
        let id = format!("sim:///vm-{}", state.vms.len() + 1);
        let vm = Made {
            cluster: cluster.to_owned(),
            machine_name: machine_name.to_owned(),
            machine_uid: machine_uid.to_owned(),
            node_name: machine_name.to_owned(),
            made_at: Instant::now(),
            gone_at: None,
            user_data: None,
            conditions: Vec::new(),
        };
        state.vms.insert(id.clone(), vm);
        id
    }

    /// A VM that another program has made for the Machine of this name, without any mark.
    pub(crate) fn plant_unmarked(&self, machine_name: &str) -> String {
        self.plant("", machine_name, "")
    }

    /// As if another program had made this one.
    pub(crate) fn unmark(&self, provider_id: &str) {
        let mut state = self.lock();
        let vm = state.vms.get_mut(provider_id).unwrap();
        (vm.cluster, vm.machine_uid) = (String::new(), String::new());
    }

    /// The operator changes the plugin's settings.
    pub(crate) fn adopt(&self) {
        self.lock().adopts = true;
    }

    /// The uid that a VM carries.
    pub(crate) fn uid_on(&self, provider_id: &str) -> String {
        self.lock().vms[provider_id].machine_uid.clone()
    }

    /// VMs that were started anew, once for each time.
    pub(crate) fn rebooted(&self) -> Vec<String> {
        self.lock().rebooted.clone()
    }

    fn reboot(&self, request: &MachineRequest) -> DriverResult<()> {
        let id = request.machine.provider_id.as_ref().unwrap().to_string();
        self.lock().rebooted.push(id);
        Ok(())
    }

    /// The VM of this Machine is gone without anybody having asked for it.
    pub(crate) fn lose(&self, machine_name: &str) {
        for vm in self.lock().vms.values_mut().filter(|vm| vm.machine_name == machine_name) {
            vm.gone_at = Some(Instant::now());
        }
    }

    /// From now on the cloud says this of the VM.
    pub(crate) fn says(&self, machine_name: &str, conditions: &[CloudCondition]) {
        for vm in self.lock().vms.values_mut().filter(|vm| vm.machine_name == machine_name) {
            vm.conditions = conditions.to_vec();
        }
    }

    /// True while this VM is there.
    pub(crate) fn has(&self, provider_id: &str) -> bool {
        self.lock().vms.get(provider_id).is_some_and(Made::is_there)
    }

    fn refuses(&self, provider: &ProviderName, pin: Option<DriverDigest>) -> Option<Refusal> {
        let state = self.lock();
        let provider = provider.to_string();
        if state.is_loading && !state.providers.contains(&provider) {
            return Some(Refusal::Loading { provider, loading: "plugin driver is being loaded".to_owned() });
        }
        if !state.providers.contains(&provider) {
            return Some(Refusal::UnknownProvider { provider, hint: String::new() });
        }
        let pin = pin.filter(|pin| !state.versions.contains_key(pin))?;
        Some(Refusal::NotLoaded { provider, pin, loaded: format!("{:?}", state.versions.keys()) })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn create(&self, request: &MachineRequest) -> Vm {
        let mut state = self.lock();
        let uid = request.machine.uid.to_string();
        assert_eq!(request.idempotency_key, uid, "the key comes from the Machine's uid");
        let known = state.vms.iter().find(|(_, vm)| vm.machine_uid == uid && vm.is_there());
        if let Some((id, vm)) = known.filter(|_| self.habits.keeps_keys) {
            let answer = shown(id, vm);
            if vm.user_data != request.secrets.user_data {
                state.changed_parameters += 1;
            }
            return answer;
        }
        let id = format!("sim:///vm-{}", state.vms.len() + 1);
        let vm = Made {
            cluster: request.cluster.clone(),
            machine_name: request.machine.name.to_string(),
            machine_uid: uid,
            node_name: request.machine.name.to_string(),
            made_at: Instant::now(),
            gone_at: None,
            user_data: request.secrets.user_data.clone(),
            conditions: Vec::new(),
        };
        let answer = shown(&id, &vm);
        let user_data = String::from_utf8(vm.user_data.clone().unwrap_or_default()).unwrap();
        self.kubelets.boot(self.clone(), &id, &vm.node_name, user_data);
        state.vms.insert(id, vm);
        answer
    }

    fn look(&self, request: &MachineRequest) -> DriverResult<Vm> {
        let state = self.lock();
        let is_visible = |vm: &&Made| {
            vm.is_there() && (vm.gone_at.is_some() || vm.made_at.elapsed() >= self.habits.reads_lag)
        };
        let found = match &request.machine.provider_id {
            Some(id) => state.vms.get_key_value(id.as_str()),
            None => state.vms.iter().find(|(_, vm)| {
                let is_marked =
                    vm.machine_uid == request.machine.uid.as_str() && vm.cluster == request.cluster;
                is_marked || is_unmarked_namesake(request, vm)
            }),
        };
        if let Some((id, vm)) = found.filter(|(_, vm)| vm.is_there()) {
            state.is_own(request, id, vm)?;
        }
        let Some((id, vm)) = found.filter(|(_, vm)| is_visible(vm)) else {
            return Err(DriverError::new(Code::NotFound, "there is no such VM").into());
        };
        let lacks = !state.initialized.contains(id) || vm.cluster.is_empty();
        if self.habits.initializes && vm.gone_at.is_none() && lacks {
            let mut error = DriverError::new(Code::Uninitialized, "the second step is missing");
            error.provider_id = Some(id.as_str().into());
            error.node_name = Some(vm.node_name.as_str().into());
            return Err(error.into());
        }
        Ok(shown(id, vm))
    }

    fn initialize(&self, request: &MachineRequest) -> DriverResult<Vm> {
        let mut state = self.lock();
        let uid = request.machine.uid.as_str();
        let is_it = |vm: &Made| vm.machine_uid == uid || (vm.cluster.is_empty() && is_named(request, vm));
        let found = state.vms.iter().find(|(_, vm)| is_it(vm) && vm.is_there());
        let Some((id, vm)) = found else {
            return Err(DriverError::new(Code::NotFound, "there is no such VM").into());
        };
        state.is_own(request, id, vm)?;
        let (id, answer) = (id.clone(), shown(id, vm));
        let vm = state.vms.get_mut(&id).unwrap();
        (vm.cluster, vm.machine_uid) = (request.cluster.clone(), uid.to_owned());
        state.initialized.insert(id);
        Ok(answer)
    }

    /// Two VMs a page, so that every listing of more has pages.
    fn list(&self, request: &ListRequest) -> Page {
        const PAGE: usize = 2;
        let state = self.lock();
        let begin = request.token.as_deref().map_or(0, |token| token.parse().unwrap());
        let is_shown = |vm: &Made| {
            let is_ours = vm.cluster == request.cluster || (state.adopts && vm.cluster.is_empty());
            vm.is_there() && is_ours && vm.made_at.elapsed() >= self.habits.reads_lag
        };
        let is_told = |id: &String| state.shown.as_ref().is_none_or(|shown| shown.contains(id));
        let all: Vec<_> = state.vms.iter().filter(|(id, vm)| is_shown(vm) && is_told(id)).collect();
        let machines = all.iter().skip(begin).take(PAGE).map(|(id, vm)| listed(id, vm)).collect();
        Page { machines, next: (begin + PAGE < all.len()).then(|| (begin + PAGE).to_string()) }
    }

    fn remove(&self, request: &MachineRequest) -> DriverResult<Deletion> {
        let mut state = self.lock();
        let found = match &request.machine.provider_id {
            Some(id) => state.vms.get_key_value(id.as_str()),
            None => state.vms.iter().find(|(_, vm)| is_unmarked_namesake(request, vm)),
        };
        if let Some((id, vm)) = found.filter(|(_, vm)| vm.is_there()) {
            state.is_own(request, id, vm)?;
        }
        for (id, vm) in &mut state.vms {
            // An order by id reaches the VM at once, one that must look for it only when looks show it.
            let is_meant = match &request.machine.provider_id {
                Some(wanted) => wanted.as_str() == id,
                None => {
                    vm.machine_uid == request.machine.uid.as_str()
                        && vm.cluster == request.cluster
                        && vm.made_at.elapsed() >= self.habits.reads_lag
                }
            };
            if is_meant && vm.gone_at.is_none() {
                vm.gone_at = Some(Instant::now() + STOPS_FOR);
            }
        }
        Ok(Deletion::Deleted { last_known_state: None })
    }
}

impl Cloud {
    /// Of two VMs of a Machine, the one that it does not keep.
    fn remove_one(&self, request: &MachineRequest, vm: &ProviderId) -> DriverResult<()> {
        assert_ne!(request.machine.provider_id.as_ref(), Some(vm), "the VM that the Machine keeps");
        if let Some(vm) = self.lock().vms.get_mut(vm.as_str()).filter(|vm| vm.gone_at.is_none()) {
            vm.gone_at = Some(Instant::now() + STOPS_FOR);
        }
        Ok(())
    }
}

fn shown(id: &str, vm: &Made) -> Vm {
    Vm {
        provider_id: id.into(),
        node_name: vm.node_name.as_str().into(),
        state: if vm.gone_at.is_some() { VmState::Stopping } else { VmState::Running },
        addresses: Vec::new(),
        failure_domain: Some("zone-a".into()),
        conditions: vm.conditions.clone(),
        last_known_state: None,
    }
}

impl State {
    /// A VM with another cluster's mark, or with none, is neither the Machine's nor gone.
    fn is_own(&self, request: &MachineRequest, id: &str, vm: &Made) -> DriverResult<()> {
        let mark = &vm.cluster;
        let is_adopted = self.adopts && mark.is_empty() && is_named(request, vm);
        if is_adopted || *mark == request.cluster {
            return Ok(());
        }
        let message = if mark.is_empty() {
            format!("the VM {id} carries no mark, left alone: adopt it by the plugin's settings")
        } else {
            format!("the VM {id} carries the mark of cluster {mark}: start the host with --cluster-id={mark}")
        };
        Err(DriverError::new(Code::FailedPrecondition, message).into())
    }
}

fn is_named(request: &MachineRequest, vm: &Made) -> bool {
    vm.machine_name == request.machine.name.as_str()
}

fn is_unmarked_namesake(request: &MachineRequest, vm: &Made) -> bool {
    vm.cluster.is_empty() && is_named(request, vm)
}

fn listed(id: &str, vm: &Made) -> Listed {
    Listed {
        provider_id: id.into(),
        machine_name: vm.machine_name.as_str().into(),
        machine_uid: Some(vm.machine_uid.as_str().into()).filter(|_| !vm.machine_uid.is_empty()),
        created_at: None,
    }
}

/// An error as a driver answers it.
pub(crate) fn guest_error(code: Code) -> CallError {
    DriverError::new(code, "not now").into()
}
