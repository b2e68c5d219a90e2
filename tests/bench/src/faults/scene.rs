//! A lab around a cloud without idempotency keys.

use std::time::Duration;

use anyhow::{Result, anyhow};
use e2e::{Cloud, Lab, LabOptions};
use simcloud::Faults;

use crate::machines::HEARTBEAT;

/// The consistency window that the driver declares.
pub(super) const WINDOW: Duration = Duration::from_secs(10);

/// Starts control plane, cloud and kubelets. The cloud answers a create after 200 ms, boots in 500 ms and ends a VM in
/// 500 ms.
pub(super) async fn start(what: &str) -> Result<Lab> {
    eprintln!("{what}: starting control plane, cloud and kubelets");
    let mut options = LabOptions::default();
    options.cloud.latency =
        simcloud::Latency { create_ms: 200, boot_ms: 500, terminate_ms: 500, ..simcloud::Latency::ZERO };
    options.kubelets.heartbeat = HEARTBEAT;
    Lab::start(options).await
}

/// Installs the driver and two classes, while a host runs.
pub(super) async fn install(lab: &Lab) -> Result<()> {
    let driver = tokio::task::spawn_blocking(|| guests::bytes("sim-driver")).await??;
    lab.install_driver_without_keys(&driver, WINDOW).await?;
    lab.put_class(&lab.cloud.large_class("large", "sim")).await
}

pub(super) fn set(lab: &Lab, faults: Faults) -> Result<()> {
    lab.cloud.set_faults(faults).map_err(|error| anyhow!("{error:?}"))
}
