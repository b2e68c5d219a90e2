//! EC2 for tests.
//!
//! The cloud itself is [moto](https://docs.getmoto.org), a program of others, as a child process. In front of it stands a
//! proxy in this process that adds what moto lacks: signatures that are verified, ClientTokens, throttling, capacity
//! errors, lost answers, reads that lag behind, STS. `API.md` beside this crate says which is whose.

mod accounts;
mod answer;
mod cache;
mod cloud;
mod faults;
mod fixture;
mod form;
mod gate;
mod instance;
mod journal;
mod ledger;
pub mod moto;
mod options;
mod proxy;
mod sigv4;
mod sts;
mod xml;

pub use accounts::{Credentials, IdentityToken};
pub use cloud::Ec2;
pub use faults::{Effect, Faults, Rule};
pub use fixture::Fixture;
pub use instance::Instance;
pub use journal::{Entry, Stats};
pub use ledger::{CLUSTER_TAG, Lag, UID_TAG};
pub use options::Options;
