//! Artifacts of registries, for commands.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use bytes::Bytes;
use machinist_artifacts::signature::cosign::{self, Beside};
use machinist_artifacts::{
    Bundle, ContentDigest, Credentials, Limits, Logins, Pulled, Reference, Registry, SigningKey,
};
use machinist_core::value::error_chain::chain;
use machinist_plugin_host::{LoopbackRegistries, shown};

use crate::args::RegistryFlags;

/// A registry with the login that was found for it.
pub(crate) struct Artifact<'a> {
    pub(crate) reference: &'a Reference,
    login: Option<Credentials>,
    registry: Registry,
}

impl<'a> Artifact<'a> {
    /// The artifact that the flags name, if they name one.
    pub(crate) async fn of(flags: &'a RegistryFlags) -> anyhow::Result<Option<Self>> {
        let Some(reference) = &flags.oci else { return Ok(None) };
        Self::at(reference, flags.registry_auth.as_deref()).await.map(Some)
    }

    /// This one, with the logins of that file.
    pub(crate) async fn at(reference: &'a Reference, file: Option<&Path>) -> anyhow::Result<Self> {
        let login = match logins(file)? {
            Some(logins) => login(&logins, reference).await,
            None => None,
        };
        let registry = Registry::new(Limits::default(), LoopbackRegistries::Allowed.judge())?;
        Ok(Self { reference, login, registry })
    }

    pub(crate) async fn pull(&self) -> anyhow::Result<Pulled> {
        let pulled = self.registry.pull(self.reference, self.login.as_ref()).await;
        answered(pulled, || format!("failed to fetch {}", self.reference))
    }

    /// Counts the signatures of a manifest. Without keys it does not check them.
    pub(crate) async fn signatures(&self, manifest: ContentDigest) -> anyhow::Result<usize> {
        let signed = self.registry.signatures(self.reference, manifest, self.login.as_ref()).await;
        Ok(answered(signed, || format!("failed to look for signatures of {}", self.reference))?.len())
    }

    pub(crate) async fn push(
        &self,
        component: &Bytes,
        imports: &[String],
        exports: &[String],
    ) -> anyhow::Result<ContentDigest> {
        if self.reference.digest().is_some() {
            bail!("{} is a digest, which comes of what is pushed: name a tag", self.reference);
        }
        let digest =
            self.registry.push(self.reference, component, imports, exports, self.login.as_ref()).await;
        answered(digest, || format!("failed to push {}", self.reference))
    }

    /// Signs the artifact with this digest.
    pub(crate) async fn sign(&self, key: &SigningKey, manifest: ContentDigest) -> anyhow::Result<()> {
        let signed = cosign::sign(key, self.reference, manifest)?;
        let login = self.login.as_ref();
        let pushed = self.registry.push_signature(self.reference, manifest, &signed, login).await;
        answered(pushed, || format!("failed to push the signature of {}", self.reference.at(manifest)))
    }

    /// Signs a bundle of the artifact with this digest, and pushes it beside the artifact.
    pub(crate) async fn sign_bundle(
        &self,
        key: &SigningKey,
        manifest: ContentDigest,
        bundle: &Bundle,
    ) -> anyhow::Result<()> {
        let payload = bundle.to_text().into_bytes();
        let signature = key.sign_blob(&payload)?;
        let signed = cosign::Signed { payload, signature };
        let (registry, login) = (&self.registry, self.login.as_ref());
        let pushed = registry.push_beside(Beside::Bundles, self.reference, manifest, &signed, login).await;
        answered(pushed, || format!("failed to push the bundle of {}", self.reference.at(manifest)))
    }
}

/// Returns the answer, or the error with what the registry says about it: here a person has chosen the registry.
fn answered<T>(
    answer: Result<T, machinist_artifacts::Error>,
    failure: impl FnOnce() -> String,
) -> anyhow::Result<T> {
    let answer = answer.map_err(|error| match error.server_text().map(shown) {
        Some(said) => anyhow::anyhow!("{error}; it says: {said}"),
        None => error.into(),
    });
    answer.with_context(failure)
}

/// The private key in a file.
pub(crate) fn signing_key(path: &Path) -> anyhow::Result<SigningKey> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("failed to read the key in {}", path.display()))?;
    SigningKey::parse(&text).with_context(|| format!("{} cannot sign", path.display()))
}

/// The login for this artifact, which a helper of docker may keep. One that fails is named, and passed over: a public
/// artifact needs no login, and a registry that wants one says so.
async fn login(logins: &Logins, reference: &Reference) -> Option<Credentials> {
    let Some(helper) = logins.helper(reference) else { return logins.find(reference).cloned() };
    match helper.ask().await {
        Ok(Some(login)) => Some(login),
        Ok(None) => logins.find(reference).cloned(),
        Err(error) => {
            let known = logins.find(reference).cloned();
            let then = if known.is_some() { "with the login of the file" } else { "without a login" };
            eprintln!("{}; {} is asked {then}", chain(&error), reference.host());
            known
        }
    }
}

/// Those of the file that was named, or of docker's, which may be absent.
fn logins(named: Option<&Path>) -> anyhow::Result<Option<Logins>> {
    let path = match named {
        Some(path) => path.to_owned(),
        None => match own().filter(|path| path.exists()) {
            Some(path) => path,
            None => return Ok(None),
        },
    };
    let context = || format!("failed to read logins for registries from {}", path.display());
    let text = std::fs::read(&path).with_context(context)?;
    Logins::parse(&text).map(Some).with_context(context)
}

fn own() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let docker = folder("DOCKER_CONFIG").or_else(|| folder("HOME").map(|home| home.join(".docker")))?;
    Some(docker.join("config.json"))
}
