//! Metrics of objects, read from the caches at each scrape: no watch event costs anything, and a deleted object has no
//! series.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use kube::core::ObjectMeta;
use machinist_api::{Machine, MachineDeployment, MachineSet, names};
use machinist_core::scheduling::gate::Gate;
use machinist_core::value::id::ObjectKey;
use machinist_core::value::phase::Phase;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use tokio::sync::watch;

use crate::cache::StoreReader;
use crate::cache::fields::cluster_mark;
use crate::cache::fields::phase_of;
use crate::context::GateState;
use crate::context::clock::Clock;
use crate::context::settings::Controllers;

use super::queue::{QueueMetrics, QueueName};
use super::stages::{Deployment, LastDurations, Pool, StageMetrics, phase_name};
use super::{deployments, sets};

/// Where the inventory is read from, once the controllers have started.
pub(crate) struct InventorySources {
    pub(crate) machines: StoreReader<Machine>,
    pub(crate) sets: StoreReader<MachineSet>,
    pub(crate) deployments: StoreReader<MachineDeployment>,
    /// Controllers that run elsewhere are not shown: their objects would be there twice.
    pub(crate) controllers: Controllers,
    pub(crate) serves_cluster_api: bool,
    pub(crate) gate_state: watch::Receiver<GateState>,
    /// The mark of this process.
    pub(crate) cluster: String,
    pub(crate) clock: Clock,
}

pub(super) struct Inventory {
    pub(super) inventory: Arc<OnceLock<InventorySources>>,
    pub(super) stages: Arc<StageMetrics>,
    pub(super) queue: Arc<QueueMetrics>,
    /// Scrapes that came before the caches were complete.
    pub(super) incomplete: IncompleteScrapes,
}

/// Scrapes that came before a cache was complete.
#[derive(Default)]
pub(super) struct IncompleteScrapes {
    machines: AtomicU64,
    sets: AtomicU64,
    deployments: AtomicU64,
}

impl fmt::Debug for Inventory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Inventory")
    }
}

type Machines = [(ObjectKey, Arc<Machine>)];

/// All that a cache shows; counts when it is not complete. `None` where it is not followed.
fn all<T>(store: Option<&StoreReader<T>>, incomplete: &AtomicU64) -> Vec<(ObjectKey, Arc<T>)> {
    if !store.is_some_and(StoreReader::is_synced) {
        incomplete.fetch_add(1, Ordering::Relaxed);
    }
    store.map(StoreReader::all).unwrap_or_default()
}

impl Collector for Inventory {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let inventory = self.inventory.get();
        // Before they have started, the controllers of this process are unknown.
        let controllers = inventory.map_or(Controllers::ALL, |inventory| inventory.controllers);
        let now = inventory.map_or(Timestamp::UNIX_EPOCH, |inventory| inventory.clock.now());
        let gate = inventory.map_or(Gate::Open, |inventory| inventory.gate_state.borrow().gate);
        if controllers.machines {
            gauge(&mut encoder, "mcm_machine_controller_frozen", "1 while dangerous work is held")?
                .encode_gauge(&i64::from(gate != Gate::Open))?;
            let machines = all(inventory.map(|inventory| &inventory.machines), &self.incomplete.machines);
            let cluster = inventory.map_or("", |inventory| inventory.cluster.as_str());
            let (name, help) = (
                "machinist_machines_of_another_cluster",
                "Machines that are held since they carry another mark than --cluster-id says",
            );
            let others = machines
                .iter()
                .filter(|(_, machine)| cluster_mark(&machine.metadata).is_some_and(|mark| mark != cluster));
            gauge(&mut encoder, name, help)?
                .encode_gauge(&i64::try_from(others.count()).unwrap_or(i64::MAX))?;
            self.machines(&mut encoder, &machines, now)?;
        }
        if controllers.know_owners() {
            let shown = all(inventory.map(|inventory| &inventory.sets), &self.incomplete.sets);
            sets::encode(&mut encoder, &shown)?;
            let shown = all(inventory.map(|inventory| &inventory.deployments), &self.incomplete.deployments);
            deployments::encode(&mut encoder, &shown)?;
        }
        let serves_cluster_api = inventory.is_some_and(|inventory| inventory.serves_cluster_api);
        reconciles(&mut encoder, &self.queue, (controllers, serves_cluster_api), now)?;
        self.failures(&mut encoder, controllers)
    }
}

impl Inventory {
    fn machines(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        machines: &Machines,
        now: Timestamp,
    ) -> fmt::Result {
        items(encoder, "mcm_machine_items_total", "Machines in the cache", machines.len())?;
        phases(encoder, machines)?;
        infos(encoder, machines)?;
        conditions(encoder, machines)?;
        let alive: BTreeSet<Deployment> =
            machines.iter().filter_map(|(key, machine)| deployment_of(key, machine)).collect();
        lives(encoder, &self.stages.show(&alive, now))
    }

    fn failures(&self, encoder: &mut DescriptorEncoder<'_>, controllers: Controllers) -> fmt::Result {
        let (name, help) = ("mcm_misc_scrape_failure", "Scrapes whose inventory was not complete");
        let mut counter = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        let owners = controllers.know_owners();
        for (is_shown, binary, kind, count) in [
            (controllers.machines, PROVIDER, "Machine-count", &self.incomplete.machines),
            (owners, MANAGER, "MachineSet-count", &self.incomplete.sets),
            (owners, MANAGER, "MachineDeployment-count", &self.incomplete.deployments),
        ] {
            if is_shown {
                counter
                    .encode_family(&[("kind", kind), ("binary", binary)])?
                    .encode_counter::<NoLabelSet, _, u64>(&count.load(Ordering::Relaxed), None)?;
            }
        }
        Ok(())
    }
}

/// As machine-controller-manager's binaries call themselves.
const PROVIDER: &str = "machine-controller-manager-provider";
const MANAGER: &str = "machine-controller-manager";

pub(super) fn gauge<'e>(
    encoder: &'e mut DescriptorEncoder<'_>,
    name: &'e str,
    help: &str,
) -> Result<MetricEncoder<'e>, fmt::Error> {
    encoder.encode_descriptor(name, help, None, MetricType::Gauge)
}

pub(super) fn items(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    count: usize,
) -> fmt::Result {
    gauge(encoder, name, help)?.encode_gauge(&i64::try_from(count).unwrap_or(i64::MAX))
}

fn phases(encoder: &mut DescriptorEncoder<'_>, machines: &Machines) -> fmt::Result {
    let mut counts: BTreeMap<&'static str, i64> = BTreeMap::new();
    for (_, machine) in machines {
        *counts.entry(phase_name(phase_of(machine))).or_default() += 1;
    }
    let mut ours = gauge(encoder, "machinist_machines", "Machines by phase")?;
    for (phase, count) in counts {
        ours.encode_family(&[("phase", phase)])?.encode_gauge(&count)?;
    }
    let help =
        "Phase of a Machine: Terminating -4, Failed -3, CrashLoopBackOff -2, Unknown -1, Running 1, others 0";
    let mut metric = gauge(encoder, "mcm_machine_current_status_phase", help)?;
    for (key, machine) in machines {
        metric.encode_family(&object(key))?.encode_gauge(&phase_number(phase_of(machine)))?;
    }
    Ok(())
}

fn phase_number(phase: Phase) -> i64 {
    match phase {
        Phase::Terminating => -4,
        Phase::Failed => -3,
        Phase::CrashLoopBackOff => -2,
        Phase::Unknown => -1,
        Phase::Running => 1,
        Phase::New
        | Phase::Pending
        | Phase::Available
        | Phase::InPlaceUpdating
        | Phase::InPlaceUpdateSuccessful
        | Phase::InPlaceUpdateFailed => 0,
    }
}

fn infos(encoder: &mut DescriptorEncoder<'_>, machines: &Machines) -> fmt::Result {
    let mut metric = gauge(encoder, "mcm_machine_info", "What a Machine is; always 1")?;
    for (key, machine) in machines {
        let spec = &machine.spec;
        let created = created_at(&machine.metadata);
        let labels = [
            ("name", key.name.as_str()),
            ("namespace", key.namespace.as_str()),
            ("createdAt", &created),
            ("spec_provider_id", machine.provider_id().unwrap_or_default()),
            ("spec_class_api_group", spec.class.api_group.as_deref().unwrap_or_default()),
            ("spec_class_kind", spec.class.kind.as_deref().unwrap_or_default()),
            ("spec_class_name", spec.class.name.as_deref().unwrap_or_default()),
            ("node_name", label(machine, names::labels::NODE).unwrap_or_default()),
        ];
        metric.encode_family(&labels)?.encode_gauge(&1_i64)?;
    }
    Ok(())
}

/// Seconds since 1970, as a label.
pub(super) fn created_at(meta: &ObjectMeta) -> String {
    meta.creation_timestamp.as_ref().map(|time| time.0.as_second()).unwrap_or_default().to_string()
}

fn conditions(encoder: &mut DescriptorEncoder<'_>, machines: &Machines) -> fmt::Result {
    let help = "Conditions of a Machine's Node: True 1, False 0, Unknown 2";
    let mut metric = gauge(encoder, "mcm_machine_status_condition", help)?;
    for (key, machine) in machines {
        let conditions =
            machine.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
        let states = conditions.iter().map(|condition| (condition.type_.as_str(), condition.status.as_str()));
        encode_conditions(&mut metric, key, states)?;
    }
    Ok(())
}

/// True 1, False 0, all else 2.
pub(super) fn encode_conditions<'a>(
    metric: &mut MetricEncoder<'_>,
    key: &ObjectKey,
    states: impl Iterator<Item = (&'a str, &'a str)>,
) -> fmt::Result {
    // A list may hold a type twice; a series must not.
    let mut seen = BTreeSet::new();
    for (kind, status) in states {
        if !seen.insert(kind) {
            continue;
        }
        let value: i64 = match status {
            "True" => 1,
            "False" => 0,
            _ => 2,
        };
        let [name, namespace] = object(key);
        metric.encode_family(&[name, namespace, ("condition", kind)])?.encode_gauge(&value)?;
    }
    Ok(())
}

fn lives(encoder: &mut DescriptorEncoder<'_>, last: &LastDurations) -> fmt::Result {
    let of_pools: [(&str, &str, &BTreeMap<Pool, f64>); 4] = [
        (
            "mcm_machine_create_duration_seconds",
            "From the creation of a Machine until its VM was made; the last one",
            &last.create,
        ),
        (
            "mcm_machine_initialize_duration_seconds",
            "How long the initialisation of a VM took; the last one",
            &last.initialize,
        ),
        (
            "mcm_machine_join_duration_seconds",
            "From the creation of a Machine until its Node joined; the last one",
            &last.join,
        ),
        (
            "mcm_machine_delete_duration_seconds",
            "From the request for a Machine's deletion until its VM was gone; the last one",
            &last.delete,
        ),
    ];
    for (name, help, seconds) in of_pools {
        let mut metric = gauge(encoder, name, help)?;
        for (pool, seconds) in seconds {
            metric.encode_family(pool)?.encode_gauge(seconds)?;
        }
    }
    let help = "How long the drain of a Machine's Node took; the last one";
    let mut metric = gauge(encoder, "mcm_machine_drain_duration_seconds", help)?;
    for (deployment, seconds) in &last.drain {
        metric.encode_family(deployment)?.encode_gauge(seconds)?;
    }
    // It only grows. As a counter it would get an ending, by which nobody would find it.
    let help = "Machines whose Node did not join in time";
    let mut metric = gauge(encoder, "mcm_machine_num_failed_join", help)?;
    for (pool, count) in &last.failed_joins {
        metric.encode_family(pool)?.encode_gauge(count)?;
    }
    Ok(())
}

fn reconciles(
    encoder: &mut DescriptorEncoder<'_>,
    queue: &QueueMetrics,
    (controllers, serves_cluster_api): (Controllers, bool),
    now: Timestamp,
) -> fmt::Result {
    let is_run = |queue_name: QueueName| match queue_name {
        QueueName::Secret
        | QueueName::MachineClass
        | QueueName::Machine
        | QueueName::MachineTermination
        | QueueName::Node
        | QueueName::SafetyOrphanVms
        | QueueName::SafetyApiServer => controllers.machines,
        QueueName::MachineSet | QueueName::SafetyOvershooting => controllers.sets,
        QueueName::MachineDeployment => controllers.deployments,
        QueueName::MachinistMachine
        | QueueName::MachinistCluster
        | QueueName::MachinistMachineTemplate
        | QueueName::MachinistRemediation
        | QueueName::MachinistIdentity => serves_cluster_api,
    };
    let mut unfinished = queue.unfinished(now).to_vec();
    unfinished.retain(|(queue_name, ..)| is_run(*queue_name));
    let help = "Time of all passes that run, together";
    let mut metric = gauge(encoder, "mcm_workqueue_unfinished_work_seconds", help)?;
    for (queue_name, sum, _) in &unfinished {
        metric.encode_family(&[("name", queue_name.name())])?.encode_gauge(sum)?;
    }
    let help = "Time of the pass that has run longest";
    let mut metric = gauge(encoder, "mcm_workqueue_longest_running_processor_seconds", help)?;
    for (queue_name, _, longest) in &unfinished {
        metric.encode_family(&[("name", queue_name.name())])?.encode_gauge(longest)?;
    }
    Ok(())
}

pub(super) fn object(key: &ObjectKey) -> [(&'static str, &str); 2] {
    [("name", key.name.as_str()), ("namespace", key.namespace.as_str())]
}

/// The MachineDeployment that a Machine says that it is of.
pub(crate) fn deployment_of(key: &ObjectKey, machine: &Machine) -> Option<Deployment> {
    let name = label(machine, names::labels::DEPLOYMENT)?;
    Some(Deployment { namespace: key.namespace.to_string(), machine_deployment: name.to_owned() })
}

fn label<'a>(machine: &'a Machine, name: &str) -> Option<&'a str> {
    machine.metadata.labels.as_ref()?.get(name).map(String::as_str).filter(|value| !value.is_empty())
}
