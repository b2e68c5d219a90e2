//! A Machine of machine-controller-manager's kind.
//!
//! | module | what it does |
//! | --- | --- |
//! | `gather` | reads its objects |
//! | `chain` | facts to an explanation |
//! | `next` | the next step, and its latest time |

mod chain;
mod gather;
mod next;

pub(super) use chain::explain;
pub(super) use gather::gather;
