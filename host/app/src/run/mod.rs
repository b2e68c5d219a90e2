//! `machinist run`, also in place of machine-controller-manager's binaries: wires everything together, and stops it in
//! order.
//!
//! | module | what it does |
//! | --- | --- |
//! | `start` | preparation: clients, served kinds, cluster id, cache folder |
//! | `plugin_host_port` | the plugin host behind the runtime's ports |
//! | `without_drivers` | the same ports for a process without the controller of Machines |
//! | `failures` | refused requests of plugins, as Events on their ConfigMaps |
//! | `counters` | the highest counters of signed plugins, on a Lease |
//! | `pull_secrets` | logins for registries, and trusted keys |
//! | `signature_rule` | whether the plugins' namespace requires signatures |
//! | `process_metrics` | metrics of the process |

pub(crate) mod counters;
pub(crate) mod failures;
pub(crate) mod plugin_host_port;
pub(crate) mod process_metrics;
pub(crate) mod pull_secrets;
pub(crate) mod signature_rule;
pub(crate) mod start;
pub(crate) mod without_drivers;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use machinist_autoscaler::metrics::CallMetrics;
use machinist_plugin_host::{CacheKey, HostSettings, PluginHost};
use machinist_runtime::autoscaler::NodeGroups;
use machinist_runtime::context::clock::Clock;
use machinist_runtime::context::settings::{Controllers, Settings};
use machinist_runtime::metrics::Metrics;
use machinist_runtime::ports::Ports;
use machinist_runtime::tenant::election::{Candidate, take_part};
use machinist_runtime::tenant::{ShutdownResult, Tenant};
use prometheus_client::registry::Registry;
use rand::RngExt;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};
use tracing_subscriber::EnvFilter;

use crate::COMPILE;
use crate::admin::{self, AdminSources, DebugAccess, Refusals, Reviewer};
use crate::flags::{AutoscalerSettings, CommandLine, LogFormat, ProcessFlags};
use crate::run::counters::LeaseCounters;
use crate::run::failures::PluginFailures;
use crate::run::plugin_host_port::PluginHostPort;
use crate::run::pull_secrets::{Secrets, ceiling, trust};
use crate::run::signature_rule::Rule;
use crate::run::without_drivers::WithoutDrivers;

/// How long leadership may take to be given back.
const RELEASE: Duration = Duration::from_secs(6);

pub(crate) async fn run(line: CommandLine) -> anyhow::Result<()> {
    let checked = line.flags.check()?;
    let controllers = checked.settings.controllers;
    log(checked.log_format, checked.log_filter);
    warn_of_flags(&line, controllers);
    let is_cache_typed = line.is_cache_dir_typed();
    let program = line.flags.binary.name();
    let flags = line.flags.process;
    let metrics = Arc::new(Metrics::default());
    let clients = start::clients(&checked.control, checked.target.as_ref(), checked.rate, &metrics)?;
    let failures = Arc::new(PluginFailures::new());
    // A process without the controller of Machines needs neither drivers nor a folder for them.
    let cache = controllers.machines.then(|| start::CacheFolder::find(&flags.cache_dir, is_cache_typed));
    let cache = cache.transpose()?;
    let host = cache
        .as_ref()
        .map(|cache| {
            let settings = checked.host;
            plugin_host(settings, (&flags, cache.path()), &failures, &clients.control)
        })
        .transpose()?;
    let (ready, is_ready) = watch::channel(false);
    let stop = CancellationToken::new();
    let identity = identity();
    let (refusals, autoscaler_calls) = (Refusals::default(), CallMetrics::default());
    let sources = AdminSources {
        registry: Arc::new(registry(&metrics, host.as_ref(), &refusals, &autoscaler_calls)),
        refusals,
        insight: metrics.machine_queries().clone(),
        plugins: host.clone(),
        process: identity.clone(),
        profiling: checked.profiling,
        reviewer: match checked.debug_access {
            DebugAccess::Loopback => None,
            DebugAccess::Authorized => Some(Reviewer::new(clients.control.clone())),
        },
        ready: is_ready,
        stop: stop.clone(),
    };
    admin::serve(checked.address, sources).await?;
    let node_groups = serve_autoscaler(checked.autoscaler, &autoscaler_calls, &stop).await?;
    stop_on_signals(stop.clone())?;
    if !start::wait_for_kinds(&clients.control, &checked.settings, &stop).await {
        return Ok(());
    }
    let cluster = match host {
        Some(_) => start::cluster_id(&flags, &clients.control, &stop).await?,
        None => Some(flags.cluster_id.clone()),
    };
    let Some(cluster) = cluster else { return Ok(()) };
    let names = controllers.names().join(", ");
    info!(program, controllers = names, cluster, namespace = flags.namespace, "starting");

    let (leads, is_leading) = watch::channel(!checked.leader_elect);
    // Before the election sets it.
    metrics.leads(!checked.leader_elect);
    // Leadership is given back only after the last reconcile has ended.
    let resign = CancellationToken::new();
    let election = checked.leader_elect.then(|| {
        let candidate = Candidate {
            client: clients.control.clone(),
            namespace: flags.namespace.clone(),
            leases: controllers.leases(),
            identity: identity.clone(),
            times: checked.lease,
            clock: Clock::Wall,
        };
        tokio::spawn(take_part(candidate, leads.clone(), metrics.clone(), resign.clone()))
    });
    let tenant = Tenant {
        control: clients.control,
        namespace: flags.namespace.clone(),
        plugin_namespace: plugin_namespace(&flags),
        target: clients.target,
        settings: Settings { cluster, ..checked.settings },
        ports: ports(host.as_ref(), failures),
        clock: Clock::Wall,
        seed: rand::rng().random(),
        identity,
        metrics,
        node_groups,
    };
    if let Some(host) = host.clone() {
        let (client, namespace) = (tenant.control.clone(), tenant.plugin_namespace.clone());
        Rule { client, namespace, host }.follow(stop.clone()).await;
    }
    if let (Some(host), Some(folder)) = (&host, flags.plugin_dir) {
        // Before the first reconcile: a driver or a policy that lies there is not missing at the start.
        host.watch_directory(folder).await;
    }
    let controllers = tokio::spawn(tenant.run(is_leading, ready, stop.clone()));
    wait(controllers, election, &stop, &resign).await?;
    if let Some(host) = host {
        host.shutdown().await;
    }
    info!("stopped");
    drop(leads);
    Ok(())
}

/// Serves cluster-autoscaler, if it is served. It gets answers once the controllers run.
async fn serve_autoscaler(
    settings: AutoscalerSettings,
    calls: &CallMetrics,
    stop: &CancellationToken,
) -> anyhow::Result<Option<NodeGroups>> {
    if settings.endpoints.is_empty() {
        return Ok(None);
    }
    let groups = NodeGroups::new(settings.serves_clusters());
    machinist_autoscaler::serve(settings.endpoints, settings.tls, &groups, calls, stop).await?;
    Ok(Some(groups))
}

fn ports(host: Option<&PluginHost>, failures: Arc<PluginFailures>) -> Ports {
    match host {
        Some(host) => Ports::of(PluginHostPort { host: host.clone(), failures }),
        None => Ports::of(WithoutDrivers),
    }
}

/// Logs the flags without effect, and warns of a controller that no process can run.
fn warn_of_flags(line: &CommandLine, controllers: Controllers) {
    let idle = line.idle(controllers);
    if !idle.is_empty() {
        info!(flags = idle.join(" "), "flags without effect");
    }
    if controllers.sets != controllers.deployments {
        warn!(
            "of machineset and machinedeployment only one runs here, and no other process can run the other beside it: they \
             share the Lease machine-controller-manager"
        );
    }
}

/// Returns when the controllers have ended, because of a signal or because leadership is lost.
async fn wait(
    mut controllers: tokio::task::JoinHandle<ShutdownResult>,
    election: Option<tokio::task::JoinHandle<()>>,
    stop: &CancellationToken,
    resign: &CancellationToken,
) -> anyhow::Result<()> {
    let Some(mut election) = election else {
        controllers.await.context("the controllers broke down")?;
        return Ok(());
    };
    let ended = tokio::select! {
        ended = &mut controllers => ended.context("the controllers broke down")?,
        _ = &mut election => {
            // Another process may lead from here on: end at once, as a new process starts with a clean slate.
            error!("leadership is lost, ending");
            stop.cancel();
            controllers.await.context("the controllers broke down")?;
            anyhow::bail!("leadership is lost");
        }
    };
    if ended == ShutdownResult::RequestsPending {
        // The next leader then has waited for longer than any request takes.
        warn!("requests are still on their way: the Leases are not released, they expire");
        election.abort();
        return Ok(());
    }
    resign.cancel();
    if tokio::time::timeout(RELEASE, election).await.is_err() {
        error!("leadership not given back in time");
    }
    Ok(())
}

fn log(format: LogFormat, filter: EnvFilter) {
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match format {
        LogFormat::Text => subscriber.with_ansi(false).init(),
        LogFormat::Json => subscriber.json().init(),
    }
}

fn plugin_host(
    mut settings: HostSettings,
    (flags, cache): (&ProcessFlags, &Path),
    failures: &Arc<PluginFailures>,
    control: &kube::Client,
) -> anyhow::Result<PluginHost> {
    settings.cache_dir = cache.to_owned();
    settings.cache_key = CacheKey::File(cache.join("key"));
    settings.compiler =
        std::env::current_exe().context("failed to find this executable, which compiles plugins")?;
    settings.compiler_args = vec![COMPILE.into()];
    settings.trust = trust(flags, &plugin_namespace(flags))?;
    settings.grants_ceiling = ceiling(flags)?;
    settings.counters = Some(Arc::new(LeaseCounters::new(control.clone(), &flags.namespace)));
    settings.pull_secrets = Some(Arc::new(Secrets(control.clone())));
    if let Some(record) = &settings.record {
        info!(folder = %record.folder.display(), "calls of drivers are recorded");
    }
    let failures = failures.clone();
    settings.egress.on_refusal = Some(Arc::new(move |notice| failures.refused(notice)));
    PluginHost::start(settings)
        .with_context(|| format!("failed to start the plugin host with --cache-dir {}", cache.display()))
}

fn plugin_namespace(flags: &ProcessFlags) -> String {
    let own = &flags.plugin_namespace;
    if own.is_empty() { flags.namespace.clone() } else { own.clone() }
}

fn registry(
    metrics: &Metrics,
    host: Option<&PluginHost>,
    refusals: &Refusals,
    autoscaler_calls: &CallMetrics,
) -> Registry {
    let mut registry = Registry::default();
    autoscaler_calls.register(&mut registry);
    process_metrics::register(&mut registry);
    refusals.register(&mut registry);
    metrics.register(&mut registry);
    if let Some(host) = host {
        host.register_metrics(&mut registry);
    }
    registry
}

/// Unique for this start of this process: a process that comes back is another candidate.
fn identity() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{}_{:016x}", host.trim(), rand::rng().random::<u64>())
}

/// The first signal ends in order, the second at once.
fn stop_on_signals(stop: CancellationToken) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate()).context("failed to listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("failed to listen for SIGINT")?;
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            if stop.is_cancelled() {
                error!("ending at once");
                std::process::exit(130);
            }
            info!("ending: running passes may finish");
            stop.cancel();
        }
    });
    Ok(())
}
