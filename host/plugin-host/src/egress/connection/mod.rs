//! From a host name to a checked, open connection.
//!
//! | module | what it does |
//! | --- | --- |
//! | `resolve` | resolves names |
//! | `connect` | dials, and checks each address where it is dialled |
//! | `pool` | keeps connections, for each plugin and address class |
//! | `stream` | one connection, with or without TLS |
//! | `deliver` | sends a request and waits for the head of its answer |

pub(crate) mod connect;
pub(crate) mod deliver;
pub(crate) mod pool;
pub(crate) mod resolve;
pub(crate) mod stream;
