//! The accounts of a control plane: kubeconfigs, bootstrap tokens and clients.

use std::path::{Path, PathBuf};

use anyhow::Context;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Client;
use kube::api::{Api, PostParams};
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use rand::RngExt as _;
use rand::distr::Alphanumeric;
use serde_json::json;

use super::{ADMIN, ControlPlane, NODE_SIMULATOR, server};
use crate::certs::{self, Authority};
use crate::files;
use crate::kubeconfig::{self, Credential, bootstrap_kubeconfig};

const ACCOUNT_TOKEN_SECONDS: i64 = 24 * 60 * 60;

impl ControlPlane {
    /// The certificate that its clients trust, PEM.
    pub fn authority(&self) -> String {
        self.authority.certificate()
    }

    /// The kubeconfig of a member of `system:masters`.
    pub fn admin_kubeconfig(&self) -> PathBuf {
        kubeconfig_path(self.folder(), ADMIN)
    }

    /// The kubeconfig of the node simulator's account: nodes, leases, pods and volume attachments.
    pub fn nodesim_kubeconfig(&self) -> PathBuf {
        kubeconfig_path(self.folder(), NODE_SIMULATOR)
    }

    /// Writes a kubeconfig with a client certificate for this user, who is a member of at most two groups.
    pub fn kubeconfig_for(&self, user: &str, groups: &[&str]) -> anyhow::Result<PathBuf> {
        self.write_kubeconfig(user, &Credential::Certificate(self.authority.client(user, groups)?))
    }

    /// The text of the kubeconfig with which a kubelet joins: no other credential than this bootstrap token.
    pub fn bootstrap_kubeconfig(&self, token: &str) -> anyhow::Result<String> {
        bootstrap_kubeconfig(&self.server(), &self.authority(), token)
    }

    /// Writes a kubeconfig with a client certificate and key that somebody else made (PEM); `name` becomes the file's
    /// name.
    pub fn kubeconfig_for_certificate(
        &self,
        name: &str,
        certificate: &str,
        key: &str,
    ) -> anyhow::Result<PathBuf> {
        let pair = certs::Pair { certificate: certificate.to_owned(), key: key.to_owned() };
        self.write_kubeconfig(name, &Credential::Certificate(pair))
    }

    /// Creates the Secret of a new bootstrap token, which does not expire, and returns the token.
    pub async fn create_bootstrap_token(&self) -> anyhow::Result<String> {
        let (id, secret) = (random_letters(6), random_letters(16));
        let object = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": { "name": format!("bootstrap-token-{id}"), "namespace": "kube-system" },
            "type": "bootstrap.kubernetes.io/token",
            "stringData": {
                "token-id": id, "token-secret": secret, "usage-bootstrap-authentication": "true",
            },
        });
        self.apply(&object.to_string()).await?;
        Ok(format!("{id}.{secret}"))
    }

    /// Writes a kubeconfig with a bearer token, such as a bootstrap token; `name` becomes the file's name.
    pub fn kubeconfig_for_token(&self, name: &str, token: &str) -> anyhow::Result<PathBuf> {
        self.write_kubeconfig(name, &Credential::Token(token.to_owned()))
    }

    /// Writes a kubeconfig with a token, valid for a day, of a service account that exists.
    pub async fn kubeconfig_for_service_account(
        &self,
        namespace: &str,
        name: &str,
    ) -> anyhow::Result<PathBuf> {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client()?, namespace);
        let request = TokenRequest {
            spec: TokenRequestSpec {
                expiration_seconds: Some(ACCOUNT_TOKEN_SECONDS),
                ..TokenRequestSpec::default()
            },
            ..TokenRequest::default()
        };
        let answer = accounts
            .create_token_request(name, &PostParams::default(), &request)
            .await
            .with_context(|| format!("failed to get a token of service account {namespace}/{name}"))?;
        let token = answer.status.context("the answer holds no token")?.token;
        self.kubeconfig_for_token(&format!("{namespace}.{name}"), &token)
    }

    /// A new client for the administrator, without a rate limit. Belongs to the tokio runtime of the caller.
    pub fn client(&self) -> anyhow::Result<Client> {
        Client::try_from(self.config.clone()).context("failed to make a client")
    }

    /// As [`Self::client`], but each answer is handed on as it came: without asking again after 429, 503 and 504.
    pub fn client_that_asks_once(&self) -> anyhow::Result<Client> {
        let mut config = self.config.clone();
        config.default_retry = false;
        Client::try_from(config).context("failed to make a client")
    }

    fn write_kubeconfig(&self, user: &str, credential: &Credential) -> anyhow::Result<PathBuf> {
        write_kubeconfig(self.folder(), self.port, &self.authority, user, credential)
    }
}

/// A client for the user of a kubeconfig. Belongs to the tokio runtime of the caller.
pub async fn client_from(kubeconfig: impl AsRef<Path>) -> anyhow::Result<Client> {
    Client::try_from(config_from(kubeconfig.as_ref()).await?).context("failed to make a client")
}

pub(super) async fn config_from(path: &Path) -> anyhow::Result<Config> {
    let kubeconfig =
        Kubeconfig::read_from(path).with_context(|| format!("failed to read {}", path.display()))?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    let mut config = config.with_context(|| format!("failed to use {}", path.display()))?;
    // Taken from the environment, for servers elsewhere; ours is on this machine.
    config.proxy_url = None;
    Ok(config)
}

pub(super) fn write_kubeconfig(
    folder: &Path,
    port: u16,
    authority: &Authority,
    user: &str,
    credential: &Credential,
) -> anyhow::Result<PathBuf> {
    let path = kubeconfig_path(folder, user);
    let text = kubeconfig::render(&server(port), &authority.certificate(), user, credential)?;
    files::write_private(&path, &text)?;
    Ok(path)
}

pub(super) fn kubeconfig_path(folder: &Path, user: &str) -> PathBuf {
    folder.join(format!("{}.kubeconfig", files::file_name_of(user)))
}

/// Of those that a bootstrap token may have.
fn random_letters(count: usize) -> String {
    let letters = rand::rng().sample_iter(Alphanumeric).take(count);
    letters.map(|letter| char::from(letter.to_ascii_lowercase())).collect()
}
