//! A cloud account that is throttled, beside others of the same driver.

use std::time::{Duration, Instant};

use machinist_core::driver::MachineRequest;
use machinist_core::driver::error::CallError;
use serde_json::json;

use super::scene::{Cloud, Scene};
use crate::fixture::request;

/// Longer than the accounts beside it may take, shorter than a call's deadline.
const PAUSE: Duration = Duration::from_secs(4);

fn throttled(path: &str) -> Vec<u8> {
    let status = match path {
        _ if path.starts_with("GET /too-fast ") => "429 Too Many Requests\r\nretry-after: 4",
        _ => "200 OK",
    };
    format!("HTTP/1.1 {status}\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok").into_bytes()
}

/// A call of one class, which makes one request.
fn asks(class: &str, url: &str) -> MachineRequest {
    let mut ask = request("hostile", &json!({ "do": "fetch", "url": url }).to_string());
    ask.class.name = class.into();
    ask
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_throttled_account_does_not_stop_another_account_of_the_same_driver() {
    let scene = Scene::narrow(Cloud::saying(throttled), 2).await;
    let host = &scene.world.host;
    host.create(asks("slow", &scene.url("cloud.test", "/too-fast"))).await.expect("answers");
    let throttled_at = Instant::now();
    let slow: Vec<_> = (0..20)
        .map(|_| {
            let (host, ask) = (host.clone(), asks("slow", &scene.url("cloud.test", "/")));
            tokio::spawn(async move { (host.create(ask).await, Instant::now()) })
        })
        .collect();
    while scene.world.metric("machinist_plugin_calls_waiting") == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    for _ in 0..5 {
        let answer = host.create(asks("free", &scene.url("other.test", "/"))).await;
        assert!(answer.is_ok(), "{answer:?}");
    }
    assert_eq!(scene.world.version("plain").await, "1.0.0");
    assert!(
        throttled_at.elapsed() < PAUSE,
        "they waited for the other account: {:?}",
        throttled_at.elapsed()
    );
    for call in slow {
        let (answer, ended) = call.await.expect("ends");
        assert!(
            ended.duration_since(throttled_at) >= PAUSE - Duration::from_millis(100),
            "the account is honoured"
        );
        // Calls whose turn comes after their deadline are refused; they have sent no request.
        assert!(matches!(answer, Ok(_) | Err(CallError::Refused(_))), "{answer:?}");
    }
}
