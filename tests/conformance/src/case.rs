//! One check's view of the world: machines of its own cluster, calls about them, and what is to be seen.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use machinist_core::driver::error::{CallError, DriverError};
use machinist_core::driver::{
    Capabilities, ClassRequest, ClassSpec, Creation, Deletion, DriverResult, ListRequest, Listed,
    MachineIdentity, MachineRequest, NodeResources, SecretValues, Vm,
};
use machinist_core::value::id::{Name, ProviderId, ProviderName, Uid};
use machinist_plugin_host::About;
use serde_json::Value;

use crate::cloud::{Cloud, Whose};
use crate::profile::{Plant, Profile};
use crate::stage::Stage;

/// How often a call that says "in progress" is made again.
const ROUNDS: usize = 100;
/// The longest pause between two of them: test clouds are fast, whatever drivers believe.
const PAUSE: Duration = Duration::from_millis(100);
/// Pages of one listing.
const PAGES: usize = 400;

/// Why a check did not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The driver breaks the contract.
    Failed(String),
    /// It cannot be looked at: why.
    Skipped(String),
    /// The kit or its cloud is in trouble.
    Broken(String),
}

/// The result of a check.
pub(crate) type Outcome<T = ()> = Result<T, Stop>;

/// The driver broke the contract.
pub(crate) fn failed<T>(why: impl Into<String>) -> Outcome<T> {
    Err(Stop::Failed(why.into()))
}

/// The check does not apply.
pub(crate) fn skipped<T>(why: impl Into<String>) -> Outcome<T> {
    Err(Stop::Skipped(why.into()))
}

/// `what` is a statement about the driver that has to be true.
pub(crate) fn must(holds: bool, what: impl FnOnce() -> String) -> Outcome {
    if holds { Ok(()) } else { failed(what()) }
}

/// The values that all checks of a run share.
pub(crate) struct Bench {
    pub(crate) profile: Profile,
    pub(crate) about: About,
    pub(crate) cloud: Option<Cloud>,
    pub(crate) provider: ProviderName,
}

/// One check at work.
pub(crate) struct Case {
    pub(crate) bench: Arc<Bench>,
    pub(crate) stage: Arc<Stage>,
    /// The cluster of this check, and of no other.
    pub(crate) cluster: String,
}

/// A Machine, as the host would keep it.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) provider_id: Option<ProviderId>,
    pub(crate) state: Option<String>,
    pub(crate) spec: Value,
    pub(crate) has_secrets: bool,
}

impl Case {
    pub(crate) fn capabilities(&self) -> Capabilities {
        self.bench.about.capabilities
    }

    /// Skips a check of a function that the driver does not offer.
    pub(crate) fn offers(&self, function: &str) -> Outcome {
        let all = self.capabilities();
        let is_offered = match function {
            "initialize" => all.initialize,
            "get-status" => all.status,
            "list" => all.listing,
            "get-volume-ids" => all.volume_ids,
            "reboot" => all.reboot,
            "delete-by-id" => all.delete_by_id,
            "node-id" => all.node_id,
            "placement" => all.placement,
            "interruption" => all.interruption,
            "capacity" => all.capacity,
            other => unreachable!("{other} is not optional"),
        };
        if is_offered { Ok(()) } else { skipped(format!("the driver does not offer {function}")) }
    }

    /// Only keys, or names that are unique, make one VM of two creates of which neither sees the other's VM.
    pub(crate) fn needs_keys(&self) -> Outcome {
        if self.capabilities().idempotency_key {
            return Ok(());
        }
        skipped(
            "the driver has no capability idempotency-key: the host makes one create of a machine at a time, and waits \
             for the consistency window after one that may have happened",
        )
    }

    pub(crate) fn profile(&self) -> &Profile {
        &self.bench.profile
    }

    pub(crate) fn machine(&self, name: &str) -> Machine {
        let uid = uid(&self.cluster, name);
        // In some clouds a name belongs to one VM, and checks with clusters of their own run at the same time.
        let digits: String = uid.chars().take(8).collect();
        Machine {
            name: format!("worker-{name}-{digits}"),
            uid,
            provider_id: None,
            state: None,
            spec: self.profile().class.valid.clone(),
            has_secrets: true,
        }
    }

    pub(crate) fn class(&self, spec: &Value) -> ClassSpec {
        self.class_text(spec.to_string())
    }

    pub(crate) fn class_text(&self, spec: String) -> ClassSpec {
        ClassSpec {
            name: self.cluster.as_str().into(),
            provider: self.bench.provider.clone(),
            spec,
            node_template: None,
            zones: Vec::new(),
            driver_digest: None,
        }
    }

    /// With the user data that the host has at hand in `create` and `initialize`.
    fn request(&self, machine: &Machine, user_data: bool) -> MachineRequest {
        MachineRequest {
            machine: MachineIdentity {
                namespace: "conformance".into(),
                name: Name::new(&machine.name),
                uid: Uid::new(&machine.uid),
                labels: BTreeMap::new(),
                annotations: BTreeMap::new(),
                provider_id: machine.provider_id.clone(),
                node_template: None,
                last_known_state: machine.state.clone(),
            },
            class: self.class(&machine.spec),
            idempotency_key: machine.uid.clone(),
            cluster: self.cluster.clone(),
            secrets: self.secrets(machine.has_secrets, user_data),
        }
    }

    fn secrets(&self, has_secrets: bool, user_data: bool) -> SecretValues {
        let profile = self.profile();
        let values = profile.secrets.iter().map(|(key, value)| (key.clone(), value.clone().into_bytes()));
        SecretValues {
            values: if has_secrets { values.collect() } else { BTreeMap::new() },
            user_data: user_data.then(|| profile.user_data.clone().into_bytes()),
            ..SecretValues::default()
        }
    }

    /// One call, and what the host would keep of its answer.
    pub(crate) async fn create(&self, machine: &mut Machine) -> DriverResult<Creation> {
        let answer = self.stage.host.create(self.request(machine, true)).await;
        match &answer {
            Ok(Creation::Created(vm)) => machine.learn(vm),
            Ok(Creation::InProgress(progress)) => machine.state = Some(progress.resume_token.clone()),
            Err(error) => machine.suffer(error),
        }
        answer
    }

    pub(crate) async fn initialize(&self, machine: &mut Machine) -> DriverResult<Vm> {
        let answer = self.stage.host.initialize(self.request(machine, true)).await;
        machine.note_answer(&answer);
        answer
    }

    pub(crate) async fn status(&self, machine: &mut Machine) -> DriverResult<Vm> {
        let answer = self.stage.host.get_status(self.request(machine, false)).await;
        if let Err(error) = &answer {
            machine.suffer(error);
        }
        answer
    }

    pub(crate) async fn delete(&self, machine: &mut Machine) -> DriverResult<Deletion> {
        let answer = self.stage.host.delete(self.request(machine, false)).await;
        match &answer {
            Ok(Deletion::Deleted { last_known_state: Some(state) }) => machine.state = Some(state.clone()),
            Ok(Deletion::Deleted { last_known_state: None }) => {}
            Ok(Deletion::InProgress(progress)) => machine.state = Some(progress.resume_token.clone()),
            Err(error) => machine.suffer(error),
        }
        answer
    }

    /// Of two VMs of the machine, the one that it does not keep.
    pub(crate) async fn delete_by_id(&self, machine: &Machine, vm: &ProviderId) -> DriverResult<()> {
        self.stage.host.delete_by_id(self.request(machine, false), vm.clone()).await
    }

    pub(crate) async fn reboot(&self, machine: &Machine) -> DriverResult<()> {
        self.stage.host.reboot(self.request(machine, false)).await
    }

    pub(crate) async fn node_id(&self, machine: &Machine, vm: &Vm) -> DriverResult<ProviderId> {
        self.stage.host.node_id(self.request(machine, false), vm.clone()).await
    }

    /// The class of the machine in a failure domain.
    pub(crate) async fn place(&self, machine: &Machine, failure_domain: &str) -> DriverResult<String> {
        self.stage.host.place(self.request(machine, false), failure_domain.into()).await
    }

    /// Whether the cloud may take VMs of the machine's class away.
    pub(crate) async fn is_interruptible(&self, machine: &Machine) -> DriverResult<bool> {
        self.stage.host.is_interruptible(self.request(machine, false)).await
    }

    pub(crate) async fn node_capacity(&self, spec: &Value) -> DriverResult<NodeResources> {
        let request = ClassRequest { class: self.class(spec), secrets: self.secrets(true, false) };
        self.stage.host.node_capacity(request).await
    }

    pub(crate) async fn page(
        &self,
        cluster: &str,
        token: Option<String>,
    ) -> DriverResult<machinist_core::driver::Page> {
        let class = self.class(&self.profile().class.valid);
        let request =
            ListRequest { class, cluster: cluster.to_owned(), token, secrets: self.secrets(true, false) };
        self.stage.host.list(request).await
    }

    /// All pages of this check's cluster.
    pub(crate) async fn list(&self) -> DriverResult<Vec<Listed>> {
        let (mut machines, mut token) = (Vec::new(), None);
        for _ in 0..PAGES {
            let page = self.page(&self.cluster, token).await?;
            machines.extend(page.machines);
            token = page.next;
            if token.is_none() {
                break;
            }
        }
        Ok(machines)
    }

    /// Creates until it is decided.
    pub(crate) async fn create_to_end(&self, machine: &mut Machine) -> DriverResult<Vm> {
        for _ in 0..ROUNDS {
            match self.create(machine).await? {
                Creation::Created(vm) => return Ok(vm),
                Creation::InProgress(progress) => pause(progress.ask_again.unsigned_abs()).await,
            }
        }
        Err(endless())
    }

    /// Deletes until it is decided.
    pub(crate) async fn delete_to_end(&self, machine: &mut Machine) -> DriverResult<()> {
        for _ in 0..ROUNDS {
            match self.delete(machine).await? {
                Deletion::Deleted { .. } => return Ok(()),
                Deletion::InProgress(progress) => pause(progress.ask_again.unsigned_abs()).await,
            }
        }
        Err(endless())
    }

    /// A machine that has its VM. A failure here is not the subject of the check.
    pub(crate) async fn made(&self, name: &str) -> Outcome<Machine> {
        let mut machine = self.machine(name);
        match self.create_to_end(&mut machine).await {
            Ok(_) => Ok(machine),
            Err(error) => failed(format!("an ordinary create failed: {}", said(&error))),
        }
    }

    /// The machine's VMs, seen without the driver.
    pub(crate) async fn vms(&self, machine: &Machine) -> Outcome<Vec<String>> {
        self.vms_of(&self.cluster, machine).await
    }

    pub(crate) async fn vms_of(&self, cluster: &str, machine: &Machine) -> Outcome<Vec<String>> {
        let Some((cloud, look)) = self.bench.cloud.as_ref().zip(self.profile().look.as_ref()) else {
            return skipped("the profile does not say how VMs are seen (look)");
        };
        let whose = Whose { cluster, uid: &machine.uid, name: &machine.name };
        cloud.vms(look, &whose).await.map_err(|error| Stop::Broken(chain(&error)))
    }

    /// Fails unless the cloud has so many VMs of the machine.
    pub(crate) async fn expect_vms(&self, machine: &Machine, count: usize, when: &str) -> Outcome {
        let vms = self.vms(machine).await?;
        must(vms.len() == count, || {
            format!(
                "{when}, the cloud has {} VMs of the machine instead of {count}: {}",
                vms.len(),
                vms.join(", ")
            )
        })
    }

    /// Makes a VM without the driver, with these marks.
    pub(crate) async fn plant(&self, cluster: &str, machine: &Machine) -> Outcome<ProviderId> {
        let whose = Whose { cluster, uid: &machine.uid, name: &machine.name };
        let without = "the profile does not say how a VM is made without the driver (plant)";
        self.planted(self.profile().plant.as_ref(), whose, without).await
    }

    /// Makes a VM without the driver and without any mark but the machine's name.
    pub(crate) async fn plant_unmarked(&self, machine: &Machine) -> Outcome<ProviderId> {
        let whose = Whose { cluster: "", uid: "", name: &machine.name };
        let without = "the profile does not say how a VM without marks is made (unmarked)";
        self.planted(self.profile().unmarked.as_ref(), whose, without).await
    }

    async fn planted(&self, plant: Option<&Plant>, whose: Whose<'_>, without: &str) -> Outcome<ProviderId> {
        let Some((cloud, plant)) = self.bench.cloud.as_ref().zip(plant) else {
            return skipped(without);
        };
        let id = cloud.plant(plant, &whose).await.map_err(|error| Stop::Broken(chain(&error)))?;
        Ok(ProviderId::new(id))
    }

    /// The name of a cluster that is none of this check's.
    pub(crate) fn other_cluster(&self) -> String {
        format!("{}-other", self.cluster)
    }
}

impl Machine {
    fn learn(&mut self, vm: &Vm) {
        self.provider_id = Some(vm.provider_id.clone());
        if let Some(state) = &vm.last_known_state {
            self.state = Some(state.clone());
        }
    }

    fn note_answer(&mut self, answer: &DriverResult<Vm>) {
        match answer {
            Ok(vm) => self.learn(vm),
            Err(error) => self.suffer(error),
        }
    }

    fn suffer(&mut self, error: &CallError) {
        if let CallError::Guest(DriverError { last_known_state: Some(state), .. }) = error {
            self.state = Some(state.clone());
        }
    }

    /// As after a crash of the host before it wrote anything down.
    pub(crate) fn forgotten(&self) -> Self {
        Self { provider_id: None, state: None, ..self.clone() }
    }
}

/// As long as those of Kubernetes, which clouds take as tokens; the same for the same machine.
fn uid(cluster: &str, name: &str) -> String {
    let half = |seed: u8| {
        let mut hasher = DefaultHasher::new();
        (seed, cluster, name).hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    };
    let digits = half(0) + &half(1);
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| digits.get(part).unwrap_or_default());
    parts.join("-")
}

async fn pause(asked: Duration) {
    tokio::time::sleep(asked.min(PAUSE)).await;
}

fn endless() -> CallError {
    DriverError::new(
        machinist_core::driver::error::Code::Unknown,
        format!("the driver answered {ROUNDS} times that the cloud works on it"),
    )
    .into()
}

/// An error as its reader sees it, in one line.
pub(crate) fn said(error: &CallError) -> String {
    match error {
        CallError::Guest(error) => format!("{} ({:?})", error.code, error.message),
        CallError::Broken(error) => error.to_string(),
        CallError::Refused(error) => error.to_string(),
    }
}

/// An error of the driver's own; a trap or a limit is none.
pub(crate) fn guest<T>(answer: DriverResult<T>, call: &str) -> Outcome<DriverError> {
    match answer {
        Ok(_) => failed(format!("{call} says that it succeeded")),
        Err(CallError::Guest(error)) => Ok(error),
        Err(other) => failed(format!("{call} does not answer: {other}")),
    }
}

pub(crate) fn fine<T>(answer: DriverResult<T>, call: &str) -> Outcome<T> {
    answer.map_err(|error| Stop::Failed(format!("{call} failed: {}", said(&error))))
}

pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}
