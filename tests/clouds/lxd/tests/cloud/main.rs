//! The LXD of the tests, and the driver on it.
//!
//! | module | content |
//! | --- | --- |
//! | `boot` | a container boots, runs its user data and reaches a port of this machine |
//! | `client` | LXD's own client sees what the driver's requests made |
//! | `texts` | LXD's errors are those of the driver's table |
//! | `faults` | lost, late and broken answers; reads that are late |
//! | `driver` | the driver in TypeScript: one instance, none left, whatever is lost |
//! | `end` | nothing is left of an LXD, even if its test is killed |

mod boot;
mod client;
mod driver;
mod end;
mod faults;
mod texts;

/// An LXD takes memory, disk and a core: one at a time.
static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// The facts that an instance needs beside its name.
fn body(name: &str, image: &str, config: &serde_json::Value) -> serde_json::Value {
    serde_json::json!({ "name": name, "source": { "type": "image", "alias": image }, "config": config })
}

fn start() -> serde_json::Value {
    serde_json::json!({ "action": "start" })
}
