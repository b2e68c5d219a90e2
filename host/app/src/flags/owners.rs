//! Flags about MachineSets and MachineDeployments.

use clap::Args;
use machinist_core::machine_set::SetSettings;

use super::defaults;
use super::value::{Count, FlagValue, Problems};

/// What sets and deployments do.
#[derive(Debug, Args)]
#[command(next_help_heading = "MachineSets and MachineDeployments")]
pub(crate) struct OwnerFlags {
    /// So many Machines above what a set may have freeze it: nothing is made any more
    #[arg(long, default_value_t = Count(defaults().sets.safety_up.unsigned_abs()).into(), value_name = "COUNT", allow_hyphen_values = true)]
    pub(crate) safety_up: FlagValue<Count>,
    /// So many below that number end the freeze
    #[arg(long, default_value_t = Count(defaults().sets.safety_down.unsigned_abs()).into(), value_name = "COUNT", allow_hyphen_values = true)]
    pub(crate) safety_down: FlagValue<Count>,
    /// So many Machines of a set in a row that have not joined in time freeze it too; 0 for any number
    #[arg(long, default_value_t = Count(defaults().sets.failed_joins.unwrap_or_default()).into(), value_name = "COUNT", allow_hyphen_values = true)]
    pub(crate) machine_safety_failed_joins: FlagValue<Count>,
    /// Ask cluster-autoscaler to leave the Nodes of a deployment alone while it is rolled
    #[arg(long, default_value_t = defaults().holds_autoscaler.into(), num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub(crate) autoscaler_scaledown_annotation_during_rollout: FlagValue<bool>,
}

impl OwnerFlags {
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
