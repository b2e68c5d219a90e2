//! The inventory of MachineDeployments.

use std::fmt;
use std::sync::Arc;

use machinist_api::machine_deployment::{MachineDeploymentStatus, RollingUpdate};
use machinist_api::{MachineDeployment, Word};
use machinist_core::value::id::ObjectKey;
use machinist_core::value::int_or_percent::IntOrPercent;
use prometheus_client::encoding::DescriptorEncoder;

use crate::cache::fields::share;

use super::inventory::{created_at, encode_conditions, gauge, items, object};
use super::sets::encode_failed;

type Deployments = [(ObjectKey, Arc<MachineDeployment>)];

/// A number of each deployment that has it.
type DeploymentNumber = (&'static str, &'static str, fn(&MachineDeployment) -> Option<i64>);

const NUMBERS: [DeploymentNumber; 14] = [
    ("info_spec_replicas", "Machines that a deployment is to have", |deployment| {
        wide(deployment.spec.replicas)
    }),
    ("info_spec_paused", "1 while a deployment is paused", |deployment| {
        Some(i64::from(deployment.spec.paused == Some(true)))
    }),
    ("info_spec_min_ready_seconds", "minReadySeconds of a deployment", |deployment| {
        wide(deployment.spec.min_ready_seconds)
    }),
    (
        "info_spec_rolling_update_max_surge",
        "Machines that there may be above the wanted number; a percentage is worked out",
        |deployment| {
            bound(deployment, |rolling| {
                Some(
                    IntOrPercent::parse(&share(rolling.max_surge.as_ref()?))
                        .ok()?
                        .rounded_up(wanted(deployment)),
                )
            })
        },
    ),
    (
        "info_spec_rolling_update_max_unavailable",
        "Wanted Machines that may be missing; a percentage is worked out",
        |deployment| {
            bound(deployment, |rolling| {
                let share = share(rolling.max_unavailable.as_ref()?);
                Some(IntOrPercent::parse(&share).ok()?.rounded_down(wanted(deployment)))
            })
        },
    ),
    ("info_spec_revision_history_limit", "Old sets that are kept, where that is limited", |deployment| {
        deployment.spec.revision_history_limit.map(i64::from)
    }),
    (
        "info_spec_progress_deadline_seconds",
        "How long a rollout may make no progress, where that is limited",
        |deployment| deployment.spec.progress_deadline_seconds.map(i64::from),
    ),
    (
        "info_spec_rollback_to_revision",
        "The revision that is to be returned to, while that is asked for",
        |deployment| Some(deployment.spec.rollback_to.as_ref()?.revision.unwrap_or_default()),
    ),
    ("status_replicas", "Machines of all sets of a deployment", |deployment| {
        status_number(deployment, |status| status.replicas)
    }),
    ("status_updated_replicas", "Machines of the current template", |deployment| {
        status_number(deployment, |status| status.updated_replicas)
    }),
    ("status_ready_replicas", "Machines of a deployment in phase Running", |deployment| {
        status_number(deployment, |status| status.ready_replicas)
    }),
    ("status_available_replicas", "Machines of a deployment in phase Running or Available", |deployment| {
        status_number(deployment, |status| status.available_replicas)
    }),
    ("status_unavailable_replicas", "Machines that are wanted and not available", |deployment| {
        status_number(deployment, |status| status.unavailable_replicas)
    }),
    ("status_collision_count", "How often the name of a set was taken", |deployment| {
        status_number(deployment, |status| status.collision_count)
    }),
];

/// An absent number means 0.
fn wide(number: Option<i32>) -> Option<i64> {
    Some(i64::from(number.unwrap_or_default()))
}

fn status_number(
    deployment: &MachineDeployment,
    number: impl Fn(&MachineDeploymentStatus) -> Option<i32>,
) -> Option<i64> {
    wide(deployment.status.as_ref().and_then(number))
}

fn bound(deployment: &MachineDeployment, number: impl Fn(&RollingUpdate) -> Option<u32>) -> Option<i64> {
    deployment.spec.strategy.rolling_update.as_ref().and_then(number).map(i64::from)
}

fn wanted(deployment: &MachineDeployment) -> u32 {
    u32::try_from(deployment.spec.replicas.unwrap_or_default()).unwrap_or_default()
}

pub(super) fn encode(encoder: &mut DescriptorEncoder<'_>, deployments: &Deployments) -> fmt::Result {
    let help = "MachineDeployments in the cache";
    items(encoder, "mcm_machine_deployment_items_total", help, deployments.len())?;
    let mut infos = gauge(encoder, "mcm_machine_deployment_info", "What a MachineDeployment is; always 1")?;
    for (key, deployment) in deployments {
        let created = created_at(&deployment.metadata);
        let strategy = deployment.spec.strategy.type_.as_ref().map(Word::as_str);
        let [name, namespace] = object(key);
        let labels = [
            name,
            namespace,
            ("createdAt", created.as_str()),
            ("spec_strategy_type", strategy.unwrap_or_default()),
        ];
        infos.encode_family(&labels)?.encode_gauge(&1_i64)?;
    }
    for (name, help, number) in NUMBERS {
        let name = format!("mcm_machine_deployment_{name}");
        let mut metric = gauge(encoder, &name, help)?;
        for (key, deployment) in deployments {
            if let Some(number) = number(deployment) {
                metric.encode_family(&object(key))?.encode_gauge(&number)?;
            }
        }
    }
    let help = "Conditions of a MachineDeployment: True 1, False 0, Unknown 2";
    let mut conditions = gauge(encoder, "mcm_machine_deployment_status_condition", help)?;
    for (key, deployment) in deployments {
        let status = deployment.status.as_ref();
        let all = status.map(|status| status.conditions.as_slice()).unwrap_or_default();
        let states = all.iter().map(|condition| (condition.type_.as_str(), condition.status.as_str()));
        encode_conditions(&mut conditions, key, states)?;
    }
    let failed = deployments
        .iter()
        .filter_map(|(key, deployment)| Some((key, &deployment.status.as_ref()?.failed_machines)));
    encode_failed(encoder, "mcm_machine_deployment_failed_machines", failed)
}
