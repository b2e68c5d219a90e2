//! The VMs of the simulated cloud.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::future::BoxFuture;
use serde::Deserialize;
use simcloud::{Changes, Event, EventKind, EventVm};
use tokio::sync::mpsc;

use super::{VmEvent, VmSource};
use crate::vm::{Address, Vm};

/// How long to wait before the cloud is asked again after it failed.
const PAUSE: Duration = Duration::from_millis(200);
/// A read of one VM's user data takes no longer.
const READ_LIMIT: Duration = Duration::from_secs(10);

/// Follows the admin stream of a simulated cloud.
#[derive(Clone, Debug)]
pub struct SimcloudSource {
    url: String,
    admin_token: String,
    only: Option<(String, String)>,
    http: reqwest::Client,
}

impl SimcloudSource {
    /// All VMs of the cloud at this base URL.
    pub fn new(url: &str, admin_token: &str) -> Result<Self, reqwest::Error> {
        rustls::crypto::ring::default_provider().install_default().ok();
        let http = reqwest::Client::builder().no_proxy().build()?;
        let url = url.trim_end_matches('/').to_owned();
        Ok(Self { url, admin_token: admin_token.to_owned(), only: None, http })
    }

    /// Only the VMs that carry this tag, for clouds that serve several clusters.
    #[must_use]
    pub fn only_tagged(mut self, key: &str, value: &str) -> Self {
        self.only = Some((key.to_owned(), value.to_owned()));
        self
    }

    /// Follows the cloud until the connection breaks or the receiver goes.
    async fn attend(&self, events: &mpsc::Sender<VmEvent>) -> anyhow::Result<()> {
        let start: Changes = self.get("/admin/vms").await?.json().await.context("failed to read the VMs")?;
        let running = start.events.iter().filter(|event| event.kind == EventKind::Running);
        let running = running.filter_map(|event| self.vm(event)).collect();
        if events.send(VmEvent::All(running)).await.is_err() {
            return Ok(());
        }
        let mut stream = self.get(&format!("/admin/vms/stream?since={}", start.next)).await?;
        let mut buffer = Vec::new();
        while let Some(chunk) = stream.chunk().await.context("failed to read the stream")? {
            buffer.extend_from_slice(&chunk);
            let complete = buffer.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            for line in buffer.drain(..complete).as_slice().split(|byte| *byte == b'\n') {
                if line.is_empty() {
                    continue;
                }
                let event: Event = serde_json::from_slice(line).context("failed to parse an event")?;
                if event.kind == EventKind::Reset {
                    return Ok(());
                }
                if let Some(event_of_vm) = self.tell(&event)
                    && events.send(event_of_vm).await.is_err()
                {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    async fn get(&self, target: &str) -> anyhow::Result<reqwest::Response> {
        let request = self.http.get(format!("{}{target}", self.url)).bearer_auth(&self.admin_token);
        Ok(request.send().await.context("failed to reach the cloud")?.error_for_status()?)
    }

    fn tell(&self, event: &Event) -> Option<VmEvent> {
        let vm = self.vm(event)?;
        match event.kind {
            EventKind::Running => Some(VmEvent::Runs(vm)),
            EventKind::Rebooted => Some(VmEvent::Rebooted(vm)),
            EventKind::Stopping | EventKind::Terminated => Some(VmEvent::Ended(vm.id)),
            EventKind::Created | EventKind::Reset => None,
        }
    }

    fn vm(&self, event: &Event) -> Option<Vm> {
        let vm = event.vm.as_deref()?;
        let is_ours = self.only.as_ref().is_none_or(|(key, value)| vm.tags.get(key) == Some(value));
        is_ours.then(|| convert(vm))
    }
}

impl VmSource for SimcloudSource {
    fn follow(self: Arc<Self>, events: mpsc::Sender<VmEvent>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            while !events.is_closed() {
                if let Err(error) = self.attend(&events).await {
                    tracing::debug!(error = format!("{error:#}"), "the cloud's events broke off");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        })
    }

    fn user_data<'a>(&'a self, vm: &'a Vm) -> BoxFuture<'a, anyhow::Result<Vec<u8>>> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct UserData {
            user_data: String,
        }
        Box::pin(async move {
            let read = async {
                let answer = self.get(&format!("/v1/vms/{}/user-data", vm.id)).await?;
                let body: UserData = answer.json().await.context("failed to read the user data")?;
                STANDARD.decode(body.user_data).context("failed to decode the user data")
            };
            tokio::time::timeout(READ_LIMIT, read).await.context("failed to read the user data in time")?
        })
    }
}

fn convert(vm: &EventVm) -> Vm {
    Vm {
        id: vm.id.clone(),
        node_name: vm.name.clone(),
        provider_id: format!("sim:///{}/{}", vm.zone, vm.id),
        region: vm.region.clone(),
        zone: vm.zone.clone(),
        instance_type: vm.kind.clone(),
        cpus: vm.cpus,
        memory_gib: vm.memory_gib,
        gpus: vm.gpus,
        addresses: vm
            .addresses
            .iter()
            .map(|address| Address { kind: address.kind.clone(), address: address.address.clone() })
            .collect(),
        boot_id: format!("{}-{}", vm.id, vm.boot_id),
    }
}
