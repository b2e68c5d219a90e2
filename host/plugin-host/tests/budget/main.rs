//! Attacks on the memory of the process. They are apart from the others, and one after the other, since each looks at
//! all the memory that the process has.

#[path = "../sandbox/world.rs"]
#[expect(dead_code, reason = "the sandbox's tests have more use for it")]
mod world;

mod bombs;
mod calls;

use tokio::sync::{Mutex, MutexGuard};

static ONE: Mutex<()> = Mutex::const_new(());

/// The turn of a test.
async fn alone() -> MutexGuard<'static, ()> {
    ONE.lock().await
}
