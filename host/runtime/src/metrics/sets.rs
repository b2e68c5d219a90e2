//! The inventory of MachineSets, and their counted actions.

use std::fmt;
use std::sync::Arc;

use machinist_api::machine_set::{MachineSetStatus, MachineSummary};
use machinist_api::{MachineSet, Word};
use machinist_core::value::id::ObjectKey;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use super::inventory::{created_at, encode_conditions, gauge, items, object};

type Sets = [(ObjectKey, Arc<MachineSet>)];

/// A number of each set.
type SetNumber = (&'static str, &'static str, fn(&MachineSet) -> i32);

const NUMBERS: [SetNumber; 6] = [
    ("mcm_machine_set_info_spec_replicas", "Machines that a set is to have", |set| {
        set.spec.replicas.unwrap_or_default()
    }),
    ("mcm_machine_set_info_spec_min_ready_seconds", "minReadySeconds of a set", |set| {
        set.spec.min_ready_seconds.unwrap_or_default()
    }),
    ("mcm_machine_set_status_replicas", "Machines that a set owns", |set| {
        status_number(set, |status| status.replicas)
    }),
    ("mcm_machine_set_status_ready_replicas", "Machines of a set in phase Running", |set| {
        status_number(set, |status| status.ready_replicas)
    }),
    ("mcm_machine_set_status_available_replicas", "Machines of a set in phase Running or Available", |set| {
        status_number(set, |status| status.available_replicas)
    }),
    (
        "mcm_machine_set_status_fully_labelled_replicas",
        "Machines of a set with all labels of its template",
        |set| status_number(set, |status| status.fully_labeled_replicas),
    ),
];

fn status_number(set: &MachineSet, number: impl Fn(&MachineSetStatus) -> Option<i32>) -> i32 {
    set.status.as_ref().and_then(number).unwrap_or_default()
}

pub(super) fn encode(encoder: &mut DescriptorEncoder<'_>, sets: &Sets) -> fmt::Result {
    items(encoder, "mcm_machine_set_items_total", "MachineSets in the cache", sets.len())?;
    let mut infos = gauge(encoder, "mcm_machine_set_info", "What a MachineSet is; always 1")?;
    for (key, set) in sets {
        let class = &set.spec.machine_class;
        let created = created_at(&set.metadata);
        let [name, namespace] = object(key);
        let labels = [
            name,
            namespace,
            ("createdAt", created.as_str()),
            ("spec_machine_class_api_group", class.api_group.as_deref().unwrap_or_default()),
            ("spec_machine_class_kind", class.kind.as_deref().unwrap_or_default()),
            ("spec_machine_class_name", class.name.as_deref().unwrap_or_default()),
        ];
        infos.encode_family(&labels)?.encode_gauge(&1_i64)?;
    }
    for (name, help, number) in NUMBERS {
        let mut metric = gauge(encoder, name, help)?;
        for (key, set) in sets {
            metric.encode_family(&object(key))?.encode_gauge(&i64::from(number(set)))?;
        }
    }
    let help = "Conditions of a MachineSet: True 1, False 0, Unknown 2";
    let mut conditions = gauge(encoder, "mcm_machine_set_status_condition", help)?;
    for (key, set) in sets {
        let all = set.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
        let states = all.iter().map(|condition| (condition.type_.as_str(), condition.status.as_str()));
        encode_conditions(&mut conditions, key, states)?;
    }
    let failed = sets.iter().filter_map(|(key, set)| Some((key, &set.status.as_ref()?.failed_machines)));
    encode_failed(encoder, "mcm_machine_set_failed_machines", failed)
}

/// One series for each Machine whose last operation failed.
pub(super) fn encode_failed<'a>(
    encoder: &mut DescriptorEncoder<'_>,
    metric: &str,
    failed: impl Iterator<Item = (&'a ObjectKey, &'a Vec<MachineSummary>)>,
) -> fmt::Result {
    let mut metric = gauge(encoder, metric, "Machines whose last operation failed; always 1")?;
    for (key, machines) in failed {
        // A list may have a name twice; a series must not be there twice.
        let mut seen = std::collections::BTreeSet::new();
        for machine in machines.iter().filter(|machine| seen.insert(machine.name.as_deref())) {
            let operation = &machine.last_operation;
            let [name, namespace] = object(key);
            let labels = [
                name,
                namespace,
                ("failed_machine_name", machine.name.as_deref().unwrap_or_default()),
                ("failed_machine_provider_id", machine.provider_id.as_deref().unwrap_or_default()),
                ("failed_machine_owner_ref", machine.owner_ref.as_deref().unwrap_or_default()),
                (
                    "failed_machine_last_operation_state",
                    operation.state.as_ref().map(Word::as_str).unwrap_or_default(),
                ),
                (
                    "failed_machine_last_operation_machine_operation_type",
                    operation.type_.as_ref().map(Word::as_str).unwrap_or_default(),
                ),
            ];
            metric.encode_family(&labels)?.encode_gauge(&1_i64)?;
        }
    }
    Ok(())
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WhyLabels {
    reason: &'static str,
}

#[derive(Default)]
pub(super) struct SetCounters {
    stale: Counter,
    freezes: Family<WhyLabels, Counter>,
    thaws: Counter,
}

impl SetCounters {
    pub(super) fn register(&self, registry: &mut Registry) {
        let help = "Machines that their health has failed and that their sets have deleted";
        registry.register("mcm_machine_stale_machines", help, self.stale.clone());
        let help = "MachineSets that were frozen, by the reason of their condition Frozen";
        registry.register("machinist_set_freezes", help, self.freezes.clone());
        registry.register("machinist_set_thaws", "MachineSets whose freeze has ended", self.thaws.clone());
    }

    pub(super) fn deleted_stale(&self) {
        self.stale.inc();
    }

    pub(super) fn froze(&self, reason: &'static str) {
        self.freezes.get_or_create(&WhyLabels { reason }).inc();
    }

    pub(super) fn thawed(&self) {
        self.thaws.inc();
    }
}
