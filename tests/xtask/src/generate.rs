//! Files of the repository that are made from code. Tests of the crates that make them fail when they are stale.

use anyhow::{Context, Result};

use crate::shell::Line;

/// The generated files, and the binary of each.
struct Generated {
    files: &'static str,
    package: &'static str,
    binary: &'static str,
    arguments: &'static [&'static str],
}

const ALL: [Generated; 4] = [
    // First: the host contains it.
    Generated {
        files: "host/autoscaler/src/generated",
        package: "autoscaler-proto",
        binary: "autoscaler-proto",
        arguments: &[],
    },
    Generated {
        files: "deploy/crds, deploy/clusterctl/crds",
        package: "machinist-api",
        binary: "generate-crds",
        arguments: &[],
    },
    Generated {
        files: "deploy/reference",
        package: "machinist",
        binary: "machinist",
        arguments: &["reference", "deploy/reference"],
    },
    // Last: it reads the definitions.
    Generated {
        files: "deploy/clusterctl/infrastructure-machinist",
        package: "cluster-api",
        binary: "cluster-api",
        arguments: &["components", "deploy"],
    },
];

/// Generates all of them again.
pub(crate) fn run() -> Result<()> {
    for Generated { files, package, binary, arguments } in ALL {
        let run = ["run", "--quiet", "--package", package, "--bin", binary, "--"];
        Line::cargo(&[&run[..], arguments].concat())
            .run()
            .with_context(|| format!("failed to generate {files}"))?;
    }
    Ok(())
}
