//! EC2, played by moto.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use ec2::{CLUSTER_TAG, Credentials, Ec2, Effect, Instance, Lag, Rule, UID_TAG};
use guests::Driver;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use machinist_api::MachineClass;
use nodesim::{Ec2Source, VmSource};
use serde_json::{Map, Value, json};

use super::{Cloud, LiveVm, Made};
use crate::manifests::aws;

/// An account of EC2 as one cluster uses it.
#[derive(Clone)]
pub struct Aws {
    ec2: Arc<Ec2>,
    /// The cluster's name, where several share the account.
    cluster: Option<String>,
}

impl Aws {
    /// An account for a single cluster.
    pub async fn start() -> Result<Self> {
        let ec2 = Ec2::start(ec2::Options::default()).await.context("failed to start EC2")?;
        Ok(Self { ec2: Arc::new(ec2), cluster: None })
    }

    /// The same account for another cluster.
    pub fn shared_with(&self, cluster: &str) -> Self {
        Self { ec2: Arc::clone(&self.ec2), cluster: Some(cluster.to_owned()) }
    }

    /// Its instances that live.
    pub async fn live_instances(&self) -> Result<Vec<Instance>> {
        let mut live = self.ec2.live_instances().await?;
        live.retain(|instance| {
            self.cluster.is_none() || instance.tags.get(CLUSTER_TAG) == self.cluster.as_ref()
        });
        Ok(live)
    }

    /// The keys that its Secret has.
    pub fn keys(&self) -> &Credentials {
        self.ec2.credentials().first().expect("EC2 is started with keys")
    }
}

impl Deref for Aws {
    type Target = Ec2;

    fn deref(&self) -> &Ec2 {
        &self.ec2
    }
}

impl Cloud for Aws {
    const NAME: &'static str = "aws";
    const DRIVER: Driver = Driver::Rust { package: "aws-driver", version: "AWS_DRIVER_VERSION" };
    const LARGE: (&'static str, &'static str) = ("/machineType", "m5.xlarge");
    const PROVIDER_ID: &'static str = "aws:///{{ v1.availability_zone }}/{{ v1.instance_id }}";

    async fn begin(_settings: &simcloud::Config) -> Result<Self> {
        Self::start().await
    }

    fn vm_source(&self) -> Result<Arc<dyn VmSource>> {
        // Kubelets look at moto itself: what goes wrong on purpose goes wrong for the host.
        let source = Ec2Source::new(&self.moto_url(), self.region())?;
        Ok(Arc::new(match &self.cluster {
            Some(cluster) => source.only_tagged(CLUSTER_TAG, cluster),
            None => source,
        }))
    }

    fn plugin(&self, component: &[u8]) -> Result<ConfigMap> {
        aws::plugin(Self::NAME, component, &self.url(), &aws::grants(&self.url())?)
    }

    fn secret(&self, name: &str) -> Secret {
        aws::secret(name, self.keys())
    }

    fn class(&self, name: &str, secret: &str) -> MachineClass {
        aws::class(name, secret, &self.ec2)
    }

    fn cluster(&self) -> Option<&str> {
        self.cluster.as_deref()
    }

    fn specification(&self) -> Value {
        let mut spec = aws::spec(&self.ec2);
        let subnets = self.fixture().subnets.iter();
        let by_zone: Map<String, Value> =
            subnets.map(|subnet| (subnet.zone.clone(), json!(subnet.id))).collect();
        spec["subnetsByZone"] = Value::Object(by_zone);
        spec
    }

    fn failure_domains(&self) -> Vec<String> {
        self.fixture().subnets.iter().map(|subnet| subnet.zone.clone()).collect()
    }

    async fn live_machines(&self) -> Result<Vec<LiveVm>> {
        let live = self.live_instances().await?.into_iter().map(|instance| LiveVm {
            key: instance.tags.get(UID_TAG).cloned().unwrap_or_default(),
            node_id: format!("aws:///{}/{}", instance.zone, instance.id),
            zone: instance.zone,
            id: instance.id,
        });
        Ok(live.collect())
    }

    fn changes_asked(&self) -> u64 {
        let stats = self.stats();
        ["RunInstances", "TerminateInstances"].map(|action| stats.requests_of(action)).iter().sum()
    }

    fn made_by_key(&self) -> Result<BTreeMap<String, u64>> {
        Ok(self.stats().created_by_uid)
    }

    async fn remove(&self, id: &str) -> Result<()> {
        self.terminate_by_hand(id).await
    }

    fn disturb(&self) -> Result<()> {
        self.set_lag(Lag { creation: Duration::from_millis(1_500), change: Duration::from_millis(500) });
        let lost = Effect::LostAnswer { hold: Duration::from_millis(50) };
        self.faults().add(Rule::new(lost).on("RunInstances").share(0.33, 1).named("lost"));
        Ok(())
    }

    fn heal(&self) -> Result<()> {
        self.faults().clear();
        self.set_lag(Lag::default());
        Ok(())
    }

    async fn live(&self) -> Result<Vec<String>> {
        Ok(self.live_instances().await?.into_iter().map(|instance| instance.id).collect())
    }

    async fn made(&self) -> Result<Made> {
        let stats = self.stats();
        Ok(Made { created: stats.created, duplicates: stats.duplicates_ever })
    }
}
