//! Samples from the files of this repository.

use std::path::{Path, PathBuf};

/// The folder of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The bytes of one file.
pub(crate) fn file(path: &str) -> Vec<u8> {
    let path = root().join(path);
    std::fs::read(&path).unwrap_or_else(|error| panic!("no sample {}: {error}", path.display()))
}

/// The files of a folder whose names end so, in the order of their names.
pub(crate) fn folder(path: &str, end: &str) -> Vec<Vec<u8>> {
    let path = root().join(path);
    let entries =
        std::fs::read_dir(&path).unwrap_or_else(|error| panic!("no folder {}: {error}", path.display()));
    let mut names: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    names.retain(|name| name.to_string_lossy().ends_with(end));
    names.sort();
    let files: Vec<Vec<u8>> = names.iter().filter_map(|name| std::fs::read(name).ok()).collect();
    assert!(!files.is_empty(), "no sample *{end} in {}", path.display());
    files
}

/// The recorded calls of the drivers here.
pub(crate) fn recordings() -> Vec<Vec<u8>> {
    [folder("plugins/aws/recordings", ".json"), folder("plugins/sim/recordings", ".json")].concat()
}

/// The documents of a YAML file as JSON.
pub(crate) fn documents(path: &str) -> Vec<serde_json::Value> {
    use serde::Deserialize as _;
    let text = file(path);
    let documents = serde_yaml_ng::Deserializer::from_slice(&text);
    documents.filter_map(|document| serde_json::Value::deserialize(document).ok()).collect()
}

pub(crate) fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}
