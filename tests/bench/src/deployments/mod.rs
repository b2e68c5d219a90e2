//! MachineDeployments on a real API server, beside a plain client that makes as many writes: created, rolled, scaled to
//! none, and many.
//!
//! | module | content |
//! | --- | --- |
//! | `growth` | one MachineDeployment, until all its Machines run, in several sizes |
//! | `rolling` | a MachineDeployment that is rolled to another class |
//! | `scale_down` | Machines without pods, deleted one after the other, and then all at once |
//! | `many` | many MachineDeployments of five Machines |
//! | `scene` | a lab with a host, a watch of Machines, and the cost of a piece of work |

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
