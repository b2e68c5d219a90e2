//! Flags for cluster-autoscaler: addresses, and certificates.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use machinist_autoscaler::Endpoint;
use machinist_autoscaler::tls::TlsFiles;
use machinist_core::value::id::ObjectKey;
use machinist_runtime::autoscaler::Scope;
use machinist_runtime::context::settings::{ClusterApi, Settings};

use super::value::{AsTyped, FlagType, FlagValue, Problems};

/// Node groups for cluster-autoscaler.
#[derive(Debug, Args)]
#[command(next_help_heading = "cluster-autoscaler")]
pub(crate) struct AutoscalerFlags {
    /// Serve cluster-autoscaler (`--cloud-provider=externalgrpc`), one address for each, comma-separated: IP:PORT with
    /// the MachineDeployments of --namespace; NAMESPACE/NAME@IP:PORT with those of this Cluster of Cluster API;
    /// mcm+NAMESPACE/NAME@IP:PORT with both. An autoscaler deletes Machines whose Nodes are not in its cluster. An
    /// address that is not loopback needs the other three flags. Empty: not at all
    #[arg(long, default_value_t = Endpoints::default().into(), value_name = "[CLUSTERS@]IP:PORT,...")]
    autoscaler_address: FlagValue<Endpoints>,
    /// Certificate for cluster-autoscaler's connections, and those of its issuers, in PEM format. The three files are
    /// read again for each connection
    #[arg(long, value_name = "FILE")]
    autoscaler_tls_cert_file: Option<PathBuf>,
    /// Private key of that certificate, in PEM format
    #[arg(long, value_name = "FILE")]
    autoscaler_tls_key_file: Option<PathBuf>,
    /// Issuers of the certificates that a cluster-autoscaler must have, in PEM format. Any certificate of theirs may
    /// resize all groups, so use an issuer for this alone
    #[arg(long, value_name = "FILE")]
    autoscaler_client_ca_file: Option<PathBuf>,
}

/// How cluster-autoscaler is served.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AutoscalerSettings {
    pub(crate) endpoints: Vec<Endpoint>,
    /// `None` on loopback without certificates.
    pub(crate) tls: Option<TlsFiles>,
}

impl AutoscalerSettings {
    /// Returns whether MachineDeployments of Cluster API are served.
    pub(crate) fn serves_clusters(&self) -> bool {
        self.endpoints.iter().any(|endpoint| !endpoint.scope.clusters.is_empty())
    }
}

impl AutoscalerFlags {
    pub(crate) fn settings(&self, settings: &Settings, problems: &mut Problems) -> AutoscalerSettings {
        let Endpoints(endpoints) = problems.take(&self.autoscaler_address);
        let files =
            (&self.autoscaler_tls_cert_file, &self.autoscaler_tls_key_file, &self.autoscaler_client_ca_file);
        let tls = match files {
            (Some(certificate), Some(key), Some(client_ca)) => Some(TlsFiles {
                certificate: certificate.clone(),
                key: key.clone(),
                client_ca: client_ca.clone(),
            }),
            (None, None, None) => None,
            _ => {
                problems.add(
                    "--autoscaler-tls-cert-file, --autoscaler-tls-key-file and --autoscaler-client-ca-file: needed all \
                     three, or none on loopback",
                );
                return AutoscalerSettings::default();
            }
        };
        if tls.is_some() && endpoints.is_empty() {
            problems.add("--autoscaler-tls-cert-file: needs --autoscaler-address");
        }
        for Endpoint { address, scope } in &endpoints {
            if tls.is_none() && !address.ip().to_canonical().is_loopback() {
                problems.add(format!(
                    "--autoscaler-address={address}: needs --autoscaler-tls-cert-file, --autoscaler-tls-key-file and \
                     --autoscaler-client-ca-file, as everyone who reaches it could delete Machines"
                ));
            }
            check(scope, settings, problems);
        }
        AutoscalerSettings { endpoints, tls }
    }
}

/// Adds a problem for each need of a scope that this process does not meet.
fn check(scope: &Scope, settings: &Settings, problems: &mut Problems) {
    if scope.mcm && !settings.controllers.deployments {
        problems.add("--autoscaler-address: needs machinedeployment among --controllers, which deletes the chosen Machines");
    }
    for cluster in &scope.clusters {
        let is_served = match &settings.cluster_api {
            ClusterApi::Off => false,
            ClusterApi::EveryNamespace => true,
            ClusterApi::Namespace(namespace) => namespace == cluster.namespace.as_str(),
        };
        if !is_served {
            problems.add(format!("--autoscaler-address: {cluster} needs --cluster-api with its namespace"));
        }
    }
}

/// The word for MachineDeployments of machine-controller-manager's kind.
const MCM: &str = "mcm";

/// Addresses, each with its scope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Endpoints(Vec<Endpoint>);

impl FlagType for Endpoints {
    fn parse(text: &str) -> Result<Self, String> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let endpoints: Vec<Endpoint> = parts.map(endpoint).collect::<Result<_, _>>()?;
        let is_twice = |(at, endpoint): (usize, &Endpoint)| {
            let earlier = endpoints.iter().take(at);
            endpoint.address.port() != 0 && earlier.into_iter().any(|other| other.address == endpoint.address)
        };
        if endpoints.iter().enumerate().any(is_twice) {
            return Err("must not have an address twice: join its clusters with +".to_owned());
        }
        Ok(Self(endpoints))
    }
}

fn endpoint(text: &str) -> Result<Endpoint, String> {
    let (scope, address) = match text.split_once('@') {
        Some((clusters, address)) => (scope(clusters)?, address),
        None => (Scope { mcm: true, clusters: BTreeSet::new() }, text),
    };
    let address: SocketAddr = address.parse().map_err(|_| {
        format!("must have an IP address with a port such as 127.0.0.1:8086, not {address:?}")
    })?;
    Ok(Endpoint { address, scope })
}

fn scope(text: &str) -> Result<Scope, String> {
    let mut scope = Scope::default();
    for part in text.split('+').map(str::trim) {
        let cluster = part
            .split_once('/')
            .filter(|(namespace, name)| !namespace.is_empty() && !name.is_empty() && !name.contains('/'));
        match cluster {
            Some((namespace, name)) => drop(scope.clusters.insert(ObjectKey::new(namespace, name))),
            None if part == MCM => scope.mcm = true,
            None => return Err(format!("must name {MCM} or NAMESPACE/NAME before @, not {part:?}")),
        }
    }
    Ok(scope)
}

impl AsTyped for Endpoints {
    fn as_typed(&self) -> String {
        let all = self.0.iter().map(|Endpoint { address, scope }| format!("{scope}@{address}"));
        all.collect::<Vec<_>>().join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_the_clusters_before_it() {
        for (text, typed) in [
            ("", ""),
            ("127.0.0.1:8086", "mcm@127.0.0.1:8086"),
            ("team/c@[::1]:8086", "team/c@[::1]:8086"),
            (
                "mcm+team/c+team/d@127.0.0.1:1, other/e@127.0.0.1:2",
                "mcm+team/c+team/d@127.0.0.1:1,other/e@127.0.0.1:2",
            ),
        ] {
            let endpoints = Endpoints::parse(text).unwrap();
            assert_eq!(endpoints.as_typed(), typed, "{text}");
            assert_eq!(Endpoints::parse(typed), Ok(endpoints));
        }
        for text in [
            "8086", "localhost:8086", "127.0.0.1", "@127.0.0.1:1", "team@127.0.0.1:1", "team/@127.0.0.1:1",
            "a/b/c@127.0.0.1:1", "127.0.0.1:1,team/c@127.0.0.1:1",
        ] {
            assert!(Endpoints::parse(text).is_err(), "{text}");
        }
    }
}
