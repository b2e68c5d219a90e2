//! What one instance is given: the host's side of a call.

pub(crate) mod hosted;
pub(crate) mod limiter;
pub(crate) mod link;
pub(crate) mod log;
#[expect(unreachable_pub, reason = "the generated bindings re-export the handle")]
pub mod secrets;
pub(crate) mod state;
pub(crate) mod stdio;

pub(crate) use state::{GuestSeed, GuestState};
