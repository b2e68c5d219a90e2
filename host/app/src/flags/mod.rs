//! The flags of `machinist run`: those of both binaries of machine-controller-manager, with their names, defaults and
//! rules, and flags of Machinist's own. All invalid values are reported in one error.
//!
//! A new flag takes two places:
//!
//! 1. The runtime's `context::settings::Settings`: the field, and its default in `Settings::for_cluster`.
//! 2. The file of its group here: the field with `default_value_t = defaults().FIELD.into()`, and its line in the
//!    group's `settings` method. Flags of the process are in this file, and `check` has their lines.
//!
//! Then run `cargo xtask generate`, which writes `deploy/reference/flags.md`. A setting that holds for one Machine also
//! goes through the runtime's `machine::facts` into the core's `MachineSettings`. A default that differs under the name
//! of a binary of machine-controller-manager is in `binary_name`.
//!
//! | module | what it does |
//! | --- | --- |
//! | `machines`, `owners`, `requests`, `record`, `sandbox`, `secrets` | flags by group |
//! | `controllers` | parses `--controllers` |
//! | `check` | flags to settings |
//! | `value` | a value as it was typed, valid or not |
//! | `command_line` | a command line that runs controllers |
//! | `binary_name` | defaults that depend on the program's name |
//! | `without_subcommand` | command lines of machine-controller-manager without a subcommand |
//! | `unused` | flags that have no effect here |

mod binary_name;
mod check;
mod command_line;
mod controllers;
#[cfg(test)]
mod fuzz_tests;
mod machines;
mod owners;
mod record;
mod requests;
mod sandbox;
mod secrets;
mod unused;
mod value;
mod without_subcommand;

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;
use jiff::SignedDuration;
use machinist_core::scheduling::lease::LeaseTimes;
use machinist_runtime::context::settings::{Controllers, Settings};

use crate::admin::DebugAccess;

pub(crate) use binary_name::BinaryName;
pub(crate) use command_line::CommandLine;
use machines::MachineFlags;
use owners::OwnerFlags;
use record::RecordFlags;
use requests::RequestFlags;
use sandbox::SandboxFlags;
pub(crate) use sandbox::SandboxSettings;
use secrets::SecretFlags;
use unused::UnusedFlags;
use value::{Count, Positive};
pub(crate) use value::{FlagValue, LogFormat};
pub(crate) use without_subcommand::{BinaryChoice, VARIABLE, chosen_binary};

/// The defaults of all flags that are settings. The cluster has no name before its API server is reached.
fn defaults() -> Settings {
    Settings::for_cluster("")
}

/// All of them.
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

/// Which clusters, where it listens, how it logs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Process")]
pub(crate) struct ProcessFlags {
    /// Controllers that run: `*` for all, a name for one, -NAME for all but one, separated by commas. There are machine,
    /// machineset and machinedeployment; the last two share a Lease, so that they work only in one process
    #[arg(long, default_value_t = defaults().controllers.into(), value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) controllers: FlagValue<Controllers>,
    /// Kubeconfig of the cluster that Nodes join: a file, `none` for none, `inClusterConfig` or empty for the pod's own
    /// account
    #[arg(long, default_value = "", value_name = "FILE|none|inClusterConfig")]
    pub(crate) target_kubeconfig: String,
    /// Kubeconfig of the cluster of the Machines: a file, `inClusterConfig`, empty for the same as the target
    #[arg(long, default_value = "", value_name = "FILE|inClusterConfig")]
    pub(crate) control_kubeconfig: String,
    /// Namespace of Machines, classes, Secrets and Leases
    #[arg(long, default_value = "machinist-system")]
    pub(crate) namespace: String,
    /// Namespace of the plugins' ConfigMaps: who may write there runs code in the host. Empty for the same as --namespace
    #[arg(long, default_value = "", value_name = "NAMESPACE")]
    pub(crate) plugin_namespace: String,
    /// Directory with plugins beside those in ConfigMaps: NAME.wasm, or folders with plugin.wasm, grants.yaml and so on. It is
    /// watched: who may write there runs code in the host
    #[arg(long, value_name = "FOLDER")]
    pub(crate) plugin_dir: Option<PathBuf>,
    /// Public keys whose signatures on plugins count: a file in PEM, or a folder of such files that end with .pub or .pem.
    /// Read when the host starts
    #[arg(long, value_name = "FILE|FOLDER")]
    pub(crate) plugin_keys: Option<PathBuf>,
    /// Namespaces in which a plugin is refused that none of the --plugin-keys has signed together with its grants, settings,
    /// name and providers, separated by commas; `*` for everywhere. With --grants-ceiling a signature over the component of
    /// a driver is enough
    #[arg(long, value_name = "NAMESPACE", value_delimiter = ',')]
    pub(crate) require_signature: Vec<String>,
    /// Upper bound for the grants of drivers, signed or not, in the language of grants.yaml: a file for all, or a folder with
    /// a file NAME.yaml for each plugin of that name. A version whose grants exceed it is refused. Read when the host starts
    #[arg(long, value_name = "FILE|FOLDER")]
    pub(crate) grants_ceiling: Option<PathBuf>,
    /// Ask registries on the machine of the host, without TLS, for plugins that name one as `oci:`. For tests and
    /// development: anyone who can write ConfigMaps in the namespace of the plugins can then send requests to programs
    /// beside the host
    #[arg(long, default_value = "false", num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub(crate) allow_loopback_registries: FlagValue<bool>,
    /// The mark of this cluster on all of its VMs. Must differ among the clusters of a cloud account, and stay the
    /// same for ever, also when the control plane is moved or restored: Machines with another mark are held. Empty for
    /// the uid of the namespace, which needs `get` on it
    #[arg(long, default_value = "", value_name = "ID")]
    pub(crate) cluster_id: String,
    /// Address of the HTTP server for /metrics, /healthz, /readyz, /configz and /debug
    #[arg(long, default_value = "0.0.0.0", value_name = "IP")]
    pub(crate) address: FlagValue<IpAddr>,
    /// From where /debug is read: `loopback`, where port-forwards come from, or `authorized`, from elsewhere too with a token for
    /// the audience machinist whose account may `get` the nonResourceURL; the host then needs the ClusterRole
    /// system:auth-delegator
    #[arg(long, default_value = "loopback", value_name = "loopback|authorized")]
    pub(crate) debug_access: FlagValue<DebugAccess>,
    /// Its port; 0 takes a free one and logs it
    #[arg(long, default_value = "10259", allow_hyphen_values = true)]
    pub(crate) port: FlagValue<u16>,
    /// Serve profiles under /debug/pprof/ of the HTTP server
    #[arg(long, default_value = "false", num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub(crate) profiling: FlagValue<bool>,
    /// Where compiled plugins are kept. Belongs to this process alone. A default that cannot be written gives way to
    /// a temporary folder
    #[arg(long, default_value = "/var/cache/machinist", value_name = "FOLDER")]
    pub(crate) cache_dir: PathBuf,
    /// Passes at the same time; one that waits for a cloud is not counted. Under the names of
    /// machine-controller-manager's binaries: workers for each queue, as there
    #[arg(long, default_value_t = Positive::from(defaults().concurrent_reconciles).into(), value_name = "COUNT", allow_hyphen_values = true)]
    pub(crate) concurrent_syncs: FlagValue<Positive>,
    /// Every object is looked at at least this often, with a random part up to as much again; at least 1m; 0 means
    /// never
    #[arg(long, default_value_t = defaults().resync.into(), value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) min_resync_period: FlagValue<SignedDuration>,
    /// How logs are written: text or json
    #[arg(long, default_value = "text", value_name = "FORMAT")]
    pub(crate) logging_format: FlagValue<LogFormat>,
    /// What is logged, as in `info`, `debug` or `info,machinist_runtime=debug`. By default what -v says
    #[arg(long, env = "MACHINIST_LOG", value_name = "FILTER")]
    pub(crate) log: Option<String>,
    /// How much is logged: 4 and 5 mean `debug`, more means `trace`. Without effect beside --log
    #[arg(short = 'v', long = "v", default_value = "0", value_name = "LEVEL", allow_hyphen_values = true)]
    pub(crate) verbosity: FlagValue<Count>,
}

/// Who leads.
#[derive(Debug, Args)]
#[command(next_help_heading = "Leader election")]
pub(crate) struct ElectionFlags {
    /// Take part in the election of a leader; without it this process leads at once
    #[arg(long, default_value = "true", num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub(crate) leader_elect: FlagValue<bool>,
    /// How long leadership lasts without renewal
    #[arg(long, default_value_t = LeaseTimes::default().duration.into(), value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) leader_elect_lease_duration: FlagValue<SignedDuration>,
    /// How long a leader tries to renew before it steps down
    #[arg(long, default_value_t = LeaseTimes::default().renew_deadline.into(), value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) leader_elect_renew_deadline: FlagValue<SignedDuration>,
    /// How often it is tried: at most every 100ms
    #[arg(long, default_value_t = LeaseTimes::default().retry.into(), value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) leader_elect_retry_period: FlagValue<SignedDuration>,
    /// Kind of the lock: `leases` is the only one
    #[arg(long, default_value = "leases", value_name = "KIND")]
    pub(crate) leader_elect_resource_lock: String,
}
