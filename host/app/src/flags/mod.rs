//! The flags of `machinist run`: those of both binaries of machine-controller-manager, with their names, defaults and
//! rules, and flags of Machinist's own. All invalid values are reported in one error.
//!
//! A new flag takes two places:
//!
//! 1. The runtime's `context::settings::Settings`: the field, and its default in `Settings::for_cluster`. For plugins:
//!    `HostSettings` of the plugin host, and its `new`.
//! 2. The file of its group here: the field with `default_value_t = defaults().FIELD.into()`, and its line in the
//!    group's `settings` method. Flags of the process are in this file, and `check` has their lines.
//!
//! Then run `cargo xtask generate`, which writes `deploy/reference/flags.md`. A setting that holds for one Machine also
//! goes through the runtime's `controllers::facts` into the core's `MachineSettings`. A default that differs under the
//! name of a binary of machine-controller-manager is in `binary_name`.
//!
//! | module | what it does |
//! | --- | --- |
//! | `machines`, `plugins` | flags by group |
//! | `autoscaler` | addresses and certificates for cluster-autoscaler |
//! | `controllers` | parses `--controllers` |
//! | `cluster_api` | parses `--cluster-api` |
//! | `check` | flags to settings |
//! | `value` | a value as it was typed, valid or not |
//! | `command_line` | a command line that runs controllers |
//! | `binary_name` | defaults that depend on the program's name |
//! | `without_subcommand` | command lines of machine-controller-manager without a subcommand |
//! | `unused` | flags that have no effect here |
//! | `fuzz_tests` | random command lines: each is accepted, or refused with an error |

mod autoscaler;
mod binary_name;
mod check;
mod cluster_api;
mod command_line;
mod controllers;
#[cfg(test)]
mod fuzz_tests;
mod machines;
mod plugins;
mod unused;
mod value;
mod without_subcommand;

use std::path::PathBuf;

use clap::Args;
use jiff::SignedDuration;
use machinist_core::scheduling::lease::LeaseTimes;
use machinist_core::scheduling::request_rate::Rate;
use machinist_plugin_host::LoopbackRegistries;
use machinist_runtime::context::settings::{ClusterApi, Controllers, Settings};

use crate::admin::DebugAccess;

use autoscaler::AutoscalerFlags;
pub(crate) use autoscaler::AutoscalerSettings;
pub(crate) use binary_name::BinaryName;
pub(crate) use command_line::CommandLine;
use machines::{MachineFlags, OwnerFlags, SecretFlags};
use plugins::{RecordFlags, SandboxFlags};
use unused::UnusedFlags;
use value::{Count, FlagType, Positive, Problems, ServerAddress};
pub(crate) use value::{FlagValue, LogFormat};
pub(crate) use without_subcommand::{BinaryChoice, VARIABLE, chosen_binary};

/// The namespace of the host, its Machines and its plugins, unless a flag names another.
pub(crate) const NAMESPACE: &str = "machinist-system";

/// The port of the host's HTTP server, unless a flag names another.
pub(crate) const PORT: u16 = 10_259;

/// The defaults of all flags that are settings. The cluster has no name before its API server is reached.
fn defaults() -> Settings {
    Settings::for_cluster("")
}

/// All flags of `machinist run`.
#[derive(Debug, Args)]
pub(crate) struct RunFlags {
    #[command(flatten)]
    pub(crate) process: ProcessFlags,
    #[command(flatten)]
    pub(crate) machines: MachineFlags,
    #[command(flatten)]
    pub(crate) secrets: SecretFlags,
    #[command(flatten)]
    pub(crate) owners: OwnerFlags,
    #[command(flatten)]
    pub(crate) autoscaler: AutoscalerFlags,
    #[command(flatten)]
    pub(crate) requests: RequestFlags,
    #[command(flatten)]
    pub(crate) record: RecordFlags,
    #[command(flatten)]
    pub(crate) sandbox: SandboxFlags,
    #[command(flatten)]
    pub(crate) election: ElectionFlags,
    #[command(flatten)]
    unused: UnusedFlags,
    /// The binary of this command line.
    #[arg(skip)]
    pub(crate) binary: BinaryName,
}

/// Clusters, plugins, HTTP server and logs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Process")]
pub(crate) struct ProcessFlags {
    /// Controllers to run, comma-separated: `*` for all, NAME for one, -NAME for all but one; names: machine,
    /// machineset, machinedeployment. The last two share a Lease, so run both in one process
    #[arg(long, default_value_t = defaults().controllers.into(), value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) controllers: FlagValue<Controllers>,
    /// Serve the kinds of infrastructure.machinist.dev, as an infrastructure provider of Cluster API: `*` in all
    /// namespaces, NAMESPACE in one; empty: not at all
    #[arg(long, default_value_t = defaults().cluster_api.into(), value_name = "NAMESPACE|*")]
    pub(crate) cluster_api: FlagValue<ClusterApi>,
    /// Kubeconfig of the target cluster, which Nodes join: a file, `none` if there is none, `inClusterConfig` or empty
    /// for the pod's service account
    #[arg(long, default_value = "", value_name = "FILE|none|inClusterConfig")]
    pub(crate) target_kubeconfig: String,
    /// Kubeconfig of the control cluster, which has the Machines: a file, `inClusterConfig`, or empty for the target
    /// cluster
    #[arg(long, default_value = "", value_name = "FILE|inClusterConfig")]
    pub(crate) control_kubeconfig: String,
    /// Namespace of the Machines, their classes, Secrets and Leases
    #[arg(long, default_value = NAMESPACE)]
    pub(crate) namespace: String,
    /// Namespace of the plugins' ConfigMaps; empty means --namespace. Anyone who can write ConfigMaps there can run
    /// code in the host
    #[arg(long, default_value = "", value_name = "NAMESPACE")]
    pub(crate) plugin_namespace: String,
    /// Directory with more plugins: NAME.wasm, or folders with plugin.wasm, grants.yaml and so on. The host watches it:
    /// anyone who can write there can run code in the host
    #[arg(long, value_name = "FOLDER")]
    pub(crate) plugin_dir: Option<PathBuf>,
    /// Public keys for signatures of plugins: a PEM file, or a folder of PEM files with the suffix .pub or .pem. Read
    /// once, at start
    #[arg(long, value_name = "FILE|FOLDER")]
    pub(crate) plugin_keys: Option<PathBuf>,
    /// Namespaces, comma-separated, in which a plugin needs a signature by one of --plugin-keys over its component,
    /// grants, settings, name and providers; `*` means all. With --grants-ceiling, a signature over a driver's
    /// component is enough
    #[arg(long, value_name = "NAMESPACE", value_delimiter = ',')]
    pub(crate) require_signature: Vec<String>,
    /// Upper bound for the grants of drivers, signed or not, in the format of grants.yaml: a file for all plugins, or a
    /// folder with a file NAME.yaml per plugin. A version with larger grants is rejected. Read once, at start
    #[arg(long, value_name = "FILE|FOLDER")]
    pub(crate) grants_ceiling: Option<PathBuf>,
    /// Allow plugins from registries on the host's own machine (`oci:`), without TLS. For tests and development only:
    /// anyone who can write ConfigMaps in the plugin namespace can then send requests to programs next to the host
    #[arg(long, default_value_t = (plugins::defaults().loopback_registries == LoopbackRegistries::Allowed).into(), num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub(crate) allow_loopback_registries: FlagValue<bool>,
    /// ID that marks all VMs of this cluster; empty means the UID of the namespace, which needs `get` on it. Must be
    /// unique in a cloud account and never change, also when the control plane moves or is restored: Machines with
    /// another mark are blocked
    #[arg(long, default_value = "", value_name = "ID")]
    pub(crate) cluster_id: String,
    /// IP address of the HTTP server for /metrics, /healthz, /readyz, /configz and /debug
    #[arg(long, default_value_t = ServerAddress::default().into(), value_name = "IP")]
    pub(crate) address: FlagValue<ServerAddress>,
    /// Clients that may read /debug: `loopback` allows only clients on the pod's loopback address, such as
    /// port-forwards; `authorized` also allows clients with a token for the audience machinist whose account may `get`
    /// the nonResourceURL, and the host then needs the ClusterRole system:auth-delegator
    #[arg(long, default_value = "loopback", value_name = "loopback|authorized")]
    pub(crate) debug_access: FlagValue<DebugAccess>,
    /// Port of the HTTP server; 0 picks a free port and logs it
    #[arg(long, default_value_t = PORT.into(), allow_hyphen_values = true)]
    pub(crate) port: FlagValue<u16>,
    /// Serve profiles at /debug/pprof/ of the HTTP server
    #[arg(long, default_value = "false", num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub(crate) profiling: FlagValue<bool>,
    /// Folder for compiled plugins, used by this process alone. If the default is not writable, a temporary folder
    /// replaces it
    #[arg(long, default_value = "/var/cache/machinist", value_name = "FOLDER")]
    pub(crate) cache_dir: PathBuf,
    /// Reconciles that may run at once; one that waits for a cloud does not count. Under the names of
    /// machine-controller-manager's binaries: workers per queue, as there
    #[arg(long, default_value_t = Positive::from(defaults().concurrent_reconciles).into(), value_name = "COUNT", allow_hyphen_values = true)]
    pub(crate) concurrent_syncs: FlagValue<Positive>,
    /// Time after which an unchanged object is reconciled again, plus a random part of up to the same length; at least
    /// 1m; 0 means never
    #[arg(long, default_value_t = defaults().resync.into(), value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) min_resync_period: FlagValue<SignedDuration>,
    /// Format of the logs: text or json
    #[arg(long, default_value = "text", value_name = "FORMAT")]
    pub(crate) logging_format: FlagValue<LogFormat>,
    /// Filter of the logs, such as `info`, `debug` or `info,machinist_runtime=debug`; default: the level of -v
    #[arg(long, env = "MACHINIST_LOG", value_name = "FILTER")]
    pub(crate) log: Option<String>,
    /// Verbosity of the logs: 0 to 3 mean `info`, 4 and 5 `debug`, more `trace`; ignored if --log is set
    #[arg(short = 'v', long = "v", default_value = "0", value_name = "LEVEL", allow_hyphen_values = true)]
    pub(crate) verbosity: FlagValue<Count>,
}

/// Rate of requests to the API servers.
#[derive(Debug, Args)]
#[command(next_help_heading = "Requests")]
pub(crate) struct RequestFlags {
    /// Requests per second to each API server, on average; `none` means no limit: the server then limits its clients
    /// with the FlowSchema in deploy/flowcontrol. Leases, watches and Events do not count
    #[arg(long, default_value = "none", value_name = "RATE|none", allow_hyphen_values = true)]
    pub(crate) kube_api_qps: FlagValue<PerSecond>,
    /// Burst of requests to each API server if --kube-api-qps is a number; 0 means 10
    #[arg(long, default_value = "30", value_name = "COUNT", allow_hyphen_values = true)]
    pub(crate) kube_api_burst: FlagValue<Count>,
}

impl RequestFlags {
    /// `None` without a limit.
    pub(super) fn rate(&self, problems: &mut Problems) -> Option<Rate> {
        /// The burst of Go's client for 0.
        const DEFAULT_BURST: u32 = 10;
        let per_second = problems.take(&self.kube_api_qps);
        let burst = problems.take(&self.kube_api_burst).0;
        let burst = if burst == 0 { DEFAULT_BURST } else { burst };
        per_second.0.map(|per_second| Rate { per_second, burst })
    }
}

/// A number above zero, or none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PerSecond(Option<f64>);

impl FlagType for PerSecond {
    fn parse(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self(None));
        }
        match text.parse::<f32>() {
            Ok(number) if number > 0.0 && number.is_finite() => Ok(Self(Some(f64::from(number)))),
            _ => Err("must be a number above 0, or none for no limit".to_owned()),
        }
    }
}

/// Election of the leader.
#[derive(Debug, Args)]
#[command(next_help_heading = "Leader election")]
pub(crate) struct ElectionFlags {
    /// Start work only after winning the leader election; false means that this process leads at once
    #[arg(long, default_value = "true", num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub(crate) leader_elect: FlagValue<bool>,
    /// Time for which a Lease is valid without renewal
    #[arg(long, default_value_t = LeaseTimes::default().duration.into(), value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) leader_elect_lease_duration: FlagValue<SignedDuration>,
    /// Time for which a leader retries the renewal before it stops leading
    #[arg(long, default_value_t = LeaseTimes::default().renew_deadline.into(), value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) leader_elect_renew_deadline: FlagValue<SignedDuration>,
    /// Interval between attempts to acquire or renew the Lease; at least 100ms
    #[arg(long, default_value_t = LeaseTimes::default().retry.into(), value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) leader_elect_retry_period: FlagValue<SignedDuration>,
    /// Kind of the lock object; only `leases` is supported
    #[arg(long, default_value = "leases", value_name = "KIND")]
    pub(crate) leader_elect_resource_lock: String,
}
