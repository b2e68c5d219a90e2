//! EC2 for tests.
//!
//! The cloud is [moto](https://docs.getmoto.org), a third-party program, as a child process. In front of it is a proxy
//! in this process that adds what moto lacks: signatures that are verified, ClientTokens, throttling, capacity errors,
//! lost answers, reads that lag behind, STS. `API.md` beside this crate says which part has which function.
//!
//! | module | what it does |
//! | --- | --- |
//! | `cloud` | EC2 as tests start and query it |
//! | `options` | how an EC2 is started |
//! | `moto` | installs moto privately, runs it as a child process, and calls it directly |
//! | `proxy` | checks and changes each request before moto sees it, and each answer |
//! | `answer` | answers as EC2 and STS word them |
//! | `form` | form-encoded requests of the query API |
//! | `xml` | reads answers, and changes places in them without touching the rest |
//! | `instance` | an instance as moto describes it |
//! | `fixture` | objects that a cluster needs before its first instance |

mod answer;
mod cloud;
mod fixture;
mod form;
mod instance;
pub mod moto;
mod options;
mod proxy;
mod xml;

pub use cloud::Ec2;
pub use fixture::Fixture;
pub use instance::Instance;
pub use moto::accounts::{Credentials, IdentityToken};
pub use options::Options;
pub use proxy::faults::{Effect, Faults, Rule};
pub use proxy::journal::{Entry, Stats};
pub use proxy::ledger::{CLUSTER_TAG, Lag, UID_TAG};
