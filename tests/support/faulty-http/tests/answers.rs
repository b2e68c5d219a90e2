//! A client's view of whole, broken, endless and missing answers, and of a proxy.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use faulty_http::{Answer, AnswerBody, Broken, ServerThread, Upstream, serve};
use http::Response;
use http::header::CONTENT_LENGTH;
use http::request::Parts;

const ANY_PORT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
const LIMIT_BYTES: usize = 1024;

fn client() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().build().expect("a client")
}

async fn answer(head: Parts, body: Bytes) -> Answer {
    let response = Response::builder().header("x-path", head.uri.path());
    let body = match head.uri.path() {
        "/echo" => AnswerBody::whole(body),
        "/cut" => {
            return Ok(Response::builder()
                .header(CONTENT_LENGTH, 10)
                .body(AnswerBody::cut("half"))
                .expect("valid"));
        }
        "/endless" => AnswerBody::endless(Bytes::from_static(b"."), Duration::from_millis(1)),
        _ => return Err(Broken),
    };
    response.body(body).map_err(|_| Broken)
}

fn server() -> ServerThread {
    ServerThread::start("faulty", 1, ANY_PORT, |listener| serve(listener, LIMIT_BYTES, answer))
        .expect("it starts")
}

#[tokio::test]
async fn each_answer_arrives_as_planned() {
    let (server, client) = (server(), client());
    let post = |path: &str, body: String| client.post(format!("{}{path}", server.url())).body(body).send();
    let whole = post("/echo", "hello".to_owned()).await.expect("an answer");
    assert_eq!(whole.text().await.expect("a body"), "hello");
    let cut = post("/cut", String::new()).await.expect("a head");
    assert!(cut.bytes().await.is_err(), "half of a body is an error");
    let mut endless = post("/endless", String::new()).await.expect("a head");
    for _ in 0..3 {
        assert!(endless.chunk().await.expect("a piece").is_some());
    }
    assert!(post("/lost", String::new()).await.is_err(), "no answer");
    assert!(post("/echo", "x".repeat(LIMIT_BYTES + 1)).await.is_err(), "the request is too large");
}

#[tokio::test]
async fn a_proxy_passes_on_requests_and_halves_answers() {
    let (server, client) = (server(), client());
    let upstream = Upstream::new(server.url(), client.clone());
    let proxy = move |head: Parts, body: Bytes| {
        let upstream = upstream.clone();
        async move {
            let received = upstream.forward(&head, "/echo", body).await.map_err(|_| Broken)?;
            Ok(match head.uri.path() {
                "/whole" => received.whole(),
                "/halved" => received.halved().whole(),
                _ => received.cut(),
            })
        }
    };
    let proxy = ServerThread::start("proxy", 1, ANY_PORT, |listener| serve(listener, LIMIT_BYTES, proxy))
        .expect("it starts");
    let post = |path: &str| client.post(format!("{}{path}", proxy.url())).body("four").send();
    let whole = post("/whole").await.expect("an answer");
    assert_eq!(whole.headers()["x-path"], "/echo");
    assert_eq!(whole.text().await.expect("a body"), "four");
    assert_eq!(post("/halved").await.expect("an answer").text().await.expect("a body"), "fo");
    assert!(post("/cut").await.expect("a head").bytes().await.is_err(), "half of a body is an error");
}
