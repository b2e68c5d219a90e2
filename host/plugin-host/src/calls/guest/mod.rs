//! The host's side of one instance.
//!
//! | module | what it does |
//! | --- | --- |
//! | `state` | the data of one store: everything that a call can reach |
//! | `hosted` | log, settings and deadline; links all that a driver may import |
//! | `secrets` | handles that a driver holds instead of values |
//! | `log` | log lines: bounded, without secrets |
//! | `limiter` | limits memory and tables |
//! | `stdio` | keeps the last bytes of stdout and stderr |

pub(crate) mod hosted;
pub(crate) mod limiter;
pub(crate) mod log;
#[expect(unreachable_pub, reason = "the generated bindings re-export the handle")]
pub(crate) mod secrets;
pub(crate) mod state;
pub(crate) mod stdio;

pub(crate) use state::{GuestSeed, GuestState};
