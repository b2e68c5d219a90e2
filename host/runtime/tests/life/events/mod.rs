//! Events of hosts on an API server.

pub(crate) mod writing;
