//! Processes: several, killed, cut off, slow.
//!
//! | module | what it tests |
//! | --- | --- |
//! | `starts` | the time from the start of a process until it works, also when first requests fail |
//! | `controllers` | hosts that run some of the controllers |
//! | `leaders` | two hosts, of which one leads |
//! | `crashes` | hosts that crash between any two requests, and the next one, which continues |
//! | `faults` | servers and connections that fail |
//! | `freeze` | API servers that are unreachable, and operators who request a freeze |
//! | `intervals` | intervals of zero and of milliseconds: no loop runs without a pause |
//! | `many_machines` | hundreds of Machines at a time |
//! | `mcm_crds` | Machines under machine-controller-manager's own CRDs, which drop `status.machinist` |
//! | `repeatable` | the same beginning leads to the same requests at the same times |
//! | `conformance` | the API server in memory follows the rules of a real one |

pub(crate) mod conformance;
pub(crate) mod controllers;
pub(crate) mod crashes;
pub(crate) mod faults;
pub(crate) mod freeze;
pub(crate) mod intervals;
pub(crate) mod leaders;
pub(crate) mod many_machines;
pub(crate) mod mcm_crds;
pub(crate) mod repeatable;
pub(crate) mod starts;
