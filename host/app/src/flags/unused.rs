//! Flags that machine-controller-manager has and that mean nothing here. They are taken so that its command line starts
//! this program too, and checked as it checks them.

use clap::Args;
use jiff::SignedDuration;

use super::value::{ContentType, FlagValue, Problems};

/// Of the binary for sets and deployments alone.
pub(super) const OVERSHOOTING_PERIOD: &str = "machine-safety-overshooting-period";

#[derive(Debug, Args)]
#[command(next_help_heading = "Accepted and without effect")]
pub(crate) struct UnusedFlags {
    /// Without effect: each MachineClass names its provider
    #[arg(long, default_value = "", value_name = "NAME")]
    cloud_provider: String,
    /// Without effect: CPU profiles do not include waiting threads. Needs --profiling
    #[arg(long, default_value = "false", num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    contention_profiling: FlagValue<bool>,
    /// Without effect: custom resources are always read as JSON
    #[arg(long, default_value = "application/vnd.kubernetes.protobuf", value_name = "TYPE")]
    kube_api_content_type: FlagValue<ContentType>,
    /// Without effect: each reconcile of a MachineSet checks whether it has too many Machines
    #[arg(long, default_value = "1m", value_name = "DURATION", allow_hyphen_values = true)]
    machine_safety_overshooting_period: FlagValue<SignedDuration>,
    /// Without effect: controllers start when the caches are complete
    #[arg(long, default_value = "0s", value_name = "DURATION", allow_hyphen_values = true)]
    controller_start_interval: FlagValue<SignedDuration>,
    #[command(flatten)]
    klog: KlogFlags,
}

/// Flags of klog. Logs go to stderr; the container runtime keeps them.
#[derive(Debug, Args)]
struct KlogFlags {
    /// Without effect
    #[arg(long = "add_dir_header", visible_alias = "add-dir-header", num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    add_dir_header: Option<String>,
    /// Without effect: logs go to stderr
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    alsologtostderr: Option<String>,
    /// Without effect: logs go to stderr
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    logtostderr: Option<String>,
    /// Without effect
    #[arg(long = "log_backtrace_at", visible_alias = "log-backtrace-at", value_name = "FILE:LINE")]
    log_backtrace_at: Option<String>,
    /// Without effect: logs go to stderr
    #[arg(long = "log_dir", visible_alias = "log-dir", value_name = "FOLDER")]
    log_dir: Option<String>,
    /// Without effect: logs go to stderr
    #[arg(long = "log_file", visible_alias = "log-file", value_name = "FILE")]
    log_file: Option<String>,
    /// Without effect: logs go to stderr
    #[arg(long = "log_file_max_size", visible_alias = "log-file-max-size", value_name = "MEGABYTES")]
    log_file_max_size: Option<String>,
    /// Without effect: each line is written at once
    #[arg(long, value_name = "DURATION")]
    log_flush_frequency: Option<String>,
    /// Without effect
    #[arg(long, value_name = "BYTES")]
    log_json_info_buffer_size: Option<String>,
    /// Without effect: all logs go to stderr
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    log_json_split_stream: Option<String>,
    /// Without effect
    #[arg(long, value_name = "BYTES")]
    log_text_info_buffer_size: Option<String>,
    /// Without effect: all logs go to stderr
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    log_text_split_stream: Option<String>,
    /// Without effect: all logs go to stderr
    #[arg(long = "one_output", visible_alias = "one-output", num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    one_output: Option<String>,
    /// Without effect
    #[arg(long = "skip_headers", visible_alias = "skip-headers", num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    skip_headers: Option<String>,
    /// Without effect
    #[arg(long = "skip_log_headers", visible_alias = "skip-log-headers", num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    skip_log_headers: Option<String>,
    /// Without effect: all logs go to stderr
    #[arg(long, value_name = "SEVERITY")]
    stderrthreshold: Option<String>,
    /// Without effect: --log takes levels by module
    #[arg(long, value_name = "LIST")]
    vmodule: Option<String>,
}

impl UnusedFlags {
    /// Checks the values as machine-controller-manager does.
    pub(super) fn check(&self, is_profiling: bool, problems: &mut Problems) {
        if problems.take(&self.contention_profiling) && !is_profiling {
            problems.add("--contention-profiling=true: needs --profiling=true");
        }
        problems.take(&self.kube_api_content_type);
        problems.take(&self.machine_safety_overshooting_period);
        problems.take(&self.controller_start_interval);
    }
}
