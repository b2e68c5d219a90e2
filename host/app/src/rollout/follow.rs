//! `machinist rollout status`: looks until the rollout has ended, one way or the other.

use std::time::Duration;

use anyhow::{Result, bail};
use tokio::time::Instant;

use super::reach::Deployment;
use super::status::{StatusMessage, status_message};
use crate::args::StatusFlags;
use crate::args::invocation_name::InvocationName;
use crate::cluster::{is_missing, message_of};

/// Between two looks. One object is read each time.
const PAUSE: Duration = Duration::from_secs(1);

pub(super) async fn status(flags: &StatusFlags, invoked_as: InvocationName) -> Result<()> {
    let at = Deployment::reach(&flags.of, invoked_as, "rollout status").await?;
    let limit = Duration::try_from(flags.timeout).unwrap_or_default();
    let end = (!limit.is_zero()).then(|| Instant::now() + limit);
    let mut deployment = at.read().await?;
    let uid = deployment.metadata.uid.clone();
    let mut last = String::new();
    loop {
        if deployment.metadata.uid != uid {
            bail!("MachineDeployment {} was deleted, and another one has its name", at.name);
        }
        match status_message(&deployment, flags.revision, invoked_as.program()) {
            StatusMessage::Done(text) => {
                println!("{text}");
                return Ok(());
            }
            StatusMessage::Failed(text) => bail!(text),
            StatusMessage::Waiting(text) => {
                if text != last {
                    println!("{text}");
                    last = text;
                }
            }
        }
        if !flags.watch {
            return Ok(());
        }
        deployment = next(&at, end, limit).await?;
    }
}

/// The next look. A server that does not answer is asked again, as long as there is time.
async fn next(
    at: &Deployment,
    end: Option<Instant>,
    limit: Duration,
) -> Result<machinist_api::MachineDeployment> {
    let mut is_reported = false;
    loop {
        let pause = Instant::now() + PAUSE;
        if let Some(end) = end.filter(|end| *end < pause) {
            tokio::time::sleep_until(end).await;
            bail!("timed out after {limit:?} waiting for the rollout to finish; it continues");
        }
        tokio::time::sleep_until(pause).await;
        match at.get().await {
            Ok(deployment) => return Ok(deployment),
            Err(error) if is_missing(&error) => bail!("MachineDeployment {} was deleted", at.name),
            Err(error) if matches!(&error, kube::Error::Api(status) if matches!(status.code, 401 | 403 | 404)) =>
            {
                return Err(at.unreadable(error).await);
            }
            Err(error) => {
                if !is_reported {
                    eprintln!("failed to look, goes on trying: {}", message_of(&error));
                    is_reported = true;
                }
            }
        }
    }
}
