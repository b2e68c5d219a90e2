//! Attacks on the memory of the process. They are in a binary of their own and run one after the other, since each
//! measures the whole memory of the process.
//!
//! | module | content |
//! | --- | --- |
//! | `bombs` | components that kill their compiler, or keep it busy for ever |
//! | `calls` | calls that take memory, each within its own limits |
//! | `fixture` | the plugin host of the sandbox's tests |

#[path = "../sandbox/fixture.rs"]
#[expect(dead_code, reason = "the sandbox's tests have more use for it")]
mod fixture;

mod bombs;
mod calls;

use tokio::sync::{Mutex, MutexGuard};

static ONE: Mutex<()> = Mutex::const_new(());

/// The turn of a test.
async fn alone() -> MutexGuard<'static, ()> {
    ONE.lock().await
}
