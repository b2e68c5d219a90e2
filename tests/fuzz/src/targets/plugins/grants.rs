//! Grants, as operators write them.

use http::Method;
use machinist_plugin_host::Grants;
use machinist_plugin_host::testing::{EgressDecision as Judged, RequestTarget};

use super::configmap::error_is_readable;
use crate::mutate::Grammar;
use crate::samples;
use crate::target::{Shape, Target, Verdict, promise};

pub(crate) const TARGET: Target = Target {
    name: "grants",
    about: "grants.yaml: what nobody wrote is not allowed",
    grammar: Grammar::Yaml,
    samples,
    words: &[
        "egress", "host", "scheme", "https", "http", "ports", "methods", "paths", "exact", "form", "headers",
        "addresses", "public", "private", "loopback", "secrets", "key", "userData", "places", "header",
        "json", "prefix", "hosts", "auth", "aws-sigv4", "services", "regions", "basic", "bearer", "keys",
        "oauth2-client-credentials", "jwt-bearer", "keystone", "client-certificate", "workload-identity",
        "federation", "insecure", "token-url", "scopes", "web-identity", "token-files", "sts", "reveal",
        "limits", "memory_mib", "cpu_ms", "calls_per_minute", "shadow-reads", "providers", "roots",
        "{region}", "*.example.com",
    ],
    share: 60,
    check,
};

const ALL_OF_IT: &str = r#"
egress:
- { host: "ec2.*.amazonaws.com", scheme: https, ports: [443], methods: [GET, POST], paths: [/v1/], addresses: [public, private] }
- { host: "127.0.0.1", scheme: http, addresses: loopback }
secrets:
- { key: token, places: [{ header: authorization, prefix: "Bearer " }, { json: /vm/userData }, { form: UserData }], hosts: [a.example] }
auth:
- { scheme: aws-sigv4, services: [ec2], regions: [eu-west-1] }
- { scheme: basic, hosts: [a.example] }
- { scheme: bearer, hosts: [a.example], header: x-token, keys: { token: [apiToken] } }
- { scheme: oauth2-client-credentials, token-url: "https://login.example/{tenant}/token", scopes: [all] }
- { scheme: jwt-bearer, keys: { service-account: [serviceAccountJSON] } }
- { scheme: keystone, url: "https://identity.example/v3" }
reveal: [region, 'account#/project_id']
limits: { memory_mib: 64, cpu_ms: 1000, calls_per_minute: 100 }
"#;

/// Nobody would grant these, and no sample does.
const ELSEWHERE: [&str; 3] =
    ["http://169.254.169.254/latest/meta-data/", "https://attacker.example/", "http://127.0.0.2:1/"];

fn samples() -> Vec<Vec<u8>> {
    let shipped =
        ["plugins/aws/grants.yaml", "plugins/sim/grants.yaml", "sdk/go/examples/driver-sim/grants.yaml"];
    let mut all: Vec<Vec<u8>> = shipped.into_iter().map(samples::file).collect();
    all.push(ALL_OF_IT.into());
    all
}

fn check(input: &[u8]) -> Verdict {
    let text = String::from_utf8_lossy(input);
    let grants = match Grants::parse(&text) {
        Ok(grants) => grants,
        Err(error) => return error_is_readable(&error),
    };
    for url in ELSEWHERE {
        let Ok(target) = RequestTarget::parse(&Method::GET, url) else {
            return Err(format!("{url} is no target"));
        };
        let is_allowed = matches!(grants.allows(&target), Judged::Allowed(_));
        let is_written = text.contains('*') || text.contains(&target.host().to_string());
        promise(!is_allowed || is_written, || format!("{url} is allowed, and nobody wrote it"))?;
    }
    let again = Grants::parse(&text).is_ok_and(|again| again == grants);
    promise(again, || "the same text is other grants".to_owned())?;
    Ok(Shape::of(&format!("{grants:?}")))
}
