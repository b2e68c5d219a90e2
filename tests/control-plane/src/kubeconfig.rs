//! Kubeconfig files: one server, one user.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::certs::Pair;

/// How the user of a kubeconfig proves who it is.
pub(crate) enum Credential {
    Certificate(Pair),
    Token(String),
}

/// The text of a kubeconfig with everything in it, so that the file can be copied elsewhere.
pub(crate) fn render(
    server: &str,
    authority: &str,
    user: &str,
    credential: &Credential,
) -> anyhow::Result<String> {
    let authentication = match credential {
        Credential::Certificate(pair) => json!({
            "client-certificate-data": STANDARD.encode(&pair.certificate),
            "client-key-data": STANDARD.encode(&pair.key),
        }),
        Credential::Token(token) => json!({ "token": token }),
    };
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{
            "name": "control-plane",
            "cluster": { "server": server, "certificate-authority-data": STANDARD.encode(authority) },
        }],
        "users": [{ "name": user, "user": authentication }],
        "contexts": [{ "name": "control-plane", "context": { "cluster": "control-plane", "user": user } }],
        "current-context": "control-plane",
    });
    // YAML, too; and a token that somebody fills in later is quoted, whatever it looks like.
    Ok(serde_json::to_string_pretty(&config)?)
}

/// The text of a kubeconfig with which a kubelet joins the API server at this address, whose certificate this authority
/// (PEM) has signed: no other credential than the bootstrap token, or a mark that somebody replaces by one.
pub fn bootstrap_kubeconfig(server: &str, authority: &str, token: &str) -> anyhow::Result<String> {
    render(server, authority, "kubelet-bootstrap", &Credential::Token(token.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rendered_kubeconfig_is_one_that_kube_reads() {
        let text = render("https://127.0.0.1:1", "CA", "a:b", &Credential::Token("x: y".into())).unwrap();
        let config = kube::config::Kubeconfig::from_yaml(&text).unwrap();
        assert_eq!(config.auth_infos[0].name, "a:b");
        assert_eq!(config.current_context.as_deref(), Some("control-plane"));
        assert_eq!(
            config.clusters[0].cluster.as_ref().unwrap().server.as_deref(),
            Some("https://127.0.0.1:1")
        );
    }
}
