//! Limits of time, bytes and number, each of them named by its error.

use std::time::Duration;

use machinist_core::driver::SecretValues;
use tokio::io::AsyncWriteExt;

use super::server::{Server, ok, read_request, write_pieces};
use super::{Host, Method, Names, RequestOptions, WasiError, loopback, request};

const SHORT: Duration = Duration::from_millis(80);

/// Sends a beginning and then nothing, without closing.
async fn hangs_after(beginning: &'static [u8]) -> Server {
    Server::raw(move |mut stream, _| async move {
        if read_request(&mut stream).await.is_some() {
            stream.write_all(beginning).await.unwrap();
            std::future::pending::<()>().await;
        }
    })
    .await
}

#[tokio::test]
async fn slow_headers_end_at_the_components_own_limit() {
    let server = hangs_after(b"HTTP/1.1 200 OK\r\nx-slow: 1\r\n").await;
    let host = Host::new(&Names::default());
    let options = RequestOptions { first_byte_timeout: Some(SHORT), ..RequestOptions::default() };
    let call = host.call(&loopback(server.port));
    let error = call.send(request(Method::GET, &server.url("/"), b""), Some(options)).await.unwrap_err();
    assert!(matches!(error, WasiError::HttpResponseTimeout), "{error:?}");
}

#[tokio::test]
async fn slow_headers_end_with_the_call() {
    let server = hangs_after(b"").await;
    let host = Host::new(&Names::default());
    let call = host.call_with(&loopback(server.port), SecretValues::default(), SHORT);
    let error = call.get(&server.url("/")).await.unwrap_err();
    assert!(matches!(error, WasiError::HttpResponseTimeout), "{error:?}");
}

#[tokio::test]
async fn a_slow_body_ends_at_the_pause_that_is_allowed() {
    let server = hangs_after(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nbeginning").await;
    let host = Host::with(&Names::default(), |settings| settings.between_bytes_timeout = SHORT);
    let call = host.call(&loopback(server.port));
    let error = call.get(&server.url("/")).await.unwrap_err();
    assert!(matches!(error, WasiError::ConnectionReadTimeout), "{error:?}");
}

#[tokio::test]
async fn a_body_that_dribbles_ends_with_the_call() {
    let server = Server::raw(|mut stream, _| async move {
        if read_request(&mut stream).await.is_some() {
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
            let mut tick = tokio::time::interval(Duration::from_millis(5));
            while stream.write_all(b"x").await.is_ok() {
                tick.tick().await;
            }
        }
    })
    .await;
    let host = Host::new(&Names::default());
    let call = host.call_with(&loopback(server.port), SecretValues::default(), SHORT);
    let body = tokio::time::timeout(Duration::from_secs(10), call.get(&server.url("/"))).await.unwrap();
    assert!(matches!(body, Err(WasiError::HttpResponseTimeout)), "{body:?}");
}

#[tokio::test]
async fn a_connection_that_does_not_come_ends_at_its_limit() {
    let never = Host::with(&Names::default(), |settings| {
        settings.resolver = std::sync::Arc::new(Never);
        settings.connect_timeout = SHORT;
    });
    let error = never.call("egress: [{ host: a.test }]").get("https://a.test/").await.unwrap_err();
    assert!(matches!(error, WasiError::ConnectionTimeout), "{error:?}");
}

struct Never;

impl super::Resolve for Never {
    fn resolve<'a>(&'a self, _: &'a str) -> super::BoxFuture<'a, std::io::Result<Vec<std::net::IpAddr>>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn an_answer_over_its_limit_is_cut_with_the_limit_in_the_error() {
    let server = Server::raw(|mut stream, _| async move {
        let request = read_request(&mut stream).await.unwrap_or_default();
        let piece = [b'x'; 1000];
        let head: &[u8] = if request.starts_with(b"GET /declared") {
            b"HTTP/1.1 200 OK\r\ncontent-length: 3000\r\n\r\n"
        } else {
            b"HTTP/1.1 200 OK\r\n\r\n"
        };
        write_pieces(&mut stream, &[head, &piece, &piece, &piece]).await;
    })
    .await;
    let host = Host::new(&Names::default());
    let call = host.call(&format!("{}limits: {{ response_kib: 2 }}", loopback(server.port)));
    for path in ["/declared", "/streamed"] {
        let error = call.get(&server.url(path)).await.unwrap_err();
        assert!(matches!(error, WasiError::HttpResponseBodySize(Some(2048))), "{path}: {error:?}");
    }
    let declared =
        request(Method::GET, &server.url("/declared"), b"").map(|_| wasmtime_wasi_http::WasiBody::default());
    assert!(
        call.session.send(declared, None).await.is_err(),
        "refused by its headers, before a byte of the body"
    );
    let roomy = host.call(&format!("{}limits: {{ response_kib: 3 }}", loopback(server.port)));
    assert_eq!(roomy.get(&server.url("/streamed")).await.unwrap().body.len(), 3000);
}

#[tokio::test]
async fn headers_without_end_are_refused() {
    let server = Server::raw(|mut stream, _| async move {
        if read_request(&mut stream).await.is_some() {
            stream.write_all(b"HTTP/1.1 200 OK\r\n").await.unwrap();
            while stream
                .write_all(b"x-a: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n")
                .await
                .is_ok()
            {}
        }
    })
    .await;
    let host = Host::new(&Names::default());
    let error = host.call(&loopback(server.port)).get(&server.url("/")).await.unwrap_err();
    assert!(matches!(error, WasiError::HttpResponseHeaderSectionSize(_)), "{error:?}");
}

#[tokio::test]
async fn an_answer_that_is_cut_off_is_no_answer() {
    let server = Server::raw(|mut stream, _| async move {
        if read_request(&mut stream).await.is_some() {
            write_pieces(&mut stream, &[b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n", b"half"]).await;
        }
    })
    .await;
    let host = Host::new(&Names::default());
    let error = host.call(&loopback(server.port)).get(&server.url("/")).await.unwrap_err();
    assert!(matches!(error, WasiError::HttpResponseIncomplete), "{error:?}");
}

#[tokio::test]
async fn requests_are_limited_in_size_and_number() {
    let server = Server::http(|_| ok("")).await;
    let host = Host::new(&Names::default());
    let call =
        host.call(&format!("{}limits: {{ request_kib: 1, requests_per_call: 3 }}", loopback(server.port)));
    let send = |bytes: usize| call.send(request(Method::POST, &server.url("/"), &vec![b'x'; bytes]), None);
    assert!(send(1024).await.is_ok());
    assert!(matches!(send(1025).await, Err(WasiError::HttpRequestBodySize(Some(1024)))));
    assert!(send(1).await.is_ok());
    assert!(matches!(send(1).await, Err(WasiError::HttpRequestDenied)));
    assert_eq!(host.reasons(), ["request-size", "request-count"]);
    assert_eq!((server.seen().len(), call.session.requests()), (2, 4));
}
