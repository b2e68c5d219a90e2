//! What is there, read from the caches when somebody asks: no event costs anything, and what is gone has no series.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use machinist_api::{Machine, names};
use machinist_core::gate::Gate;
use machinist_core::id::ObjectKey;
use machinist_core::phase::Phase;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use tokio::sync::watch;

use crate::cache::StoreReader;
use crate::clock::Clock;
use crate::context::Hold;
use crate::machine::phase_of;

use super::life::{Deployment, Last, Life, Pool, phase_name};
use super::queue::Queue;

/// Where the inventory is read from, once the controllers have started.
pub(crate) struct Sources {
    pub(crate) machines: StoreReader<Machine>,
    pub(crate) hold: watch::Receiver<Hold>,
    pub(crate) clock: Clock,
}

pub(super) struct Inventory {
    pub(super) sources: Arc<OnceLock<Sources>>,
    pub(super) life: Arc<Life>,
    pub(super) queue: Arc<Queue>,
    /// Scrapes that came before the caches were complete.
    pub(super) incomplete: Arc<AtomicU64>,
}

impl fmt::Debug for Inventory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Inventory")
    }
}

type Machines = [(ObjectKey, Arc<Machine>)];

impl Collector for Inventory {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let sources = self.sources.get();
        let is_complete = sources.is_some_and(|sources| sources.machines.is_synced());
        if !is_complete {
            self.incomplete.fetch_add(1, Ordering::Relaxed);
        }
        let machines = sources.map(|sources| sources.machines.all()).unwrap_or_default();
        let gate = sources.map_or(Gate::Open, |sources| sources.hold.borrow().gate);
        let now = sources.map_or(Timestamp::UNIX_EPOCH, |sources| sources.clock.now());
        gauge(&mut encoder, "mcm_machine_items_total", "Machines in the cache")?
            .encode_gauge(&i64::try_from(machines.len()).unwrap_or(i64::MAX))?;
        gauge(&mut encoder, "mcm_machine_controller_frozen", "1 while dangerous work is held")?
            .encode_gauge(&i64::from(gate != Gate::Open))?;
        phases(&mut encoder, &machines)?;
        infos(&mut encoder, &machines)?;
        conditions(&mut encoder, &machines)?;
        let alive: BTreeSet<Deployment> =
            machines.iter().filter_map(|(key, machine)| deployment_of(key, machine)).collect();
        lives(&mut encoder, &self.life.show(&alive, now))?;
        passes(&mut encoder, &self.queue, now)?;
        let labels = [("kind", "Machine-count"), ("binary", "machine-controller-manager-provider")];
        encoder
            .encode_descriptor(
                "mcm_misc_scrape_failure",
                "Scrapes whose inventory was not complete",
                None,
                MetricType::Counter,
            )?
            .encode_family(&labels)?
            .encode_counter::<NoLabelSet, _, u64>(&self.incomplete.load(Ordering::Relaxed), None)
    }
}

fn gauge<'e>(
    encoder: &'e mut DescriptorEncoder<'_>,
    name: &'e str,
    help: &str,
) -> Result<MetricEncoder<'e>, fmt::Error> {
    encoder.encode_descriptor(name, help, None, MetricType::Gauge)
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
        let (meta, spec) = (&machine.metadata, &machine.spec);
        let created = meta.creation_timestamp.as_ref().map(|time| time.0.as_second());
        let created = created.unwrap_or_default().to_string();
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

fn conditions(encoder: &mut DescriptorEncoder<'_>, machines: &Machines) -> fmt::Result {
    let help = "Conditions of a Machine's Node: True 1, False 0, Unknown 2";
    let mut metric = gauge(encoder, "mcm_machine_status_condition", help)?;
    for (key, machine) in machines {
        let conditions =
            machine.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
        // A list may hold a type twice; a series must not.
        let mut seen = BTreeSet::new();
        for condition in conditions.iter().filter(|condition| seen.insert(condition.type_.as_str())) {
            let value: i64 = match condition.status.as_str() {
                "True" => 1,
                "False" => 0,
                _ => 2,
            };
            let [name, namespace] = object(key);
            let labels = [name, namespace, ("condition", condition.type_.as_str())];
            metric.encode_family(&labels)?.encode_gauge(&value)?;
        }
    }
    Ok(())
}

fn lives(encoder: &mut DescriptorEncoder<'_>, last: &Last) -> fmt::Result {
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

fn passes(encoder: &mut DescriptorEncoder<'_>, queue: &Queue, now: Timestamp) -> fmt::Result {
    let unfinished = queue.unfinished(now);
    let help = "Time of all passes that run, together";
    let mut metric = gauge(encoder, "mcm_workqueue_unfinished_work_seconds", help)?;
    for (part, sum, _) in unfinished {
        metric.encode_family(&[("name", part.name())])?.encode_gauge(&sum)?;
    }
    let help = "Time of the pass that has run longest";
    let mut metric = gauge(encoder, "mcm_workqueue_longest_running_processor_seconds", help)?;
    for (part, _, longest) in unfinished {
        metric.encode_family(&[("name", part.name())])?.encode_gauge(&longest)?;
    }
    Ok(())
}

fn object(key: &ObjectKey) -> [(&'static str, &str); 2] {
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
