//! `clusterctl` as a user types it.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde_json::json;
use tempfile::TempDir;
use tokio::process::Command;

use crate::programs::Programs;
use crate::repository::repository;

/// `clusterctl` with a configuration folder of its own.
#[derive(Debug)]
pub struct Clusterctl {
    program: PathBuf,
    home: TempDir,
}

impl Clusterctl {
    /// With Machinist's repository in this folder `deploy` among its providers.
    pub fn new(programs: &Programs, deploy: &Path) -> Result<Self> {
        let deploy = deploy.canonicalize().with_context(|| format!("{} is not there", deploy.display()))?;
        let components = repository(&deploy).join("infrastructure-components.yaml");
        let provider = json!({
            "name": "machinist",
            "type": "InfrastructureProvider",
            "url": format!("file://{}", components.display()),
        });
        let home = tempfile::Builder::new().prefix("clusterctl-").tempdir()?;
        let configuration = json!({ "providers": [provider] });
        std::fs::write(home.path().join("clusterctl.yaml"), configuration.to_string())?;
        Ok(Self { program: programs.program("clusterctl"), home })
    }

    /// Runs a command on the cluster of a kubeconfig, and returns what it printed.
    pub async fn run(&self, kubeconfig: &Path, arguments: &[&str]) -> Result<String> {
        let kubeconfig = kubeconfig.to_str().context("a kubeconfig has a readable path")?;
        self.generate(&[arguments, &["--kubeconfig", kubeconfig]].concat(), &[]).await
    }

    /// Runs a command that needs no cluster, with values of a template's variables, and returns what it printed.
    pub async fn generate(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Result<String> {
        let output = Command::new(&self.program)
            .args(arguments)
            .arg("--config")
            .arg(self.home.path().join("clusterctl.yaml"))
            .env("HOME", self.home.path())
            .env("XDG_CONFIG_HOME", self.home.path())
            .env("CLUSTERCTL_DISABLE_VERSIONCHECK", "true")
            .env("NO_PROXY", "127.0.0.1,localhost")
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await
            .context("failed to run clusterctl")?;
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        ensure!(output.status.success(), "clusterctl {} failed: {out}{err}", arguments.join(" "));
        Ok(out.into_owned())
    }
}
