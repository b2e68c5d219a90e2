//! Credentials of the Secret that the host puts into a header.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, Response};
use machinist_plugin_host::testing::Refusal;
use wasmtime_wasi_http::Error as WasiError;

use super::auth::values;
use crate::server::{Seen, Server, ok};
use crate::{Call, Host, Method, Names, loopback, named, request};

/// Keys of a Secret, or headers.
type Pairs<'a> = &'a [(&'a str, &'a str)];

const TOKEN: &str = "hcloud-0123456789abcdef";
const PASSWORD: &str = "pass:wörd 0123456789";

fn call(host: &Host, grants: &str, pairs: &[(&str, &str)]) -> Call {
    host.call_with(grants, values(pairs), Duration::from_secs(20))
}

fn marked(server: &Server, mark: &str) -> http::Request<http_body_util::Full<Bytes>> {
    let mut sent = request(Method::GET, &server.url("/v1/servers"), b"");
    sent.headers_mut().insert("machinist-auth", mark.parse().unwrap());
    sent
}

#[track_caller]
fn header(seen: &Seen, name: &str) -> String {
    assert!(!seen.headers.contains_key("machinist-auth"));
    String::from_utf8(seen.headers[name].as_bytes().to_vec()).unwrap()
}

#[tokio::test]
async fn a_token_of_the_secret_arrives_in_its_header() {
    let server = Server::http(|_| ok("fine")).await;
    let host = Host::new(&Names::default());
    for (auth, name, value) in [
        ("{ scheme: bearer }", "authorization", format!("Bearer {TOKEN}")),
        ("{ scheme: bearer, keys: { token: [other, token] } }", "authorization", format!("Bearer {TOKEN}")),
        ("{ scheme: bearer, header: X-Auth-Key }", "x-auth-key", TOKEN.to_owned()),
        ("{ scheme: bearer, header: X-Key, prefix: 'key=' }", "x-key", format!("key={TOKEN}")),
        ("{ scheme: bearer, prefix: 'token ' }", "authorization", format!("token {TOKEN}")),
        ("{ scheme: bearer, hosts: [a.example.com, 127.0.0.1] }", "authorization", format!("Bearer {TOKEN}")),
    ] {
        let grants = format!("{}auth: [{auth}]\n", loopback(server.port));
        let call = call(&host, &grants, &[("token", &format!(" {TOKEN}\n"))]);
        assert_eq!(call.send(marked(&server, "bearer"), None).await.unwrap().text(), "fine");
        assert_eq!(header(&server.seen().pop().unwrap(), name), value, "{auth}");
    }
    assert_eq!(host.reasons(), Vec::<&str>::new());
}

#[tokio::test]
async fn name_and_password_arrive_as_basic() {
    let server = Server::http(|_| ok("fine")).await;
    let host = Host::new(&Names::default());
    let grants = format!("{}auth: [{{ scheme: basic }}]\n", loopback(server.port));
    let call = call(&host, &grants, &[("username", "Aladdin\n"), ("password", "open sesame\n")]);
    call.send(marked(&server, "basic"), None).await.unwrap();
    assert_eq!(header(&server.seen()[0], "authorization"), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
}

#[tokio::test]
async fn ungranted_requests_are_refused_by_name() {
    let server = Server::http(|_| ok("")).await;
    let names = Names::default().with("a.test", &[&["127.0.0.1"]]);
    let good = [("token", TOKEN), ("username", "u"), ("password", PASSWORD)];
    let table: &[(&str, &str, Pairs<'_>, Pairs<'_>, &str)] = &[
        ("{ scheme: basic }", "bearer", &good, &[], "auth-scheme"),
        ("{ scheme: bearer }", "bearer; key=token", &good, &[], "auth-mark"),
        ("{ scheme: bearer, hosts: [b.test] }", "bearer", &good, &[], "auth-host"),
        ("{ scheme: bearer }", "bearer", &good, &[("authorization", "mine")], "auth-header"),
        ("{ scheme: bearer, header: x-k }", "bearer", &good, &[("X-K", "mine")], "auth-header"),
        ("{ scheme: bearer }", "bearer", &[], &[], "auth-keys"),
        ("{ scheme: bearer }", "bearer", &[("token", " \n")], &[], "auth-keys"),
        ("{ scheme: bearer }", "bearer", &[("token", "two\r\nx-evil: 1")], &[], "auth-keys"),
        ("{ scheme: bearer }", "bearer", &[("token", "a b")], &[], "auth-keys"),
        ("{ scheme: basic }", "basic", &[("username", "u")], &[], "auth-keys"),
        ("{ scheme: basic }", "basic", &[("username", "a:b"), ("password", "p")], &[], "auth-keys"),
    ];
    for (auth, mark, pairs, headers, reason) in table {
        let host = Host::new(&names);
        let call = call(&host, &format!("{}auth: [{auth}]\n", named("a.test", server.port)), pairs);
        let mut sent = marked(&server, mark);
        *sent.uri_mut() = format!("http://a.test:{}/", server.port).parse().unwrap();
        for (name, value) in *headers {
            sent.headers_mut().insert(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        let error = call.send(sent, None).await.unwrap_err();
        assert!(matches!(error, WasiError::HttpRequestDenied), "{reason}: {error:?}");
        assert_eq!(host.reasons(), [*reason], "{auth} {mark}");
    }
    assert_eq!(server.accepts(), 0);
}

#[tokio::test]
async fn the_value_has_no_placeholder_is_not_revealed_and_comes_back_masked() {
    let server = Server::http(|seen| {
        let echo = String::from_utf8_lossy(seen.headers["authorization"].as_bytes()).into_owned();
        let mut response = Response::new(Bytes::from(format!("<{echo}>{PASSWORD}")));
        response.headers_mut().insert("x-echo", echo.parse().unwrap());
        response
    })
    .await;
    let host = Host::new(&Names::default());
    for (scheme, keys) in [("bearer", &["token"][..]), ("basic", &["username", "password"])] {
        let grants = format!("{}auth: [{{ scheme: {scheme} }}]\n", loopback(server.port));
        let pairs = [("token", TOKEN), ("username", "administrator"), ("password", PASSWORD)];
        let call = call(&host, &grants, &pairs);
        for key in keys {
            let id = call.vault.open(key).unwrap();
            assert_eq!(call.vault.placeholder(id, &[]), Err(Refusal::NotGranted));
            assert_eq!(call.vault.reveal(id), Err(Refusal::NotGranted));
        }
        let answer = call.send(marked(&server, scheme), None).await.unwrap();
        let sent = header(&server.seen().pop().unwrap(), "authorization");
        let secret = sent.split(' ').nth(1).unwrap();
        let text = format!("{}{:?}", answer.text(), answer.headers);
        assert!(text.contains(" ***") && !text.contains(secret) && !text.contains(PASSWORD), "{text}");
        assert!(!call.vault.scrub_text(&format!("in a log {secret}")).contains(secret));
    }
}

#[tokio::test]
async fn the_first_grant_that_fits_the_host_counts() {
    let server = Server::http(|_| ok("")).await;
    let names = Names::default().with("a.test", &[&["127.0.0.1"]]).with("b.test", &[&["127.0.0.1"]]);
    let host = Host::new(&names);
    let rules = ["a.test", "b.test"].map(|name| named(name, server.port).replace("egress: ", ""));
    let rules = rules.map(|rule| format!("  - {}", rule.trim().trim_matches(['[', ']'])));
    let grants = format!(
        "egress:\n{}\nauth:\n  - {{ scheme: bearer, hosts: [a.test], keys: {{ token: [a] }} }}\n  \
         - {{ scheme: bearer, hosts: [b.test], keys: {{ token: [b] }} }}\n",
        rules.join("\n")
    );
    for (name, token) in [("a", "token-of-a"), ("b", "token-of-b")] {
        let call = call(&host, &grants, &[("a", "token-of-a"), ("b", "token-of-b")]);
        let mut sent = marked(&server, "bearer");
        *sent.uri_mut() = format!("http://{name}.test:{}/", server.port).parse().unwrap();
        call.send(sent, None).await.unwrap();
        let seen = server.seen().pop().unwrap();
        assert_eq!(header(&seen, "authorization"), format!("Bearer {token}"));
    }
}
