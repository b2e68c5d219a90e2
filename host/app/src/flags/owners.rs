//! Flags about MachineSets and MachineDeployments.

use clap::Args;

use super::given::{Count, Given, Problems};
use machinist_core::machine_set::SetSettings;

/// What sets and deployments do.
#[derive(Debug, Args)]
#[command(next_help_heading = "MachineSets and MachineDeployments")]
pub(crate) struct OwnerFlags {
    /// So many Machines above what a set may have freeze it: nothing is made any more
    #[arg(long, default_value = "2", value_name = "COUNT", allow_hyphen_values = true)]
    pub(crate) safety_up: Given<Count>,
    /// So many below that number end the freeze
    #[arg(long, default_value = "1", value_name = "COUNT", allow_hyphen_values = true)]
    pub(crate) safety_down: Given<Count>,
    /// So many Machines of a set in a row that have not joined in time freeze it too; 0 for any number
    #[arg(long, default_value = "0", value_name = "COUNT", allow_hyphen_values = true)]
    pub(crate) machine_safety_failed_joins: Given<Count>,
    /// Ask cluster-autoscaler to leave the Nodes of a deployment alone while it is rolled
    #[arg(long, default_value = "true", num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub(crate) autoscaler_scaledown_annotation_during_rollout: Given<bool>,
}

impl OwnerFlags {
    /// Settings of sets.
    pub(super) fn sets(&self, problems: &mut Problems) -> SetSettings {
        let number = |count: Count| i32::try_from(count.0).unwrap_or(i32::MAX);
        let joins = problems.take("--machine-safety-failed-joins", &self.machine_safety_failed_joins).0;
        SetSettings {
            safety_up: number(problems.take("--safety-up", &self.safety_up)),
            safety_down: number(problems.take("--safety-down", &self.safety_down)),
            failed_joins: (joins > 0).then_some(joins),
        }
    }

    /// Whether deployments hold the autoscaler.
    pub(super) fn holds_autoscaler(&self, problems: &mut Problems) -> bool {
        let flag = "--autoscaler-scaledown-annotation-during-rollout";
        problems.take(flag, &self.autoscaler_scaledown_annotation_during_rollout)
    }
}
