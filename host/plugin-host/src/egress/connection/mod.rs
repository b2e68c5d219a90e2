//! From a host name to a checked, open connection.

pub(crate) mod connect;
pub(crate) mod deliver;
pub(crate) mod denied;
pub(crate) mod pool;
pub(crate) mod resolve;
pub(crate) mod stream;
