//! `machinist rollout`: follows, lists, undoes, pauses and restarts rollouts, as `kubectl rollout` does for
//! Deployments.
//!
//! | module | what it does |
//! | --- | --- |
//! | `reach` | reads and writes a MachineDeployment |
//! | `status` | how far a rollout is |
//! | `history` | the templates that a deployment can return to, and where they differ |
//! | `change` | pauses, resumes, restarts, and returns to an earlier template |

mod change;
mod history;
mod reach;
mod status;

use std::time::Duration;

use anyhow::{Result, bail};
use change::{Change, Undo};
use jiff::Timestamp;
use machinist_api::MachineDeployment;
use reach::Deployment;
use status::{StatusMessage, status_message};
use tokio::time::Instant;

use crate::args::invocation_name::InvocationName;
use crate::args::{HistoryFlags, Output, RolloutCommand, StatusFlags, SubjectFlags, UndoFlags};
use crate::cluster::{is_missing, message_of};

/// Between two looks. One object is read each time.
const PAUSE: Duration = Duration::from_secs(1);

/// An object as kubectl names it in what it prints.
fn titled(name: &str) -> String {
    format!("machinedeployment.machine.sapcloud.io/{name}")
}

pub(crate) async fn rollout(command: RolloutCommand, invoked_as: InvocationName) -> Result<()> {
    match command {
        RolloutCommand::Status(flags) => status(&flags, invoked_as).await,
        RolloutCommand::History(flags) => history(&flags, invoked_as).await,
        RolloutCommand::Undo(flags) => undo(&flags, invoked_as).await,
        RolloutCommand::Pause(flags) => change(&flags, Change::Pause, invoked_as).await,
        RolloutCommand::Resume(flags) => change(&flags, Change::Resume, invoked_as).await,
        RolloutCommand::Restart(flags) => change(&flags, Change::Restart(Timestamp::now()), invoked_as).await,
    }
}

async fn status(flags: &StatusFlags, invoked_as: InvocationName) -> Result<()> {
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
        deployment = next_look(&at, end, limit).await?;
    }
}

/// The next look. A server that does not answer is asked again, as long as there is time.
async fn next_look(at: &Deployment, end: Option<Instant>, limit: Duration) -> Result<MachineDeployment> {
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

async fn history(flags: &HistoryFlags, invoked_as: InvocationName) -> Result<()> {
    let at = Deployment::reach(&flags.of, invoked_as, "rollout history").await?;
    let deployment = at.read().await?;
    let sets = at.sets().await?;
    let history = history::history(&deployment, &sets);
    let text = match (flags.revision, flags.output) {
        (0, Output::Table) => history::table(&at.name, &history),
        (0, Output::Json) => serde_json::to_string_pretty(&history)?,
        (revision, output) => {
            let details = history::details(&deployment, &sets, revision)?;
            match output {
                Output::Table => history::page(&details)?,
                Output::Json => serde_json::to_string_pretty(&details)?,
            }
        }
    };
    println!("{}", text.trim_end());
    Ok(())
}

async fn undo(flags: &UndoFlags, invoked_as: InvocationName) -> Result<()> {
    let at = Deployment::reach(&flags.of, invoked_as, "rollout undo").await?;
    let deployment = at.read().await?;
    let sets = at.sets().await?;
    match change::undo(&deployment, &sets, flags.to_revision, invoked_as.program())? {
        Undo::Unchanged { revision } => {
            println!(
                "{} skipped rollback (current template already matches revision {revision})",
                titled(&at.name)
            );
        }
        Undo::To { revision, patch } => {
            at.patch(&patch).await?;
            println!("{} rolls back to revision {revision}", titled(&at.name));
        }
    }
    Ok(())
}

async fn change(flags: &SubjectFlags, change: Change, invoked_as: InvocationName) -> Result<()> {
    let at = Deployment::reach(flags, invoked_as, change.verb()).await?;
    let deployment = at.read().await?;
    at.patch(&change::patch(&deployment, change, invoked_as.program())?).await?;
    println!("{} {}", titled(&at.name), change.done());
    Ok(())
}
