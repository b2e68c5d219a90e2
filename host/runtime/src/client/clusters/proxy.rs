//! The proxy towards an API server: that of the kubeconfig, else that of the environment.
//!
//! The client's own choice compares NO_PROXY with the proxy's name instead of the server's. The account of a pod uses
//! no proxy: its API server is in the cluster.

use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;

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
    let is_direct = wanted.is_empty() || is_on_loopback(server) || is_exempt(server, &environment.no);
    (!is_direct).then(|| with_scheme(wanted))
}

/// True when NO_PROXY names the server. Blank entries count for nothing, and an entry with a port names that port only.
fn is_exempt(server: &Uri, no: &str) -> bool {
    let port = port(server).to_string();
    let entries = no.split(',').map(|entry| split(entry.trim()));
    let hosts = entries.filter(|(_, own)| own.is_empty() || *own == port).map(|(host, _)| host);
    let hosts: Vec<&str> = hosts.filter(|host| !host.is_empty()).collect();
    // It only says whether: the proxy's own text keeps user and password, which the client wants.
    let matcher = Matcher::builder().all("http://proxy.invalid").no(hosts.join(",")).build();
    hosts.contains(&"*") || matcher.intercept(server).is_none()
}

/// Splits an entry of NO_PROXY into host and port, which may be empty. Drops brackets and the `*` of `*.example.com`,
/// as kubectl does. An IPv6 address has a port only behind brackets.
fn split(entry: &str) -> (&str, &str) {
    let (host, port) = match entry.strip_prefix('[').and_then(|entry| entry.split_once(']')) {
        Some((host, rest)) => (host, rest.strip_prefix(':').unwrap_or_default()),
        None => entry.split_once(':').filter(|(_, port)| !port.contains(':')).unwrap_or((entry, "")),
    };
    (host.strip_prefix('*').filter(|host| host.starts_with('.')).unwrap_or(host), port)
}

fn port(server: &Uri) -> u16 {
    let usual = if server.scheme_str() == Some("https") { 443 } else { 80 };
    server.port_u16().unwrap_or(usual)
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

    const THROUGH: Option<&str> = Some("http://u:p@secure.proxy:3128");

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
        check("https://control.example:6443", "", THROUGH);
        check("http://control.example", "", Some("http://plain.proxy:3128"));
        let none = Environment::default();
        assert_eq!(choose(&Uri::from_static("https://control.example"), None, &none), None);
    }

    #[test]
    fn servers_that_no_proxy_names_are_reached_directly() {
        let server = "https://api.control.example:6443";
        for no in
            ["*", "api.control.example", ".control.example", "*.control.example", "control.example, other"]
        {
            check(server, no, None);
        }
        for no in ["secure.proxy", "pi.control.example", "10.0.0.0/8", ",", "a,,b,", "*.example.com"] {
            check(server, no, THROUGH);
        }
        check("https://10.1.2.3:6443", "10.0.0.0/8,", None);
        check("https://10.1.2.3:6443", "other, *", None);
        check("https://11.1.2.3:6443", "10.0.0.0/8", THROUGH);
        check("https://[fd00::7]:6443", "fd00::/8", None);
    }

    #[test]
    fn an_entry_with_a_port_names_that_port_only() {
        let server = "https://api.control.example:6443";
        for no in ["api.control.example:6443", "a,, .control.example:6443 ,", "*.control.example:6443"] {
            check(server, no, None);
        }
        for no in
            ["api.control.example:443", "control.example:https", ":6443", "6443", "api.control.example:64430"]
        {
            check(server, no, THROUGH);
        }
        check("https://api.control.example", "control.example:443", None);
        check("http://control.example", "control.example:443", Some("http://plain.proxy:3128"));
        check("http://control.example", "control.example:80", None);
        check("https://10.1.2.3:6443", "10.1.2.3:6443", None);
        check("https://10.1.2.3:6443", "10.1.2.3:443", THROUGH);
        for no in ["[fd00::7]:6443", "[fd00::7]", "fd00::7"] {
            check("https://[fd00::7]:6443", no, None);
        }
        check("https://[fd00::7]:6443", "[fd00::7]:443", THROUGH);
    }

    #[test]
    fn entries_without_sense_name_no_server() {
        for no in [
            "%%", ":", "[", "[]", "[::1", "a:b:c", "10.0.0.0/99", "http://api.control.example", "*x", "\u{0}",
        ] {
            check("https://api.control.example:6443", no, THROUGH);
            check("https://10.1.2.3:6443", no, THROUGH);
        }
    }

    #[test]
    fn a_cluster_on_this_machine_is_reached_directly() {
        for server in ["https://127.0.0.1:6443", "https://localhost:6443", "https://[::1]:6443"] {
            check(server, "", None);
        }
    }

    #[test]
    fn a_kubeconfigs_own_proxy_counts_first() {
        let environment =
            Environment { https: "http://p".to_owned(), no: "*".to_owned(), ..Environment::default() };
        let server = Uri::from_static("https://a.example");
        assert_eq!(choose(&server, Some("http://own:1"), &environment).as_deref(), Some("http://own:1"));
        assert_eq!(choose(&server, Some(""), &environment), None);
    }
}
