//! One pace for each cloud account, over calls and plugins.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Response, StatusCode};
use machinist_core::driver::SecretValues;
use prometheus_client::registry::Registry;

use super::schemes::auth::{ACCESS, SECRET, marked, values};
use super::server::{Seen, Server, ok};
use super::{Answer, Host, Method, Names, loopback, request};

const AUTH: &str = "auth: [{ scheme: aws-sigv4, services: [ec2] }]\n";

/// Throttles the requests whose body asks for it.
async fn server(throttle: impl Fn(&mut Response<Bytes>) + Send + Sync + 'static) -> Server {
    Server::http(move |seen: &Seen| {
        let mut response = ok("fine");
        if seen.body.starts_with(b"Throttle") {
            throttle(&mut response);
        }
        response
    })
    .await
}

fn too_many(retry_after: &'static str) -> impl Fn(&mut Response<Bytes>) {
    move |response| {
        *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
        response.headers_mut().insert("retry-after", retry_after.parse().unwrap());
    }
}

fn keys(access: &str) -> SecretValues {
    values(&[("accessKeyID", access), ("secretAccessKey", SECRET)])
}

/// Sends one signed request of a call with this much time; returns the answer.
async fn send(host: &Host, server: &Server, access: &str, body: &str, time: Duration) -> Answer {
    let call = host.call_with(&format!("{}{AUTH}", loopback(server.port)), keys(access), time);
    call.send(marked(server, body), None).await.unwrap()
}

const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(300);

#[tokio::test]
async fn others_of_the_account_wait_and_other_accounts_do_not() {
    let server = server(too_many("1")).await;
    let mut host = Host::new(&Names::default());
    assert_eq!(send(&host, &server, ACCESS, "Throttle", LONG).await.status, 429);
    assert_eq!(host.egress.slow_accounts(), 1);

    let start = Instant::now();
    assert_eq!(send(&host, &server, "AKIAOTHERACCOUNT0000", "A", LONG).await.text(), "fine");
    assert!(start.elapsed() < Duration::from_millis(700), "another account");

    host.plugin = "another-plugin".into();
    assert_eq!(send(&host, &server, ACCESS, "A", LONG).await.text(), "fine");
    assert!(start.elapsed() >= Duration::from_millis(900), "another plugin of the same account waits");
    let metrics = metrics(&host);
    for line in [
        "machinist_egress_throttles_total{plugin=\"p\",cause=\"status\"} 1",
        "machinist_egress_turns_total{plugin=\"another-plugin\",outcome=\"waited\"} 1",
        "machinist_egress_wait_seconds_count{plugin=\"another-plugin\"} 1",
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
}

#[tokio::test]
async fn attack_a_name_without_its_password_slows_nobody_down() {
    const RIGHT: &str = "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==";
    let server = Server::http(|seen: &Seen| {
        let mut response = ok("fine");
        if seen.headers["authorization"] != RIGHT {
            too_many("3600")(&mut response);
        }
        response
    })
    .await;
    let host = Host::new(&Names::default());
    let grants = format!("{}auth: [{{ scheme: basic }}]\n", loopback(server.port));
    let status = async |password: &str| {
        let mut sent = request(Method::GET, &server.url("/"), b"");
        sent.headers_mut().insert("machinist-auth", "basic".parse().unwrap());
        let values = values(&[("username", "Aladdin"), ("password", password)]);
        host.call_with(&grants, values, LONG).send(sent, None).await.unwrap().status
    };
    assert_eq!(status("open barley").await, 429);
    assert_eq!(status("open sesame").await, 200);
    assert_eq!(host.egress.slow_accounts(), 1);
    assert!(metrics(&host).contains("machinist_egress_throttles_total{plugin=\"p\",cause=\"status\"} 1"));
}

#[tokio::test]
async fn a_request_that_gets_no_turn_in_time_is_answered_by_the_host() {
    let server = server(too_many("7200")).await;
    let host = Host::new(&Names::default());
    let theirs = send(&host, &server, ACCESS, "Throttle", LONG).await;
    assert!(theirs.headers.get("machinist-throttled").is_none(), "the cloud's own");
    let held = send(&host, &server, ACCESS, "A", LONG).await;
    assert_eq!(
        (held.status, &held.headers["machinist-throttled"]),
        (StatusCode::TOO_MANY_REQUESTS, &"true".parse().unwrap())
    );
    let seconds: u64 = held.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((3599..=3601).contains(&seconds), "an hour at most: {seconds}");
    assert!(held.text().contains("holds this request back"), "{}", held.text());
    assert_eq!(server.seen().len(), 1);
    assert!(metrics(&host).contains("machinist_egress_turns_total{plugin=\"p\",outcome=\"late\"} 1"));
}

#[tokio::test]
async fn every_way_to_say_slower_is_understood() {
    let table: &[(u16, &str, &str)] = &[
        (503, "<html>busy</html>", "7"),
        (503, "<Response><Errors><Error><Code>RequestLimitExceeded</Code></Error></Errors></Response>", ""),
        (400, "<ErrorResponse><Error><Code>Throttling</Code></Error></ErrorResponse>", ""),
        (400, r#"{"__type":"a.b#ThrottlingException"}"#, ""),
        (429, "", "Wed, 01 Jan 2200 00:00:00 GMT"),
    ];
    for (status, body, retry_after) in table {
        let server = server(move |response| {
            *response.status_mut() = StatusCode::from_u16(*status).unwrap();
            *response.body_mut() = Bytes::from_static(body.as_bytes());
            if !retry_after.is_empty() {
                response.headers_mut().insert("retry-after", retry_after.parse().unwrap());
            }
        })
        .await;
        let host = Host::new(&Names::default());
        assert_eq!(send(&host, &server, ACCESS, "Throttle", LONG).await.status, *status);
        assert_eq!(host.egress.slow_accounts(), 1, "{status} {body}");
        // A free account without history continues with five requests per second.
        let second = send(&host, &server, ACCESS, "A", SHORT).await.status;
        let third = send(&host, &server, ACCESS, "A", Duration::from_millis(20)).await.status;
        assert!([second.as_u16(), third.as_u16()].contains(&429), "{status} {body}: {second} {third}");
    }
}

#[tokio::test]
async fn an_outage_slows_nobody_down() {
    let server = server(|response| *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE).await;
    let host = Host::new(&Names::default());
    for _ in 0..5 {
        assert_eq!(send(&host, &server, ACCESS, "Throttle", LONG).await.status, 503);
    }
    assert_eq!(host.egress.slow_accounts(), 0);
    assert!(!metrics(&host).contains("machinist_egress_throttles_total{"));
}

#[tokio::test]
async fn other_errors_slow_nobody_down() {
    let server = server(|response| {
        *response.status_mut() = StatusCode::BAD_REQUEST;
        *response.body_mut() = Bytes::from_static(b"<Code>InvalidParameterValue</Code> not Throttling");
    })
    .await;
    let host = Host::new(&Names::default());
    assert_eq!(send(&host, &server, ACCESS, "Throttle", LONG).await.status, 400);
    assert_eq!(host.egress.slow_accounts(), 0);
}

#[tokio::test]
async fn the_holder_of_a_token_is_an_account_and_a_plugin_without_one_is_another() {
    let server = server(too_many("3600")).await;
    let host = Host::new(&Names::default());
    let grants = format!(
        "{}secrets: [{{ key: token, places: [{{ header: authorization }}] }}]",
        loopback(server.port)
    );
    let status = async |host: &Host, token: Option<&str>, body: &str| {
        let call = host.call_with(&grants, values(&[("token", token.unwrap_or("unused-token"))]), LONG);
        let mut sent = request(Method::POST, &server.url("/"), body.as_bytes());
        if token.is_some() {
            let placeholder = call.vault.placeholder(call.vault.open("token").unwrap(), &[]).unwrap();
            sent.headers_mut().insert("authorization", placeholder.parse().unwrap());
        }
        call.send(sent, None).await.unwrap().status.as_u16()
    };
    assert_eq!(status(&host, Some("token-of-one"), "Throttle").await, 429);
    assert_eq!(status(&host, Some("token-of-one"), "A").await, 429);
    assert_eq!(status(&host, Some("token-of-two"), "A").await, 200);
    assert_eq!(status(&host, None, "A").await, 200);
    assert_eq!(status(&host, None, "Throttle").await, 429);
    assert_eq!(status(&host, None, "A").await, 429);
    let mut other = host;
    other.plugin = "other".into();
    assert_eq!(status(&other, None, "A").await, 200, "plugins without credentials do not slow each other");
    assert_eq!(status(&other, Some("token-of-one"), "A").await, 429);
    assert_eq!(server.seen().len(), 5);
}

fn metrics(host: &Host) -> String {
    let mut registry = Registry::default();
    host.egress.register_metrics(&mut registry);
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
    text
}
