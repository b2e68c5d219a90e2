//! Panics of targets, as texts with their place.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};
use std::sync::Once;

use crate::target::{Target, Verdict};

thread_local! {
    static IS_CHECKING: Cell<bool> = const { Cell::new(false) };
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs the target; a panic is a broken promise.
pub(crate) fn check(target: &Target, input: &[u8]) -> Verdict {
    hook();
    IS_CHECKING.set(true);
    let verdict = catch_unwind(AssertUnwindSafe(|| (target.check)(input)));
    IS_CHECKING.set(false);
    // Also where something between caught it: a task of an executor, for one.
    match (verdict, PANIC.take()) {
        (_, Some(panic)) => Err(panic),
        (Ok(verdict), None) => verdict,
        (Err(_), None) => Err("it panics without a word".to_owned()),
    }
}

/// Keeps panics of targets quiet, and leaves all others as they are.
fn hook() {
    static SET: Once = Once::new();
    SET.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |info| {
            if IS_CHECKING.get() {
                PANIC.set(Some(panic_text(info)));
            } else {
                usual(info);
            }
        }));
    });
}

fn panic_text(info: &PanicHookInfo<'_>) -> String {
    let place = info.location().map(|place| format!(" at {}:{}", place.file(), place.line()));
    let message = info.payload_as_str().unwrap_or("a value");
    format!("it panics{}: {message}", place.unwrap_or_default())
}
