//! URLs of requests: what is judged is what is sent.

use http::Method;
use machinist_plugin_host::testing::fuzz::methods;
use machinist_plugin_host::testing::{EgressDecision as Judged, RequestTarget};
use machinist_plugin_host::{Grants, Host};

use crate::mutate::Grammar;
use crate::samples;
use crate::target::{Shape, Target, Verdict, promise};

pub(crate) const TARGET: Target = Target {
    name: "url",
    about: "URLs: the target that is judged is the one that is sent, and no reading of a path leaves a granted prefix",
    grammar: Grammar::Text,
    samples,
    words: &[
        "https://", "http://", "api.example.com", "127.0.0.1", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]",
        "localhost", "169.254.169.254", "2852039166", "/v1/vms", "%2f", "%2e%2e", "%252e%252e%252f", "..;",
        "..", "%5c", "@", "user:pw@", ":443", ":0", "?", "#", "%", "xn--", "。", "\u{ff0e}", "\t", "//",
    ],
    share: 50,
    check,
};

const GRANTS: &str = "egress:\n- { host: api.example.com, scheme: https, methods: [GET, POST], paths: [/v1/vms] }\n\
                      - { host: \"*.cloud.example\", scheme: https, paths: [{ exact: /run }] }\n";

fn samples() -> Vec<Vec<u8>> {
    samples::texts(&[
        "GET https://api.example.com/v1/vms/a?x=1",
        "POST https://api.example.com:443/v1/vms",
        "PUT https://api.example.com/v1/vms/%61/../b",
        "GET https://zone-1.cloud.example/run",
        "GET http://127.0.0.1:8080/v1/vms",
        "DELETE https://[2001:db8::1]:8443/a%2Fb?c=%26",
        "GET https://münchen.cloud.example/run?q=ü",
    ])
}

fn check(input: &[u8]) -> Verdict {
    let text = String::from_utf8_lossy(input);
    let (method, url) = text.split_once(' ').unwrap_or(("GET", &text));
    let method = Method::from_bytes(method.as_bytes()).unwrap_or(Method::GET);
    let target = match RequestTarget::parse(&method, url) {
        Ok(target) => target,
        Err(error) => return Ok(Shape::of(&error.to_string())),
    };
    promise(methods().contains(target.method()), || format!("method {method} passes"))?;
    let Ok(sent) = target.uri() else { return Ok(Shape::of("it cannot be sent")) };
    let again = RequestTarget::new(&method, &sent).map_err(|error| format!("{sent}: {error}"))?;
    promise(again == target, || format!("{url:?} is judged as {target} and sent as {again}"))?;
    promise(sent.path() == target.path() && sent.query() == target.query(), || {
        format!("another path: {sent}")
    })?;
    let host = sent.host().unwrap_or_default().trim_matches(['[', ']']);
    let is_same = match target.host() {
        Host::Name(name) => name == host,
        Host::Address(address) => host.parse() == Ok(*address),
    };
    promise(is_same, || format!("{} is judged, {host} is sent", target.host()))?;
    let grants = Grants::parse(GRANTS).map_err(|error| error.to_string())?;
    let is_allowed = matches!(grants.allows(&target), Judged::Allowed(_));
    if is_allowed {
        granted(&target)?;
    }
    Ok(Shape::of(&format!("{target} {is_allowed}")))
}

/// The same rules as the grants', as another reader has them.
fn granted(target: &RequestTarget) -> Result<(), String> {
    let host = target.host().to_string();
    let path = target.path();
    let is_granted = match host.as_str() {
        "api.example.com" => {
            let stays = readings(path).iter().all(|path| path == "/v1/vms" || path.starts_with("/v1/vms/"));
            stays && [Method::GET, Method::POST].contains(target.method())
        }
        _ => host.strip_suffix(".cloud.example").is_some_and(|label| !label.contains('.')) && path == "/run",
    };
    promise(is_granted && target.port() == 443, || format!("{target} is allowed"))
}

/// How servers read a path: decoded up to three times, with backslashes as slashes, without parameters and without
/// doubled slashes, and each with its dot segments resolved.
fn readings(path: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut current = path.to_owned();
    for _ in 0..4 {
        let slashes = current.replace('\\', "/");
        for merged in [false, true] {
            let mut kept: Vec<&str> = Vec::new();
            for segment in slashes.split('/').skip(1) {
                match segment.split(';').next().unwrap_or_default() {
                    ".." => drop(kept.pop()),
                    "." => {}
                    "" if merged => {}
                    _ => kept.push(segment),
                }
            }
            all.push(format!("/{}", kept.join("/")));
        }
        let pairs = format!("x={}", current.replace('+', "%2B").replace('&', "%26"));
        let decoded =
            url::form_urlencoded::parse(pairs.as_bytes()).next().map(|(_, value)| value.into_owned());
        current = decoded.unwrap_or_default();
    }
    all
}
