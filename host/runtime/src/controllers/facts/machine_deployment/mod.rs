//! Facts of a deployment's reconcile.
//!
//! | module | what it does |
//! | --- | --- |
//! | `observe` | all facts of a reconcile, from the caches |
//! | `members` | Machines and their Nodes as the deployment sees them |
//! | `template`, `status` | templates, and the status |

pub(crate) mod members;
pub(crate) mod observe;
pub(crate) mod status;
pub(crate) mod template;

use std::collections::BTreeMap;

use machinist_api::infrastructure::autoscaler;
use machinist_api::names::{annotations, labels};
use machinist_core::machine_deployment::DeploymentNames;
use machinist_core::value::id::{ObjectKey, Uid};

use super::SharedNodes;
use crate::client::field_manager::DISRUPTION;

/// Objects that concern a deployment, by the indexes.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnerTree {
    /// Sets that it controls, and those without a controller that its selector selects.
    pub sets: Vec<ObjectKey>,
    /// Machines of these sets, by the uid of the set.
    pub machines: BTreeMap<Uid, Vec<ObjectKey>>,
    /// Other deployments of the namespace.
    pub other_deployments: Vec<ObjectKey>,
    /// Nodes that several Machines name.
    pub shared_nodes: SharedNodes,
}

/// The annotation of `kubectl apply`: it is about the deployment and no other object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Under which names the decisions find and write things.
pub(crate) static NAMES: DeploymentNames = DeploymentNames {
    template_hash: labels::TEMPLATE_HASH,
    revision: annotations::REVISION,
    revision_history: annotations::REVISION_HISTORY,
    desired_replicas: annotations::DESIRED_REPLICAS,
    max_replicas: annotations::MAX_REPLICAS,
    prefer_no_schedule: annotations::PREFER_NO_SCHEDULE,
    trigger_deletion: annotations::TRIGGER_DELETION,
    replica_change_time: annotations::REPLICA_CHANGE_BY_SCALER_TIME,
    unfreeze: annotations::UNFREEZE,
    scale_up_disabled: labels::SCALE_UP_DISABLED,
    selected_for_update: labels::SELECTED_FOR_UPDATE,
    disruption: &DISRUPTION,
    // The ordinals of a set are about its own Machines, and windows about when the deployment rolls: a rollback does
    // not restore the windows of that time.
    annotations_of_tools: &[
        LAST_APPLIED,
        annotations::CLOSED_ORDINAL,
        annotations::FAILED_JOINS,
        annotations::MAINTENANCE_WINDOWS,
        annotations::CLASS_ALTERNATIVES,
        autoscaler::annotations::CHOSEN_MACHINES,
    ],
};

/// Value of labels and annotations of Nodes that are there or not.
pub(crate) const YES: &str = "true";

#[cfg(test)]
mod tests {
    use machinist_api::names::taints;

    use super::*;

    #[test]
    fn the_taint_of_old_nodes_and_the_annotation_of_their_set_have_one_name() {
        assert_eq!(NAMES.prefer_no_schedule, taints::PREFER_NO_SCHEDULE);
    }
}
