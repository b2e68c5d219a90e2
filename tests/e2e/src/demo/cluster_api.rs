//! The story of a workload cluster of Cluster API, the same on every cloud.

use anyhow::{Context, Result};
use cluster_api::Clusterctl;
use std::path::Path;
use std::time::Duration;
use tokio::time::{Instant, sleep};

use super::Options;
use super::progress::Progress;
use super::summary::{Check, check, print};
use crate::cloud::Cloud;
use crate::cluster_api::{Elsewhere, Management, Workload, WorkloadView, objects, plane_options};
use crate::host::Host;
use crate::lab::{Lab, LabOptions};

const NAMESPACE: &str = "team";
const NAME: &str = "shop";
const PERIOD: Duration = Duration::from_millis(500);
/// Only what is stuck takes so long, however slow the machine.
const TIMEOUT: Duration = Duration::from_secs(300);

/// Tells the story, and returns whether all of it held.
pub(super) async fn tell<C: Cloud>(
    options: &Options,
    cloud_name: &str,
    start_cloud: impl AsyncFnOnce() -> Result<C>,
) -> Result<bool> {
    let started = Instant::now();
    let mut progress = Progress::start();
    progress
        .say("building Cluster API's core, kubeadm bootstrap provider and clusterctl from their Go module");
    tokio::task::spawn_blocking(cluster_api::programs).await??;
    progress.say(&format!("building the driver {}, starting {cloud_name}", C::DRIVER));
    let driver = tokio::task::spawn_blocking(|| C::DRIVER.build()).await??;
    let cloud = start_cloud().await?;
    progress
        .say("starting a management cluster (etcd, kube-apiserver, kube-controller-manager) and kubelets");
    let lab = Lab::around(cloud, LabOptions { plane: plane_options(), ..LabOptions::default() }).await?;
    progress.say("starting Cluster API under its own accounts, with its webhooks");
    let management = Management::start(&lab.plane).await?;
    progress.say("starting Machinist under its least-privilege account, with --cluster-api='*'");
    let host = Host::start_ready(&lab.host_options().with(&["--cluster-api=*"])).await?;
    lab.install_driver(&driver).await?;
    let mut story = Story { lab: &lab, management: &management, progress: &mut progress, checks: Vec::new() };
    let outcome = story.tell(options, &driver).await;
    let mut checks = story.checks;
    if let Err(error) = outcome {
        progress.say(&format!("{}\nthe host's log ends with:\n{}", management.logs(), host.log_end()));
        return Err(error);
    }
    let is_in_order = host.terminate().await?.success();
    checks.push(check("the host ended in order", is_in_order, &is_in_order));
    println!("\n  took in all             {:.1} s", started.elapsed().as_secs_f64());
    Ok(print(&checks))
}

struct Story<'a, C> {
    lab: &'a Lab<C>,
    management: &'a Management,
    progress: &'a mut Progress,
    checks: Vec<Check>,
}

impl<C: Cloud> Story<'_, C> {
    async fn tell(&mut self, options: &Options, driver: &[u8]) -> Result<()> {
        let (few, plane) = (options.machines, &self.lab.plane);
        let many = few + (few / 2).max(1);
        let workload = self.create().await?;
        self.progress
            .say(&format!("creating MachineDeployment workers of {few}, with kubeadm's bootstrap data"));
        workload.deploy(plane, few).await?;
        self.until(&workload, few, "small").await?;
        workload.cluster_condition("Available", "True").await?;
        self.describe(self.management, plane.admin_kubeconfig().as_path()).await?;

        self.progress.say(&format!("scaling it to {many}"));
        workload.scale(many).await?;
        self.until(&workload, many, "small").await?;

        self.progress.say("rolling it to a template of larger VMs, maxSurge 1, maxUnavailable 0");
        let (provider, spec) = self.specification("large")?;
        plane.apply(&objects::machine_template(NAMESPACE, "large", &provider, &spec).to_string()).await?;
        workload.roll("large").await?;
        let fewest = self.until(&workload, many, "large").await?;
        let is_kept = fewest >= u64::from(many);
        self.checks.push(check("available in the rollout", is_kept, &format!("{fewest} of {many} at least")));
        if options.keep {
            return self.keep().await;
        }
        let moved = self.move_elsewhere(&workload, driver, many).await?;
        self.progress.say("deleting the Cluster");
        moved.0.delete().await?;
        let (made, live) = (self.lab.cloud.made().await?, self.lab.cloud.live().await?.len());
        self.checks.push(check(
            "one VM for each Machine",
            made.duplicates == 0,
            &format!("{} created, {} doubled", made.created, made.duplicates),
        ));
        self.checks.push(check("VMs left", live == 0, &live));
        Ok(())
    }

    async fn create(&mut self) -> Result<Workload> {
        self.progress.say(&format!(
            "creating Cluster {NAME} and MachinistCluster {NAME} with the cloud's credentials"
        ));
        let (provider, spec) = self.specification("small")?;
        let credentials = crate::cluster_api::credentials(&self.lab.cloud)?;
        let planes = (&self.lab.plane, &self.lab.plane);
        Workload::create(planes, (NAMESPACE, NAME), (&provider, &spec, &credentials)).await
    }

    /// Provider and specification of VMs of a size.
    fn specification(&self, size: &str) -> Result<(String, serde_json::Value)> {
        let class = match size {
            "large" => self.lab.cloud.large_class(size, C::NAME),
            _ => self.lab.cloud.class(size, C::NAME),
        };
        let provider = class.provider.context("a class has a provider")?;
        Ok((provider, class.provider_spec.context("a class has a specification")?))
    }

    /// Shows the cluster until it is complete. Returns the fewest available Machines on the way.
    async fn until(&mut self, workload: &Workload, wanted: u32, template: &str) -> Result<u64> {
        let started = Instant::now();
        let (mut fewest, mut shown) = (u64::MAX, String::new());
        loop {
            let seen = workload.look().await?;
            fewest = fewest.min(seen.available);
            let line = format!("{}; {} VMs", seen_line(&seen), self.lab.cloud.live().await?.len());
            if line != shown {
                self.progress.say(&format!("  {line}"));
                shown = line;
            }
            if seen.is_complete(usize::try_from(wanted)?, template) {
                return Ok(fewest);
            }
            if started.elapsed() > TIMEOUT {
                workload.has(usize::try_from(wanted)?, template).await?;
            }
            sleep(PERIOD).await;
        }
    }

    async fn move_elsewhere(
        &mut self,
        workload: &Workload,
        driver: &[u8],
        wanted: u32,
    ) -> Result<(Workload, Elsewhere)> {
        self.progress.say("starting a second management cluster, with its own Machinist");
        let there = Elsewhere::start(&self.lab.cloud.plugin(driver)?).await?;
        self.progress.say("clusterctl move: all objects of the cluster get new uids, its VMs stay");
        let (before, made) = (self.lab.cloud.live().await?, self.lab.cloud.made().await?.created);
        let target = there.plane.admin_kubeconfig();
        let arguments =
            ["move", "--namespace", NAMESPACE, "--to-kubeconfig", target.to_str().context("a path")?];
        self.clusterctl(self.management)?.run(&self.lab.plane.admin_kubeconfig(), &arguments).await?;
        let moved = Workload::of(NAMESPACE, NAME, there.plane.client()?);
        moved.initialize_control_plane().await?;
        self.until(&moved, wanted, "large").await?;
        moved.cluster_condition("Available", "True").await?;
        self.describe(&there.management, &target).await?;
        let (mut before, mut after) = (before, self.lab.cloud.live().await?);
        before.sort();
        after.sort();
        let is_untouched = before == after && made == self.lab.cloud.made().await?.created;
        let left: usize = workload.look().await?.infra_machines.values().sum();
        self.checks.push(check("the same VMs after a move", is_untouched, &format!("{} VMs", after.len())));
        self.checks.push(check("objects left behind", left == 0, &left));
        Ok((moved, there))
    }

    fn clusterctl(&self, management: &Management) -> Result<Clusterctl> {
        let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
        Clusterctl::new(&management.programs, &deploy)
    }

    async fn describe(&mut self, management: &Management, kubeconfig: &Path) -> Result<()> {
        let arguments = ["describe", "cluster", NAME, "--namespace", NAMESPACE];
        let described = self.clusterctl(management)?.run(kubeconfig, &arguments).await?;
        self.progress.say(&format!("clusterctl describe cluster {NAME}\n{described}"));
        Ok(())
    }

    /// Until a signal ends the demo.
    async fn keep(&mut self) -> Result<()> {
        self.progress.say(&format!(
            "everything goes on running. In another terminal:\n\n  export KUBECONFIG={}\n  kubectl -n {NAMESPACE} get cluster-api\n  \
             kubectl -n {NAMESPACE} scale machinedeployments.cluster.x-k8s.io workers --replicas=3\n\nCtrl-C ends it.",
            self.lab.plane.admin_kubeconfig().display(),
        ));
        std::future::pending().await
    }
}

fn seen_line(seen: &WorkloadView) -> String {
    let running = seen.machines.values().filter(|phase| *phase == "Running").count();
    format!(
        "{} Machines, {running} Running, {} available, {} of the newest template",
        seen.machines.len(),
        seen.available,
        seen.up_to_date
    )
}
