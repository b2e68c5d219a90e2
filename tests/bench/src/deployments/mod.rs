//! MachineDeployments on a real API server, beside a plain client that makes as many writes: created, rolled, scaled to
//! none, and many.

mod growth;
mod many;
mod rolling;
mod scale_down;
mod scene;

pub(crate) use growth::{Growth, Size, measure as growth};
pub(crate) use many::{Many, OF_EACH, measure as many};
pub(crate) use rolling::{Rolling, measure as rolling};
pub(crate) use scale_down::{ScaleDown, measure as scale_down};
pub(crate) use scene::Cost;
