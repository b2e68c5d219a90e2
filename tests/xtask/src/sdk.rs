//! The tests of the SDKs that are not written in Rust, in their own languages. They need no WebAssembly.

use std::path::Path;

use anyhow::Result;

use crate::shell::Line;
use crate::{paths, setup};

/// Packages of Python, below `sdk/python`: each with its tests in `tests`, and where its sources are.
const PYTHON: [(&str, &str); 3] =
    [("", "src:."), ("examples/driver-sim", "../../src:."), ("examples/policy-zone", "../../src:.")];
/// Projects in JavaScript and TypeScript, below `sdk/js`.
const JAVASCRIPT: [&str; 2] = ["examples/driver-sim", "examples/policy-zone"];

/// Runs all of them.
pub(crate) fn test_all() -> Result<()> {
    setup::check_for_javascript()?;
    let sdks = paths::root()?.join("sdk");
    Line::new("go").with(&["test", "./..."]).in_folder(sdks.join("go")).run()?;
    test_python(&sdks.join("python"))?;
    test_javascript(&sdks.join("js"))
}

fn test_python(root: &Path) -> Result<()> {
    for (folder, sources) in PYTHON {
        Line::new("python3")
            .with(&["-m", "unittest", "discover", "--quiet", "-t", ".", "-s", "tests"])
            .variable("PYTHONPATH", sources)
            // Nothing of it belongs into the clone.
            .variable("PYTHONDONTWRITEBYTECODE", "1")
            .in_folder(root.join(folder))
            .run()?;
    }
    Ok(())
}

/// The first time this brings esbuild and TypeScript, 40 MB, into the cache folder.
fn test_javascript(root: &Path) -> Result<()> {
    Line::new("npm").with(&["test", "--silent"]).in_folder(root).run()?;
    for project in JAVASCRIPT {
        for command in ["test", "check"] {
            Line::new("node").with(&["tools/machinist-js.js", command, project]).in_folder(root).run()?;
        }
    }
    Ok(())
}
