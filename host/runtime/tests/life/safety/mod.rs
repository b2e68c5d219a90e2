//! VMs that no Machine answers for, and Secrets that a class may not use.

pub(crate) mod orphans;
pub(crate) mod secret_rules;
pub(crate) mod takeover;
