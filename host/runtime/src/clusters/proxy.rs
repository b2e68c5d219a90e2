//! The proxy towards an API server: that of the kubeconfig, else that of the environment.
//!
//! The client's own choice compares NO_PROXY with the proxy's name instead of the server's, so it is made here. The
//! account of a pod goes directly: its API server is in the cluster.

use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use kube::config::{KubeConfigOptions, Kubeconfig};

/// The variables of the environment, in capital letters or, where these are empty, in small ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    https: String,
    http: String,
    no: String,
}

impl Environment {
    pub(crate) fn read() -> Self {
        let of = |name: &str| {
            let value = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
            value(name).or_else(|| value(&name.to_lowercase())).unwrap_or_default()
        };
        Self { https: of("HTTPS_PROXY"), http: of("HTTP_PROXY"), no: of("NO_PROXY") }
    }
}

/// Returns the proxy for this server. `named`: in the kubeconfig, which counts whatever NO_PROXY says.
pub(crate) fn choose(server: &Uri, named: Option<&str>, environment: &Environment) -> Option<String> {
    if let Some(named) = named.filter(|named| !named.is_empty()) {
        return Some(with_scheme(named));
    }
    let wanted = match server.scheme_str() {
        Some("https") => environment.https.trim(),
        Some("http") => environment.http.trim(),
        Some(_) | None => "",
    };
    // It only says whether: the proxy's own text keeps user and password, which the client wants.
    let matcher = Matcher::builder().all("http://proxy.invalid").no(environment.no.clone()).build();
    let is_for_it = !wanted.is_empty() && !is_on_loopback(server) && matcher.intercept(server).is_some();
    is_for_it.then(|| with_scheme(wanted))
}

/// The proxy that a kubeconfig names for the cluster of this context.
pub(crate) fn named<'a>(kubeconfig: &'a Kubeconfig, options: &KubeConfigOptions) -> Option<&'a str> {
    let context = options.context.as_ref().or(kubeconfig.current_context.as_ref())?;
    let context = kubeconfig.contexts.iter().find(|one| one.name == *context)?.context.as_ref()?;
    let name = options.cluster.as_ref().unwrap_or(&context.cluster);
    let cluster = kubeconfig.clusters.iter().find(|one| one.name == *name)?.cluster.as_ref()?;
    cluster.proxy_url.as_deref()
}

/// Clusters on one's own machine are reached directly, as by kubectl.
fn is_on_loopback(server: &Uri) -> bool {
    let host = server.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn with_scheme(proxy: &str) -> String {
    if proxy.contains("://") { proxy.to_owned() } else { format!("http://{proxy}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(server: &'static str, no: &str, expected: Option<&str>) {
        let environment = Environment {
            https: "http://u:p@secure.proxy:3128".to_owned(),
            http: "plain.proxy:3128".to_owned(),
            no: no.to_owned(),
        };
        let chosen = choose(&Uri::from_static(server), None, &environment);
        assert_eq!(chosen.as_deref(), expected, "{server} without {no:?}");
    }

    #[test]
    fn the_environments_proxy_counts_by_the_servers_scheme() {
        check("https://control.example:6443", "", Some("http://u:p@secure.proxy:3128"));
        check("http://control.example", "", Some("http://plain.proxy:3128"));
        let none = Environment::default();
        assert_eq!(choose(&Uri::from_static("https://control.example"), None, &none), None);
    }

    #[test]
    fn servers_that_no_proxy_names_are_reached_directly() {
        let server = "https://api.control.example:6443";
        for no in ["*", "api.control.example", ".control.example", "control.example, other"] {
            check(server, no, None);
        }
        for no in ["secure.proxy", "pi.control.example", "10.0.0.0/8", ",", "a,,b,"] {
            check(server, no, Some("http://u:p@secure.proxy:3128"));
        }
        check("https://10.1.2.3:6443", "10.0.0.0/8,", None);
        check("https://11.1.2.3:6443", "10.0.0.0/8", Some("http://u:p@secure.proxy:3128"));
    }

    #[test]
    fn a_cluster_on_this_machine_is_reached_directly() {
        for server in ["https://127.0.0.1:6443", "https://localhost:6443", "https://[::1]:6443"] {
            check(server, "", None);
        }
    }

    #[test]
    fn a_kubeconfigs_own_proxy_counts_first() {
        let text = "apiVersion: v1\nkind: Config\ncurrent-context: a\n\
            clusters: [{name: a, cluster: {server: 'https://a.example', proxy-url: 'http://own:1'}}, \
            {name: b, cluster: {server: 'https://b.example'}}]\n\
            contexts: [{name: a, context: {cluster: a, user: u}}, {name: b, context: {cluster: b, user: u}}]\n";
        let kubeconfig = Kubeconfig::from_yaml(text).expect("a kubeconfig");
        let of = |context: Option<&str>| {
            let options =
                KubeConfigOptions { context: context.map(str::to_owned), ..KubeConfigOptions::default() };
            named(&kubeconfig, &options).map(str::to_owned)
        };
        assert_eq!((of(None).as_deref(), of(Some("b"))), (Some("http://own:1"), None));
        let environment =
            Environment { https: "http://p".to_owned(), no: "*".to_owned(), ..Environment::default() };
        let server = Uri::from_static("https://a.example");
        assert_eq!(choose(&server, Some("http://own:1"), &environment).as_deref(), Some("http://own:1"));
    }
}
