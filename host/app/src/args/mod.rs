//! The command line. The flags of `machinist run` are in `flags`.
//!
//! | module | what it does |
//! | --- | --- |
//! | `invocation_name` | the name by which the program was called: `machinist`, or a kubectl plugin |
//! | `fleet` | subcommands about deployments, sets and Machines |
//! | `driver` | subcommands of `machinist driver` |
//! | `logs` | flags of `machinist plugin logs` |
//! | `artifacts` | flags about registries and signatures |

mod artifacts;
mod driver;
mod fleet;
pub(crate) mod invocation_name;
mod logs;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use jiff::SignedDuration;

use crate::flags::{NAMESPACE, PORT, RunFlags};

pub(crate) use artifacts::{BundleFlags, CounterFlag, KeygenFlags, RegistryFlags, ResolveFlags, SignFlags};
pub(crate) use driver::{BuildFlags, DriverCommand, NewFlags, ReplayFlags, TestFlags};
pub(crate) use fleet::{
    AccessFlags, HistoryFlags, PlaceFlags, RolloutCommand, StatusFlags, SubjectFlags, TreeFlags, UndoFlags,
};
pub(crate) use logs::{LogsFlags, PluginLevel};

/// Kubernetes controllers for cloud machines, with drivers as sandboxed WebAssembly components.
#[derive(Debug, Parser)]
#[command(name = "machinist", version, about, propagate_version = true)]
pub(crate) struct Machinist {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the controllers until SIGTERM
    #[command(args_override_self = true)]
    Run(Box<RunFlags>),
    /// Inspect plugins, and ship them to a cluster
    #[command(subcommand)]
    Plugin(PluginCommand),
    /// Create, build and test drivers, and replay their recorded calls
    #[command(subcommand)]
    Driver(DriverCommand),
    /// Explain the state of a Machine or MachinistMachine: its current step, the reason it waits, since when, and the
    /// next step
    ///
    /// Reads a Machine, its class, its Node and its driver's state from the clusters; of a MachinistMachine also its
    /// Cluster, its Machine of Cluster API, its credentials (but no Secret's content) and its Events. The driver's last
    /// calls and the time of the next reconcile come from the leading host through a port-forward; if that fails, the
    /// rest is printed.
    Explain(Box<ExplainFlags>),
    /// Show MachineDeployments, their sets and their Machines as a tree; groups equal Machines, and gives the cause for
    /// others
    ///
    /// Reads the MachineDeployments, MachineSets and Machines of one namespace, including sets and Machines without an
    /// owner. Where Cluster API is installed, also its Clusters with their MachineDeployments, MachineSets, Machines
    /// and MachinistMachines.
    Tree(TreeFlags),
    /// Follow, list, undo, pause, resume and restart rollouts of MachineDeployments
    #[command(subcommand)]
    Rollout(RolloutCommand),
    /// Print a completion script, for example `machinist completion bash > /etc/bash_completion.d/machinist`
    Completion {
        /// Shell of the script
        shell: Shell,
    },
    /// Write the references of flags and metrics to a folder
    #[command(hide = true)]
    Reference {
        /// Folder to write to
        folder: PathBuf,
    },
    /// Compile a component from stdin to stdout, as a subprocess of the host
    #[command(hide = true)]
    CompileComponent,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PluginCommand {
    /// List the plugins of a namespace: state, version, providers, and the cause if one does not serve
    List(ListFlags),
    /// Show a component's size, world, imports, providers, hosts, limits and class schema
    ///
    /// Loads the component in a sandbox, as the host does, and calls its `describe`; it has no network access. If the
    /// host would reject the component, the command prints the facts it has and fails.
    Inspect(InspectFlags),
    /// Pack a component and write it to a cluster, in one or several ConfigMaps
    ///
    /// Checks the component as the host does. Writes the parts before the ConfigMap that refers to them: the previous
    /// version serves until the host has loaded the new one. Then deletes parts that no version needs.
    ///
    /// With --oci, pushes the component to a registry; with --configmap as well, the ConfigMap refers to it there by
    /// its digest.
    Push(Box<PushFlags>),
    /// Sign a ConfigMap with its whole content, an artifact in a registry, or a file
    ///
    /// The signature of a ConfigMap covers a bundle: component, grants, settings, plugin name, providers and a counter.
    /// The signature of an artifact or a file covers only the component, which hosts with --require-signature accept
    /// only together with a --grants-ceiling. Signatures are those of cosign with a key: `cosign sign --key` and
    /// `cosign sign-blob --key` can also create and verify them.
    Sign(Box<SignFlags>),
    /// Print the bundle that a signature covers, for `cosign sign-blob`
    ///
    /// The bundle is a JSON statement about a component with its grants, settings, plugin name, providers and a
    /// counter. Equal inputs give equal bytes. Run `machinist plugin bundle … > bundle.json`, then `cosign sign-blob
    /// --key cosign.key bundle.json > bundle.sig`, and put both files with these names into the plugin's ConfigMap or
    /// folder.
    Bundle(Box<BundleFlags>),
    /// Create a key pair for signatures: PREFIX.key signs, PREFIX.pub is for --plugin-keys of hosts
    Keygen(KeygenFlags),
    /// Resolve the tag in a ConfigMap again, and load the artifact that it refers to
    Resolve(ResolveFlags),
    /// Print a plugin's recent log lines from the memory of the leading host
    ///
    /// The host keeps the last 500 lines of each plugin, at most 256 KiB, without known secrets: lines of level info
    /// and above, and of lower levels if the host logs them too. The command reads them through a port-forward.
    Logs(LogsFlags),
    /// Show the differences of two components: imports, hosts, limits, size, class schema, versions
    ///
    /// Each component is a file, configmap/NAME with its settings and grants, or oci:REFERENCE. Both are loaded in a
    /// sandbox as for `inspect`.
    Diff(DiffFlags),
    /// Show the results of a driver's version on trial; for a shadow, its differences from the serving version
    Trial(TrialFlags),
    /// Promote a driver's version that is on trial, or that was withdrawn: it serves all calls
    Promote(TrialFlags),
    /// End the trial of a driver's version; without a trial, go back to the version before the serving one
    ///
    /// The version stays in its ConfigMap and answers no calls until it is promoted or its ConfigMap changes.
    Rollback(TrialFlags),
}

/// Cluster and namespace of plugins.
#[derive(Debug, Args)]
pub(crate) struct ClusterFlags {
    #[command(flatten)]
    pub(crate) access: AccessFlags,
    /// Namespace of the plugins
    #[arg(long, short, default_value = NAMESPACE)]
    pub(crate) namespace: String,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainFlags {
    /// Machine: machine/NAME, mc/NAME or NAME. VM of Cluster API: machinistmachine/NAME, mim/NAME, NAME, or
    /// machines.cluster.x-k8s.io/NAME for that of this Machine
    #[arg(required = true, num_args = 1..=3, value_name = "machine/NAME|machinistmachine/NAME")]
    pub(crate) subject: Vec<String>,
    #[command(flatten)]
    pub(crate) place: PlaceFlags,
    /// Kubeconfig of the cluster of the Nodes, or `none` if there is none; default: the cluster of the Machines
    #[arg(long, value_name = "FILE|none", value_hint = clap::ValueHint::FilePath)]
    pub(crate) target_kubeconfig: Option<String>,
    /// Namespace of the plugins; default: the Machine's namespace, for a MachinistMachine machinist-system
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) plugin_namespace: Option<String>,
    /// Namespace of the host's pod; default: the Machine's namespace. For a MachinistMachine, also that of the host's
    /// Lease; default: machinist-system
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) host_namespace: Option<String>,
    /// Port of the host's pod that serves /debug
    #[arg(long, default_value_t = PORT)]
    pub(crate) port: u16,
    /// Address of the host, instead of a port-forward through the API server
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) address: Option<String>,
    /// Format of the output: `table` for people, `json` for programs
    #[arg(long, short, default_value = "table")]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct ListFlags {
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
    /// Format of the output: `table` for people, `json` for programs
    #[arg(long, short, default_value = "table")]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct InspectFlags {
    /// Component file: `.wasm`, `.wasm.zst` or `.wasm.gz`
    #[arg(required_unless_present_any = ["configmap", "oci"], conflicts_with_all = ["configmap", "oci"], value_hint = clap::ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) registry: RegistryFlags,
    /// Inspect the component of this ConfigMap with its settings and grants
    #[arg(long, conflicts_with = "oci")]
    pub(crate) configmap: Option<String>,
    /// File with grants to show and check, YAML or JSON, instead of those in the ConfigMap
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) grants: Option<PathBuf>,
    /// File with mode, Machines and limits of a health policy, YAML or JSON; default: unchanged in the ConfigMap
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// File with the driver's settings, a JSON object, instead of those in the ConfigMap
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) settings: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
    /// Format of the output: `table` for people, `json` for programs
    #[arg(long, short, default_value = "table")]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct DiffFlags {
    /// Old component: a file, configmap/NAME or oci:REFERENCE
    #[arg(value_name = "OLD", value_hint = clap::ValueHint::FilePath)]
    pub(crate) old: String,
    /// New component: a file, configmap/NAME or oci:REFERENCE
    #[arg(value_name = "NEW", value_hint = clap::ValueHint::FilePath)]
    pub(crate) new: String,
    /// File with grants for components from files and registries, YAML or JSON
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) grants: Option<PathBuf>,
    /// File with settings for components from files and registries, a JSON object
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) settings: Option<PathBuf>,
    /// File with the logins of registries, as `docker login` writes it; default: $DOCKER_CONFIG/config.json, else
    /// ~/.docker/config.json
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) registry_auth: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
}

#[derive(Debug, Args)]
pub(crate) struct TrialFlags {
    /// Name of the plugin, as `plugin list` shows it
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
}

#[derive(Debug, Args)]
pub(crate) struct PushFlags {
    /// Component file: `.wasm`, or compressed as `.wasm.zst` or `.wasm.gz`; it is compressed again
    #[arg(value_hint = clap::ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Name of the ConfigMap to create or update; its parts are named NAME-DIGEST-LAYOUT-NUMBER
    #[arg(long, value_name = "NAME", value_parser = object_name, required_unless_present = "oci")]
    pub(crate) configmap: Option<String>,
    #[command(flatten)]
    pub(crate) registry: RegistryFlags,
    /// Private key file to sign with: ECDSA on P-256, PKCS #8 in PEM, as `machinist plugin keygen` writes it. Signs a
    /// bundle of component, grants, settings, name and providers, and also the artifact if there is one
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) sign: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) counter: CounterFlag,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
    /// Name of the plugin that this is a version of; default: unchanged in the ConfigMap, else the ConfigMap's name
    #[arg(long, value_name = "NAME")]
    pub(crate) plugin_name: Option<String>,
    /// File with the driver's settings, a JSON object; default: unchanged in the ConfigMap
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) settings: Option<PathBuf>,
    /// File with the driver's grants, YAML or JSON; default: unchanged in the ConfigMap
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) grants: Option<PathBuf>,
    /// Region to fill in for {region} in the grants; may be repeated; default: the regions of the grants, else those of
    /// the MachineClasses whose provider the grants name
    #[arg(long, value_name = "NAME")]
    pub(crate) region: Vec<String>,
    /// Grant, without asking, the hosts that the driver requests and the grants lack: only host names over HTTPS, no
    /// addresses of this host or its network
    #[arg(long, visible_alias = "yes", short = 'y', conflicts_with = "grants")]
    pub(crate) grant_wanted: bool,
    /// File with mode, Machines and limits of a health policy, YAML or JSON; default: unchanged in the ConfigMap
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// File with the release plan of the version, YAML or JSON (mode, share, classes, promote_after, withdraw);
    /// default: unchanged in the ConfigMap, else all calls at once
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) rollout: Option<PathBuf>,
    /// Compression of the component
    #[arg(long, default_value = "zstd")]
    pub(crate) encoding: EncodingName,
    /// Largest content of one ConfigMap in bytes; a larger component is split into parts
    #[arg(long, value_name = "BYTES", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1_024..=1_040_000))]
    pub(crate) part_size: u32,
    /// Take over fields of the ConfigMap that others own, such as `kubectl apply`
    #[arg(long)]
    pub(crate) force: bool,
    /// Print the objects as YAML without contacting a cluster
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Return without waiting for the host, and keep the parts of older versions
    #[arg(long)]
    pub(crate) no_wait: bool,
    /// Longest wait for the host
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

fn duration(text: &str) -> Result<SignedDuration, String> {
    let value = machinist_core::value::duration::parse(text).map_err(|error| error.to_string())?;
    if value < SignedDuration::ZERO {
        return Err("a duration must not be negative".to_owned());
    }
    Ok(value)
}

/// Parses the name of a ConfigMap. The names of its parts are longer.
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
    fn a_name_that_kubernetes_refuses_is_refused_before_anything_is_asked() {
        for name in ["aws", "aws-1.eu", "0"] {
            assert_eq!(object_name(name).as_deref(), Ok(name));
        }
        for name in ["", "Aws", "aws_1", "-aws", "aws-", "a..b", "a/b", &"a".repeat(214)] {
            assert!(object_name(name).is_err(), "{name}");
        }
    }
}
