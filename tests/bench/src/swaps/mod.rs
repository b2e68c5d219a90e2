//! Loading and swapping drivers: from the cache, from the compiler, and under calls.
//!
//! | module | what it measures |
//! | --- | --- |
//! | `change` | from the change of a ConfigMap to the first call that its new content answers |
//! | `loads` | from a declared component to its first answer, the one to `describe` |

mod change;
mod loads;

use anyhow::{Context, Result};
pub(crate) use e2e::plugins::swaps::SwapsUnderLoad;

pub(crate) use change::Change;
pub(crate) use loads::Load;

const SWAPS: usize = 1_000;
const CALLERS: usize = 200;

/// The figures of loading and swapping.
#[derive(Clone, Debug)]
pub(crate) struct SwapFigures {
    pub(crate) loads: Vec<Load>,
    pub(crate) changes: Vec<Change>,
    pub(crate) under_load: SwapsUnderLoad,
}

pub(crate) async fn measure() -> Result<SwapFigures> {
    eprintln!("building the drivers");
    let drivers = tokio::task::spawn_blocking(loads::Drivers::build).await??;
    eprintln!("loading them from the cache and from the compiler");
    let loads = loads::measure(&drivers).await?;
    eprintln!("changing a ConfigMap on an API server");
    let changes = change::measure(&drivers).await?;
    eprintln!("{SWAPS} swaps under {CALLERS} calls in flight");
    let folder = tempfile::tempdir().context("failed to make a folder for compiled code")?;
    let under_load = e2e::plugins::swaps::measure(folder.path(), &drivers.sim, SWAPS, CALLERS).await?;
    Ok(SwapFigures { loads, changes, under_load })
}
