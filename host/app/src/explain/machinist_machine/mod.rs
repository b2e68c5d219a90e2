//! A MachinistMachine: one VM of a Machine of Cluster API.
//!
//! | module | what it does |
//! | --- | --- |
//! | `gather` | reads its objects |
//! | `credentials` | which credentials it has, and whether it may use them |
//! | `chain` | facts to an explanation |
//! | `owner` | what Cluster API's core does with its Machine |
//! | `remediation` | what its remediation has done, and what follows |
//! | `next` | the next steps |
//! | `reasons` | the next step for each reason of condition Ready |

mod chain;
mod credentials;
mod gather;
mod next;
mod owner;
mod reasons;
mod remediation;

#[cfg(test)]
mod tests;

pub(super) use chain::explain;
pub(super) use gather::gather;
