//! Flags of commands about registries and signatures.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use machinist_artifacts::Reference;

use super::{ClusterFlags, object_name};

/// Which artifact of which registry, and who we are there.
#[derive(Debug, Args)]
pub(crate) struct RegistryFlags {
    /// An artifact of a registry: HOST/REPOSITORY:TAG or HOST/REPOSITORY@sha256:…
    #[arg(long, value_name = "REFERENCE")]
    pub(crate) oci: Option<Reference>,
    /// File with logins for registries, as `docker login` writes it; by default $DOCKER_CONFIG/config.json or
    /// ~/.docker/config.json
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) registry_auth: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").required(true).args(["file", "oci", "configmap"]))]
pub(crate) struct SignFlags {
    /// A component, whose signature is printed: the same as `cosign sign-blob`
    #[arg(value_hint = clap::ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
    /// The private key: ECDSA on P-256, PKCS #8 in PEM, not encrypted
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) key: PathBuf,
    #[command(flatten)]
    pub(crate) registry: RegistryFlags,
    /// The ConfigMap whose component is signed; the signature is written beside it
    #[arg(long, value_name = "NAME")]
    pub(crate) configmap: Option<String>,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
}

#[derive(Debug, Args)]
pub(crate) struct KeygenFlags {
    /// Beginning of the files' names: PREFIX.key and PREFIX.pub, which must not be there
    #[arg(default_value = "machinist", value_hint = clap::ValueHint::FilePath)]
    pub(crate) prefix: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct ResolveFlags {
    /// The ConfigMap that names an artifact by a tag
    #[arg(value_name = "CONFIGMAP", value_parser = object_name)]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
    /// Do not wait for the host
    #[arg(long)]
    pub(crate) no_wait: bool,
    /// How long to wait for the host
    #[arg(long, default_value = "3m", value_parser = super::duration)]
    pub(crate) timeout: jiff::SignedDuration,
}
