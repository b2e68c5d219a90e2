//! The commands about deployments against a real API server. Sets, Machines and statuses are written by hand, so that
//! each moment of a rollout lasts for as long as the test needs.
//!
//! | module | content |
//! | --- | --- |
//! | `rollout` | the command `machinist rollout` |
//! | `tree` | the command `machinist tree` |
//! | `plugin` | the program under the names by which kubectl calls it |
//! | `fleet` | deployments, sets and Machines that no controller reconciles |

mod fleet;
mod plugin;
mod rollout;
mod tree;

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Output, Stdio};

use anyhow::{Context, Result, ensure};
use e2e::Lab;
use tokio::process::Command;

/// The program, under its own name.
async fn machinist(lab: &Lab, words: &[&str]) -> Result<Output> {
    run(e2e::binary()?, &lab.plane.admin_kubeconfig(), words).await
}

/// A program with a kubeconfig.
pub(crate) async fn run(program: impl AsRef<OsStr>, kubeconfig: &Path, words: &[&str]) -> Result<Output> {
    let program = program.as_ref();
    let mut command = Command::new(program);
    command.args(words).env("KUBECONFIG", kubeconfig).stdin(Stdio::null()).kill_on_drop(true);
    command.output().await.with_context(|| format!("{} does not start", program.display()))
}

/// Returns the output of a command that succeeds.
pub(crate) fn output_of(words: &[&str], done: &Output) -> Result<String> {
    let complaint = String::from_utf8_lossy(&done.stderr);
    ensure!(done.status.success(), "{words:?} fails: {complaint}");
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// It works, and says all of these.
pub(crate) async fn says(lab: &Lab, words: &[&str], parts: &[&str]) -> Result<String> {
    let said = output_of(words, &machinist(lab, words).await?)?;
    for part in parts {
        ensure!(said.contains(part), "{words:?} does not say {part:?}:\n{said}");
    }
    Ok(said)
}

/// It fails, and its complaint has this part.
pub(crate) fn refused(words: &[&str], done: &Output, part: &str) -> Result<()> {
    let said = String::from_utf8_lossy(&done.stderr);
    ensure!(!done.status.success(), "{words:?} is accepted: {}", String::from_utf8_lossy(&done.stdout));
    ensure!(said.contains(part), "{words:?} does not complain of {part:?}: {said}");
    Ok(())
}

pub(crate) async fn refuses(lab: &Lab, words: &[&str], part: &str) -> Result<()> {
    refused(words, &machinist(lab, words).await?, part)
}
