//! Tests of the driver against the cloud of `tests/clouds/gcp`, in this process.
//!
//! | module | what it tests |
//! | --- | --- |
//! | `grants` | the shipped grants are those that the driver needs |
//! | `harness` | a cloud, a clock, and the functions that tests use |
//! | `classes` | classes that the driver accepts and refuses; fixtures of real-looking ones |
//! | `bodies` | the body of a new instance |
//! | `creation` | from a request to exactly one instance |
//! | `zones` | zones that a create tries one after the other |
//! | `life` | the state of a machine, its deletion, listings |
//! | `takeover` | instances of machine-controller-manager |
//! | `failures` | Google's errors, half answers, credentials |
//! | `crashes` | a request or an answer is lost at each moment of a life |
//! | `properties` | classes of any shape |
//! | `functions` | functions without network |

mod bodies;
mod classes;
mod crashes;
mod creation;
mod failures;
mod functions;
mod grants;
mod harness;
mod life;
mod properties;
mod takeover;
mod zones;
