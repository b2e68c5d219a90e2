//! Files of the repository that are made from code. Tests of the crates that make them fail when they are stale.

use anyhow::{Context, Result};

use crate::shell::Line;

/// What is made, and by which binary.
struct Generated {
    files: &'static str,
    package: &'static str,
    binary: &'static str,
}

const ALL: [Generated; 1] =
    [Generated { files: "deploy/crds", package: "machinist-api", binary: "generate-crds" }];

/// Makes all of them anew.
pub(crate) fn run() -> Result<()> {
    for Generated { files, package, binary } in ALL {
        Line::cargo(&["run", "--quiet", "--package", package, "--bin", binary])
            .run()
            .with_context(|| format!("failed to generate {files}"))?;
    }
    Ok(())
}
