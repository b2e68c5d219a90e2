//! Google Compute Engine for tests, without sockets and without a clock of its own.
//!
//! | module | what it does |
//! | --- | --- |
//! | `discovery` | Google's discovery document: which requests and answers fit |
//! | `wire` | requests, answers, and Google's form of errors |
//! | `cloud` | instances, disks, operations, labels, quotas |
//! | `identity` | tokens for assertions of service accounts, and for external accounts |
//! | `faults` | lost answers, throttling, refusals, half answers |
//! | `server` | the cloud behind HTTP, on threads of its own |
//! | `test_key` | a service account with a key that is made for the run |

pub mod cloud;
pub mod discovery;
pub mod faults;
pub mod identity;
pub mod server;
pub mod test_key;
pub mod wire;

pub use cloud::{Cloud, Config, LiveInstance};
pub use faults::{Effect, Rule};
pub use server::Server;
pub use wire::{Answer, Delivery, Request};
