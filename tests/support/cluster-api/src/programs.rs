//! The programs, and the files that come with them.

use std::path::{Path, PathBuf};

use anyhow::Context;
use control_plane::GoModule;
use serde::Deserialize;
use serde_json::Value;

/// The version of Cluster API in `go.mod`.
pub const CLUSTER_API_VERSION: &str = "v1.14.2";
const MODULE: &str = "sigs.k8s.io/cluster-api";

/// Built programs and their manifests.
#[derive(Clone, Debug)]
pub struct Programs {
    folder: PathBuf,
}

/// Builds the programs if the cache has none for these sources; see [`GoModule::built`].
pub fn programs() -> anyhow::Result<Programs> {
    let module = GoModule {
        folder: Path::new(env!("CARGO_MANIFEST_DIR")),
        name: "cluster-api",
        what: "Cluster API's programs for demo and tests (4 to 6 minutes the first time)",
        programs: &[
            ("core", "sigs.k8s.io/cluster-api/core"),
            ("kubeadm-bootstrap", "sigs.k8s.io/cluster-api/bootstrap/kubeadm"),
            ("clusterctl", "sigs.k8s.io/cluster-api/cmd/clusterctl"),
        ],
        folders: &[
            ("core-crds", MODULE, "core/config/crd/bases"),
            ("core-rbac", MODULE, "core/config/rbac"),
            ("core-webhooks", MODULE, "core/config/webhook"),
            ("kubeadm-bootstrap-crds", MODULE, "bootstrap/kubeadm/config/crd/bases"),
            ("kubeadm-bootstrap-rbac", MODULE, "bootstrap/kubeadm/config/rbac"),
            ("kubeadm-bootstrap-webhooks", MODULE, "bootstrap/kubeadm/config/webhook"),
            ("clusterctl-crds", MODULE, "cmd/clusterctl/config/manifest"),
            // Of a manager that does not run here: templates for users name its kinds.
            ("kubeadm-control-plane-crds", MODULE, "controlplane/kubeadm/config/crd/bases"),
        ],
        // Clients compare the version; an unstamped clusterctl takes itself for a development build.
        linker_flags: &format!("-s -w -X sigs.k8s.io/cluster-api/version.gitVersion={CLUSTER_API_VERSION}"),
    };
    Ok(Programs { folder: module.built()? })
}

impl Programs {
    /// The folder with programs and manifests.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The objects of a file, or of all `.yaml` files of a folder, in the order of their names.
    pub(crate) fn objects(&self, path: &str) -> anyhow::Result<Vec<Value>> {
        let path = self.folder.join(path);
        let mut files = vec![path.clone()];
        if path.is_dir() {
            let entries = std::fs::read_dir(&path)?.map(|entry| entry.map(|entry| entry.path()));
            files = entries.collect::<Result<_, _>>()?;
            files.retain(|file| file.extension().is_some_and(|extension| extension == "yaml"));
            files.sort();
        }
        let mut objects = Vec::new();
        for file in files {
            let text = std::fs::read_to_string(&file)
                .with_context(|| format!("failed to read {}", file.display()))?;
            for document in serde_yaml_ng::Deserializer::from_str(&text) {
                let object =
                    Value::deserialize(document).with_context(|| format!("{} is no YAML", file.display()))?;
                if !object.is_null() {
                    objects.push(object);
                }
            }
        }
        Ok(objects)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_one_in_go_mod() {
        let go_mod = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/go.mod")).unwrap();
        let wanted = format!("{MODULE} {CLUSTER_API_VERSION} ");
        assert!(go_mod.lines().any(|line| line.trim().starts_with(&wanted)), "go.mod does not say {wanted}");
    }
}
