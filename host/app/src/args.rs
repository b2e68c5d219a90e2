//! The command line. Flags of `run` have the names and defaults of machine-controller-manager.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use jiff::SignedDuration;

/// Kubernetes controllers for cloud machines, with drivers in a sandbox.
#[derive(Debug, Parser)]
#[command(name = "machinist", version, about, propagate_version = true)]
pub(crate) struct Machinist {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the controllers until SIGTERM
    Run(Box<RunFlags>),
    /// Look at plugins, and bring them into a cluster
    #[command(subcommand)]
    Plugin(PluginCommand),
    /// Print a completion script, e.g. `machinist completion bash > /etc/bash_completion.d/machinist`
    Completion {
        /// For which shell
        shell: Shell,
    },
    /// Compile a component from stdin to stdout, as the host does for itself
    #[command(hide = true)]
    CompileComponent,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PluginCommand {
    /// List the plugins of a namespace: state, version, what they serve, and why not
    List(ListFlags),
    /// Show what a component is: size, world, imports, providers, hosts, limits, class schema
    ///
    /// The component is loaded in a sandbox as the host would load it, and asked to describe itself; it reaches nothing. One
    /// that the host would refuse is an error, and what is known of it is shown all the same.
    Inspect(InspectFlags),
    /// Pack a component and bring it into a cluster, in one ConfigMap or in several
    ///
    /// The component is checked as the host would check it. Parts are written before the ConfigMap that names them, so the
    /// last write is the switch: until the host has loaded the version, the one before it serves. Then parts that no version
    /// needs are removed.
    Push(Box<PushFlags>),
}

/// Which cluster, and where in it.
#[derive(Debug, Args)]
pub(crate) struct ClusterFlags {
    /// Kubeconfig file; without it the pod's own account
    #[arg(long, env = "KUBECONFIG")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Namespace of the plugins
    #[arg(long, short, default_value = "machinist-system")]
    pub(crate) namespace: String,
}

#[derive(Debug, Args)]
pub(crate) struct ListFlags {
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
    /// `table` for people, `json` for programs
    #[arg(long, short, default_value = "table")]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct InspectFlags {
    /// The component: `.wasm`, `.wasm.zst` or `.wasm.gz`
    #[arg(required_unless_present = "configmap", conflicts_with = "configmap", value_hint = clap::ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
    /// Inspect what this ConfigMap holds, with its settings and grants
    #[arg(long)]
    pub(crate) configmap: Option<String>,
    /// Grants to show and check, YAML or JSON; instead of those of the ConfigMap
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) grants: Option<PathBuf>,
    /// Settings that the driver reads, a JSON object; instead of those of the ConfigMap
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) settings: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
    /// `table` for people, `json` for programs
    #[arg(long, short, default_value = "table")]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct PushFlags {
    /// The component: `.wasm`, or packed as `.wasm.zst` or `.wasm.gz`; it is packed anew
    #[arg(value_hint = clap::ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Name of the ConfigMap, created or updated. Its parts are called NAME-DIGEST-LAYOUT-NUMBER
    #[arg(long, value_name = "NAME", value_parser = object_name)]
    pub(crate) configmap: String,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
    /// The plugin that this is a version of; by default what the ConfigMap says already, or its name
    #[arg(long, value_name = "NAME")]
    pub(crate) plugin_name: Option<String>,
    /// What the driver reads as its settings, a JSON object; by default what the ConfigMap has already
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) settings: Option<PathBuf>,
    /// What the driver may do, YAML or JSON; by default what the ConfigMap has already
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) grants: Option<PathBuf>,
    /// How the component is packed
    #[arg(long, default_value = "zstd")]
    pub(crate) encoding: EncodingName,
    /// The most that one ConfigMap holds, in bytes; a larger component is cut into parts
    #[arg(long, value_name = "BYTES", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1_024..=1_040_000))]
    pub(crate) part_size: u32,
    /// Take over what somebody else wrote into the ConfigMap, such as `kubectl apply`
    #[arg(long)]
    pub(crate) force: bool,
    /// Ask no cluster: print the objects that would be written, as YAML
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not wait for the host, and leave parts of older versions where they are
    #[arg(long)]
    pub(crate) no_wait: bool,
    /// How long to wait for the host
    #[arg(long, default_value = "3m", value_parser = duration)]
    pub(crate) timeout: SignedDuration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum EncodingName {
    Zstd,
    Gzip,
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Output {
    Table,
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct RunFlags {
    /// Kubeconfig of the cluster that Nodes join: a file, `none` for none, empty for the pod's own account
    #[arg(long, default_value = "")]
    pub(crate) target_kubeconfig: String,
    /// Kubeconfig of the cluster of the Machines: a file, `inClusterConfig`, empty for the same as the target
    #[arg(long, default_value = "")]
    pub(crate) control_kubeconfig: String,
    /// Namespace of Machines, classes, Secrets and Leases
    #[arg(long, default_value = "machinist-system")]
    pub(crate) namespace: String,
    /// Namespace of the plugins' ConfigMaps: who may write there runs code in the host. Empty for the same as --namespace
    #[arg(long, default_value = "")]
    pub(crate) plugin_namespace: String,
    /// Names this cluster towards the cloud. Must differ among the clusters of a cloud account. Empty for the uid of
    /// the namespace
    #[arg(long, default_value = "")]
    pub(crate) cluster_id: String,
    /// Address of the HTTP server for /metrics, /healthz and /readyz
    #[arg(long, default_value = "0.0.0.0")]
    pub(crate) address: IpAddr,
    /// Its port; 0 takes a free one and logs it
    #[arg(long, default_value_t = 10_259)]
    pub(crate) port: u16,
    /// Where compiled plugins are kept. Belongs to this process alone
    #[arg(long, default_value = "/var/cache/machinist")]
    pub(crate) cache_dir: PathBuf,
    /// Passes at the same time. One that waits for a cloud holds a place, not a thread
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) concurrent_syncs: u32,
    /// Every object is looked at at least this often, with a random part up to as much again
    #[arg(long, default_value = "12h", value_parser = duration)]
    pub(crate) min_resync_period: SignedDuration,
    /// From a Machine's creation until its Node must have joined
    #[arg(long, default_value = "20m", value_parser = duration)]
    pub(crate) machine_creation_timeout: SignedDuration,
    /// How long a Machine may be Unknown before it is Failed
    #[arg(long, default_value = "10m", value_parser = duration)]
    pub(crate) machine_health_timeout: SignedDuration,
    /// Node conditions that must be False for a Node to be healthy
    #[arg(long, default_value = "KernelDeadlock,ReadonlyFilesystem,DiskPressure,NetworkUnavailable")]
    pub(crate) node_conditions: String,
    /// Groups of bootstrap tokens, separated by commas
    #[arg(long, default_value = "")]
    pub(crate) bootstrap_token_auth_extra_groups: String,
    /// How long to wait after the cloud said that it has no capacity
    #[arg(long, default_value = "10m", value_parser = duration)]
    pub(crate) resource_exhausted_retry: SignedDuration,
    /// Take part in the election of a leader; without it this process leads at once
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set)]
    pub(crate) leader_elect: bool,
    /// How long leadership lasts without renewal
    #[arg(long, default_value = "15s", value_parser = duration)]
    pub(crate) leader_elect_lease_duration: SignedDuration,
    /// How long a leader tries to renew before it steps down
    #[arg(long, default_value = "10s", value_parser = duration)]
    pub(crate) leader_elect_renew_deadline: SignedDuration,
    /// How often it is tried
    #[arg(long, default_value = "2s", value_parser = duration)]
    pub(crate) leader_elect_retry_period: SignedDuration,
    /// How logs are written
    #[arg(long, default_value = "text")]
    pub(crate) logging_format: LogFormat,
    /// What is logged, as in `info`, `debug` or `info,machinist_runtime=debug`
    #[arg(long, default_value = "info", env = "MACHINIST_LOG")]
    pub(crate) log: String,
}

fn duration(text: &str) -> Result<SignedDuration, String> {
    let value = machinist_core::duration::parse(text).map_err(|error| error.to_string())?;
    if value < SignedDuration::ZERO {
        return Err("a duration must not be negative".to_owned());
    }
    Ok(value)
}

/// What Kubernetes takes as the name of a ConfigMap, less what the names of its parts add.
fn object_name(text: &str) -> Result<String, String> {
    const MOST_BYTES: usize = 253 - 40;
    let is_inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_edge = |byte: Option<&u8>| byte.is_some_and(|byte| *byte != b'-' && is_inside(*byte));
    let is_label = |label: &str| {
        let bytes = label.as_bytes();
        is_edge(bytes.first()) && is_edge(bytes.last()) && bytes.iter().all(|byte| is_inside(*byte))
    };
    if text.len() <= MOST_BYTES && text.split('.').all(is_label) {
        Ok(text.to_owned())
    } else {
        Err(format!(
            "a name has lower-case letters, digits, hyphens and dots, and at most {MOST_BYTES} of them"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Machinist::command().debug_assert();
    }

    #[test]
    fn defaults_are_those_of_the_controller_that_is_replaced() {
        let Command::Run(flags) = Machinist::parse_from(["machinist", "run"]).command else {
            panic!("run is a subcommand");
        };
        assert_eq!(flags.machine_creation_timeout, SignedDuration::from_mins(20));
        assert_eq!(flags.machine_health_timeout, SignedDuration::from_mins(10));
        assert!(flags.leader_elect);
    }

    #[test]
    fn a_name_that_kubernetes_refuses_is_refused_before_anything_is_asked() {
        for name in ["aws", "aws-1.eu", "0"] {
            assert_eq!(object_name(name).as_deref(), Ok(name));
        }
        for name in ["", "Aws", "aws_1", "-aws", "aws-", "a..b", "a/b", &"a".repeat(214)] {
            assert!(object_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_duration_that_is_none_is_refused_with_its_reason() {
        let error =
            Machinist::try_parse_from(["machinist", "run", "--machine-health-timeout", "ten"]).unwrap_err();
        assert!(error.to_string().contains("ten"), "{error}");
        assert!(Machinist::try_parse_from(["machinist", "run", "--machine-health-timeout", "-5m"]).is_err());
    }
}
