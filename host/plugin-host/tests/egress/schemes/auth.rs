//! Requests that the host signs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use jiff::Timestamp;
use machinist_core::driver::SecretValues;
use machinist_plugin_host::testing::{PlaceholderEncoding, Refusal};
use wasmtime_wasi_http::Error as WasiError;

use super::verify::verify;
use crate::server::{Server, ok};
use crate::{Call, Host, Method, Names, loopback, request};

pub(crate) const ACCESS: &str = "AKIAIOSFODNN7EXAMPLE";
pub(crate) const SECRET: &str = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
pub(crate) const MARK: &str = "aws-sigv4; service=ec2; region=eu-west-1";
const AUTH: &str = "auth: [{ scheme: aws-sigv4, services: [ec2], regions: [eu-*], hosts: [127.0.0.1] }]\n";

pub(crate) fn values(pairs: &[(&str, &str)]) -> SecretValues {
    let values: BTreeMap<_, _> =
        pairs.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())).collect();
    SecretValues {
        values,
        user_data: Some(b"#cloud-config\ntoken: abcdef.0123456789abcdef\n".to_vec()),
        ..SecretValues::default()
    }
}

fn static_keys() -> SecretValues {
    values(&[("accessKeyID", &format!("{ACCESS}\n")), ("secretAccessKey", &format!(" {SECRET}\n"))])
}

pub(crate) fn host_at(time: &str) -> Host {
    let now: Timestamp = time.parse().unwrap();
    Host::with(&Names::default(), |settings| settings.clock = Arc::new(move || now))
}

fn call(host: &Host, server: &Server) -> Call {
    call_with(host, server, static_keys())
}

fn call_with(host: &Host, server: &Server, values: SecretValues) -> Call {
    let more = "secrets: [{ key: userData, places: [{ form: UserData }] }, { key: other, places: [{ header: x-other }] }]\n";
    host.call_with(&format!("{}{AUTH}{more}", loopback(server.port)), values, Duration::from_secs(20))
}

/// A marked form, as a driver for EC2 sends it.
pub(crate) fn marked(server: &Server, body: &str) -> Request<Full<Bytes>> {
    let mut sent = request(Method::POST, &server.url("/"), body.as_bytes());
    sent.headers_mut().insert("machinist-auth", MARK.parse().unwrap());
    let form = "application/x-www-form-urlencoded; charset=utf-8";
    sent.headers_mut().insert("content-type", form.parse().unwrap());
    sent
}

#[tokio::test]
async fn a_marked_request_arrives_with_a_signature_that_a_cloud_would_take() {
    let server = Server::http(|_| ok("fine")).await;
    let host = host_at("2026-03-01T12:00:00Z");
    let answer = call(&host, &server).send(marked(&server, "Action=DescribeInstances"), None).await.unwrap();
    assert_eq!(answer.text(), "fine");
    let seen = server.seen().remove(0);
    let signed = verify(&seen, SECRET);
    assert_eq!(
        (signed.access_key_id.as_str(), signed.scope.as_str()),
        (ACCESS, "20260301/eu-west-1/ec2/aws4_request")
    );
    assert_eq!(signed.headers, ["content-type", "host", "x-amz-date"]);
    assert_eq!(seen.headers["host"], format!("127.0.0.1:{}", server.port), "with its port");
    assert!(!seen.headers.contains_key("machinist-auth"));
    assert!(!seen.headers.contains_key("x-amz-security-token"));
}

#[tokio::test]
async fn the_signature_covers_the_substituted_values() {
    let server = Server::http(|_| ok("")).await;
    let host = host_at("2026-03-01T12:00:00Z");
    let call = call(&host, &server);
    let data = call.vault.user_data().unwrap();
    let token =
        call.vault.placeholder(data, &[PlaceholderEncoding::Base64, PlaceholderEncoding::Form]).unwrap();
    call.send(marked(&server, &format!("Action=RunInstances&UserData={token}&MinCount=1")), None)
        .await
        .unwrap();
    let seen = server.seen().remove(0);
    let body = String::from_utf8(seen.body.to_vec()).unwrap();
    assert!(body.contains("UserData=I2Nsb3VkLWNvbmZpZwp0b2tlbj"), "{body}");
    verify(&seen, SECRET);
}

#[tokio::test]
async fn paths_queries_and_own_headers_are_signed_as_they_are_sent() {
    let server = Server::http(|_| ok("")).await;
    let host = host_at("2026-03-01T12:00:00Z");
    for path in
        ["/", "/a/b?b=2&a=1&c", "/a%20b/%C3%A9?x=%20y&x=%2F&empty=", "/v1/x;y=1?z=a%2Bb", "/a/../b/?q=%7E"]
    {
        let mut sent = request(Method::GET, &server.url(path), b"");
        sent.headers_mut().insert("machinist-auth", MARK.parse().unwrap());
        sent.headers_mut().insert("x-amz-target", "Service.Action".parse().unwrap());
        sent.headers_mut().append("x-amz-two", " a  b ".trim().replace("  ", " ").parse().unwrap());
        sent.headers_mut().insert("user-agent", "driver/1".parse().unwrap());
        call(&host, &server).send(sent, None).await.unwrap();
        let seen = server.seen().pop().unwrap();
        let signed = verify(&seen, SECRET);
        assert_eq!(signed.headers, ["host", "x-amz-date", "x-amz-target", "x-amz-two"], "{path}");
        assert_eq!(seen.headers["user-agent"], "driver/1");
    }
}

#[tokio::test]
async fn temporary_keys_of_the_secret_bring_their_token() {
    let server = Server::http(|_| ok("")).await;
    let host = host_at("2026-03-01T12:00:00Z");
    let mut values = static_keys();
    values.values.insert("sessionToken".to_owned(), b"FwoGZXIvYXdzEXAMPLE//\n".to_vec());
    call_with(&host, &server, values).send(marked(&server, "Action=A"), None).await.unwrap();
    let seen = server.seen().remove(0);
    assert_eq!(seen.headers["x-amz-security-token"], "FwoGZXIvYXdzEXAMPLE//");
    let signed = verify(&seen, SECRET);
    assert!(signed.headers.contains(&"x-amz-security-token".to_owned()));
}

#[tokio::test]
async fn a_request_without_a_mark_goes_unsigned() {
    let server = Server::http(|_| ok("")).await;
    let host = host_at("2026-03-01T12:00:00Z");
    let mut sent = marked(&server, "Action=A");
    sent.headers_mut().remove("machinist-auth");
    call(&host, &server).send(sent, None).await.unwrap();
    let seen = server.seen().remove(0);
    assert!(!seen.headers.contains_key("authorization") && !seen.headers.contains_key("x-amz-date"));
}

#[tokio::test]
async fn a_mark_that_is_not_granted_is_refused_by_name() {
    let server = Server::http(|_| ok("")).await;
    let table: &[(&[(&str, &str)], &str)] = &[
        (&[("machinist-auth", "nonsense")], "auth-scheme"),
        (&[("machinist-auth", "nonsense; of a kind")], "auth-mark"),
        (&[("machinist-auth", MARK), ("machinist-auth", MARK)], "auth-mark"),
        (&[("machinist-auth", "aws-sigv9; service=ec2; region=eu-west-1")], "auth-scheme"),
        (&[("machinist-auth", "aws-sigv4; service=iam; region=eu-west-1")], "auth-service"),
        (&[("machinist-auth", "aws-sigv4; service=ec2; region=us-east-1")], "auth-region"),
        (&[("machinist-auth", MARK), ("authorization", "mine")], "auth-header"),
        (&[("machinist-auth", MARK), ("x-amz-date", "20200101T000000Z")], "auth-header"),
        (&[("machinist-auth", MARK), ("x-amz-security-token", "mine")], "auth-header"),
        (&[("machinist-auth", MARK), ("x-amz-content-sha256", "UNSIGNED-PAYLOAD")], "auth-header"),
    ];
    for (headers, reason) in table {
        let host = host_at("2026-03-01T12:00:00Z");
        let mut sent = marked(&server, "Action=A");
        sent.headers_mut().remove("machinist-auth");
        for (name, value) in *headers {
            sent.headers_mut().append(name.parse::<http::HeaderName>().unwrap(), value.parse().unwrap());
        }
        let error = call(&host, &server).send(sent, None).await.unwrap_err();
        assert!(matches!(error, WasiError::HttpRequestDenied), "{reason}: {error:?}");
        assert_eq!(host.reasons(), [*reason]);
    }
    assert_eq!(server.seen().len(), 0);
}

#[tokio::test]
async fn a_host_outside_of_the_grant_gets_no_signature() {
    let server = Server::http(|_| ok("")).await;
    let host = Host::new(&Names::default().with("a.test", &[&["127.0.0.1"]]));
    let grants = format!("{}{AUTH}", crate::named("a.test", server.port));
    let call = host.call_with(&grants, static_keys(), Duration::from_secs(20));
    let mut sent = marked(&server, "Action=A");
    *sent.uri_mut() = format!("http://a.test:{}/", server.port).parse().unwrap();
    assert!(matches!(call.send(sent, None).await, Err(WasiError::HttpRequestDenied)));
    assert_eq!((host.reasons(), server.seen().len()), (vec!["auth-host"], 0));
    let without = host.call_with(&loopback(server.port), static_keys(), Duration::from_secs(20));
    assert!(without.send(marked(&server, "Action=A"), None).await.is_err());
    assert_eq!(host.reasons(), ["auth-host", "auth-scheme"]);
}

#[tokio::test]
async fn missing_and_blank_keys_are_refused_and_nothing_else_is_tried() {
    let server = Server::http(|_| ok("")).await;
    for pairs in [
        &[][..],
        &[("accessKeyID", ACCESS)],
        &[("accessKeyID", " "), ("secretAccessKey", SECRET)],
        &[("providerAccessKeyId", ""), ("accessKeyID", ACCESS), ("secretAccessKey", SECRET)],
    ] {
        let host = host_at("2026-03-01T12:00:00Z");
        let error =
            call_with(&host, &server, values(pairs)).send(marked(&server, "A"), None).await.unwrap_err();
        assert!(matches!(error, WasiError::HttpRequestDenied), "{error:?}");
        assert_eq!(host.reasons(), ["auth-keys"]);
    }
    let host = host_at("2026-03-01T12:00:00Z");
    let web = values(&[
        ("workloadIdentityTokenFile", "/run/x"),
        ("accessKeyID", ACCESS),
        ("secretAccessKey", SECRET),
    ]);
    assert!(call_with(&host, &server, web).send(marked(&server, "A"), None).await.is_err());
    assert_eq!((host.reasons(), server.seen().len()), (vec!["auth-web-identity"], 0));
}

#[tokio::test]
async fn keys_to_sign_with_have_no_placeholder_and_are_not_revealed() {
    let server = Server::http(|_| ok("")).await;
    let host = host_at("2026-03-01T12:00:00Z");
    let vault = call(&host, &server).vault;
    for key in ["accessKeyID", "secretAccessKey"] {
        let id = vault.open(key).unwrap();
        assert_eq!(vault.placeholder(id, &[]), Err(Refusal::NotGranted));
        assert_eq!(vault.reveal(id), Err(Refusal::NotGranted));
        assert!(!vault.starts_with(id, b"A"));
    }
}

#[tokio::test]
async fn an_echo_of_the_signature_and_the_keys_is_scrubbed() {
    let server = Server::http(|seen| {
        let authorization = seen.headers["authorization"].to_str().unwrap();
        let mut response = Response::new(Bytes::from(format!("<e>{authorization}</e>{SECRET}")));
        *response.status_mut() = http::StatusCode::FORBIDDEN;
        response.headers_mut().insert("x-echo", authorization.parse().unwrap());
        response
    })
    .await;
    let host = host_at("2026-03-01T12:00:00Z");
    let answer = call(&host, &server).send(marked(&server, "Action=A"), None).await.unwrap();
    let signed = verify(&server.seen()[0], SECRET);
    let text = format!("{}{:?}", answer.text(), answer.headers);
    assert!(text.contains("Signature=***") && text.contains("Credential=***"), "{text}");
    for hidden in [signed.hex.as_str(), ACCESS, SECRET] {
        assert!(!text.contains(hidden), "{text}");
    }
}

#[tokio::test]
async fn headers_of_the_host_are_removed_from_answers_of_servers() {
    let server = Server::http(|_| {
        let mut response = ok("");
        for name in ["machinist-auth", "machinist-throttled", "machinist-clock-skew", "machinist-other"] {
            response.headers_mut().insert(name, "failed".parse().unwrap());
        }
        response.headers_mut().insert("x-kept", "1".parse().unwrap());
        response
    })
    .await;
    let host = host_at("2026-03-01T12:00:00Z");
    let answer = call(&host, &server).send(marked(&server, "Action=A"), None).await.unwrap();
    let names: Vec<&str> = answer.headers.keys().map(http::HeaderName::as_str).collect();
    assert!(
        names.contains(&"x-kept") && !names.iter().any(|name| name.starts_with("machinist-")),
        "{names:?}"
    );
}

#[tokio::test]
async fn an_error_tells_a_driver_that_the_hosts_clock_is_wrong() {
    let server = Server::http(|seen| {
        let mut response = Response::new(Bytes::from_static(b"<Code>RequestExpired</Code>"));
        let is_fine = seen.uri.path() == "/fine";
        *response.status_mut() = if is_fine { http::StatusCode::OK } else { http::StatusCode::BAD_REQUEST };
        response.headers_mut().insert("date", "Sun, 01 Mar 2026 11:50:00 GMT".parse().unwrap());
        response
    })
    .await;
    let skew = async |host: &Host, path: &str, is_signed: bool| {
        let mut sent = marked(&server, "Action=A");
        *sent.uri_mut() = server.url(path).parse().unwrap();
        if !is_signed {
            sent.headers_mut().remove("machinist-auth");
        }
        let answer = call(host, &server).send(sent, None).await.unwrap();
        answer.headers.get("machinist-clock-skew").map(|value| value.to_str().unwrap().to_owned())
    };
    let (ahead, behind, right) =
        (host_at("2026-03-01T12:00:00Z"), host_at("2026-03-01T11:40:00Z"), host_at("2026-03-01T11:50:30Z"));
    assert_eq!(skew(&ahead, "/", true).await.as_deref(), Some("600"));
    assert_eq!(skew(&behind, "/", true).await.as_deref(), Some("-600"));
    assert_eq!(skew(&right, "/", true).await, None);
    assert_eq!(skew(&ahead, "/", false).await, None);
    assert_eq!(skew(&ahead, "/fine", true).await, None);
}
