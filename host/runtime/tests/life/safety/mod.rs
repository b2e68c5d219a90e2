//! VMs without a Machine, and Secrets that a class may not use.
//!
//! | module | what it tests |
//! | --- | --- |
//! | `orphans` | VMs without a Machine, deleted after several sightings |
//! | `secret_rules` | classes that name Secrets which they may not use |
//! | `takeover` | a control plane whose VMs another program has created, with adoption and without |

pub(crate) mod orphans;
pub(crate) mod secret_rules;
pub(crate) mod takeover;
