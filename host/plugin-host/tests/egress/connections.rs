//! Connections: reused, not delayed, replaced when stale; and what is written on them.

use std::time::{Duration, Instant};

use prometheus_client::registry::Registry;
use tokio::io::AsyncWriteExt;

use super::server::{Server, ok, read_request};
use super::{Host, Method, Names, WasiError, loopback, request};

#[tokio::test]
async fn connections_outlive_a_call_and_are_counted() {
    let server = Server::http(|_| ok("hello")).await;
    let host = Host::new(&Names::default());
    for _ in 0..20 {
        let call = host.call(&loopback(server.port));
        assert_eq!(call.get(&server.url("/")).await.unwrap().text(), "hello");
    }
    assert_eq!((server.accepts(), server.seen().len()), (1, 20));
    assert_eq!(host.egress.open_connections(&host.plugin), 1);
    let mut registry = Registry::default();
    host.egress.register_metrics(&mut registry);
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
    for line in [
        "machinist_plugin_http_requests_total{plugin=\"p\",outcome=\"2xx\"} 20",
        "machinist_plugin_http_bytes_total{plugin=\"p\",direction=\"received\"} 100",
        "machinist_plugin_http_connections{plugin=\"p\"} 1",
        "machinist_plugin_http_duration_seconds_count{plugin=\"p\"} 20",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}

#[tokio::test]
async fn plugins_share_no_connection() {
    let server = Server::http(|_| ok("")).await;
    let mut host = Host::new(&Names::default());
    host.call(&loopback(server.port)).get(&server.url("/")).await.unwrap();
    host.plugin = "other".into();
    host.call(&loopback(server.port)).get(&server.url("/")).await.unwrap();
    assert_eq!(server.accepts(), 2);
}

#[tokio::test]
async fn a_small_post_waits_for_no_acknowledgement() {
    let server = Server::http(|seen| ok(seen.body.clone())).await;
    let host = Host::new(&Names::default());
    let call = host.call(&loopback(server.port));
    let mut took = Vec::new();
    for _ in 0..31 {
        let start = Instant::now();
        let answer = call.send(request(Method::POST, &server.url("/"), &[b'x'; 2000]), None).await.unwrap();
        took.push(start.elapsed());
        assert_eq!(answer.body.len(), 2000);
    }
    took.sort();
    assert!(took[15] < Duration::from_millis(20), "{:?}", took[15]);
}

#[tokio::test]
async fn headers_of_the_connection_are_the_hosts() {
    let server = Server::http(|_| {
        let mut response = ok("x");
        response.headers_mut().insert("proxy-authenticate", "Basic".parse().unwrap());
        response.headers_mut().insert("x-kept", "1".parse().unwrap());
        response
    })
    .await;
    let host = Host::new(&Names::default());
    let call = host.call(&loopback(server.port));
    let mut sent = request(Method::PUT, &server.url("/a/../b?q=1"), b"four");
    for (name, value) in [
        ("host", "evil.test"),
        ("connection", "close, x-named"),
        ("x-named", "1"),
        ("te", "trailers"),
        ("upgrade", "h2c"),
        ("proxy-authorization", "x"),
        ("transfer-encoding", "chunked"),
        ("content-length", "9"),
        ("expect", "100-continue"),
        ("x-kept", "1"),
        ("accept-encoding", "gzip"),
    ] {
        sent.headers_mut().append(name, value.parse().unwrap());
    }
    let answer = call.send(sent, None).await.unwrap();
    assert_eq!(answer.headers.get("proxy-authenticate"), None);
    assert_eq!(
        (&answer.headers["x-kept"], &answer.headers["content-length"]),
        (&"1".parse().unwrap(), &"1".parse().unwrap())
    );
    let seen = server.seen().remove(0);
    let mut names: Vec<_> = seen.headers.keys().map(http::HeaderName::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["accept-encoding", "content-length", "host", "x-kept"]);
    assert_eq!(seen.headers["host"], format!("127.0.0.1:{}", server.port));
    assert_eq!((&seen.headers["content-length"], seen.body.as_ref()), (&"4".parse().unwrap(), &b"four"[..]));
    assert_eq!((seen.uri.to_string().as_str(), seen.method), ("/b?q=1", Method::PUT));
}

#[tokio::test]
async fn an_empty_post_says_that_it_is_empty() {
    let server = Server::http(|_| ok("")).await;
    let host = Host::new(&Names::default());
    let call = host.call(&loopback(server.port));
    call.send(request(Method::POST, &server.url("/"), b""), None).await.unwrap();
    call.get(&server.url("/")).await.unwrap();
    let lengths: Vec<_> =
        server.seen().iter().map(|seen| seen.headers.get("content-length").cloned()).collect();
    assert_eq!(lengths, [Some("0".parse().unwrap()), None]);
}

/// Answers the first request of the first connection, takes the second one and closes without a word.
async fn stale_after_one() -> Server {
    Server::raw(|mut stream, before| async move {
        for nth in 0.. {
            if read_request(&mut stream).await.is_none() || (before == 0 && nth == 1) {
                return;
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await.unwrap();
        }
    })
    .await
}

#[tokio::test]
async fn a_stale_connection_is_replaced_for_a_request_that_can_be_repeated() {
    let server = stale_after_one().await;
    let host = Host::new(&Names::default());
    let call = host.call(&loopback(server.port));
    assert_eq!(call.get(&server.url("/1")).await.unwrap().text(), "ok");
    assert_eq!(call.get(&server.url("/2")).await.unwrap().text(), "ok");
    assert_eq!(server.accepts(), 2);
}

#[tokio::test]
async fn a_request_that_may_have_been_done_is_not_sent_twice() {
    let server = stale_after_one().await;
    let host = Host::new(&Names::default());
    let call = host.call(&loopback(server.port));
    assert_eq!(call.get(&server.url("/1")).await.unwrap().text(), "ok");
    let error = call.send(request(Method::POST, &server.url("/2"), b"x"), None).await.unwrap_err();
    assert!(matches!(error, WasiError::HttpResponseIncomplete), "{error:?}");
    assert_eq!(server.accepts(), 1);
}

#[tokio::test]
async fn a_fresh_connection_that_breaks_is_not_tried_again() {
    let server = Server::raw(|mut stream, _| async move { drop(read_request(&mut stream).await) }).await;
    let host = Host::new(&Names::default());
    let call = host.call(&loopback(server.port));
    let error = call.get(&server.url("/")).await.unwrap_err();
    assert!(matches!(error, WasiError::HttpResponseIncomplete), "{error:?}");
    assert_eq!(server.accepts(), 1);
}

#[tokio::test]
async fn an_unreachable_server_is_reported_with_the_reason() {
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let host = Host::new(&Names::default());
    let call = host.call(&format!(
        "{}- {{ host: nowhere.test }}\n",
        loopback(port).replace("[{", "\n- {").replace("}]", "}")
    ));
    let error = call.get(&format!("http://127.0.0.1:{port}/")).await.unwrap_err();
    assert!(matches!(error, WasiError::ConnectionRefused), "{error:?}");
    let error = call.get("https://nowhere.test/").await.unwrap_err();
    assert!(matches!(error, WasiError::DnsError { .. }), "{error:?}");
    assert_eq!(host.reasons(), Vec::<&str>::new());
}
