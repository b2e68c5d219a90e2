//! Components of projects as `machinist driver new` makes them, made by `machinist driver build`.
//!
//! Built components are kept in the cache of the tests, by everything that goes into them.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use machinist_author::build::build;
use machinist_author::language::Language;
use machinist_author::sdk::Sdk;
use machinist_author::template::{File, files, write};
use sha2::{Digest, Sha256};

use crate::scripts::sources;

/// One build at a time: each takes a core and a gigabyte.
static BUILDING: Mutex<()> = Mutex::new(());

/// The component of a new project in this language, and its `conformance.yaml`. Nothing of it was edited.
///
/// Fails when the language's tools are not there, or do.
pub fn new_project(language: Language) -> Result<(Vec<u8>, String)> {
    let _building = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().context("no checkout")?;
    let sdk = Sdk::checkout(&root, language)?;
    let all = files(language, &"my-cloud".parse()?, &"MyCloud".parse()?, &sdk);
    let profile =
        all.iter().find(|file| file.path == "conformance.yaml").context("a project has a profile")?;
    let folder = crate::folder()?.join("projects");
    let component = folder.join(format!("{}.wasm", digest(language, &root, &all)?));
    if !component.is_file() {
        fs::create_dir_all(&folder).with_context(|| format!("failed to make {}", folder.display()))?;
        let place = tempfile::tempdir().context("failed to make a folder")?;
        let project = place.path().join("my-cloud");
        write(&project, &all)?;
        if language == Language::JavaScript {
            installed(&project, &root)?;
        }
        let draft = component.with_extension("draft");
        build(&project, Some(&draft))
            .with_context(|| format!("failed to build a new project in {language}"))?;
        fs::rename(&draft, &component).with_context(|| format!("failed to make {}", component.display()))?;
    }
    let bytes = fs::read(&component).with_context(|| format!("failed to read {}", component.display()))?;
    Ok((bytes, profile.text.clone()))
}

/// As `npm install` treats a package that is a folder.
fn installed(project: &Path, root: &Path) -> Result<()> {
    let packages = project.join("node_modules");
    fs::create_dir(&packages).context("failed to make node_modules")?;
    let (sdk, link) = (root.join("sdk/js"), packages.join("machinist-sdk"));
    std::os::unix::fs::symlink(sdk, link).context("failed to link the SDK")
}

/// Of the project, the SDK, and the contract.
fn digest(language: Language, root: &Path, project: &[File]) -> Result<String> {
    let kinds = ["go", "mod", "rs", "toml", "js", "ts", "py", "txt", "json", "wit"];
    let mut hasher = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hasher.update((bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    for file in project {
        part(file.path.as_bytes());
        part(file.text.as_bytes());
    }
    for folder in [root.join("sdk").join(language.word()), root.join("wit")] {
        for (path, text) in sources(&folder, &kinds)? {
            part(path.strip_prefix(root).unwrap_or(&path).as_os_str().as_encoded_bytes());
            part(&text);
        }
    }
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
