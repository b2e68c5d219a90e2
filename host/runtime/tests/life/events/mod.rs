//! Events of hosts on an API server. `writing` tests their time, order and API group.

pub(crate) mod writing;
