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
    /// The ConfigMap that is signed: its component with grants, settings, name and providers, as a bundle that is written
    /// beside them
    #[arg(long, value_name = "NAME")]
    pub(crate) configmap: Option<String>,
    #[command(flatten)]
    pub(crate) counter: CounterFlag,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
}

/// The place of a bundle in time.
#[derive(Debug, Args)]
pub(crate) struct CounterFlag {
    /// Counter of the bundle, which only grows: where signatures are required, a version with a higher one ends those
    /// below it for good. Versions with the same one may take each other's place. By default the time in seconds
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(..=machinist_artifacts::bundle::MOST_COUNTER))]
    pub(crate) counter: Option<u64>,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("whose").required(true).args(["file", "configmap"]))]
pub(crate) struct BundleFlags {
    /// The component: `.wasm`, `.wasm.zst` or `.wasm.gz`
    #[arg(value_hint = clap::ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
    /// Take component, grants, settings and name from this ConfigMap
    #[arg(long, value_name = "NAME")]
    pub(crate) configmap: Option<String>,
    /// Name of the plugin; by default the ConfigMap's
    #[arg(long, value_name = "NAME")]
    pub(crate) plugin_name: Option<String>,
    /// Grants of the driver, YAML or JSON, byte for byte as they will be deployed beside the component
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) grants: Option<PathBuf>,
    /// Settings of the driver, byte for byte as they will be deployed beside the component
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) settings: Option<PathBuf>,
    /// Of a health policy: mode, Machines and limits, byte for byte
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) policy: Option<PathBuf>,
    /// A provider that the plugin may serve; may be repeated. By default those of the grants, else those that the driver
    /// claims
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Vec<String>,
    #[command(flatten)]
    pub(crate) counter: CounterFlag,
    /// File with logins for registries, as `docker login` writes it; by default $DOCKER_CONFIG/config.json or
    /// ~/.docker/config.json
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) registry_auth: Option<PathBuf>,
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
