//! The program under the names by which kubectl calls it.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use e2e::{Lab, manifests};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};
use tokio::process::Command;

use super::fleet::deployment;
use super::{output_of, refused, run};

pub(super) async fn story(lab: &Lab) -> Result<()> {
    deployment(lab, "plugged", "large", 0).await?;
    let folder = tempfile::tempdir()?;
    for name in ["kubectl-machinist", "kubectl_complete-machinist"] {
        symlink(e2e::binary()?, folder.path().join(name))?;
    }
    let kubeconfig = contexts(lab, folder.path())?;
    namespaces(folder.path(), &kubeconfig).await?;
    completion(lab, folder.path(), &kubeconfig).await?;
    by_kubectl(folder.path(), &kubeconfig).await
}

/// The administrator's, with a namespace in its context, and another context with another one.
fn contexts(lab: &Lab, folder: &Path) -> Result<PathBuf> {
    let text = std::fs::read_to_string(lab.plane.admin_kubeconfig())?;
    let mut value: Value = serde_yaml_ng::from_str(&text)?;
    let contexts = value["contexts"].as_array_mut().context("it has contexts")?;
    let mut other = contexts.first().context("it has a context")?.clone();
    contexts[0]["context"]["namespace"] = json!("machinist-system");
    other["name"] = json!("other");
    other["context"]["namespace"] = json!("default");
    contexts.push(other);
    let path = folder.join("kubeconfig");
    std::fs::write(&path, serde_json::to_vec(&value)?)?;
    Ok(path)
}

async fn namespaces(folder: &Path, kubeconfig: &Path) -> Result<()> {
    let plugin = folder.join("kubectl-machinist");
    let tree = async |words: &[&str]| output_of(words, &run(&plugin, kubeconfig, words).await?);
    let here = tree(&["tree"]).await?;
    ensure!(here.contains("machinedeployment/plugged"), "the namespace of the context is meant: {here}");
    let other = tree(&["tree", "--context", "other"]).await?;
    ensure!(other.contains("in namespace default"), "{other}");
    let named = tree(&["tree", "--context", "other", "-n", "machinist-system"]).await?;
    ensure!(named.contains("machinedeployment/plugged"), "{named}");
    let words = ["tree", "--context", "third"];
    refused(&words, &run(&plugin, kubeconfig, &words).await?, "has no context third: it has")?;
    let words = ["explain", "machine/m", "--context", "other"];
    refused(&words, &run(&plugin, kubeconfig, &words).await?, "there is no Machine m in namespace default")?;
    // Under its own name the program means the host's namespace, whatever the context says.
    let words = ["tree", "--context", "other"];
    let own = output_of(&words, &run(e2e::binary()?, kubeconfig, &words).await?)?;
    ensure!(own.contains("machinedeployment/plugged"), "{own}");
    let words = ["rollout", "pause"];
    refused(&words, &run(&plugin, kubeconfig, &words).await?, "Usage: kubectl machinist rollout pause")
}

async fn completion(lab: &Lab, folder: &Path, kubeconfig: &Path) -> Result<()> {
    let completer = folder.join("kubectl_complete-machinist");
    let asked = async |words: &[&str]| output_of(words, &run(&completer, kubeconfig, words).await?);
    let names = asked(&["rollout", "status", "plu"]).await?;
    ensure!(names == "plugged\n:4\n", "{names}");
    let none = asked(&["rollout", "status", "--context", "other", "plu"]).await?;
    ensure!(none == ":4\n", "{none}");
    let verbs = asked(&["rollout", "re"]).await?;
    ensure!(verbs.contains("restart\t") && verbs.contains("resume\t") && verbs.ends_with(":4\n"), "{verbs}");
    let maps: Api<ConfigMap> = Api::namespaced(lab.client.clone(), manifests::NAMESPACE);
    for (name, kind) in [("aws-1", "driver"), ("aws-2", "driver"), ("aws-1-part", "part")] {
        let labels = json!({ "machinist.dev/plugin": kind, "machinist.dev/plugin-name": "aws" });
        let map = json!({ "metadata": { "name": name, "labels": labels } });
        maps.create(&PostParams::default(), &serde_json::from_value(map)?).await?;
    }
    // Plugins are in the host's namespace, whatever the context says.
    let plugins = asked(&["plugin", "logs", "--context", "other", "a"]).await?;
    ensure!(plugins == "aws\n:4\n", "{plugins}");
    let maps = asked(&["plugin", "diff", "cm/aws"]).await?;
    ensure!(maps == "cm/aws-1\ncm/aws-2\n:4\n", "{maps}");
    let nowhere = folder.join("nowhere");
    let silent = run(&completer, &nowhere, &["tree", "plu"]).await?;
    ensure!(silent.stdout == b":4\n" && silent.stderr.is_empty(), "a shell has no place for complaints");
    Ok(())
}

/// Where there is a kubectl, it finds the plugin and what completes its words.
async fn by_kubectl(folder: &Path, kubeconfig: &Path) -> Result<()> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&path).any(|folder| folder.join("kubectl").is_file()) {
        return Ok(());
    }
    let all = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&path));
    let path = std::env::join_paths(all)?;
    let kubectl = async |words: &[&str]| {
        let mut command = Command::new("kubectl");
        command.args(words).env("KUBECONFIG", kubeconfig).env("PATH", &path).stdin(Stdio::null());
        output_of(words, &command.output().await?)
    };
    let tree = kubectl(&["machinist", "tree", "plugged"]).await?;
    ensure!(tree.contains("machinedeployment/plugged"), "{tree}");
    let completed = kubectl(&["__complete", "machinist", "tree", "plu"]).await?;
    ensure!(completed.starts_with("plugged\n:4"), "{completed}");
    Ok(())
}
