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

use crate::flags::RunFlags;

pub(crate) use artifacts::{BundleFlags, CounterFlag, KeygenFlags, RegistryFlags, ResolveFlags, SignFlags};
pub(crate) use driver::{BuildFlags, DriverCommand, NewFlags, ReplayFlags, TestFlags};
pub(crate) use fleet::{
    AccessFlags, HistoryFlags, PlaceFlags, RolloutCommand, StatusFlags, SubjectFlags, TreeFlags, UndoFlags,
};
pub(crate) use logs::{LogsFlags, PluginLevel};

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
    #[command(args_override_self = true)]
    Run(Box<RunFlags>),
    /// Look at plugins, and bring them into a cluster
    #[command(subcommand)]
    Plugin(PluginCommand),
    /// For those who write drivers: new projects, components of them, their test, and replays of recorded calls
    #[command(subcommand)]
    Driver(DriverCommand),
    /// Say where a Machine is, what it waits for, since when, and what comes next
    ///
    /// Reads the Machine, its class, its Node and its driver's state from the clusters. The last calls of the driver and the
    /// time of the next look come from the host that leads, which is asked through a port-forward; when that
    /// does not work, the rest is printed all the same.
    Explain(Box<ExplainFlags>),
    /// Show MachineDeployments with their sets and Machines as a tree: equal Machines are counted, odd ones say why
    ///
    /// Reads MachineDeployments, MachineSets and Machines of one namespace. What belongs to nobody is shown as well.
    Tree(TreeFlags),
    /// Follow, list, undo, pause, resume and restart rollouts of MachineDeployments
    #[command(subcommand)]
    Rollout(RolloutCommand),
    /// Print a completion script, e.g. `machinist completion bash > /etc/bash_completion.d/machinist`
    Completion {
        /// For which shell
        shell: Shell,
    },
    /// Write the references of flags and metrics into a folder
    #[command(hide = true)]
    Reference {
        /// Where to
        folder: PathBuf,
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
    ///
    /// With --oci the component goes into a registry; with --configmap beside it, the ConfigMap names it there by its digest.
    Push(Box<PushFlags>),
    /// Sign a ConfigMap with all that stands in it, an artifact of a registry, or a file
    ///
    /// Of a ConfigMap a bundle is signed: component, grants, settings, plugin name, providers and a counter. Of an artifact
    /// and a file the component alone is, which is not enough for hosts with --require-signature, unless they have a
    /// --grants-ceiling. Signatures are those of cosign with a key (`cosign sign --key`, `cosign sign-blob --key`), and can
    /// be made and checked with it as well.
    Sign(Box<SignFlags>),
    /// Print the bundle that a signature covers, for `cosign sign-blob`
    ///
    /// The bundle is a JSON statement about a component with its grants, settings, plugin name, providers and a counter.
    /// The same are always the same bytes. `machinist plugin bundle … > bundle.json`, then `cosign sign-blob --key
    /// cosign.key bundle.json > bundle.sig`: both go under these names into the ConfigMap or the folder of the plugin.
    Bundle(Box<BundleFlags>),
    /// Make a pair of keys for signatures: PREFIX.key signs, PREFIX.pub is for --plugin-keys of hosts
    Keygen(KeygenFlags),
    /// Look up anew what the tag that a ConfigMap names stands for, and load that
    Resolve(ResolveFlags),
    /// Print what a plugin has logged last, as the host that leads remembers it
    ///
    /// The host keeps the last 500 lines of each plugin, at most 256 KiB, without known secrets: those of info and above, and
    /// what lies below when the host's own log has it. It is asked through a port-forward.
    Logs(LogsFlags),
    /// Show in what two components differ: imports, hosts, limits, size, class schema, versions
    ///
    /// Each is a file, configmap/NAME with its settings and grants, or oci:REFERENCE. Both are loaded in a sandbox as for `inspect`.
    Diff(DiffFlags),
    /// Show how the version of a driver does that is on trial: what a shadow would have done otherwise
    Trial(TrialFlags),
    /// Let the version of a driver that is on trial, or was withdrawn, serve
    Promote(TrialFlags),
    /// End the trial of a version of a driver; without a trial, go back to the version before the one that serves
    ///
    /// The version stays where it is and answers no call, until it is promoted or its ConfigMap changes.
    Rollback(TrialFlags),
}

/// Where plugins are, unless somebody says otherwise.
pub(crate) const PLUGIN_NAMESPACE: &str = "machinist-system";

/// Which cluster, and where in it.
#[derive(Debug, Args)]
pub(crate) struct ClusterFlags {
    #[command(flatten)]
    pub(crate) access: AccessFlags,
    /// Namespace of the plugins
    #[arg(long, short, default_value = PLUGIN_NAMESPACE)]
    pub(crate) namespace: String,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainFlags {
    /// machine/NAME; machines/NAME and mc/NAME are the same
    #[arg(required = true, num_args = 1..=3, value_name = "machine/NAME")]
    pub(crate) subject: Vec<String>,
    #[command(flatten)]
    pub(crate) place: PlaceFlags,
    /// Kubeconfig of the cluster of the Nodes, `none` for none; by default the cluster of the Machines
    #[arg(long, value_name = "FILE|none", value_hint = clap::ValueHint::FilePath)]
    pub(crate) target_kubeconfig: Option<String>,
    /// Namespace of the plugins; by default the Machine's
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) plugin_namespace: Option<String>,
    /// Namespace of the host's pod; by default the Machine's
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) host_namespace: Option<String>,
    /// Port on which the host's pod serves /debug
    #[arg(long, default_value_t = 10_259)]
    pub(crate) port: u16,
    /// Ask the host at this address instead of through the API server
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) address: Option<String>,
    /// `table` for people, `json` for programs
    #[arg(long, short, default_value = "table")]
    pub(crate) output: Output,
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
    #[arg(required_unless_present_any = ["configmap", "oci"], conflicts_with_all = ["configmap", "oci"], value_hint = clap::ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) registry: RegistryFlags,
    /// Inspect what this ConfigMap holds, with its settings and grants
    #[arg(long, conflicts_with = "oci")]
    pub(crate) configmap: Option<String>,
    /// Grants to show and check, YAML or JSON; instead of those of the ConfigMap
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) grants: Option<PathBuf>,
    /// Of a health policy: mode, Machines and limits, YAML or JSON; by default what the ConfigMap has already
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
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
pub(crate) struct DiffFlags {
    /// The component before: a file, configmap/NAME, or oci:REFERENCE
    #[arg(value_name = "OLD", value_hint = clap::ValueHint::FilePath)]
    pub(crate) old: String,
    /// The component after: a file, configmap/NAME, or oci:REFERENCE
    #[arg(value_name = "NEW", value_hint = clap::ValueHint::FilePath)]
    pub(crate) new: String,
    /// Grants of what lies in files and registries, YAML or JSON
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) grants: Option<PathBuf>,
    /// Settings of what lies in files and registries, a JSON object
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) settings: Option<PathBuf>,
    /// File with logins for registries, as `docker login` writes it; by default $DOCKER_CONFIG/config.json or
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
    /// The component: `.wasm`, or packed as `.wasm.zst` or `.wasm.gz`; it is packed anew
    #[arg(value_hint = clap::ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Name of the ConfigMap, created or updated. Its parts are called NAME-DIGEST-LAYOUT-NUMBER
    #[arg(long, value_name = "NAME", value_parser = object_name, required_unless_present = "oci")]
    pub(crate) configmap: Option<String>,
    #[command(flatten)]
    pub(crate) registry: RegistryFlags,
    /// Sign with this private key: ECDSA on P-256, PKCS #8 in PEM, as `machinist plugin keygen` makes it. What is signed is a
    /// bundle: the component with grants, settings, name and providers; an artifact is signed as well
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) sign: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) counter: CounterFlag,
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
    /// A region that the grants stand for where they say {region}; may be repeated. By default those that the grants
    /// name, else those of the MachineClasses whose provider the grants name
    #[arg(long, value_name = "NAME")]
    pub(crate) region: Vec<String>,
    /// Grant the driver the hosts that it wishes and that nothing grants yet, without asking: names of hosts, by HTTPS. Nothing
    /// that is odd, such as addresses of this host or its network
    #[arg(long, visible_alias = "yes", short = 'y', conflicts_with = "grants")]
    pub(crate) grant_wanted: bool,
    /// Of a health policy: mode, Machines and limits, YAML or JSON; by default what the ConfigMap has already
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// How the version comes to serve, YAML or JSON (mode, share, classes, promote_after, withdraw); by default what the
    /// ConfigMap has already, else at once
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) rollout: Option<PathBuf>,
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
