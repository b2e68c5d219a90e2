//! Hard use: a cloud that refuses and fails, a host that is killed, crowds of Events, and requests to the cloud.
//!
//! The cloud keeps no idempotency keys and its driver declares a consistency window, so each lost answer costs the most
//! that it can.
//!
//! | module | content |
//! | --- | --- |
//! | `clouds` | clouds that refuse and fail: from no VM to Running, and back |
//! | `killed` | a host that is killed again and again while Machines are created |
//! | `events` | Events of many Machines that are created at once: their delay and number |
//! | `frugal` | requests to the cloud and Events for a deletion, and for a Machine of a rollout |
//! | `scene` | a lab around a cloud without idempotency keys |

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
