//! Exactly one VM for each Machine: whatever kills the host and at any moment, and whatever the cloud does meanwhile.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use e2e::{Host, Lab, LabOptions, eventually, within};
use k8s_openapi::api::core::v1::Node;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt};
use machinist_api::names;
use serde_json::json;
use simcloud::{Code, Effect, Faults, Match, Rule};

use crate::scene::{SIM, in_lab, scene};

/// When a host is killed, counted from the request for its Machines.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// After so many milliseconds.
    Ms(u64),
    /// After so many creates have reached the cloud.
    Creates(u64),
    /// The finalizer is on a Machine.
    Claimed,
    /// A Machine has its provider id.
    Recorded,
    /// A Machine waits for its Node.
    Pending,
    /// A Machine's Node has joined.
    Joined,
}

use Moment::{Claimed, Creates, Joined, Ms, Pending, Recorded};

/// Moments for a host that leads at once.
const AT_ONCE: [Moment; 21] = [
    Ms(0),
    Creates(1),
    Ms(5),
    Claimed,
    Ms(10),
    Creates(2),
    Ms(20),
    Recorded,
    Ms(35),
    Creates(3),
    Ms(50),
    Pending,
    Ms(75),
    Creates(1),
    Ms(100),
    Joined,
    Ms(150),
    Creates(2),
    Ms(250),
    Ms(400),
    Creates(3),
];
/// Moments for a host that waits for the Leases of the one before to run out.
const WITH_LEASES: [Moment; 3] = [Creates(1), Recorded, Creates(3)];
const MACHINES_A_MOMENT: usize = 3;
const DELETIONS: [u64; 6] = [0, 20, 60, 120, 250, 500];

/// A crash leaves a Lease behind that nobody renews. Long enough for a busy machine to renew one that is in use.
const SHORT_LEASES: [&str; 3] = [
    "--leader-elect-lease-duration=6s", "--leader-elect-renew-deadline=5s",
    "--leader-elect-retry-period=200ms",
];
const NO_LEASES: [&str; 1] = ["--leader-elect=false"];

#[tokio::test]
async fn a_host_that_is_killed_at_any_moment_makes_exactly_one_vm_for_each_machine_and_leaves_none() {
    let mut options = LabOptions::default();
    options.cloud.latency.boot_ms = 200;
    in_lab(options, killed).await;
}

async fn killed(lab: &Lab) -> Result<()> {
    let host = start(lab, &NO_LEASES).await?;
    lab.install_driver(&SIM).await?;
    host.kill();
    lab.cloud.set_faults(losing_answers("POST", "/v1/vms")).map_err(|error| anyhow!("{error:?}"))?;
    let at_once = AT_ONCE.iter().map(|moment| (*moment, &NO_LEASES[..]));
    let moments = at_once.chain(WITH_LEASES.iter().map(|moment| (*moment, &SHORT_LEASES[..])));
    let mut machines = 0;
    for (number, (moment, flags)) in moments.enumerate() {
        let host = start(lab, flags).await?;
        let creates = lab.cloud.stats().calls_of("vm.create");
        let names: Vec<String> = (0..MACHINES_A_MOMENT).map(|one| format!("m{number:02}-{one}")).collect();
        let requested =
            futures::future::try_join_all(names.iter().map(|name| lab.create_machine(name, "small")));
        let reached = reach(lab, moment, &names, creates);
        let outcome = tokio::try_join!(requested, reached);
        let said = if outcome.is_err() { host.log_end() } else { String::new() };
        host.kill();
        outcome.with_context(|| format!("at moment {number}, {moment:?}\n{said}"))?;
        machines += names.len();
    }
    let lost = lab.cloud.stats();
    ensure!(lost.outcome("vm.create", "timeout") > 0, "no answer was lost: {lost:?}");
    lab.cloud.set_faults(lagging(400)).map_err(|error| anyhow!("{error:?}"))?;
    let host = start(lab, &NO_LEASES).await?;
    all_run(lab, machines).await.context(host.log_end())?;
    one_vm_each(lab).await?;
    host.kill();
    deleted(lab).await
}

/// Deletes all Machines, and kills a host during each part of them.
async fn deleted(lab: &Lab) -> Result<()> {
    let names: Vec<String> =
        lab.machines().list(&ListParams::default()).await?.items.iter().map(ResourceExt::name_any).collect();
    lab.cloud.set_faults(losing_answers("DELETE", "/v1/vms/*")).map_err(|error| anyhow!("{error:?}"))?;
    for (part, ms) in names.chunks(names.len().div_ceil(DELETIONS.len())).zip(DELETIONS) {
        let host = start(lab, &NO_LEASES).await?;
        let ordered = futures::future::try_join_all(part.iter().map(|name| lab.delete_machine(name)));
        let outcome = tokio::join!(ordered, tokio::time::sleep(Duration::from_millis(ms))).0;
        host.kill();
        outcome?;
    }
    lab.cloud.clear_faults();
    let host = start(lab, &SHORT_LEASES).await?;
    lab.clear().await.context(host.log_end())?;
    ensure!(lab.cloud.stats().duplicates_ever == 0, "{:?}", lab.cloud.stats());
    Ok(())
}

/// Starts a host that leads soon after one that was killed, and waits until it is ready.
pub(crate) async fn start_with_short_leases(lab: &Lab) -> Result<Host> {
    start(lab, &SHORT_LEASES).await
}

/// Starts a host that leads at once, and waits until it is ready.
pub(crate) async fn start_without_lease(lab: &Lab) -> Result<Host> {
    start(lab, &NO_LEASES).await
}

async fn start(lab: &Lab, flags: &[&str]) -> Result<Host> {
    Host::start_ready(&lab.host_options().with(flags)).await
}

/// Waits for the moment, looking as often as can be.
async fn reach(lab: &Lab, moment: Moment, names: &[String], creates: u64) -> Result<()> {
    if let Ms(ms) = moment {
        tokio::time::sleep(Duration::from_millis(ms)).await;
        return Ok(());
    }
    let reached = async {
        while !is_reached(lab, moment, names, creates).await? {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(Duration::from_secs(60), reached).await.context("the moment does not come")?
}

async fn is_reached(lab: &Lab, moment: Moment, names: &[String], creates: u64) -> Result<bool> {
    let name = names.first().context("there is a Machine")?;
    if let Creates(count) = moment {
        return Ok(lab.cloud.stats().calls_of("vm.create") >= creates + count);
    }
    let Some(machine) = lab.machines().get_opt(name).await? else { return Ok(false) };
    Ok(match moment {
        Claimed => machine.finalizers().iter().any(|held| held == names::finalizers::MACHINE),
        Recorded => machine.provider_id().is_some(),
        Pending => machine.phase().as_str() == "Pending",
        Joined => match machine.labels().get(names::labels::NODE) {
            Some(node) => Api::<Node>::all(lab.client.clone()).get_opt(node).await?.is_some(),
            None => false,
        },
        Ms(_) | Creates(_) => true,
    })
}

/// Waits until so many Machines run, and touches those that do not meanwhile, as an impatient user does: they are tried
/// at once, and the host's writes meet others.
async fn all_run(lab: &Lab, machines: usize) -> Result<()> {
    let mut touched = 0;
    eventually(&format!("{machines} Machines are Running"), async || {
        let all = lab.machines().list(&ListParams::default()).await?.items;
        ensure!(all.len() == machines, "{} Machines are there", all.len());
        let waiting: Vec<_> = all.iter().filter(|machine| machine.phase().as_str() != "Running").collect();
        for machine in &waiting {
            touched += 1;
            let patch =
                Patch::Merge(json!({ "metadata": { "annotations": { "touched": touched.to_string() } } }));
            lab.machines().patch(&machine.name_any(), &PatchParams::default(), &patch).await?;
        }
        let names: Vec<_> = waiting.iter().map(|machine| (machine.name_any(), &machine.status)).collect();
        ensure!(names.is_empty(), "{} wait: {:?}", names.len(), names.first());
        Ok(Some(()))
    })
    .await
}

/// As many VMs as Machines were ever made, and each Machine's provider id and Node are those of its VM.
pub(crate) async fn one_vm_each(lab: &Lab) -> Result<()> {
    let machines = lab.machines().list(&ListParams::default()).await?.items;
    let stats = lab.cloud.stats();
    ensure!(stats.duplicates_ever == 0, "{stats:?}");
    ensure!(
        stats.created == u64::try_from(machines.len())?,
        "{} VMs of {} Machines",
        stats.created,
        machines.len()
    );
    let vms: BTreeMap<String, String> = lab
        .cloud
        .live_vms()
        .into_iter()
        .map(|vm| {
            (vm.tags.get("machine-uid").cloned().unwrap_or_default(), format!("sim:///{}/{}", vm.zone, vm.id))
        })
        .collect();
    ensure!(vms.len() == machines.len(), "{} VMs are live, of {} Machines", vms.len(), machines.len());
    let nodes = Api::<Node>::all(lab.client.clone()).list(&ListParams::default()).await?.items;
    ensure!(nodes.len() == machines.len(), "{} Nodes, {} Machines", nodes.len(), machines.len());
    let nodes: BTreeMap<String, Option<String>> = nodes
        .into_iter()
        .map(|node| (node.name_any(), node.spec.and_then(|spec| spec.provider_id)))
        .collect();
    for machine in &machines {
        let vm = vms.get(&machine.uid().unwrap_or_default());
        ensure!(vm.map(String::as_str) == machine.provider_id(), "{}: {vm:?}", machine.name_any());
        let node = machine.labels().get(names::labels::NODE).and_then(|node| nodes.get(node));
        ensure!(node == Some(&vm.cloned()), "{}: Node of {node:?}", machine.name_any());
    }
    Ok(())
}

fn rule(method: &str, path: &str, probability: f64, effect: Effect) -> Rule {
    let matches = Match {
        method: (!method.is_empty()).then(|| method.to_owned()),
        path: Some(path.to_owned()),
        probability: Some(probability),
        ..Match::default()
    };
    Rule { name: None, matches, effect }
}

fn lagging(read_lag_ms: u64) -> Faults {
    Faults { read_lag_ms, ..Faults::default() }
}

/// Reads lag, and of these calls a third are done and not answered.
fn losing_answers(method: &str, path: &str) -> Faults {
    let lost = rule(method, path, 0.33, Effect::Timeout { after_commit: true, hold_ms: 30 });
    Faults { rules: vec![lost], ..lagging(400) }
}

#[tokio::test]
#[ignore = "nightly: lives of the runtime show it on each change"]
async fn a_cloud_that_fails_a_fifth_of_all_calls_makes_one_vm_for_each_machine() {
    const MACHINES: usize = 30;
    scene(LabOptions::default(), async |lab, _| {
        lab.install_driver(&SIM).await?;
        let failure = |code, after_commit| Effect::Error {
            code,
            status: None,
            retry_after: None,
            message: None,
            after_commit,
        };
        let faults = Faults {
            rules: vec![
                rule("", "/v1/**", 0.1, failure(Code::Internal, true)),
                rule("", "/v1/**", 0.11, failure(Code::Throttled, false)),
            ],
            ..Faults::default()
        };
        lab.cloud.set_faults(faults).map_err(|error| anyhow!("{error:?}"))?;
        create(lab, MACHINES).await?;
        all_run(lab, MACHINES).await?;
        one_vm_each(lab).await?;
        let stats = lab.cloud.stats();
        ensure!(stats.faults_fired.values().all(|fired| *fired > 0), "nothing went wrong: {stats:?}");
        lab.cloud.clear_faults();
        lab.clear().await
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly: lives of the runtime show it on each change"]
async fn reads_that_lag_by_eight_seconds_lead_to_no_second_vm() {
    const MACHINES: usize = 60;
    scene(LabOptions::default(), async |lab, _| {
        lab.install_driver(&SIM).await?;
        lab.cloud.set_faults(lagging(8_000)).map_err(|error| anyhow!("{error:?}"))?;
        create(lab, MACHINES).await?;
        all_run(lab, MACHINES).await?;
        one_vm_each(lab).await?;
        // While reads show none of them yet, or all of them still: the orders must reach the VMs all the same.
        lab.machines().delete_collection(&DeleteParams::default(), &ListParams::default()).await?;
        within(Duration::from_secs(240), "all Machines are gone", async || {
            Ok(lab.machines().list(&ListParams::default()).await?.items.is_empty().then_some(()))
        })
        .await?;
        ensure!(lab.cloud.stats().created == u64::try_from(MACHINES)?, "{:?}", lab.cloud.stats());
        lab.clear().await
    })
    .await;
}

async fn create(lab: &Lab, machines: usize) -> Result<()> {
    let names: Vec<String> = (0..machines).map(|number| format!("m{number:02}")).collect();
    futures::future::try_join_all(names.iter().map(|name| lab.create_machine(name, "small"))).await?;
    Ok(())
}
