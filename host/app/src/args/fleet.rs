//! The subcommands about deployments, sets and their Machines.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use jiff::SignedDuration;

use super::{Output, duration};

/// Which cluster.
#[derive(Clone, Debug, Args)]
pub(crate) struct AccessFlags {
    /// Kubeconfig file; without it the pod's own account (as kubectl machinist: that of kubectl)
    #[arg(long, env = "KUBECONFIG", value_hint = clap::ValueHint::FilePath)]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig; by default its current one
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
}

/// Which cluster, and where in it.
#[derive(Clone, Debug, Args)]
pub(crate) struct PlaceFlags {
    /// Namespace of the objects
    #[arg(long, short, default_value = "machinist-system")]
    pub(crate) namespace: Option<String>,
    #[command(flatten)]
    pub(crate) access: AccessFlags,
}

#[derive(Debug, Args)]
pub(crate) struct TreeFlags {
    /// machinedeployment/NAME or machineset/NAME (mcd/NAME, mcs/NAME); a NAME alone is a MachineDeployment's; without it all
    #[arg(num_args = 0..=2, value_name = "NAME")]
    pub(crate) subject: Vec<String>,
    #[command(flatten)]
    pub(crate) place: PlaceFlags,
    /// Print it again whenever something changes
    #[arg(long, short)]
    pub(crate) watch: bool,
    /// `table` for people, `json` for programs
    #[arg(long, short, default_value = "table")]
    pub(crate) output: Output,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RolloutCommand {
    /// Follow a rollout to its end; fails when it makes no progress within spec.progressDeadlineSeconds
    Status(StatusFlags),
    /// List the templates that one can return to, or show one of them
    History(HistoryFlags),
    /// Return to an earlier template
    ///
    /// Sets spec.rollbackTo: the host then puts the template of that revision in place, with the annotations that it had.
    Undo(UndoFlags),
    /// Hold a rollout where it is
    Pause(SubjectFlags),
    /// Let a rollout go on
    Resume(SubjectFlags),
    /// Replace all Machines by others of the same template, as a rollout
    ///
    /// Sets the annotation machinist.dev/restarted-at of the template.
    Restart(SubjectFlags),
}

/// Which MachineDeployment.
#[derive(Debug, Args)]
pub(crate) struct SubjectFlags {
    /// machinedeployment/NAME; mcd/NAME and NAME alone are the same
    #[arg(required = true, num_args = 1..=2, value_name = "NAME")]
    pub(crate) subject: Vec<String>,
    #[command(flatten)]
    pub(crate) place: PlaceFlags,
}

#[derive(Debug, Args)]
pub(crate) struct StatusFlags {
    #[command(flatten)]
    pub(crate) of: SubjectFlags,
    /// Follow it to its end; with `--watch=false` only say how far it is
    #[arg(long, short, default_value_t = true, default_missing_value = "true", num_args = 0..=1, require_equals = true, action = clap::ArgAction::Set)]
    pub(crate) watch: bool,
    /// How long to follow it at most; 0s is until its end
    #[arg(long, default_value = "0s", value_parser = duration)]
    pub(crate) timeout: SignedDuration,
    /// Fail when another revision than this is rolled out; 0 is any
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(i64).range(0..))]
    pub(crate) revision: i64,
}

#[derive(Debug, Args)]
pub(crate) struct HistoryFlags {
    #[command(flatten)]
    pub(crate) of: SubjectFlags,
    /// Show the template of this revision, and where it differs from the current one; 0 lists all
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(i64).range(0..))]
    pub(crate) revision: i64,
    /// `table` for people, `json` for programs
    #[arg(long, short, default_value = "table")]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct UndoFlags {
    #[command(flatten)]
    pub(crate) of: SubjectFlags,
    /// Return to this revision; 0 is the one before the current
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(i64).range(0..))]
    pub(crate) to_revision: i64,
}
