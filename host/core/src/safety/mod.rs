//! Rules that keep an outage from becoming a loss.
//!
//! | module | what it does |
//! | --- | --- |
//! | `freeze` | when the gate is frozen: an API server is unreachable, or an operator asked for it |
//! | `thaw` | restarts the clocks of a Machine after a freeze |
//! | `meltdown` | how many unhealthy Machines may be replaced at a time, and silent zones |
//! | `orphans` | VMs without a Machine, and the evidence that deletes them |
//! | `listing` | whether a listing of the cloud can be believed |
//! | `unmanaged` | Nodes without a Machine |
//! | `marks` | which Machines may store the cluster's mark |
//! | `mark_claim` | which of two control planes with one mark may work |

pub mod freeze;
pub mod listing;
pub mod mark_claim;
pub mod marks;
pub mod meltdown;
pub mod orphans;
pub mod thaw;
pub mod unmanaged;
