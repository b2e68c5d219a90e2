//! `machinist rollout`: follows, lists, undoes, pauses and restarts rollouts, as `kubectl rollout` does for
//! Deployments.
//!
//! | module | what it does |
//! | --- | --- |
//! | `reach` | reads and writes a MachineDeployment |
//! | `status`, `follow` | how far a rollout is; follows it to its end |
//! | `history` | the templates that a deployment can return to |
//! | `undo` | returns to an earlier template |
//! | `change` | pauses, resumes and restarts |
//! | `differences` | where two objects differ |

mod change;
mod differences;
mod follow;
mod history;
mod reach;
mod status;
mod undo;

use anyhow::Result;
use jiff::Timestamp;

use crate::args::invocation_name::InvocationName;
use crate::args::{HistoryFlags, Output, RolloutCommand, SubjectFlags, UndoFlags};

use change::Change;
use reach::Deployment;

/// An object as kubectl names it in what it prints.
fn titled(name: &str) -> String {
    format!("machinedeployment.machine.sapcloud.io/{name}")
}

pub(crate) async fn rollout(command: RolloutCommand, invoked_as: InvocationName) -> Result<()> {
    match command {
        RolloutCommand::Status(flags) => follow::status(&flags, invoked_as).await,
        RolloutCommand::History(flags) => history(&flags, invoked_as).await,
        RolloutCommand::Undo(flags) => undo(&flags, invoked_as).await,
        RolloutCommand::Pause(flags) => change(&flags, Change::Pause, invoked_as).await,
        RolloutCommand::Resume(flags) => change(&flags, Change::Resume, invoked_as).await,
        RolloutCommand::Restart(flags) => change(&flags, Change::Restart(Timestamp::now()), invoked_as).await,
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
    match undo::undo(&deployment, &sets, flags.to_revision, invoked_as.program())? {
        undo::Undo::Unchanged { revision } => {
            println!(
                "{} skipped rollback (current template already matches revision {revision})",
                titled(&at.name)
            );
        }
        undo::Undo::To { revision, patch } => {
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
