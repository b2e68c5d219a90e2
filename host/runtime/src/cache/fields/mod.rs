//! Fields of API objects, as the rest of the crate reads them. Nothing here needs a client or a cache.
//!
//! | module | what it reads |
//! | --- | --- |
//! | `machine` | phase, last operation, Node name and cluster mark of a Machine, Secrets of a class |
//! | `strategy` | the strategy of a MachineDeployment |

mod machine;
pub(crate) mod strategy;

pub(crate) use machine::{cluster_mark, node_name_of, operation_of, phase_of, secret_keys};
