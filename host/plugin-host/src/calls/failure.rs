//! Why a call ended without an answer, by type and in this order: what the host itself raised, limits of the engine,
//! traps.

use std::collections::BTreeSet;

use machinist_core::driver::error::{GuestFailure, Limit};
use wasmtime::component::ResourceTableError;
use wasmtime::{Error, FrameInfo, PoolConcurrencyLimitError, Trap, WasmBacktrace};

use crate::calls::guest::limiter::Exceeded;
use crate::calls::limits::Limits;

/// The call has used up its processor time. Raised by the epoch callback.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the processor time of the call is used up")]
pub(crate) struct OutOfCpu;

/// The meaning of an engine's error.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CallFailure {
    Broken(GuestFailure),
    /// The pool is full: the host's business, not the plugin's.
    NoRoom,
}

/// Two conditions that the engine reports as text only. Tests with a component that causes them notice when a newer
/// engine words them differently.
const COPIED_TOO_MUCH: &str = "fuel allocated for hostcalls has been exhausted";
const TOO_MANY_HANDLES: &str = "store handle limit exceeded";

/// `output` is the end of what the component printed, without secrets: it is cut here.
pub(crate) fn classify(error: &Error, output: &str, limits: &Limits) -> CallFailure {
    if error.is::<PoolConcurrencyLimitError>() {
        return CallFailure::NoRoom;
    }
    CallFailure::Broken(match limit_hit(error, limits) {
        Some((limit, detail)) => GuestFailure::Limit { limit, detail },
        None => GuestFailure::Trap { detail: with_output(&cause(error), output) },
    })
}

/// The call's time on the wall is over.
pub(crate) fn past_deadline(allowed: std::time::Duration) -> GuestFailure {
    GuestFailure::Limit { limit: Limit::Deadline, detail: format!("{} ms", allowed.as_millis()) }
}

fn limit_hit(error: &Error, limits: &Limits) -> Option<(Limit, String)> {
    if error.is::<OutOfCpu>() {
        return Some((Limit::CpuTime, format!("{} ms", limits.cpu.as_millis())));
    }
    if let Some(exceeded) = error.downcast_ref::<Exceeded>() {
        return Some(match *exceeded {
            Exceeded::Memory { limit_bytes } => (Limit::Memory, format!("{} MiB", limit_bytes >> 20)),
            Exceeded::Tables { limit } => (Limit::Tables, format!("{limit} elements")),
            Exceeded::Budget(full) => (Limit::MemoryBudget, full.to_string()),
        });
    }
    let handles = || (Limit::Handles, format!("{} at the same time", limits.handles));
    if let Some(ResourceTableError::Full) = error.downcast_ref::<ResourceTableError>() {
        return Some(handles());
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => return Some((Limit::Fuel, "all of it".to_owned())),
        Some(Trap::StackOverflow) => return Some((Limit::Stack, "512 KiB".to_owned())),
        Some(Trap::MemoryOutOfBounds) if is_recursion(error) => {
            return Some((Limit::Stack, "what the component set aside in its memory".to_owned()));
        }
        // Only the epoch callback interrupts, and it says why; without it this is the same limit.
        Some(Trap::Interrupt) => return Some((Limit::CpuTime, format!("{} ms", limits.cpu.as_millis()))),
        Some(_) | None => {}
    }
    let text = error.root_cause().to_string();
    if text.contains(COPIED_TOO_MUCH) {
        return Some((Limit::CopiedBytes, format!("{} KiB at once", limits.copied_bytes >> 10)));
    }
    text.contains(TOO_MANY_HANDLES).then(handles)
}

/// C, Rust and Go keep a second stack in linear memory, which often ends first; the engine sees a wrong access. Then
/// the backtrace is full of the few functions that call each other.
fn is_recursion(error: &Error) -> bool {
    const DEEP: usize = 20;
    const FEW: usize = 5;
    let Some(backtrace) = error.downcast_ref::<WasmBacktrace>() else { return false };
    let functions: BTreeSet<u32> = backtrace.frames().iter().map(FrameInfo::func_index).collect();
    backtrace.frames().len() >= DEEP && functions.len() <= FEW
}

fn cause(error: &Error) -> String {
    match error.downcast_ref::<wasmtime_wasi::I32Exit>() {
        Some(exit) => format!("it exited with status {}", exit.0),
        None => error.root_cause().to_string(),
    }
}

/// Adds the output of the driver: it has the panic's message, which is nowhere else.
fn with_output(cause: &str, output: &str) -> String {
    const MOST_CHARACTERS: usize = 1_000;
    if output.is_empty() {
        return cause.to_owned();
    }
    let skipped = output.chars().count().saturating_sub(MOST_CHARACTERS);
    let end: String = output.chars().skip(skipped).collect();
    format!("{cause}; it printed: {end}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::budget::Full;

    fn broken(error: impl Into<Error>) -> GuestFailure {
        match classify(&error.into(), "", &Limits::default()) {
            CallFailure::Broken(failure) => failure,
            CallFailure::NoRoom => panic!("the pool has room"),
        }
    }

    fn limit(error: impl Into<Error>) -> Option<Limit> {
        match broken(error) {
            GuestFailure::Limit { limit, .. } => Some(limit),
            GuestFailure::Trap { .. } | GuestFailure::Contract { .. } | GuestFailure::CutOff { .. } => None,
        }
    }

    #[test]
    fn every_limit_is_named() {
        assert_eq!(limit(OutOfCpu), Some(Limit::CpuTime));
        assert_eq!(limit(Exceeded::Memory { limit_bytes: 1 }), Some(Limit::Memory));
        assert_eq!(limit(Exceeded::Tables { limit: 1 }), Some(Limit::Tables));
        let full = Full { total_bytes: 2 << 20, taken_bytes: 1 << 20 };
        assert_eq!(limit(Exceeded::Budget(full)), Some(Limit::MemoryBudget));
        assert_eq!(limit(ResourceTableError::Full), Some(Limit::Handles));
        assert_eq!(limit(Trap::StackOverflow), Some(Limit::Stack));
        assert_eq!(limit(Trap::Interrupt), Some(Limit::CpuTime));
        assert_eq!(limit(Trap::OutOfFuel), Some(Limit::Fuel));
    }

    #[test]
    fn the_cause_wins_over_what_wraps_it() {
        let wrapped = Error::from(OutOfCpu).context("error while executing at wasm backtrace");
        assert_eq!(limit(wrapped), Some(Limit::CpuTime));
    }

    #[test]
    fn a_trap_shows_what_the_component_printed() {
        let failure =
            classify(&Trap::UnreachableCodeReached.into(), "panicked at lib.rs:1", &Limits::default());
        let CallFailure::Broken(GuestFailure::Trap { detail }) = failure else { panic!("{failure:?}") };
        assert_eq!(
            detail,
            "wasm trap: wasm `unreachable` instruction executed; it printed: panicked at lib.rs:1"
        );
    }
}
