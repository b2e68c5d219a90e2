//! The cloud of the tests: the real services, and the parts of the proxy.
//!
//! | module | what it shows |
//! | --- | --- |
//! | `support` | one cloud for all tests, and a plain client of the proxy |
//! | `proxy` | the catalog leads through the proxy; faults, lag and TLS |
//! | `driver` | the driver's own tests in Go against this cloud |

mod driver;
mod proxy;
mod support;
