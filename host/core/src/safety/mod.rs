//! What keeps an outage from becoming a loss: when all dangerous work is held, and which VMs and Nodes nobody answers for, and how many
//! Machines may be replaced at a time.

pub mod freeze;
pub mod listing;
pub mod mark_claim;
pub mod marks;
pub mod meltdown;
pub mod orphans;
pub mod thaw;
pub mod unmanaged;
