//! The configuration of a client, from the parts of a kubeconfig.
//!
//! kube's own reader takes HTTPS_PROXY and NO_PROXY from the environment on its way, and fails on an entry of NO_PROXY
//! that it cannot parse, even on a blank one. This reader looks at no environment; [`super::proxy`] does.

use kube::Config;
use kube::config::{
    AuthInfo, Cluster, Context, ExecAuthCluster, KubeConfigOptions, Kubeconfig, KubeconfigError,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject as _};

/// Why a kubeconfig cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It lacks something, or something in it cannot be read.
    #[error(transparent)]
    Kubeconfig(#[from] KubeconfigError),
    /// The certificates of the cluster's authority are no PEM.
    #[error("failed to parse the certificate authority of the cluster")]
    Authority(#[source] pem::Error),
}

/// Reads the context that the options name, else the current one. Returns the configuration without a proxy, and the
/// proxy that the kubeconfig names for the cluster.
pub(super) fn read(
    kubeconfig: &Kubeconfig,
    options: &KubeConfigOptions,
) -> Result<(Config, Option<String>), Error> {
    let context = context(kubeconfig, options)?;
    let cluster = cluster(kubeconfig, options.cluster.as_ref().unwrap_or(&context.cluster))?;
    let server = cluster.server.as_deref().ok_or(KubeconfigError::MissingClusterUrl)?;
    let mut config = Config::new(server.parse::<http::Uri>().map_err(KubeconfigError::ParseClusterUrl)?);
    // Reads the authority from the file or from the text.
    let cluster_info = ExecAuthCluster::try_from(cluster)?;
    config.root_cert = cluster_info.certificate_authority_data.as_deref().map(certificates).transpose()?;
    if let Some(namespace) = &context.namespace {
        config.default_namespace.clone_from(namespace);
    }
    config.accept_invalid_certs = cluster.insecure_skip_tls_verify.unwrap_or(false);
    config.disable_compression = cluster.disable_compression.unwrap_or(false);
    config.tls_server_name.clone_from(&cluster.tls_server_name);
    config.auth_info = user(kubeconfig, options.user.as_ref().or(context.user.as_ref()));
    if let Some(login) = config.auth_info.exec.as_mut().filter(|login| login.provide_cluster_info) {
        login.cluster = Some(cluster_info);
    }
    Ok((config, cluster.proxy_url.clone()))
}

fn context<'a>(
    kubeconfig: &'a Kubeconfig,
    options: &KubeConfigOptions,
) -> Result<&'a Context, KubeconfigError> {
    let name = options.context.as_ref().or(kubeconfig.current_context.as_ref());
    let name = name.ok_or(KubeconfigError::CurrentContextNotSet)?;
    let named = kubeconfig.contexts.iter().find(|one| one.name == *name);
    named.and_then(|one| one.context.as_ref()).ok_or_else(|| KubeconfigError::LoadContext(name.clone()))
}

fn cluster<'a>(kubeconfig: &'a Kubeconfig, name: &str) -> Result<&'a Cluster, KubeconfigError> {
    let named = kubeconfig.clusters.iter().find(|one| one.name == *name);
    let cluster = named.and_then(|one| one.cluster.as_ref());
    cluster.ok_or_else(|| KubeconfigError::LoadClusterOfContext(name.to_owned()))
}

/// A user who is not in the kubeconfig has no credentials, as for kubectl.
fn user(kubeconfig: &Kubeconfig, name: Option<&String>) -> AuthInfo {
    let named = name.and_then(|name| kubeconfig.auth_infos.iter().find(|one| one.name == *name));
    named.and_then(|one| one.auth_info.clone()).unwrap_or_default()
}

fn certificates(pem: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
    CertificateDer::pem_slice_iter(pem)
        .map(|certificate| certificate.map(|certificate| certificate.to_vec()).map_err(Error::Authority))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PEM of a certificate with the bytes `hello`, and of a key.
    const AUTHORITY: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCmFHVnNiRzg9Ci0tLS0tRU5EIENFUlRJRklDQVRFLS0tLS0K\
        LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCkFBQUEKLS0tLS1FTkQgUFJJVkFURSBLRVktLS0tLQo=";

    /// PEM of a certificate without its last line.
    const BROKEN: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCmFHVnNiRzg9Cg==";

    fn kubeconfig() -> Kubeconfig {
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: a\n\
            clusters:\n\
            - {{name: a, cluster: {{server: 'https://a.example:6443', proxy-url: 'http://own:1', \
               certificate-authority-data: {AUTHORITY}, tls-server-name: kubernetes}}}}\n\
            - {{name: b, cluster: {{server: 'http://b.example', insecure-skip-tls-verify: true, \
               disable-compression: true}}}}\n\
            - {{name: nowhere, cluster: {{}}}}\n\
            - {{name: broken, cluster: {{server: 'https://c.example', certificate-authority-data: {BROKEN}}}}}\n\
            users:\n\
            - {{name: u, user: {{exec: {{command: login, provideClusterInfo: true}}}}}}\n\
            - {{name: v, user: {{username: v, exec: {{command: login}}}}}}\n\
            contexts:\n\
            - {{name: a, context: {{cluster: a, user: u, namespace: machines}}}}\n\
            - {{name: b, context: {{cluster: b, user: v}}}}\n\
            - {{name: nobody, context: {{cluster: b, user: w}}}}\n\
            - {{name: nowhere, context: {{cluster: nowhere}}}}\n\
            - {{name: broken, context: {{cluster: broken}}}}\n\
            - {{name: gone, context: {{cluster: gone}}}}\n"
        );
        Kubeconfig::from_yaml(&text).expect("a kubeconfig")
    }

    fn of(context: &str) -> Result<(Config, Option<String>), Error> {
        let options = KubeConfigOptions { context: Some(context.to_owned()), ..KubeConfigOptions::default() };
        read(&kubeconfig(), &options)
    }

    #[test]
    fn each_part_is_that_of_the_context() {
        let (a, proxy) = read(&kubeconfig(), &KubeConfigOptions::default()).expect("the current one");
        assert_eq!(a.cluster_url, "https://a.example:6443/");
        assert_eq!((proxy.as_deref(), &a.proxy_url), (Some("http://own:1"), &None));
        assert_eq!(
            (a.default_namespace.as_str(), a.tls_server_name.as_deref()),
            ("machines", Some("kubernetes"))
        );
        assert_eq!(a.root_cert, Some(vec![b"hello".to_vec()]), "keys are no certificates");
        assert!(!a.accept_invalid_certs && !a.disable_compression);
        let cluster_info =
            a.auth_info.exec.and_then(|exec| exec.cluster).expect("the login is told of the cluster");
        assert_eq!(cluster_info.server.as_deref(), Some("https://a.example:6443"));

        let (b, proxy) = of("b").expect("another one");
        assert_eq!((proxy, b.root_cert), (None, None));
        assert_eq!((b.default_namespace.as_str(), b.auth_info.username.as_deref()), ("default", Some("v")));
        assert!(b.accept_invalid_certs && b.disable_compression);
        assert!(b.auth_info.exec.is_some_and(|exec| exec.cluster.is_none()), "it asks for nothing");
    }

    #[test]
    fn a_user_who_is_not_there_has_no_credentials() {
        let (config, _) = of("nobody").expect("it is used");
        assert!(config.auth_info.username.is_none() && config.auth_info.exec.is_none());
    }

    #[test]
    fn a_part_that_is_missing_or_broken_is_named() {
        let message = |context: &str| of(context).expect_err("it is wrong").to_string();
        assert!(message("c").contains("context: c"), "{}", message("c"));
        assert!(message("gone").contains("cluster of context: gone"), "{}", message("gone"));
        assert!(message("nowhere").contains("cluster url is missing"), "{}", message("nowhere"));
        assert!(message("broken").contains("certificate authority"), "{}", message("broken"));
    }
}
