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
use sha2::{Digest, Sha256};

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

    fn command(self, root: &Path, output: &Path) -> Command {
        match self {
            Self::JavaScript => {
                let mut node = Command::new("node");
                node.args(["sdk/js/tools/machinist-js.js", "build", "sdk/js/examples/driver-sim", "-o"]);
                node.arg(output).current_dir(root);
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
    let _building = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = crate::folder()?.join("scripts");
    let component = folder.join(format!("{}.wasm", digest(script, &root)?));
    if !component.is_file() {
        fs::create_dir_all(&folder).with_context(|| format!("failed to make {}", folder.display()))?;
        let draft = component.with_extension("draft");
        let mut command = script.command(&root, &draft);
        let output = command.stdin(Stdio::null()).output();
        let output = output.with_context(|| format!("failed to start {:?}", command.get_program()))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("{:?} failed to build the driver of {}:\n{said}", command.get_program(), script.sdk());
        }
        ensure!(draft.is_file(), "{:?} made no component", command.get_program());
        fs::rename(&draft, &component).with_context(|| format!("failed to make {}", component.display()))?;
    }
    fs::read(&component).with_context(|| format!("failed to read {}", component.display()))
}

/// Of the sources of the SDK, its example, and the contract.
fn digest(script: Script, root: &Path) -> Result<String> {
    let mut sources = BTreeMap::new();
    read(&root.join(script.sdk()), script.sources(), &mut sources)?;
    read(&root.join("wit"), &["wit"], &mut sources)?;
    let mut hasher = Sha256::new();
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
