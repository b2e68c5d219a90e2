//! Clients of the API servers.
//!
//! | module | what it does |
//! | --- | --- |
//! | `clusters` | makes clients from kubeconfigs, with proxies |
//! | `counting` | counts requests, and limits how many are in flight |
//! | `pacing` | queues requests where a rate limit is set |
//! | `errors` | sorts failed requests as far as decisions differ |
//! | `one_object` | follows one object by its name |
//! | `secret_reads` | reads Secrets by name |
//! | `writes` | writes objects, with deadlines and preconditions |
//! | `field_manager` | names by which API servers know this program, and its annotations |

pub mod clusters;
pub(crate) mod counting;
pub(crate) mod errors;
pub mod field_manager;
pub mod one_object;
pub(crate) mod pacing;
pub(crate) mod secret_reads;
pub(crate) mod writes;
