//! Control plane, cloud, kubelets and host, started in order and taken down in order.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result, ensure};
use control_plane::ControlPlane;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use machinist_api::{Machine, MachineClass};
use nodesim::{NodeSim, SimcloudSource, Target, Timing};
use serde_json::{Value, json};

use crate::host::{Host, HostOptions};
use crate::manifests::{self, NAMESPACE};
use crate::wait::eventually;

/// What a lab is made of.
#[derive(Clone, Debug)]
pub struct LabOptions {
    /// Of the control plane.
    pub plane: control_plane::Options,
    /// Of the cloud.
    pub cloud: simcloud::Config,
    /// When kubelets do what.
    pub kubelets: Timing,
}

impl Default for LabOptions {
    fn default() -> Self {
        Self {
            plane: control_plane::Options::without_controller_manager(),
            cloud: simcloud::Config::default(),
            kubelets: Timing::default(),
        }
    }
}

/// A running lab. The fields end in the order in which they stand.
pub struct Lab {
    /// The kubelets.
    pub nodes: NodeSim,
    /// The cloud.
    pub cloud: simcloud::Server,
    /// An administrator's client.
    pub client: Client,
    /// etcd, kube-apiserver, and kube-controller-manager if asked for.
    pub plane: ControlPlane,
    kubeconfig: PathBuf,
    hosts: AtomicU32,
    folder: tempfile::TempDir,
}

impl Lab {
    /// Starts everything but the host, and installs `deploy/` as a user would.
    ///
    /// # Errors
    /// When a part does not start.
    pub async fn start(options: LabOptions) -> Result<Self> {
        let plane = ControlPlane::start(options.plane).await.context("failed to start the control plane")?;
        let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
        plane.apply_path(deploy.join("crds")).await.context("failed to apply deploy/crds")?;
        plane.apply_path(deploy.join("rbac")).await.context("failed to apply deploy/rbac")?;
        let account = "system:serviceaccount:machinist-system:machinist";
        for (verb, resource) in [("patch", "nodes"), ("list", "nodes")] {
            plane.wait_until_allowed(account, &[], verb, resource).await?;
        }
        let kubeconfig = plane.kubeconfig_for_service_account(NAMESPACE, "machinist").await?;
        let client = plane.client()?;
        let cloud = simcloud::Server::start(options.cloud).context("failed to start the cloud")?;
        let source = SimcloudSource::new(&cloud.url(), cloud.admin_token())?;
        let mut config = nodesim::Config::new(Target::Kubeconfig(plane.nodesim_kubeconfig()));
        config.timing = options.kubelets;
        let nodes = NodeSim::start(config, Arc::new(source)).context("failed to start the kubelets")?;
        let folder = tempfile::tempdir().context("failed to make a folder for the host")?;
        Ok(Self { nodes, cloud, client, plane, kubeconfig, hosts: AtomicU32::new(0), folder })
    }

    /// How a host of this lab is started. All hosts share their cache, as a pod that comes back does.
    #[must_use]
    pub fn host_options(&self) -> HostOptions {
        let number = self.hosts.fetch_add(1, Ordering::Relaxed);
        HostOptions {
            kubeconfig: self.kubeconfig.clone(),
            cache: self.folder.path().join("cache"),
            log: self.folder.path().join(format!("host-{number}.log")),
            flags: vec!["--log".into(), "info,machinist_runtime=debug".into()],
        }
    }

    /// Starts a host and waits until it is ready.
    ///
    /// # Errors
    /// When it does not become ready.
    pub async fn start_host(&self) -> Result<Host> {
        let mut host = Host::start(&self.host_options())?;
        host.ready().await?;
        Ok(host)
    }

    /// Creates the driver's ConfigMap, a Secret and a class, and waits until the driver serves.
    ///
    /// # Errors
    /// When an object is refused, or the driver does not serve.
    pub async fn install_driver(&self, component: &[u8]) -> Result<()> {
        self.put_plugin(&manifests::plugin("sim", component, &self.cloud.url())?).await?;
        self.put_secret(&manifests::secret("sim", self.cloud.token())).await?;
        self.put_class(&manifests::class("small", "sim")).await?;
        self.plugin_state("sim", "Ready").await
    }

    /// Creates a plugin's ConfigMap, or replaces the one that is there.
    ///
    /// # Errors
    /// When it is refused.
    pub async fn put_plugin(&self, map: &ConfigMap) -> Result<()> {
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), NAMESPACE);
        let name = map.metadata.name.as_deref().context("a plugin has a name")?;
        match api.create(&PostParams::default(), map).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 409 => {
                // As `kubectl replace` does, but for the status that the host keeps there.
                let data = map.data.clone().unwrap_or_default();
                let binary_data = map.binary_data.clone().unwrap_or_default();
                let patch = serde_json::from_value(json!([
                    { "op": "add", "path": "/data", "value": data },
                    { "op": "add", "path": "/binaryData", "value": binary_data },
                ]))?;
                api.patch(name, &PatchParams::default(), &Patch::Json::<()>(patch)).await?;
                Ok(())
            }
            Err(error) => Err(error).with_context(|| format!("failed to create ConfigMap {name}")),
        }
    }

    /// Creates a Secret.
    ///
    /// # Errors
    /// When it is refused.
    pub async fn put_secret(&self, secret: &Secret) -> Result<()> {
        let api: Api<Secret> = Api::namespaced(self.client.clone(), NAMESPACE);
        api.create(&PostParams::default(), secret).await.context("failed to create a Secret")?;
        Ok(())
    }

    /// Creates a class.
    ///
    /// # Errors
    /// When it is refused.
    pub async fn put_class(&self, class: &MachineClass) -> Result<()> {
        self.classes()
            .create(&PostParams::default(), class)
            .await
            .context("failed to create a MachineClass")?;
        Ok(())
    }

    /// Creates a Machine of a class.
    ///
    /// # Errors
    /// When it is refused.
    pub async fn create_machine(&self, name: &str, class: &str) -> Result<Machine> {
        let machine = manifests::machine(name, class);
        self.machines()
            .create(&PostParams::default(), &machine)
            .await
            .with_context(|| format!("failed to create Machine {name}"))
    }

    /// Deletes a Machine.
    ///
    /// # Errors
    /// When it is not there.
    pub async fn delete_machine(&self, name: &str) -> Result<()> {
        self.machines()
            .delete(name, &DeleteParams::default())
            .await
            .with_context(|| format!("failed to delete Machine {name}"))?;
        Ok(())
    }

    /// Machines of the lab's namespace.
    #[must_use]
    pub fn machines(&self) -> Api<Machine> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    /// Classes of the lab's namespace.
    #[must_use]
    pub fn classes(&self) -> Api<MachineClass> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    /// Waits until so many Machines are in a phase.
    ///
    /// # Errors
    /// When that does not come about; the complaint shows the Machines.
    pub async fn machines_in_phase(&self, phase: &str, count: usize) -> Result<()> {
        let what = format!("{count} Machines are {phase}");
        let waited = eventually(&what, async || {
            let machines = self.machines().list(&ListParams::default()).await?;
            let there = machines.items.iter().filter(|machine| machine.phase().as_str() == phase).count();
            Ok((there == count).then_some(()))
        });
        match waited.await {
            Ok(()) => Ok(()),
            Err(error) => Err(error.context(self.describe_machines().await)),
        }
    }

    /// Waits until no Machine is left.
    ///
    /// # Errors
    /// When that does not come about; the complaint shows the Machines.
    pub async fn no_machines(&self) -> Result<()> {
        let waited = eventually("no Machine is left", async || {
            Ok(self.machines().list(&ListParams::default()).await?.items.is_empty().then_some(()))
        });
        match waited.await {
            Ok(()) => Ok(()),
            Err(error) => Err(error.context(self.describe_machines().await)),
        }
    }

    /// Waits until the host has written this state onto a plugin's ConfigMap.
    ///
    /// # Errors
    /// When it does not; the complaint shows what it wrote instead.
    pub async fn plugin_state(&self, name: &str, state: &str) -> Result<()> {
        let what = format!("plugin {name} is {state}");
        let waited = eventually(&what, async || {
            Ok(self.plugin_status(name).await?.filter(|status| status["state"] == state).map(drop))
        });
        match waited.await {
            Ok(()) => Ok(()),
            Err(error) => Err(error.context(format!("its status is {:?}", self.plugin_status(name).await))),
        }
    }

    /// The status that the host wrote onto a plugin's ConfigMap.
    ///
    /// # Errors
    /// When the ConfigMap is not there.
    pub async fn plugin_status(&self, name: &str) -> Result<Option<Value>> {
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), NAMESPACE);
        let map = api.get_metadata(name).await?;
        let annotation = map.metadata.annotations.and_then(|all| all.get("machinist.dev/status").cloned());
        Ok(annotation.map(|text| serde_json::from_str(&text)).transpose()?)
    }

    /// Names of the Nodes, and of the bootstrap tokens.
    ///
    /// # Errors
    /// When they cannot be listed.
    pub async fn left_in_target(&self) -> Result<(Vec<String>, Vec<String>)> {
        let name = |meta: kube::core::ObjectMeta| meta.name.unwrap_or_default();
        let nodes = Api::<Node>::all(self.client.clone()).list_metadata(&ListParams::default()).await?;
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), "kube-system");
        let secrets = secrets.list_metadata(&ListParams::default()).await?;
        let tokens = secrets.items.into_iter().map(|secret| name(secret.metadata));
        Ok((
            nodes.items.into_iter().map(|node| name(node.metadata)).collect(),
            tokens.filter(|name| name.starts_with("bootstrap-token-")).collect(),
        ))
    }

    /// Events on an object, as `reason: note`.
    ///
    /// # Errors
    /// When they cannot be listed.
    pub async fn events(&self, kind: &str, name: &str) -> Result<Vec<String>> {
        let api: Api<k8s_openapi::api::core::v1::Event> = Api::namespaced(self.client.clone(), NAMESPACE);
        let fields = format!("involvedObject.kind={kind},involvedObject.name={name}");
        let events = api.list(&ListParams::default().fields(&fields)).await?;
        let line = |event: k8s_openapi::api::core::v1::Event| {
            format!("{}: {}", event.reason.unwrap_or_default(), event.message.unwrap_or_default())
        };
        Ok(events.items.into_iter().map(line).collect())
    }

    /// Waits until an Event of this reason is on an object whose note contains `part`.
    ///
    /// # Errors
    /// When none comes; the complaint shows those that came.
    pub async fn event(&self, kind: &str, name: &str, reason: &str, part: &str) -> Result<()> {
        let what = format!("{kind} {name} has an Event {reason} with {part:?}");
        let start = format!("{reason}: ");
        let waited = eventually(&what, async || {
            let events = self.events(kind, name).await?;
            Ok(events.iter().any(|event| event.starts_with(&start) && event.contains(part)).then_some(()))
        });
        match waited.await {
            Ok(()) => Ok(()),
            Err(error) => Err(error.context(format!("it has {:#?}", self.events(kind, name).await))),
        }
    }

    /// Waits until the condition Ready of a Machine has this reason and its message contains `part`.
    ///
    /// # Errors
    /// When that does not come about; the complaint shows the Machines.
    pub async fn machine_reason(&self, name: &str, reason: &str, part: &str) -> Result<Condition> {
        let what = format!("Machine {name} is {reason} with {part:?}");
        let waited = eventually(&what, async || {
            let machine = self.machines().get(name).await?;
            let own = machine.status.and_then(|status| status.machinist).unwrap_or_default();
            let mut conditions = own.conditions.into_iter();
            Ok(conditions.find(|condition| condition.reason == reason && condition.message.contains(part)))
        });
        match waited.await {
            Ok(condition) => Ok(condition),
            Err(error) => Err(error.context(self.describe_machines().await)),
        }
    }

    /// Deletes all Machines, then all classes and Secrets, and checks that nothing of them is left anywhere.
    ///
    /// # Errors
    /// When something is left; the complaint says what.
    pub async fn clear(&self) -> Result<()> {
        let everything = ListParams::default();
        self.machines().delete_collection(&DeleteParams::default(), &everything).await?;
        self.no_machines().await?;
        let vms = self.cloud.live_vms();
        ensure!(vms.is_empty(), "VMs are left: {vms:?}");
        let (nodes, tokens) = self.left_in_target().await?;
        ensure!(nodes.is_empty(), "Nodes are left: {nodes:?}");
        ensure!(tokens.is_empty(), "bootstrap tokens are left: {tokens:?}");
        self.classes().delete_collection(&DeleteParams::default(), &everything).await?;
        eventually("no class is left", async || {
            Ok(self.classes().list(&everything).await?.items.is_empty().then_some(()))
        })
        .await?;
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), NAMESPACE);
        secrets.delete_collection(&DeleteParams::default(), &everything).await?;
        eventually("no Secret is left", async || {
            Ok(secrets.list(&everything).await?.items.is_empty().then_some(()))
        })
        .await
    }

    /// Kubeconfig of the host's account.
    #[must_use]
    pub fn host_kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    async fn describe_machines(&self) -> String {
        let Ok(machines) = self.machines().list(&ListParams::default()).await else {
            return "the Machines cannot be listed".to_owned();
        };
        let lines = machines.items.iter().take(20).map(|machine| {
            let name = machine.metadata.name.as_deref().unwrap_or_default();
            format!("  {name}: {}", serde_json::to_string(&machine.status).unwrap_or_default())
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}
