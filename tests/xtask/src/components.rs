//! The components of this workspace: drivers, and the components that misbehave in tests.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::paths;
use crate::setup::COMPONENT_TARGET;
use crate::shell::Line;

/// Each folder in these is a crate that becomes a component.
const PARENTS: [&str; 2] = ["plugins", "tests/fixtures"];

/// Builds all of them.
pub(crate) fn build_all() -> Result<()> {
    for package in packages(&paths::root()?)? {
        build(&package)?;
    }
    Ok(())
}

/// Builds one, exactly as the crate `guests` does it for the tests: same folder, same features, nothing is built twice.
///
/// The folder is their own, so that a cargo that runs tests and a cargo that builds a component do not wait for each
/// other's lock.
pub(crate) fn build(package: &str) -> Result<()> {
    let folder = cache::folder()?.join("guests");
    Line::cargo(&[
        "build", "--quiet", "--target", COMPONENT_TARGET, "--profile", "guest", "--package", package,
    ])
    .variable("CARGO_TARGET_DIR", &folder)
    .variable("CARGO_BUILD_BUILD_DIR", &folder)
    .without(&["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"])
    .run()
}

/// The names of their packages.
pub(crate) fn packages(root: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for parent in PARENTS {
        let parent = root.join(parent);
        for entry in fs::read_dir(&parent).with_context(|| format!("failed to list {}", parent.display()))? {
            let manifest = entry?.path().join("Cargo.toml");
            let Ok(text) = fs::read_to_string(&manifest) else { continue };
            names.extend(component_name(&text).map(String::from));
        }
    }
    names.sort();
    Ok(names)
}

/// The package's name, if its library is made for others than Rust.
fn component_name(manifest: &str) -> Option<&str> {
    manifest.lines().find(|line| line.starts_with("crate-type") && line.contains("\"cdylib\""))?;
    let name = manifest.lines().find_map(|line| line.strip_prefix("name = "))?;
    Some(name.trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_is_a_package_with_a_cdylib() {
        let text = "[package]\nname = \"x-driver\"\n\n[lib]\ncrate-type = [\"cdylib\"]\n";
        assert_eq!(component_name(text), Some("x-driver"));
        assert_eq!(component_name("[package]\nname = \"x\"\n"), None);
    }

    #[test]
    fn the_driver_of_the_simulated_cloud_is_among_them() {
        let names = packages(&paths::root().unwrap()).unwrap();
        assert!(names.contains(&"sim-driver".to_owned()), "{names:?}");
    }
}
