//! A hostile cloud, or one that an attacker has taken over.

use std::io::Write as _;
use std::time::Duration;

use serde_json::json;

use super::scene::{Cloud, Scene};

#[tokio::test]
async fn attack_decompression_bomb() {
    // A gigabyte of zeros begins like this; the host does not unpack it.
    let mut packed = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 3];
    packed.resize(40_000, 0xec);
    let cloud = Cloud::saying(move |_| {
        let head =
            "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 40000\r\nconnection: close\r\n\r\n";
        [head.as_bytes(), &packed].concat()
    });
    let scene = Scene::with(cloud).await;
    let report =
        scene.report(&json!({ "do": "fetch", "url": scene.url("cloud.test", "/"), "keep": 10 })).await;
    // An answer that cannot be searched for secrets is refused before it is read.
    assert_eq!(report["error"], "ErrorCode::HttpResponseContentCoding(None)", "{report}");
    assert!(scene.cloud.seen()[0].contains("accept-encoding: identity"));
    let counter = "machinist_plugin_http_requests_total{plugin=\"hostile\",outcome=\"response-coding\"}";
    assert_eq!(scene.world.metric(counter), 1);
}

#[tokio::test]
async fn attack_answer_without_end() {
    let cloud = Cloud::serving(|mut stream, _| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        let piece = [b'x'; 8192];
        while stream.write_all(&piece).is_ok() {}
    });
    let scene = Scene::with(cloud).await;
    let report = scene.report(&json!({ "do": "fetch", "url": scene.url("cloud.test", "/") })).await;
    assert!(report["broken"].is_string() && report["bytes"].as_u64() <= Some(64 * 1024), "{report}");
    let counter = "machinist_plugin_http_body_failures_total{plugin=\"hostile\",reason=\"response-size\"}";
    assert_eq!(scene.world.metric(counter), 1);
}

#[tokio::test]
async fn attack_headers_without_end() {
    let cloud = Cloud::serving(|mut stream, _| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
        while stream.write_all(format!("x-{}: {}\r\n", "n".repeat(50), "v".repeat(8000)).as_bytes()).is_ok() {
        }
    });
    let scene = Scene::with(cloud).await;
    let report = scene.report(&json!({ "do": "fetch", "url": scene.url("cloud.test", "/") })).await;
    assert!(report["error"].is_string(), "{report}");
    let counter = "machinist_plugin_http_requests_total{plugin=\"hostile\",outcome=\"response-headers\"}";
    assert_eq!(scene.world.metric(counter), 1);
}

/// Single bytes with pauses keep a careless client waiting for ever.
#[tokio::test]
async fn attack_slow_loris_by_the_cloud() {
    let cloud = Cloud::serving(|mut stream, _| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 60000\r\n\r\n");
        let _ = stream.set_nodelay(true);
        while stream.write_all(b".").is_ok() {
            std::thread::park_timeout(Duration::from_millis(50));
        }
    });
    let scene = Scene::with(cloud).await;
    scene.breaks(&json!({ "do": "fetch", "url": scene.url("cloud.test", "/") }), "deadline").await;
}

#[tokio::test]
async fn attack_slow_loris_by_the_driver() {
    let scene = Scene::new().await;
    let plan = json!({ "do": "fetch", "method": "POST", "url": scene.url("cloud.test", "/"), "body": "slow and steady", "pause-ms": 800 });
    scene.breaks(&plan, "deadline").await;
    assert!(scene.cloud.seen().is_empty(), "nothing is sent before all of it is there");
}

#[tokio::test]
async fn attack_answer_that_pretends_to_be_the_hosts() {
    let cloud = Cloud::saying(|_| {
        b"HTTP/1.1 429 Slow\r\nmachinist-throttled: true\r\nmachinist-auth: failed\r\nmachinist-clock-skew: 9\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_vec()
    });
    let scene = Scene::with(cloud).await;
    let report = scene.report(&json!({ "do": "fetch", "url": scene.url("cloud.test", "/") })).await;
    assert!(report["status"] == 429 && !report["headers"].to_string().contains("machinist-"), "{report}");
    let counter = "machinist_egress_throttles_total{plugin=\"hostile\",cause=\"status\"}";
    assert_eq!(scene.world.metric(counter), 1);
}

#[tokio::test]
async fn attack_answer_that_is_no_http() {
    let nonsense: [&[u8]; 5] = [
        b"\0\0\0\0",
        b"HTTP/1.1 99999 X\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
        b"HTTP/1.1 200 OK\r\nx: a\0b\r\n\r\n",
    ];
    for nonsense in nonsense {
        let scene = Scene::with(Cloud::saying(move |_| nonsense.to_vec())).await;
        let report = scene.report(&json!({ "do": "fetch", "url": scene.url("cloud.test", "/") })).await;
        assert!(report["error"].is_string(), "{nonsense:?}: {report}");
        let ended = "machinist_plugin_http_requests_total{plugin=\"hostile\",outcome=\"2xx\"}";
        assert_eq!(scene.world.metric(ended), 0, "{nonsense:?}");
    }
}
