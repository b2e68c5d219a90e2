//! The name of this program's file. Under the names of machine-controller-manager's binaries it accepts their command
//! lines: no subcommand, their defaults, their controllers.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::{Args, Command, FromArgMatches};

use super::{CommandLine, RunFlags};

/// The program that a file name selects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum BinaryName {
    /// This program: it has subcommands, of which `run` runs all controllers.
    #[default]
    Machinist,
    /// The binary with the controllers of MachineSets and MachineDeployments.
    MachineControllerManager,
    /// The binary with the controller of Machines.
    MachineController,
}

/// Flags by their id, and their defaults.
type Defaults = &'static [(&'static str, &'static str)];

impl BinaryName {
    pub(crate) const BINARIES: [Self; 2] = [Self::MachineControllerManager, Self::MachineController];

    /// Returns the program by the first word of the command line: a path, a symbolic link, or a copy of the file.
    pub(crate) fn of(word: Option<&OsStr>) -> Self {
        let name = word.map(Path::new).and_then(Path::file_name);
        Self::BINARIES.into_iter().find(|binary| name == Some(OsStr::new(binary.name()))).unwrap_or_default()
    }

    /// The name of the file.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Machinist => "machinist",
            Self::MachineControllerManager => "machine-controller-manager",
            Self::MachineController => "machine-controller",
        }
    }

    /// The command that explains the flags.
    pub(super) fn help(self) -> &'static str {
        match self {
            Self::Machinist => "machinist run --help",
            Self::MachineControllerManager => "machine-controller-manager --help",
            Self::MachineController => "machine-controller --help",
        }
    }

    /// The defaults that differ from those of `machinist run`.
    pub(crate) fn defaults(self) -> Defaults {
        match self {
            Self::Machinist => &[],
            Self::MachineControllerManager => &[
                ("controllers", "machineset,machinedeployment"),
                ("port", "10258"),
                ("namespace", "default"),
                ("concurrent_syncs", "10"),
                ("kube_api_qps", "20"),
            ],
            Self::MachineController => &[
                ("controllers", "machine"),
                ("namespace", "default"),
                ("concurrent_syncs", "50"),
                ("kube_api_qps", "20"),
            ],
        }
    }

    /// How many queues `--concurrent-syncs` counts workers for. This program has one queue; the binaries have one for
    /// each kind of work, each with as many workers: Machines, Machines that are being deleted, classes and Secrets in
    /// one, sets and deployments in the other.
    pub(super) fn queues(self) -> usize {
        match self {
            Self::Machinist => 1,
            Self::MachineControllerManager => 2,
            Self::MachineController => 4,
        }
    }

    /// The command line of one of machine-controller-manager's binaries.
    pub(crate) fn command(self) -> Command {
        let command = Command::new(self.name()).version(env!("CARGO_PKG_VERSION")).args_override_self(true);
        // After the flags, which bring a text of their own.
        let command = RunFlags::augment_args(command).about(
            "Machinist in place of this binary of machine-controller-manager, with its flags and defaults",
        );
        let defaults = self.defaults().iter();
        defaults
            .fold(command, |command, (flag, value)| command.mut_arg(flag, |flag| flag.default_value(*value)))
    }

    /// Reads the command line of one of these binaries.
    ///
    /// # Errors
    /// When a flag is not known, or help is asked for.
    pub(crate) fn parse(self, words: impl IntoIterator<Item = OsString>) -> Result<CommandLine, clap::Error> {
        let command = self.command();
        let matches = command.clone().try_get_matches_from(words)?;
        let flags = RunFlags::from_arg_matches(&matches)?;
        Ok(CommandLine::of(RunFlags { binary: self, ..flags }, &command, &matches))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machinist_runtime::context::settings::Controllers;

    #[test]
    fn the_name_counts_wherever_the_file_lies() {
        for (word, expected) in [
            ("machine-controller-manager", BinaryName::MachineControllerManager),
            ("./machine-controller", BinaryName::MachineController),
            ("/usr/local/bin/machine-controller", BinaryName::MachineController),
            ("/machine-controller/machinist", BinaryName::Machinist),
            ("machinist", BinaryName::Machinist),
            ("kubectl-machinist", BinaryName::Machinist),
            ("", BinaryName::Machinist),
        ] {
            assert_eq!(BinaryName::of(Some(OsStr::new(word))), expected, "{word}");
        }
        assert_eq!(BinaryName::of(None), BinaryName::Machinist);
    }

    #[test]
    fn the_command_lines_are_sound() {
        for binary in BinaryName::BINARIES {
            binary.command().debug_assert();
        }
    }

    fn parsed(binary: BinaryName, words: &[&str]) -> CommandLine {
        let words = std::iter::once(binary.name()).chain(words.iter().copied()).map(OsString::from);
        binary.parse(words).unwrap()
    }

    /// Flag by flag as the binary's own help has them.
    fn check(binary: BinaryName, own: &[(&str, &str)]) {
        let shared = [
            ("address", "0.0.0.0"),
            ("namespace", "default"),
            ("cloud_provider", ""),
            ("min_resync_period", "12h"),
            ("profiling", "false"),
            ("contention_profiling", "false"),
            ("target_kubeconfig", ""),
            ("control_kubeconfig", ""),
            ("kube_api_content_type", "application/vnd.kubernetes.protobuf"),
            ("kube_api_qps", "20"),
            ("kube_api_burst", "30"),
            ("controller_start_interval", "0s"),
            ("leader_elect", "true"),
            ("leader_elect_lease_duration", "15s"),
            ("leader_elect_renew_deadline", "10s"),
            ("leader_elect_retry_period", "2s"),
            ("leader_elect_resource_lock", "leases"),
        ];
        let command = binary.command();
        for (id, expected) in shared.iter().chain(own) {
            let flag = command.get_arguments().find(|flag| flag.get_id() == id);
            let flag = flag.unwrap_or_else(|| panic!("{}: {id} is missing", binary.name()));
            assert_eq!(flag.get_long(), Some(id.replace('_', "-").as_str()));
            assert_eq!(flag.get_default_values(), [*expected], "{} {id}", binary.name());
        }
    }

    #[test]
    fn each_binary_has_its_flags_with_its_defaults() {
        check(
            BinaryName::MachineControllerManager,
            &[
                ("port", "10258"),
                ("concurrent_syncs", "10"),
                ("controllers", "machineset,machinedeployment"),
                ("safety_up", "2"),
                ("safety_down", "1"),
                ("machine_safety_overshooting_period", "1m"),
                ("autoscaler_scaledown_annotation_during_rollout", "true"),
            ],
        );
        check(
            BinaryName::MachineController,
            &[
                ("port", "10259"),
                ("concurrent_syncs", "50"),
                ("controllers", "machine"),
                ("machine_creation_timeout", "20m"),
                ("machine_safety_orphan_vms_period", "15m"),
                ("resource_exhausted_retry", "10m"),
            ],
        );
    }

    #[test]
    fn each_binary_runs_its_controllers_at_its_pace_unless_flags_say_otherwise() {
        let all = |line: CommandLine| {
            let checked = line.flags.check().unwrap();
            let rate = checked.rate.map(|rate| (rate.per_second, rate.burst));
            (
                checked.settings.controllers,
                checked.settings.concurrent_reconciles,
                checked.address.port(),
                rate,
            )
        };
        let owners = Controllers { machines: false, sets: true, deployments: true };
        let machines = Controllers { machines: true, sets: false, deployments: false };
        let pace = Some((20.0, 30));
        assert_eq!(all(parsed(BinaryName::MachineControllerManager, &[])), (owners, 2 * 10, 10_258, pace));
        assert_eq!(all(parsed(BinaryName::MachineController, &[])), (machines, 4 * 50, 10_259, pace));
        let arguments = ["--controllers=*", "--concurrent-syncs=7", "--port", "1", "--kube-api-qps=none"];
        assert_eq!(
            all(parsed(BinaryName::MachineController, &arguments)),
            (Controllers::ALL, 4 * 7, 1, None)
        );
    }

    #[test]
    fn the_command_lines_with_which_the_binaries_are_deployed_are_taken() {
        let shared = [
            "--control-kubeconfig=inClusterConfig",
            "--target-kubeconfig=/var/run/secrets/gardener.cloud/shoot/generic-kubeconfig/kubeconfig",
            "--namespace=shoot--a--b",
            "--kube-api-qps=100",
            "--kube-api-burst=200",
            "--v=3",
            "-v=2",
        ];
        let manager = [
            "--port=10258",
            "--safety-up=2",
            "--safety-down=1",
            "--machine-safety-overshooting-period=1m",
            "--concurrent-syncs=20",
            "--autoscaler-scaledown-annotation-during-rollout=false",
        ];
        let line = parsed(BinaryName::MachineControllerManager, &[&shared[..], &manager].concat());
        let checked = line.flags.check().unwrap();
        assert!(!checked.settings.holds_autoscaler);
        assert_eq!(checked.settings.concurrent_reconciles, 2 * 20, "workers for each of two queues");
        assert_eq!(line.idle(checked.settings.controllers), ["--machine-safety-overshooting-period"]);
        let machines = [
            "--port=10259",
            "--machine-creation-timeout=20m",
            "--machine-drain-timeout=2h",
            "--machine-health-timeout=10m",
            "--machine-pv-detach-timeout=2m",
            "--machine-pv-reattach-timeout=90s",
            "--machine-safety-apiserver-statuscheck-timeout=30s",
            "--machine-safety-apiserver-statuscheck-period=1m",
            "--machine-safety-orphan-vms-period=30m",
            "--node-conditions=ReadonlyFilesystem,KernelDeadlock,DiskPressure",
        ];
        let line = parsed(BinaryName::MachineController, &[&shared[..], &machines].concat());
        let checked = line.flags.check().unwrap();
        assert_eq!(checked.rate.map(|rate| (rate.per_second, rate.burst)), Some((100.0, 200)));
        assert!(line.idle(checked.settings.controllers).is_empty());
    }

    #[test]
    fn flags_about_what_does_not_run_are_taken_and_named() {
        let line = parsed(BinaryName::MachineController, &["--safety-up=3", "--cloud-provider=aws"]);
        let machines = line.flags.check().unwrap().settings.controllers;
        assert_eq!(line.idle(machines), ["--cloud-provider", "--safety-up"]);
        assert!(
            parsed(BinaryName::MachineController, &[]).idle(machines).is_empty(),
            "defaults are nobody's wish"
        );
        let line = parsed(BinaryName::MachineControllerManager, &["--machine-drain-timeout=1h"]);
        let owners = line.flags.check().unwrap().settings.controllers;
        assert_eq!(line.idle(owners), ["--machine-drain-timeout"]);
    }

    #[test]
    fn all_problems_are_reported_at_once_with_the_binarys_own_help() {
        let wrong = ["--safety-up=-1", "--safety-down=x", "--machine-safety-overshooting-period=soon"];
        let said =
            parsed(BinaryName::MachineControllerManager, &wrong).flags.check().err().unwrap().to_string();
        for part in [
            "these 3 flags",
            "machine-controller-manager --help",
            "--safety-up=-1: must be a whole number, 0 or more",
            "--safety-down=x: must be",
            "--machine-safety-overshooting-period=soon: must be a duration",
        ] {
            assert!(said.contains(part), "{part:?} is missing in\n{said}");
        }
        let unknown = ["machine-controller", "--no-such-flag"].map(OsString::from);
        assert!(BinaryName::MachineController.parse(unknown).is_err());
    }
}
