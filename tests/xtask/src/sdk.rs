//! The tests of the SDKs that are not written in Rust, in their own languages. They need no WebAssembly and no network.

use anyhow::Result;

use crate::paths;
use crate::shell::Line;

/// Packages of Python, below `sdk/python`: each with its tests in `tests`, and where its sources are.
const PYTHON: [(&str, &str); 3] =
    [("", "src:."), ("examples/driver-sim", "../../src:."), ("examples/policy-zone", "../../src:.")];

/// Runs all of them.
pub(crate) fn test_all() -> Result<()> {
    let sdks = paths::root()?.join("sdk");
    Line::new("go").with(&["test", "./..."]).in_folder(sdks.join("go")).run()?;
    let root = sdks.join("python");
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
