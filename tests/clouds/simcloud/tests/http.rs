//! The server: the model's answers as they arrive over HTTP.

use std::time::{Duration, Instant};

use reqwest::StatusCode;
use serde_json::{Value, json};
use simcloud::{Config, Event, EventKind, Latency, Server};

const LONG: Duration = Duration::from_secs(20);

fn server(latency: Latency) -> Server {
    Server::start(Config { latency, ..Config::default() }).unwrap()
}

fn client() -> reqwest::Client {
    // The client wants a TLS provider even where all URLs are plain.
    rustls::crypto::ring::default_provider().install_default().ok();
    reqwest::Client::builder().no_proxy().timeout(LONG).build().unwrap()
}

fn create(client: &reqwest::Client, server: &Server, name: &str) -> reqwest::RequestBuilder {
    client
        .post(format!("{}/v1/vms", server.url()))
        .bearer_auth(server.token())
        .header("Idempotency-Key", name)
        .json(&json!({"name": name, "zone": "sim-1a", "type": "sim.small", "image": "linux-1"}))
}

async fn put_faults(client: &reqwest::Client, server: &Server, faults: &Value) {
    let answer = client
        .put(format!("{}/admin/faults", server.url()))
        .bearer_auth(server.admin_token())
        .json(faults)
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
}

#[tokio::test]
async fn a_vm_lives_and_dies_over_http() {
    let (server, client) = (server(Latency::ZERO), client());
    let answer = create(&client, &server, "a").send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::CREATED);
    assert!(answer.headers().contains_key("x-request-id"));
    assert!(answer.headers().contains_key("date"));
    let vm: Value = answer.json().await.unwrap();
    let url = format!("{}/v1/vms/{}", server.url(), vm["id"].as_str().unwrap());
    let shown: Value =
        client.get(&url).bearer_auth(server.token()).send().await.unwrap().json().await.unwrap();
    assert_eq!(shown["state"], "running");
    assert_eq!(server.live_vms().len(), 1);
    let deleted = client.delete(&url).bearer_auth(server.token()).send().await.unwrap();
    assert_eq!(deleted.status(), StatusCode::ACCEPTED);
    assert_eq!(server.live_vms().len(), 0);
    let stats: simcloud::Stats =
        client.get(format!("{}/stats", server.url())).send().await.unwrap().json().await.unwrap();
    assert_eq!(stats.outcome("vm.create", "ok"), 1);
    assert_eq!(stats, {
        let mut own = server.stats();
        own.calls.retain(|operation, _| operation != "stats");
        own
    });
}

#[tokio::test]
async fn a_lost_answer_closes_the_connection_after_the_work_was_done() {
    let (server, client) = (server(Latency::ZERO), client());
    put_faults(
        &client,
        &server,
        &json!({"rules": [{"match": {"nth": 1},
        "effect": {"type": "timeout", "holdMs": 50}}]}),
    )
    .await;
    let start = Instant::now();
    let lost = create(&client, &server, "a").send().await.unwrap_err();
    assert!(!lost.is_timeout(), "the server closed the connection: {lost:?}");
    assert!(start.elapsed() >= Duration::from_millis(50));
    let again = create(&client, &server, "a").send().await.unwrap();
    assert_eq!(again.status(), StatusCode::OK, "the VM was there");
    assert_eq!(server.stats().created, 1);
}

#[tokio::test]
async fn a_truncated_answer_has_its_head_and_half_its_body() {
    let (server, client) = (server(Latency::ZERO), client());
    put_faults(&client, &server, &json!({"rules": [{"effect": {"type": "truncate", "bytes": 5}}]})).await;
    let mut answer = create(&client, &server, "a").send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::CREATED);
    assert!(answer.content_length().unwrap() > 100);
    assert_eq!(answer.chunk().await.unwrap().unwrap().as_ref(), b"{\"id\"");
    assert!(answer.chunk().await.is_err(), "the rest never comes");
}

#[tokio::test]
async fn throttling_says_when_to_come_back() {
    let (server, client) = (server(Latency::ZERO), client());
    put_faults(
        &client,
        &server,
        &json!({"rules": [{"effect": {"type": "throttle", "rate": 0.01, "burst": 1}}]}),
    )
    .await;
    assert_eq!(create(&client, &server, "a").send().await.unwrap().status(), StatusCode::CREATED);
    let refused = create(&client, &server, "b").send().await.unwrap();
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    let wait: u64 = refused.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((90..=100).contains(&wait), "{wait}");
    assert_eq!(refused.json::<Value>().await.unwrap()["code"], "throttled");
}

#[tokio::test]
async fn the_stream_tells_of_changes_that_only_time_makes() {
    let (server, client) = (server(Latency { boot_ms: 30, terminate_ms: 30, ..Latency::ZERO }), client());
    let id = create(&client, &server, "a").send().await.unwrap().json::<Value>().await.unwrap()["id"].clone();
    let mut stream = Lines::open(&client, &server).await;
    assert_eq!(stream.next().await.kind, EventKind::Reset);
    let mut event = stream.next().await;
    if event.kind == EventKind::Created {
        event = stream.next().await;
    }
    assert_eq!(event.kind, EventKind::Running, "nobody called meanwhile");
    assert_eq!(json!(event.vm.unwrap().id), id);
    let url = format!("{}/v1/vms/{}", server.url(), id.as_str().unwrap());
    client.delete(&url).bearer_auth(server.token()).send().await.unwrap();
    assert_eq!(stream.next().await.kind, EventKind::Stopping);
    assert_eq!(stream.next().await.kind, EventKind::Terminated);
}

#[tokio::test]
async fn the_stream_needs_the_admin_token() {
    let (server, client) = (server(Latency::ZERO), client());
    let url = format!("{}/admin/vms/stream", server.url());
    let refused = client.get(&url).bearer_auth(server.token()).send().await.unwrap();
    assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn invalid_requests_do_no_harm() {
    let (server, client) = (server(Latency::ZERO), client());
    let vms = format!("{}/v1/vms", server.url());
    let head = client.head(&vms).bearer_auth(server.token()).send().await.unwrap();
    assert_eq!(head.status(), StatusCode::METHOD_NOT_ALLOWED);
    let post = |body: Vec<u8>| client.post(&vms).bearer_auth(server.token()).body(body).send();
    assert_eq!(post(b"{".to_vec()).await.unwrap().status(), StatusCode::BAD_REQUEST);
    assert!(post(vec![b' '; 2 * 1024 * 1024]).await.is_err(), "larger than a request may be");
    assert_eq!(create(&client, &server, "a").send().await.unwrap().status(), StatusCode::CREATED);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_server_is_gone_and_paused_time_does_not_stop_a_running_one() {
    let server = server(Latency { boot_ms: 1, ..Latency::ZERO });
    let (addr, id) = (
        server.addr(),
        server.with(|cloud, now| {
            let body = json!({"name": "a", "zone": "sim-1a", "type": "sim.small", "image": "linux-1"});
            let request = simcloud::Request::new(simcloud::Method::Post, "/v1/vms").with_token("sim-token");
            cloud.handle(&request.with_json(&body).unwrap(), now).json::<Value>().unwrap()["id"].clone()
        }),
    );
    let end = Instant::now() + LONG;
    while server.live_vms()[0].state != simcloud::VmState::Running {
        assert!(Instant::now() < end, "{id} does not boot");
        std::thread::yield_now();
    }
    drop(server);
    assert!(std::net::TcpStream::connect(addr).is_err());
}

struct Lines {
    answer: reqwest::Response,
    buffer: Vec<u8>,
}

impl Lines {
    async fn open(client: &reqwest::Client, server: &Server) -> Self {
        let url = format!("{}/admin/vms/stream", server.url());
        let answer = client.get(&url).bearer_auth(server.admin_token()).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        Self { answer, buffer: Vec::new() }
    }

    async fn next(&mut self) -> Event {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                return serde_json::from_slice(&line).unwrap();
            }
            let chunk = self.answer.chunk().await.unwrap().expect("the stream does not end");
            self.buffer.extend_from_slice(&chunk);
        }
    }
}
