//! Kubeconfigs, as the runtime reads them.

use kube::config::{KubeConfigOptions, Kubeconfig};
use machinist_runtime::client::clusters::{from_kubeconfig, server};

use crate::mutate::Grammar;
use crate::target::{Shape, Target, Verdict};

pub(super) const TARGET: Target = Target {
    name: "kubeconfig",
    about: "kubeconfigs: what is missing or wrong is an error",
    grammar: Grammar::Yaml,
    samples,
    words: &[
        "clusters", "contexts", "users", "current-context", "server", "certificate-authority-data",
        "proxy-url", "tls-server-name", "insecure-skip-tls-verify", "disable-compression", "exec", "token",
        "client-key-data", "client-certificate-data", "https://", "http://", "socks5://",
    ],
    share: 20,
    check,
};

/// PEM of a certificate with the bytes `hello`.
const AUTHORITY: &str =
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCmFHVnNiRzg9Ci0tLS0tRU5EIENFUlRJRklDQVRFLS0tLS0K";

fn samples() -> Vec<Vec<u8>> {
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: a\n\
         clusters:\n\
         - {{name: a, cluster: {{server: 'https://a.example:6443', proxy-url: 'http://own:1', \
            certificate-authority-data: {AUTHORITY}, tls-server-name: kubernetes}}}}\n\
         - {{name: b, cluster: {{server: 'http://b.example', insecure-skip-tls-verify: true, disable-compression: true}}}}\n\
         users:\n\
         - {{name: u, user: {{exec: {{command: login, provideClusterInfo: true}}}}}}\n\
         - {{name: v, user: {{username: v, password: w}}}}\n\
         contexts:\n\
         - {{name: a, context: {{cluster: a, user: u, namespace: machines}}}}\n\
         - {{name: b, context: {{cluster: b, user: v}}}}\n"
    );
    vec![text.into_bytes()]
}

fn check(input: &[u8]) -> Verdict {
    let kubeconfig = match Kubeconfig::from_yaml(&String::from_utf8_lossy(input)) {
        Ok(kubeconfig) => kubeconfig,
        Err(error) => return Ok(Shape::of(&error.to_string())),
    };
    let mut shape = Shape::of("");
    for context in [None, Some("b".to_owned())] {
        let options = KubeConfigOptions { context, ..KubeConfigOptions::default() };
        let read = from_kubeconfig(&kubeconfig, &options).map(|config| server(&config));
        shape = shape.and(Shape::of_result(&read));
    }
    Ok(shape)
}
