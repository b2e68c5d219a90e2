//! MachineDeployments: facts from caches, effects on sets, Machines and Nodes, one status write a pass.

use std::collections::BTreeMap;

use machinist_core::id::{ObjectKey, Uid};
use machinist_core::machine::Wake;

use crate::context::Context;
use crate::engine::Report;
use crate::world::World;

/// What a deployment has to look at, by the indexes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Family {
    /// Sets that it controls, and those that nobody does.
    pub sets: Vec<ObjectKey>,
    /// The Machines of these sets, by the uid of their set.
    pub machines: BTreeMap<Uid, Vec<ObjectKey>>,
    /// Other deployments of the namespace.
    pub rivals: Vec<ObjectKey>,
}

/// Not written yet.
#[expect(clippy::unused_async, reason = "its passes come with the next change")]
pub(crate) async fn run(
    _world: &World,
    _context: &Context,
    _object: &ObjectKey,
    family: &Family,
    _failures: u32,
    _jitter: f64,
) -> Report {
    let Family { sets: _, machines: _, rivals: _ } = family;
    Report::only(Wake::Resync)
}
