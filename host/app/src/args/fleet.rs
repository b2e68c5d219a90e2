//! The subcommands about deployments, sets and their Machines.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use jiff::SignedDuration;

use super::{Output, duration};
use crate::flags::NAMESPACE;

/// Access to a cluster.
#[derive(Clone, Debug, Args)]
pub(crate) struct AccessFlags {
    /// Kubeconfig file; default: the pod's service account (as kubectl machinist: kubectl's kubeconfig)
    #[arg(long, env = "KUBECONFIG", value_hint = clap::ValueHint::FilePath)]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig; default: its current context
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
}

/// Cluster and namespace.
#[derive(Clone, Debug, Args)]
pub(crate) struct PlaceFlags {
    /// Namespace of the objects
    #[arg(long, short, default_value = NAMESPACE)]
    pub(crate) namespace: Option<String>,
    #[command(flatten)]
    pub(crate) access: AccessFlags,
}

#[derive(Debug, Args)]
pub(crate) struct TreeFlags {
    /// MachineDeployment, MachineSet or Cluster: machinedeployment/NAME (mcd/NAME), machineset/NAME (mcs/NAME),
    /// cluster/NAME, machinedeployments.cluster.x-k8s.io/NAME or machinesets.cluster.x-k8s.io/NAME, or NAME for a
    /// MachineDeployment; default: all
    #[arg(num_args = 0..=2, value_name = "NAME")]
    pub(crate) subject: Vec<String>,
    #[command(flatten)]
    pub(crate) place: PlaceFlags,
    /// Print the tree again after each change
    #[arg(long, short)]
    pub(crate) watch: bool,
    /// Format of the output: `table` for people, `json` for programs
    #[arg(long, short, default_value = "table")]
    pub(crate) output: Output,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RolloutCommand {
    /// Follow a rollout to its end; fails if the rollout makes no progress within spec.progressDeadlineSeconds
    Status(StatusFlags),
    /// List the revisions that you can roll back to, or show the template of one
    History(HistoryFlags),
    /// Roll back to an earlier template
    ///
    /// Sets spec.rollbackTo: the host restores the template of that revision with the annotations of that revision.
    Undo(UndoFlags),
    /// Pause a rollout
    Pause(SubjectFlags),
    /// Resume a paused rollout
    Resume(SubjectFlags),
    /// Replace all Machines with new ones of the same spec, as a rollout
    ///
    /// Sets the annotation machinist.dev/restarted-at of the template.
    Restart(SubjectFlags),
}

/// The MachineDeployment of a subcommand.
#[derive(Debug, Args)]
pub(crate) struct SubjectFlags {
    /// MachineDeployment: machinedeployment/NAME, mcd/NAME or NAME
    #[arg(required = true, num_args = 1..=2, value_name = "NAME")]
    pub(crate) subject: Vec<String>,
    #[command(flatten)]
    pub(crate) place: PlaceFlags,
}

#[derive(Debug, Args)]
pub(crate) struct StatusFlags {
    #[command(flatten)]
    pub(crate) of: SubjectFlags,
    /// Follow the rollout to its end; `--watch=false` prints its state once
    #[arg(long, short, default_value_t = true, default_missing_value = "true", num_args = 0..=1, require_equals = true, action = clap::ArgAction::Set)]
    pub(crate) watch: bool,
    /// Longest time to follow the rollout; 0s means until its end
    #[arg(long, default_value = "0s", value_parser = duration)]
    pub(crate) timeout: SignedDuration,
    /// Fail if a revision other than this one is rolled out; 0 means any
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(i64).range(0..))]
    pub(crate) revision: i64,
}

#[derive(Debug, Args)]
pub(crate) struct HistoryFlags {
    #[command(flatten)]
    pub(crate) of: SubjectFlags,
    /// Show the template of this revision and its differences from the current one; 0 lists all revisions
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(i64).range(0..))]
    pub(crate) revision: i64,
    /// Format of the output: `table` for people, `json` for programs
    #[arg(long, short, default_value = "table")]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct UndoFlags {
    #[command(flatten)]
    pub(crate) of: SubjectFlags,
    /// Roll back to this revision; 0 means the one before the current
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(i64).range(0..))]
    pub(crate) to_revision: i64,
}
