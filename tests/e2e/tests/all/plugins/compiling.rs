//! A component that takes long to compile costs the host neither its memory nor its leadership.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use control_plane::process_usage;
use e2e::plugins::heavy::heavy;
use e2e::{Host, Lab, LabOptions, manifests};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::jiff::Timestamp;
use kube::Api;
use machinist_api::names::leases::MACHINE_CONTROLLER;

use crate::scene::{SIM, is_running, turn};

/// Takes the optimising compiler many seconds, as JavaScript's engine does.
const FUNCTIONS: u32 = 5_000;

/// The most that the host's own memory may grow by: the component, packed and unpacked, and its notes.
const GROWTH: u64 = 64 << 20;

/// More than that is what the compiler needs; less, and this test would prove nothing.
const COMPILER: u64 = 2 * GROWTH;

/// A Lease runs out after this long. It is renewed each half second.
const LEASE: Duration = Duration::from_secs(4);

#[derive(Debug, Default)]
struct CompileLog {
    compiler: u64,
    most: u64,
    oldest: Duration,
    looks: u32,
}

impl CompileLog {
    async fn look(&mut self, lab: &Lab, host: &Host) -> Result<()> {
        let pid = host.pid();
        self.most = self.most.max(process_usage(pid)?.anonymous_bytes);
        for child in children(pid) {
            // It may have ended meanwhile.
            self.compiler = self.compiler.max(process_usage(child).map_or(0, |usage| usage.peak_rss_bytes));
        }
        let leases: Api<Lease> = Api::namespaced(lab.client.clone(), manifests::NAMESPACE);
        let spec = leases.get(MACHINE_CONTROLLER).await?.spec.context("the Lease has a spec")?;
        let renewed = spec.renew_time.context("it was renewed")?.0;
        let age = Duration::try_from(Timestamp::now().duration_since(renewed)).unwrap_or_default();
        self.oldest = self.oldest.max(age);
        self.looks += 1;
        Ok(())
    }
}

fn children(pid: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>())
        .collect()
}

async fn story(lab: &Lab) -> Result<()> {
    let mut options = lab.host_options();
    // Nothing is compiled there.
    options.cache = options.cache.with_file_name("empty");
    options.flags.extend(
        [
            "--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3s",
            "--leader-elect-retry-period=500ms",
        ]
        .map(str::to_owned),
    );
    let host = Host::start_ready(&options).await?;
    lab.install_driver(&SIM).await?;
    lab.create_machine("before", "small").await?;
    is_running(lab, "before").await?;

    let large = heavy(&SIM, FUNCTIONS);
    let before = process_usage(host.pid())?.anonymous_bytes;
    let started = Instant::now();
    lab.put_plugin(&manifests::plugin("sim", &large, &lab.cloud.url())?).await?;
    let (mut seen, mut served_after) = (CompileLog::default(), None);
    loop {
        seen.look(lab, &host).await?;
        let metrics = host.metrics().await?;
        let runs_in = |tier: &str| {
            let label = format!("tier=\"{tier}\"");
            metrics.sum("machinist_plugin_code", &["plugin=\"sim\"", &label]) == 1.0
        };
        if served_after.is_none() && runs_in("baseline") {
            served_after = Some(started.elapsed());
            lab.create_machine("meanwhile", "small").await?;
        }
        if served_after.is_some() && runs_in("optimised") {
            break;
        }
        let status = lab.plugin_status("sim").await?.unwrap_or_default();
        ensure!(status["state"] != "Rejected", "{status}");
        ensure!(
            started.elapsed() < Duration::from_secs(240),
            "the code is never optimised: {seen:?}, {status}"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    is_running(lab, "meanwhile").await?;
    eprintln!(
        "served after {served_after:?}, optimised after {:?}; {before} bytes before, {seen:?}",
        started.elapsed()
    );
    ensure!(seen.compiler > COMPILER, "that was no work for a compiler: {seen:?}");
    ensure!(seen.most < before + GROWTH, "the host grew from {before} bytes: {seen:?}");
    ensure!(seen.oldest < LEASE, "the Lease would have run out: {seen:?}");
    ensure!(seen.looks > 20, "{seen:?}");
    ensure!(host.metrics().await?.sum("machinist_leader", &[]) == 1.0, "it leads");
    lab.clear().await?;
    ensure!(host.terminate().await?.success(), "it ends in order");
    Ok(())
}

#[tokio::test]
#[ignore = "nightly: a minute; a sandbox test compiles under the same bounds on each change"]
async fn compiling_a_large_component_touches_neither_the_hosts_memory_nor_its_lease() {
    let _turn = turn().await;
    let lab = Lab::start(LabOptions::default()).await.expect("the lab starts");
    story(&lab).await.expect("the story comes to its end");
}
