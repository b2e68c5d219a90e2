//! Its writes: the whole object as it was read, so that the API server refuses what is based on an old one.

use std::sync::PoisonError;
use std::time::Duration;

use anyhow::{Context, Error, Result};
use kube::ResourceExt;
use kube::api::PostParams;
use machinist_api::MachineDeployment;
use tokio::time::{Instant, sleep};

use super::Autoscaler;

const RETRY_EVERY: Duration = Duration::from_millis(500);
const RETRY_FOR: Duration = Duration::from_secs(60);

impl Autoscaler {
    pub(super) async fn put(&self, deployment: &MachineDeployment) -> Result<()> {
        let name = deployment.name_any();
        self.lagging.lock().unwrap_or_else(PoisonError::into_inner).remove(&name);
        self.deployments()
            .replace(&name, &PostParams::default(), deployment)
            .await
            .with_context(|| format!("failed to update MachineDeployment {name}"))?;
        Ok(())
    }
}

/// Reads and writes again after what the API server has answered; anything else is said at once.
pub(super) async fn retried(mut once: impl AsyncFnMut() -> Result<()>) -> Result<()> {
    let end = Instant::now() + RETRY_FOR;
    loop {
        match once().await {
            Err(error) if is_answer(&error) && Instant::now() < end => sleep(RETRY_EVERY).await,
            outcome => return outcome,
        }
    }
}

/// Whether somebody else was faster, say.
fn is_answer(error: &Error) -> bool {
    error.chain().any(|cause| cause.downcast_ref::<kube::Error>().is_some())
}
