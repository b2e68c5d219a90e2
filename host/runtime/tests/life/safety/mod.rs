//! VMs without a Machine, and Secrets that a class may not use.

pub(crate) mod orphans;
pub(crate) mod secret_rules;
pub(crate) mod takeover;
