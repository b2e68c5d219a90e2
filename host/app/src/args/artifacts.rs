//! Flags of commands about registries and signatures.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use machinist_artifacts::Reference;

use super::{ClusterFlags, object_name};

/// Artifact in a registry and the logins for it
#[derive(Debug, Args)]
pub(crate) struct RegistryFlags {
    /// Artifact in a registry: HOST/REPOSITORY:TAG or HOST/REPOSITORY@sha256:…
    #[arg(long, value_name = "REFERENCE")]
    pub(crate) oci: Option<Reference>,
    /// File with the logins of registries, as `docker login` writes it; default: $DOCKER_CONFIG/config.json, else
    /// ~/.docker/config.json
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) registry_auth: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").required(true).args(["file", "oci", "configmap"]))]
pub(crate) struct SignFlags {
    /// Component file to sign: prints the signature, as `cosign sign-blob` does
    #[arg(value_hint = clap::ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
    /// Private key file: ECDSA on P-256, PKCS #8 in PEM, not encrypted
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) key: PathBuf,
    #[command(flatten)]
    pub(crate) registry: RegistryFlags,
    /// ConfigMap to sign: writes a bundle of its component, grants, settings, name and providers into it, with the
    /// signature
    #[arg(long, value_name = "NAME")]
    pub(crate) configmap: Option<String>,
    #[command(flatten)]
    pub(crate) counter: CounterFlag,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
}

/// Order of bundles
#[derive(Debug, Args)]
pub(crate) struct CounterFlag {
    /// Counter of the bundle; default: the time in seconds. Where signatures are required, a version with a higher
    /// counter permanently invalidates all versions with a lower one; versions with the same counter may replace each
    /// other
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(..=machinist_artifacts::bundle::MOST_COUNTER))]
    pub(crate) counter: Option<u64>,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("whose").required(true).args(["file", "configmap"]))]
pub(crate) struct BundleFlags {
    /// Component file: `.wasm`, `.wasm.zst` or `.wasm.gz`
    #[arg(value_hint = clap::ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
    /// Read component, grants, settings and name from this ConfigMap
    #[arg(long, value_name = "NAME")]
    pub(crate) configmap: Option<String>,
    /// Name of the plugin; default: the name in the ConfigMap
    #[arg(long, value_name = "NAME")]
    pub(crate) plugin_name: Option<String>,
    /// File with the driver's grants, YAML or JSON, byte for byte as deployed next to the component
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) grants: Option<PathBuf>,
    /// File with the driver's settings, byte for byte as deployed next to the component
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) settings: Option<PathBuf>,
    /// File with mode, Machines and limits of a health policy, byte for byte as deployed next to the component
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) policy: Option<PathBuf>,
    /// Provider that the plugin may serve; may be repeated; default: the providers of the grants, else those that the
    /// driver claims
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Vec<String>,
    #[command(flatten)]
    pub(crate) counter: CounterFlag,
    /// File with the logins of registries, as `docker login` writes it; default: $DOCKER_CONFIG/config.json, else
    /// ~/.docker/config.json
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) registry_auth: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
}

#[derive(Debug, Args)]
pub(crate) struct KeygenFlags {
    /// Prefix of the file names PREFIX.key and PREFIX.pub; neither file may exist
    #[arg(default_value = "machinist", value_hint = clap::ValueHint::FilePath)]
    pub(crate) prefix: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct ResolveFlags {
    /// ConfigMap that refers to an artifact by a tag
    #[arg(value_name = "CONFIGMAP", value_parser = object_name)]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
    /// Return without waiting for the host to load the artifact
    #[arg(long)]
    pub(crate) no_wait: bool,
    /// Longest wait for the host
    #[arg(long, default_value = "3m", value_parser = super::duration)]
    pub(crate) timeout: jiff::SignedDuration,
}
