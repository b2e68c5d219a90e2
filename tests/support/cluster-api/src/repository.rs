//! The repository that `clusterctl` installs Machinist from, in `deploy/clusterctl/infrastructure-machinist`.
//!
//! All but `infrastructure-components.yaml` is written by hand there. This file holds what the kustomizations of
//! `deploy` hold, and what is beside them for Cluster API, as `clusterctl` wants it: one namespace, and a container
//! `manager` with `--namespace`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};

const HEADER: &str = "# Code generated from deploy/ by `cargo xtask generate`. DO NOT EDIT.\n";
/// Folders of `deploy`, in the order in which a cluster needs them.
const FOLDERS: [&str; 8] = [
    "crds", "clusterctl/crds", "rbac", "clusterctl/rbac", "flowcontrol", "policies", "clusterctl/policies",
    "deployment",
];

/// The version in the path, which is that of the workspace.
pub const VERSION: &str = concat!("v", env!("CARGO_PKG_VERSION"));

/// The folder of the repository that a configuration of `clusterctl` names, below `deploy`.
pub fn repository(deploy: &Path) -> PathBuf {
    deploy.join("clusterctl/infrastructure-machinist").join(VERSION)
}

/// The text of `infrastructure-components.yaml`.
pub fn components(deploy: &Path) -> Result<String> {
    let mut text = HEADER.to_owned();
    for folder in FOLDERS {
        for file in files(&deploy.join(folder))? {
            let content =
                fs::read_to_string(&file).with_context(|| format!("failed to read {}", file.display()))?;
            for document in serde_yaml_ng::Deserializer::from_str(&content) {
                let object =
                    Value::deserialize(document).with_context(|| format!("{} is no YAML", file.display()))?;
                if object.is_null() || object["kind"] == "Kustomization" {
                    continue;
                }
                text.push_str("---\n");
                text.push_str(&serde_yaml_ng::to_string(&of_provider(object))?);
            }
        }
    }
    Ok(text)
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("failed to list {}", folder.display()))?;
    let mut files = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    Ok(files)
}

/// The object as a provider of Cluster API has it.
fn of_provider(mut object: Value) -> Value {
    let is_deployment = object["kind"] == "Deployment";
    if let Some(containers) = object
        .pointer_mut("/spec/template/spec/containers")
        .and_then(Value::as_array_mut)
        .filter(|_| is_deployment)
    {
        for container in containers {
            container["name"] = json!("manager");
            container["image"] = json!("${MACHINIST_IMAGE:=machinist:0.1.0}");
            if let Some(arguments) = container["args"].as_array_mut() {
                arguments.push(json!("--cluster-api=${MACHINIST_CLUSTER_API_NAMESPACE:=*}"));
            }
        }
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deploy() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../deploy")
    }

    #[test]
    fn the_components_are_those_of_deploy() {
        let stored = fs::read_to_string(repository(&deploy()).join("infrastructure-components.yaml"));
        let stored = stored.unwrap_or_default();
        let file = "deploy/clusterctl/…/infrastructure-components.yaml";
        assert!(stored == components(&deploy()).unwrap(), "{file} is stale: run cargo xtask generate");
    }

    #[test]
    fn the_host_is_the_container_that_clusterctl_looks_for() {
        let text = components(&deploy()).unwrap();
        let objects =
            serde_yaml_ng::Deserializer::from_str(&text).map(|one| Value::deserialize(one).unwrap());
        let objects: Vec<Value> = objects.collect();
        let host = objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
        let container = &host["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["name"], "manager");
        let arguments = container["args"].as_array().unwrap();
        assert!(arguments.iter().any(|one| one == "--namespace=machinist-system"), "{arguments:?}");
        assert!(arguments.iter().any(|one| one.as_str().unwrap().starts_with("--cluster-api=")));
        assert_eq!(objects.iter().filter(|object| object["kind"] == "Namespace").count(), 1);
    }
}
