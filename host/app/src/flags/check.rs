//! Turns flags into settings, or into one error that names all invalid values.

use std::net::SocketAddr;

use anyhow::Result;
use machinist_core::scheduling::lease::LeaseTimes;
use machinist_core::scheduling::request_rate::Rate;
use machinist_plugin_host::{HostSettings, LoopbackRegistries};
use machinist_runtime::client::clusters::Access;
use machinist_runtime::context::settings::Settings;
use tracing_subscriber::EnvFilter;

use crate::admin::DebugAccess;

use super::value::{Count, LogFormat, Problems};
use super::{AutoscalerSettings, ElectionFlags, ProcessFlags, RunFlags, plugins};

/// Flags that are valid, one by one and together.
pub(crate) struct Checked {
    /// Where the HTTP server listens.
    pub(crate) address: SocketAddr,
    pub(crate) debug_access: DebugAccess,
    /// Whether it serves profiles.
    pub(crate) profiling: bool,
    /// How logs are written.
    pub(crate) log_format: LogFormat,
    pub(crate) log_filter: EnvFilter,
    /// Whether to take part in the election.
    pub(crate) leader_elect: bool,
    pub(crate) lease: LeaseTimes,
    /// The cluster of the Machines.
    pub(crate) control: Access,
    /// The cluster that Nodes join.
    pub(crate) target: Option<Access>,
    /// The request rate of each cluster's client; `None` for no limit.
    pub(crate) rate: Option<Rate>,
    /// The settings of the plugin host without its folder, key and compiler.
    pub(crate) host: HostSettings,
    /// The settings of the tenant without the name of the cluster.
    pub(crate) settings: Settings,
    pub(crate) autoscaler: AutoscalerSettings,
}

impl RunFlags {
    /// Checks all of them.
    ///
    /// # Errors
    /// One error that names each invalid flag and its valid values.
    pub(crate) fn check(&self) -> Result<Checked> {
        let mut problems = Problems::default();
        let process = &self.process;
        let address = SocketAddr::new(problems.take(&process.address).0, problems.take(&process.port));
        let profiling = problems.take(&process.profiling);
        let (control, target) = clusters(process, &mut problems);
        let (leader_elect, lease) = election(&self.election, &mut problems);
        let settings = self.settings(&mut problems);
        let checked = Checked {
            address,
            debug_access: problems.take(&process.debug_access),
            profiling,
            log_format: problems.take(&process.logging_format),
            log_filter: log_filter(process, &mut problems),
            leader_elect,
            lease,
            control,
            target,
            rate: self.requests.rate(&mut problems),
            host: self.host(&mut problems),
            autoscaler: self.autoscaler.settings(&settings, &mut problems),
            settings,
        };
        self.unused.check(profiling, &mut problems);
        problems.none_or(checked, self.binary.help())
    }

    fn settings(&self, problems: &mut Problems) -> Settings {
        let process = &self.process;
        Settings {
            secrets: self.secrets.rules(problems),
            controllers: problems.take(&process.controllers),
            cluster_api: problems.take(&process.cluster_api),
            sets: self.owners.sets(problems),
            holds_autoscaler: self.owners.holds_autoscaler(problems),
            concurrent_reconciles: (problems.take(&process.concurrent_syncs).0 as usize)
                .saturating_mul(self.binary.queues()),
            resync: problems.take(&process.min_resync_period),
            ..self.machines.settings(problems)
        }
        .with_pauses()
    }

    fn host(&self, problems: &mut Problems) -> HostSettings {
        let mut host = plugins::defaults();
        if problems.take(&self.process.allow_loopback_registries) {
            host.loopback_registries = LoopbackRegistries::Allowed;
        }
        self.sandbox.apply(&mut host, problems);
        host.record = self.record.settings(problems);
        host
    }
}

/// The word of machine-controller-manager for the account of the pod.
const IN_CLUSTER: &str = "inClusterConfig";

fn clusters(flags: &ProcessFlags, problems: &mut Problems) -> (Access, Option<Access>) {
    let file = |path: &str| Access::Kubeconfig(path.into());
    let target = match flags.target_kubeconfig.as_str() {
        "none" => None,
        "" | IN_CLUSTER => Some(Access::InCluster),
        path => Some(file(path)),
    };
    let control = match (flags.control_kubeconfig.as_str(), &target) {
        ("", Some(target)) => target.clone(),
        ("", None) => {
            problems.add("--target-kubeconfig=none: needs --control-kubeconfig, which names the cluster of the Machines");
            Access::InCluster
        }
        (IN_CLUSTER, _) => Access::InCluster,
        (path, _) => file(path),
    };
    if flags.namespace.is_empty() {
        problems.add("--namespace: must not be empty; it is the namespace of the Machines");
    }
    (control, target)
}

fn log_filter(flags: &ProcessFlags, problems: &mut Problems) -> EnvFilter {
    let verbosity = problems.take(&flags.verbosity);
    let by_level = match verbosity {
        Count(..=3) => "info",
        Count(4..=5) => "debug",
        Count(6..) => "trace",
    };
    let filter = flags.log.as_deref().unwrap_or(by_level);
    EnvFilter::try_new(filter).unwrap_or_else(|error| {
        problems
            .add(format!("--log={filter}: must be like `info` or `info,machinist_runtime=debug`: {error}"));
        EnvFilter::default()
    })
}

fn election(flags: &ElectionFlags, problems: &mut Problems) -> (bool, LeaseTimes) {
    let times = LeaseTimes {
        duration: problems.take(&flags.leader_elect_lease_duration),
        renew_deadline: problems.take(&flags.leader_elect_renew_deadline),
        retry: problems
            .take(&flags.leader_elect_retry_period)
            .max(machinist_core::value::intervals::LEAST_LEASE_RETRY),
    };
    if !times.are_sound() {
        problems.add(
            "--leader-elect-lease-duration must be above --leader-elect-renew-deadline, and that above \
             --leader-elect-retry-period",
        );
    }
    if flags.leader_elect_resource_lock != "leases" {
        let kind = &flags.leader_elect_resource_lock;
        problems.add(format!("--leader-elect-resource-lock={kind}: must be leases"));
    }
    (problems.take(&flags.leader_elect), times)
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};
    use jiff::SignedDuration;
    use machinist_core::driver::secret_rule::Unbound;

    use super::*;
    use crate::args::{Command, Machinist};

    fn flags(arguments: &[&str]) -> RunFlags {
        let line = ["machinist", "run"].iter().chain(arguments);
        let Command::Run(flags) = Machinist::parse_from(line).command else {
            panic!("run is a subcommand");
        };
        *flags
    }

    #[track_caller]
    fn refuses(arguments: &[&str], parts: &[&str]) {
        let said = flags(arguments).check().err().expect("it is refused").to_string();
        for part in parts {
            assert!(said.contains(part), "{part:?} is missing in\n{said}");
        }
    }

    #[test]
    fn without_flags_the_settings_are_the_defaults() {
        let checked = flags(&[]).check().unwrap();
        assert_eq!(checked.settings, Settings::for_cluster(""));
        assert!(checked.leader_elect && !checked.profiling);
        assert_eq!(checked.debug_access, DebugAccess::Loopback);
        assert_eq!(checked.rate, None, "the API server paces its clients");
    }

    #[test]
    fn each_flag_about_machines_reaches_its_setting() {
        let of = |flag: &str, value: &str| flags(&[&format!("--{flag}={value}")]).check().unwrap().settings;
        let seven = SignedDuration::from_secs(7);
        assert_eq!(of("machine-creation-timeout", "7s").creation_timeout, seven);
        assert_eq!(of("machine-health-timeout", "7s").health_timeout, seven);
        assert_eq!(of("machine-drain-timeout", "7s").drain_timeout, seven);
        assert_eq!(of("machine-inplace-update-timeout", "7s").in_place_update_timeout, seven);
        assert_eq!(of("machine-preserve-timeout", "7s").preserve_timeout, seven);
        assert_eq!(of("machine-max-evict-retries", "7").max_evict_retries, 7);
        assert_eq!(of("machine-pv-detach-timeout", "7s").volume_detach_timeout, seven);
        assert_eq!(of("machine-pv-reattach-timeout", "7s").volume_reattach_timeout, seven);
        assert_eq!(of("machine-parallel-volume-evictions", "7").parallel_volume_evictions, 7);
        assert_eq!(of("machine-deletion-hook-timeout", "7s").deletion_hook_timeout, seven);
        assert_eq!(of("machine-max-unhealthy-replacements", "7%").max_unhealthy_replacements, "7%");
        assert_eq!(of("machine-safety-orphan-vms-period", "7s").orphan_vms_period, seven);
        assert_eq!(of("machine-safety-orphan-vm-minimum-age", "7s").orphan_vm_minimum_age, seven);
        assert_eq!(of("machine-safety-orphan-vm-sightings", "7").orphan_vm_sightings, 7);
        assert_eq!(of("machine-safety-apiserver-statuscheck-period", "70s").api_check_period, seven * 10);
        assert_eq!(of("machine-safety-apiserver-statuscheck-timeout", "7s").api_check_timeout, seven);
        assert_eq!(of("machine-safety-silent-zone-percent", "7").silent_zone_percent, 7);
        assert_eq!(of("node-conditions", "A,B").node_conditions, "A,B");
        assert_eq!(of("bootstrap-token-auth-extra-groups", "g").bootstrap_token_extra_groups, "g");
        assert_eq!(of("resource-exhausted-retry", "7s").resource_exhausted_retry, seven);
        assert_eq!(
            of("resource-exhausted-retry", "0").resource_exhausted_retry,
            SignedDuration::from_mins(10)
        );
        assert_eq!(of("concurrent-syncs", "7").concurrent_reconciles, 7);
        assert_eq!(of("min-resync-period", "7m").resync, seven * 60);
        assert_eq!(of("min-resync-period", "0").resync, SignedDuration::MAX, "never");
    }

    /// Flags with an interval between two requests or two rounds.
    const INTERVALS: [&str; 6] = [
        "min-resync-period",
        "machine-safety-orphan-vms-period",
        "machine-safety-apiserver-statuscheck-period",
        "machine-safety-apiserver-statuscheck-timeout",
        "resource-exhausted-retry",
        "leader-elect-retry-period",
    ];

    /// Flags with the end of a wait, after which nothing is repeated, and flags without effect.
    const ENDS: [&str; 15] = [
        "machine-creation-timeout", "machine-health-timeout", "machine-drain-timeout",
        "machine-inplace-update-timeout", "machine-preserve-timeout", "machine-pv-detach-timeout",
        "machine-pv-reattach-timeout", "machine-deletion-hook-timeout",
        "machine-safety-orphan-vm-minimum-age", "leader-elect-lease-duration", "leader-elect-renew-deadline",
        "machine-safety-overshooting-period", "controller-start-interval", "log-flush-frequency", "x",
    ];

    #[test]
    fn no_interval_of_nothing_or_of_milliseconds_is_taken_as_it_is() {
        let command = Machinist::command();
        let run = command.find_subcommand("run").unwrap();
        let is_duration = |argument: &&clap::Arg| {
            argument.get_value_names().is_some_and(|names| names.iter().any(|name| name == "DURATION"))
        };
        for argument in run.get_arguments().filter(is_duration) {
            let flag = argument.get_long().unwrap();
            let is_known = INTERVALS.contains(&flag) || ENDS.contains(&flag);
            assert!(is_known, "is --{flag} an interval? Then it needs a least value");
        }
        for text in ["0s", "1ms"] {
            let given: Vec<String> = INTERVALS.iter().map(|flag| format!("--{flag}={text}")).collect();
            let given: Vec<&str> = given.iter().map(String::as_str).collect();
            let checked = flags(&given).check().unwrap();
            let settings = checked.settings;
            for (interval, least) in [
                (settings.resync, 60_000),
                (settings.orphan_vms_period, 3_000),
                (settings.api_check_period, 1_000),
                (settings.api_check_timeout, 1_000),
                (settings.resource_exhausted_retry, 5_000),
                (checked.lease.retry, 100),
            ] {
                assert!(interval >= SignedDuration::from_millis(least), "{interval:?} of {text}");
            }
        }
    }

    #[test]
    fn each_flag_about_secrets_reaches_its_setting() {
        let rules = |arguments: &[&str]| flags(arguments).check().unwrap().settings.secrets;
        assert_eq!(rules(&["--secrets-must-be-bound"]).unbound, Unbound::Refused);
        assert_eq!(rules(&["--secrets-must-be-bound=false"]).unbound, Unbound::Allowed);
        let types = rules(&["--secret-types=example.com/cloud, kubernetes.io/tls,"]).types;
        assert_eq!(types.into_iter().collect::<Vec<_>>(), ["example.com/cloud", "kubernetes.io/tls"]);
        for kind in ["kubernetes.io/service-account-token", "bootstrap.kubernetes.io/token"] {
            refuses(&[&format!("--secret-types={kind}")], &["classes may never use", kind]);
        }
    }

    #[test]
    fn each_flag_about_sets_and_deployments_reaches_its_setting() {
        let of = |flag: &str, value: &str| flags(&[&format!("--{flag}={value}")]).check().unwrap().settings;
        assert_eq!(of("safety-up", "7").sets.safety_up, 7);
        assert_eq!(of("safety-down", "7").sets.safety_down, 7);
        assert_eq!(of("safety-down", "4294967295").sets.safety_down, i32::MAX);
        assert_eq!(of("machine-safety-failed-joins", "7").sets.failed_joins, Some(7));
        assert_eq!(of("machine-safety-failed-joins", "0").sets.failed_joins, None);
        assert!(!of("autoscaler-scaledown-annotation-during-rollout", "false").holds_autoscaler);
        assert!(!of("controllers", "*,-machine").controllers.machines);
    }

    #[test]
    fn a_rate_is_kept_to_only_where_one_is_asked_for() {
        let of = |arguments: &[&str]| {
            flags(arguments).check().unwrap().rate.map(|rate| (rate.per_second, rate.burst))
        };
        assert_eq!(of(&["--kube-api-burst=7"]), None);
        assert_eq!(of(&["--kube-api-qps=2.5"]), Some((2.5, 30)));
        assert_eq!(of(&["--kube-api-qps=5", "--kube-api-burst=7"]), Some((5.0, 7)));
        assert_eq!(of(&["--kube-api-qps=5", "--kube-api-burst=0"]), Some((5.0, 10)));
        assert_eq!(of(&["--kube-api-qps=5", "--kube-api-qps=none"]), None);
    }

    #[test]
    fn all_problems_are_reported_at_once() {
        refuses(
            &[
                "--port=70000",
                "--address=localhost",
                "--debug-access=everywhere",
                "--machine-health-timeout=ten",
                "--machine-drain-timeout",
                "-5m",
                "--concurrent-syncs=0",
                "--machine-max-unhealthy-replacements=200%",
                "--machine-safety-apiserver-statuscheck-period=1s",
                "--leader-elect-renew-deadline=1m",
                "--leader-elect-resource-lock=endpoints",
                "--leader-elect=maybe",
                "--kube-api-qps=0",
                "--kube-api-burst=-1",
                "--controllers=node",
                "--safety-up=-1",
                "--machine-safety-overshooting-period=-1m",
                "--autoscaler-scaledown-annotation-during-rollout=maybe",
                "--kube-api-content-type=text/plain",
                "--contention-profiling",
                "--target-kubeconfig=none",
                "--log=info,=,",
            ],
            &[
                "these 21 flags",
                "--debug-access=everywhere: must be loopback or authorized",
                "machinist run --help",
                "--port=70000: must be a port",
                "--address=localhost: must be an IP address",
                "--machine-health-timeout=ten: must be a duration",
                "--machine-drain-timeout=-5m: must not be negative",
                "--concurrent-syncs=0: must be a whole number, 1 or more",
                "--machine-max-unhealthy-replacements=200%: ",
                "--machine-safety-apiserver-statuscheck-period must not be below",
                "--leader-elect-lease-duration must be above",
                "--leader-elect-resource-lock=endpoints: must be leases",
                "--leader-elect=maybe: must be true or false",
                "--kube-api-qps=0: ",
                "--kube-api-burst=-1: ",
                "--controllers=node: there is no node: ",
                "--safety-up=-1: ",
                "--machine-safety-overshooting-period=-1m: must not be negative",
                "--autoscaler-scaledown-annotation-during-rollout=maybe: ",
                "--kube-api-content-type=text/plain: ",
                "--contention-profiling=true: needs --profiling",
                "--target-kubeconfig=none: needs --control-kubeconfig",
                "--log=info,=,: ",
            ],
        );
    }

    #[test]
    fn a_cluster_is_named_by_a_file_or_by_the_pods_account() {
        let of = |arguments: &[&str]| {
            let checked = flags(arguments).check().unwrap();
            let text = |access: Access| match access {
                Access::InCluster => "pod".to_owned(),
                Access::Kubeconfig(path) => path.display().to_string(),
            };
            (text(checked.control), checked.target.map(text))
        };
        let pod = || "pod".to_owned();
        assert_eq!(of(&[]), (pod(), Some(pod())));
        assert_eq!(of(&["--target-kubeconfig=inClusterConfig"]), (pod(), Some(pod())));
        let both = ["--control-kubeconfig=inClusterConfig", "--target-kubeconfig=inClusterConfig"];
        assert_eq!(of(&both), (pod(), Some(pod())));
        assert_eq!(
            of(&["--control-kubeconfig=inClusterConfig", "--target-kubeconfig=/t"]),
            (pod(), Some("/t".to_owned()))
        );
        assert_eq!(of(&["--control-kubeconfig=/c", "--target-kubeconfig=none"]), ("/c".to_owned(), None));
        assert_eq!(of(&["--target-kubeconfig=/t"]), ("/t".to_owned(), Some("/t".to_owned())));
    }

    #[test]
    fn cluster_autoscaler_is_served_on_loopback_or_with_client_certificates() {
        let checked = |arguments: &[&str]| flags(arguments).check().unwrap().autoscaler;
        assert_eq!(checked(&[]), AutoscalerSettings::default());
        let loopback = checked(&["--autoscaler-address=127.0.0.1:8086,[::1]:8086"]);
        assert!(loopback.endpoints.len() == 2 && loopback.tls.is_none() && !loopback.serves_clusters());
        let files = [
            "--autoscaler-tls-cert-file=/c", "--autoscaler-tls-key-file=/k", "--autoscaler-client-ca-file=/a",
        ];
        let address = "--autoscaler-address=mcm+team/c@0.0.0.0:8086";
        let served = checked(&[&files[..], &[address, "--cluster-api=team"]].concat());
        assert!(served.tls.is_some() && served.serves_clusters());
        for address in ["0.0.0.0:8086", "10.0.0.1:8086", "[::]:8086"] {
            let flag = format!("--autoscaler-address={address}");
            refuses(&[&flag], &["--autoscaler-client-ca-file", "could delete Machines"]);
        }
        refuses(&["--autoscaler-address=127.0.0.1:1", files[0]], &["needed all"]);
        refuses(&files, &["needs --autoscaler-address"]);
        refuses(&["--autoscaler-address=team/c@127.0.0.1:1"], &["team/c needs --cluster-api"]);
        let other = ["--autoscaler-address=team/c@127.0.0.1:1", "--cluster-api=other"];
        refuses(&other, &["team/c needs --cluster-api"]);
        let machines = ["--autoscaler-address=127.0.0.1:1", "--controllers=machine"];
        refuses(&machines, &["needs machinedeployment among --controllers"]);
        refuses(&["--autoscaler-address=8086"], &["IP address with a port"]);
    }

    #[test]
    fn one_wrong_flag_is_one() {
        refuses(&["--namespace="], &["this flag is", "--namespace: must not be empty"]);
    }

    #[test]
    fn switches_are_written_in_all_the_ways_that_operators_know() {
        for (arguments, expected) in [
            (&["--profiling"][..], true),
            (&["--profiling=true"], true),
            (&["--profiling=false"], false),
            (&["--profiling", "--contention-profiling=true"], true),
        ] {
            assert_eq!(flags(arguments).check().unwrap().profiling, expected, "{arguments:?}");
        }
        assert!(!flags(&["--leader-elect=false"]).check().unwrap().leader_elect);
        assert!(!flags(&["--leader-elect", "false"]).check().unwrap().leader_elect);
    }

    #[test]
    fn the_command_line_of_the_controller_that_is_replaced_is_taken() {
        let line = [
            "--control-kubeconfig=inClusterConfig",
            "--target-kubeconfig=/var/run/kubeconfig",
            "--namespace=shoot--a--b",
            "--machine-creation-timeout=20m",
            "--machine-safety-orphan-vms-period=30m",
            "--machine-safety-apiserver-statuscheck-timeout=30s",
            "--machine-safety-apiserver-statuscheck-period=1m",
            "--cloud-provider=aws",
            "--controller-start-interval=0s",
            "--port=10259",
            "--v=3",
            "-v=3",
            "--logtostderr=true",
            "--stderrthreshold=2",
            "--log_dir=/tmp",
            "--log-flush-frequency=5s",
            "--vmodule=a=1",
            "--skip_headers",
        ];
        // clap takes a flag once; pflag takes the last.
        let once: Vec<&str> = line.into_iter().filter(|flag| *flag != "-v=3").collect();
        let checked = flags(&once).check().unwrap();
        assert_eq!(checked.control, Access::InCluster);
        assert_eq!(checked.target, Some(Access::Kubeconfig("/var/run/kubeconfig".into())));
    }

    #[test]
    fn verbosity_chooses_what_is_logged_unless_the_filter_is_given() {
        let filter = |arguments: &[&str]| flags(arguments).check().unwrap().log_filter.to_string();
        assert_eq!(filter(&[]), "info");
        assert_eq!(filter(&["-v", "4"]), "debug");
        assert_eq!(filter(&["--v=10"]), "trace");
        assert_eq!(filter(&["-v6", "--log=warn"]), "warn");
    }
}
