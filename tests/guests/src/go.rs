//! Components of Go programs of the SDK for Go.
//!
//! Compiling one takes half a minute on a machine that has never done it. So what was made is kept, by everything that
//! goes into it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};

const SDK: &str = "sdk/go";

/// One build at a time: the compiler alone uses all cores.
static BUILDING: Mutex<()> = Mutex::new(());

/// The component of the program in `folder` below `sdk/go`.
///
/// Fails when the Go compiler does, or is not there.
pub fn go_bytes(folder: &str) -> Result<Vec<u8>> {
    program(&format!("{SDK}/{folder}"), None)
}

/// The component of the program in a folder of the repository, with the version of its source unless one is given.
///
/// Fails as [`go_bytes`] does.
pub(crate) fn program(folder: &str, version: Option<&str>) -> Result<Vec<u8>> {
    let _building = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    let root = crate::root();
    let component = cache::folder()?.join("go").join(format!("{}.wasm", digest(&root, folder, version)?));
    if !component.is_file() {
        go_component::Build {
            folder: root.join(folder),
            component: component.clone(),
            version: version.map(str::to_owned),
            go: "go".into(),
        }
        .run()
        .with_context(|| format!("failed to build {folder}"))?;
    }
    fs::read(&component).with_context(|| format!("failed to read {}", component.display()))
}

/// Of the compiler, the sources, and what makes a component of its module.
fn digest(root: &Path, folder: &str, built_as: Option<&str>) -> Result<String> {
    let version = Command::new("go").args(["env", "GOVERSION"]).output();
    let version = version.context("failed to start go: install it from https://go.dev/dl/")?;
    ensure!(version.status.success(), "go env failed: {}", String::from_utf8_lossy(&version.stderr));
    let mut sources = BTreeMap::new();
    for part in [SDK, "wit", folder] {
        read(&root.join(part), &mut sources)?;
    }
    let mut hasher = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hasher.update((bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    part(folder.as_bytes());
    part(built_as.unwrap_or_default().as_bytes());
    part(&version.stdout);
    for (path, text) in &sources {
        let path = path.strip_prefix(root).unwrap_or(path);
        part(path.as_os_str().as_encoded_bytes());
        part(text);
    }
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

fn read(folder: &Path, sources: &mut BTreeMap<PathBuf, Vec<u8>>) -> Result<()> {
    let failed = || format!("failed to read {}", folder.display());
    for entry in fs::read_dir(folder).with_context(failed)? {
        let entry = entry.with_context(failed)?;
        let (path, kind) = (entry.path(), entry.file_type().with_context(failed)?);
        if kind.is_dir() {
            read(&path, sources)?;
        } else if is_source(&path) {
            let text = fs::read(&path).with_context(|| format!("failed to read {}", path.display()))?;
            sources.insert(path, text);
        }
    }
    Ok(())
}

/// Neither tests nor texts go into a component.
fn is_source(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let kinds = ["go", "mod", "sum", "json", "rs", "toml", "wit"];
    !name.ends_with("_test.go")
        && path.extension().is_some_and(|kind| kinds.iter().any(|known| kind == *known))
}
