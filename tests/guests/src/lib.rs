//! Builds components of this workspace for tests, once a process.
//!
//! They are built in a folder of their own outside the clone. A `cargo test` that is running, or about to run, holds
//! the lock of its own build folder; a second cargo in the same folder would wait for it.
//!
//! | module | what it does |
//! | --- | --- |
//! | `driver` | a driver of this repository, whatever its language |
//! | `go` | components of Go programs of the SDK for Go |
//! | `projects` | components of projects that `machinist driver new` makes |
//! | `scripts` | components of the SDKs for JavaScript and Python, by the SDKs' own commands |

mod driver;
mod go;
mod projects;
mod scripts;

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail, ensure};

pub use driver::Driver;
pub use go::go_bytes;
pub use projects::new_project;
pub use scripts::{Script, sim_driver};

const TARGET: &str = "wasm32-wasip2";
const PROFILE: &str = "guest";

static BUILT: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());

/// The component of the package `package`, built when this process asks for it first.
///
/// Fails when cargo fails, with what cargo printed.
pub fn component(package: &str) -> Result<PathBuf> {
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(path) = built.get(package) {
        return Ok(path.clone());
    }
    let path = build(package, &[])?;
    built.insert(package.to_owned(), path.clone());
    Ok(path)
}

/// The bytes of [`component`].
pub fn bytes(package: &str) -> Result<Vec<u8>> {
    let path = component(package)?;
    std::fs::read(&path).with_context(|| format!("failed to read {}", path.display()))
}

/// The hostile driver, and the instruction in it that no tool chain has a word for: it can grow its table of functions.
pub fn hostile() -> Result<Vec<u8>> {
    /// `local.get 0; i32.const 0x1ab1e5; i32.xor; memory.grow 0`, as the function `marked` of the driver is compiled.
    const MARKED: [u8; 10] = [0x20, 0, 0x41, 0xe5, 0xe3, 0xea, 0, 0x73, 0x40, 0];
    /// `nop; nop; nop; ref.null func; local.get 0; table.grow 0`.
    const GROWS: [u8; 10] = [1, 1, 1, 0xd0, 0x70, 0x20, 0, 0xfc, 0x0f, 0];
    let component = bytes("hostile-driver")?;
    let parts: Vec<&[u8]> = split(&component, &MARKED);
    ensure!(parts.len() == 2, "the mark of the hostile driver stands in {} places", parts.len() - 1);
    Ok(parts.join(&GROWS[..]))
}

fn split<'a>(mut bytes: &'a [u8], mark: &[u8]) -> Vec<&'a [u8]> {
    let mut parts = Vec::new();
    while let Some(place) = bytes.windows(mark.len()).position(|window| window == mark) {
        let (part, rest) = bytes.split_at(place);
        parts.push(part);
        bytes = rest.get(mark.len()..).unwrap_or_default();
    }
    parts.push(bytes);
    parts
}

/// The bytes of `package` built with an environment variable set, for components of which several versions are needed.
///
/// Fails as [`component`] does.
pub fn bytes_with(package: &str, variable: &str, value: &str) -> Result<Vec<u8>> {
    // One build at a time, and read before the next one takes the file's place.
    let _built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    let path = build(package, &[(variable, value)])?;
    std::fs::read(&path).with_context(|| format!("failed to read {}", path.display()))
}

/// Where the components are built: `guests` in `$MACHINIST_CACHE`, else in `$XDG_CACHE_HOME/machinist`, else in
/// `~/.cache/machinist`.
pub fn folder() -> Result<PathBuf> {
    Ok(cache::folder()?.join("guests"))
}

/// The folder of the repository, where cargo runs.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn build(package: &str, variables: &[(&str, &str)]) -> Result<PathBuf> {
    let folder = folder()?;
    let output = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--quiet", "--target", TARGET, "--profile", PROFILE, "--package", package])
        .current_dir(root())
        .env("CARGO_TARGET_DIR", &folder)
        .env("CARGO_BUILD_BUILD_DIR", &folder)
        .envs(variables.iter().copied())
        // The flags of the outer cargo (and wrappers of clippy) are not meant for a component.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("RUSTC_WRAPPER")
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .stdin(Stdio::null())
        .output()
        .context("failed to start cargo")?;
    if !output.status.success() {
        bail!("cargo failed to build {package}:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    let file = format!("{}.wasm", package.replace('-', "_"));
    let path = folder.join(TARGET).join(PROFILE).join(file);
    ensure!(path.is_file(), "cargo built {package}, but {} is not there", path.display());
    Ok(path)
}
