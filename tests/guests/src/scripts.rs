//! Components of the SDKs for JavaScript and Python, made by the SDKs' own commands.
//!
//! The first build of a language fetches its tools, 75 MB for Python and 400 MB for JavaScript, into the cache of these
//! commands, and takes minutes. Built components are kept in the cache of the tests, by everything that goes into them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// One build at a time: each takes a core and a gigabyte.
static BUILDING: Mutex<()> = Mutex::new(());

/// A language whose components are made by a command of its SDK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Script {
    JavaScript,
    Python,
}

impl Script {
    fn sdk(self) -> &'static str {
        match self {
            Self::JavaScript => "sdk/js",
            Self::Python => "sdk/python",
        }
    }

    /// Endings of the files that a component is made of.
    fn sources(self) -> &'static [&'static str] {
        match self {
            Self::JavaScript => &["js", "ts", "json"],
            Self::Python => &["py", "txt", "json"],
        }
    }

    /// The command that builds the driver in `folder`: in Python, the simulated cloud's in any case.
    fn command(self, root: &Path, folder: &Path, output: &Path) -> Command {
        match self {
            Self::JavaScript => {
                let mut node = Command::new("node");
                node.args(["sdk/js/tools/machinist-js.js", "build"]).arg(folder);
                node.arg("-o").arg(output).current_dir(root);
                node
            }
            Self::Python => {
                let mut python = Command::new("python3");
                python.args(["-m", "machinist_sdk.build", "sim_driver:SimDriver", "-p"]);
                python.args(["sdk/python/examples/driver-sim", "-o"]).arg(output).current_dir(root);
                // Nothing of it belongs into the clone.
                python.env("PYTHONPATH", "sdk/python/src").env("PYTHONDONTWRITEBYTECODE", "1");
                python
            }
        }
    }
}

/// The driver of the simulated cloud in this language.
///
/// Fails when its tools are not there, or do, with what they printed.
pub fn sim_driver(script: Script) -> Result<Vec<u8>> {
    driver(script, &format!("{}/examples/driver-sim", script.sdk()), None)
}

/// The driver in a folder of the repository, with the version of its package unless one is given.
///
/// Fails as [`sim_driver`] does.
pub(crate) fn driver(script: Script, source: &str, version: Option<&str>) -> Result<Vec<u8>> {
    let _building = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    let root = crate::root();
    let folder = crate::folder()?.join("scripts");
    let component = folder.join(format!("{}.wasm", digest(script, &root, source, version)?));
    if !component.is_file() {
        fs::create_dir_all(&folder).with_context(|| format!("failed to make {}", folder.display()))?;
        let draft = component.with_extension("draft");
        let copy = version.map(|version| with_version(&root.join(source), version)).transpose()?;
        let from = copy.as_ref().map_or_else(|| PathBuf::from(source), |copy| copy.path().to_owned());
        let mut command = script.command(&root, &from, &draft);
        let output = command.stdin(Stdio::null()).output();
        let output = output.with_context(|| format!("failed to start {:?}", command.get_program()))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("{:?} failed to build {source}:\n{said}", command.get_program());
        }
        ensure!(draft.is_file(), "{:?} made no component", command.get_program());
        fs::rename(&draft, &component).with_context(|| format!("failed to make {}", component.display()))?;
    }
    fs::read(&component).with_context(|| format!("failed to read {}", component.display()))
}

/// A copy of a package of JavaScript with another version.
fn with_version(source: &Path, version: &str) -> Result<TempDir> {
    let copy = tempfile::tempdir().context("failed to make a folder")?;
    for (path, text) in sources(source, Script::JavaScript.sources())? {
        let place = copy.path().join(path.strip_prefix(source).context("a file of the folder")?);
        fs::create_dir_all(place.parent().context("a file is in a folder")?).context("failed to copy")?;
        fs::write(place, text).context("failed to copy")?;
    }
    let manifest = copy.path().join("package.json");
    let text = fs::read(&manifest).context("the package has no package.json")?;
    let mut package: Value = serde_json::from_slice(&text).context("failed to parse package.json")?;
    package["version"] = version.into();
    fs::write(manifest, package.to_string()).context("failed to write package.json")?;
    Ok(copy)
}

/// Of the sources of the SDK and the driver, and the contract.
fn digest(script: Script, root: &Path, source: &str, version: Option<&str>) -> Result<String> {
    let mut sources = BTreeMap::new();
    for folder in [script.sdk(), source] {
        read(&root.join(folder), script.sources(), &mut sources)?;
    }
    read(&root.join("wit"), &["wit"], &mut sources)?;
    let mut hasher = Sha256::new();
    for part in [source, version.unwrap_or_default()] {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    for (path, text) in &sources {
        for part in [path.strip_prefix(root).unwrap_or(path).as_os_str().as_encoded_bytes(), text] {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
    }
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// All files below a folder with these endings, without tests and packages of others.
pub(crate) fn sources(folder: &Path, kinds: &[&str]) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut sources = BTreeMap::new();
    read(folder, kinds, &mut sources)?;
    Ok(sources)
}

fn read(folder: &Path, kinds: &[&str], sources: &mut BTreeMap<PathBuf, Vec<u8>>) -> Result<()> {
    let failed = || format!("failed to read {}", folder.display());
    for entry in fs::read_dir(folder).with_context(failed)? {
        let entry = entry.with_context(failed)?;
        let (path, kind) = (entry.path(), entry.file_type().with_context(failed)?);
        let name = entry.file_name();
        let is_source =
            |path: &Path| path.extension().is_some_and(|kind| kinds.iter().any(|known| kind == *known));
        if kind.is_dir() {
            if !["node_modules", "test", "tests", "__pycache__"].iter().any(|other| name == *other) {
                read(&path, kinds, sources)?;
            }
        } else if is_source(&path) {
            let text = fs::read(&path).with_context(|| format!("failed to read {}", path.display()))?;
            sources.insert(path, text);
        }
    }
    Ok(())
}
