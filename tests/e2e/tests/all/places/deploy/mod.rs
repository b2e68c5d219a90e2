//! The folder `deploy/`, as a cluster, the host and a builder of images read it.
//!
//! | module | content |
//! | --- | --- |
//! | `server` | the answers of an API server to the manifests, and of the host to its arguments |
//! | `samples` | samples grant what the drivers ask for, are taken by them, and make a Node |
//! | `container` | the container file fits the rest of the tree |

mod container;
mod samples;
mod server;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;

/// The clouds that have samples.
const CLOUDS: [&str; 7] = ["aws", "azure", "gcp", "hcloud", "lxd", "openstack", "sim"];

/// A file or folder of `deploy/`.
fn deploy(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(path)
}

fn text(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("failed to read {}", path.display()))
}

/// The documents of a YAML file.
fn documents(path: &Path) -> Result<Vec<Value>> {
    let text = text(path)?;
    let documents = serde_yaml_ng::Deserializer::from_str(&text).map(Value::deserialize);
    documents.collect::<Result<_, _>>().with_context(|| format!("in {}", path.display()))
}

/// The only document of a YAML file of `deploy/`.
fn document(path: &str) -> Result<Value> {
    let mut documents = documents(&deploy(path))?;
    anyhow::ensure!(documents.len() == 1, "{path} has {} documents", documents.len());
    documents.pop().context("there is one")
}

/// The manifests in a folder of `deploy/`, in the order of their names.
fn manifests(folder: &str) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(deploy(folder)).with_context(|| format!("failed to list {folder}"))?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    files.retain(|file| {
        file.extension().is_some_and(|end| end == "yaml") && !file.ends_with("kustomization.yaml")
    });
    files.sort();
    Ok(files)
}

fn deployment() -> Result<Value> {
    document("deployment/10-deployment.yaml")
}

/// The only container of the Deployment's pods.
fn container(deployment: &Value) -> Value {
    deployment["spec"]["template"]["spec"]["containers"][0].clone()
}

/// The list of texts at this place.
fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
