//! Hard use: a cloud that refuses and fails, a host that is killed, crowds of Events, and requests to the cloud.
//!
//! The cloud keeps no idempotency keys and its driver declares a consistency window, so each lost answer costs the most
//! that it can.

mod clouds;
mod events;
mod frugal;
mod killed;
mod scene;

use anyhow::Result;

pub(crate) use clouds::{Fire, Outage, WINDOW_SECS};
pub(crate) use events::Crowd;
pub(crate) use frugal::Frugal;
pub(crate) use killed::Killed;

/// The figures of all parts.
#[derive(Clone, Debug)]
pub(crate) struct FaultFigures {
    pub(crate) fires: Vec<Fire>,
    pub(crate) outage: Outage,
    pub(crate) killed: Killed,
    pub(crate) crowd: Crowd,
    pub(crate) frugal: Frugal,
}

/// Measures each part on a control plane of its own.
pub(crate) async fn measure() -> Result<FaultFigures> {
    Ok(FaultFigures {
        fires: clouds::measure().await?,
        outage: clouds::outage().await?,
        killed: killed::measure().await?,
        crowd: events::measure().await?,
        frugal: frugal::measure().await?,
    })
}
