//! The tests of the drivers that are not written in Rust, in their own languages. They need no WebAssembly.

use anyhow::Result;

use crate::shell::Line;
use crate::{paths, setup};

/// Programs of Go, below `plugins`.
const GO: [&str; 2] = ["hcloud", "openstack"];
/// Packages of TypeScript, by folder.
const TYPESCRIPT: [&str; 1] = ["plugins/lxd"];

/// Runs all of them. Tests that need a cloud are left to the tests of that cloud.
pub(crate) fn test_all() -> Result<()> {
    setup::check_for_javascript()?;
    let plugins = paths::root()?.join("plugins");
    for driver in GO {
        for command in ["vet", "test"] {
            Line::new("go").with(&[command, "./..."]).in_folder(plugins.join(driver)).run()?;
        }
    }
    for driver in TYPESCRIPT {
        for command in ["check", "test"] {
            Line::new("node").with(&["sdk/js/tools/machinist-js.js", command, driver]).run()?;
        }
    }
    Ok(())
}
