//! Requests that are two, or another one, when they are read carelessly.

use serde_json::json;

use super::scene::{Cloud, Scene};

#[tokio::test]
async fn attack_header_smuggling() {
    let scene = Scene::new().await;
    let mut plan = json!({ "do": "forge-headers", "url": scene.url("cloud.test", "/") });
    let report = scene.report(&plan).await;
    for name in ["bad name", "line\r\nauthorization", "x-line", "x-nul", ":authority"] {
        assert!(report[name]["error"].is_string(), "{name}: {}", report[name]);
    }
    let host = format!("host: cloud.test:{}", scene.cloud.port);
    for seen in scene.cloud.seen() {
        let head = seen.to_lowercase();
        assert_eq!(head.lines().filter(|line| line.starts_with("host:")).count(), 1, "{head}");
        assert!(head.contains(&host), "{head}");
        let names: Vec<&str> =
            head.lines().skip(1).filter_map(|line| Some(line.split_once(':')?.0)).collect();
        for forged in [
            "connection", "content-length", "expect", "http2-settings", "keep-alive", "proxy-authorization",
            "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
        ] {
            assert!(!names.contains(&forged), "{forged} in {head}");
        }
        assert!(!head.contains("metadata.internal"), "{head}");
    }
    // Headers that are only for the host itself are not sent on.
    plan = json!({ "do": "fetch", "url": scene.url("cloud.test", "/"), "headers": [["machinist-auth", "basic"], ["machinist-auth", "basic"]] });
    scene.refused(&plan, "auth-mark").await;
}

#[tokio::test]
async fn attack_another_request_than_the_one_that_was_judged() {
    let scene = Scene::new().await;
    let url = scene.url("cloud.test", "/");
    for name in ["x-http-method-override", "x-original-url", "x-rewrite-url", "x-forwarded-host", "forwarded"]
    {
        let plan = json!({ "do": "fetch", "url": url, "headers": { name: "/admin" } });
        scene.refused(&plan, "grant-header").await;
    }
    for method in ["TRACK", "DEBUG", "trace", "OPTIONS", "PROPFIND"] {
        let plan = json!({ "do": "fetch", "url": url, "method": method });
        scene.refused(&plan, "target").await;
    }
    assert!(scene.cloud.seen().is_empty());
}

#[tokio::test]
async fn attack_request_smuggling() {
    let scene = Scene::new().await;
    let body = "0\r\n\r\nGET /evil HTTP/1.1\r\nhost: metadata.internal\r\n\r\n";
    for headers in [
        json!([]),
        json!([["content-length", "0"], ["transfer-encoding", "chunked"]]),
        json!([["content-length", "1"], ["content-length", body.len().to_string()]]),
        json!([["transfer-encoding", "chunked, identity"]]),
        json!([["connection", "content-length"]]),
    ] {
        let plan = json!({ "do": "fetch", "method": "POST", "url": scene.url("cloud.test", "/"), "headers": headers, "body": body });
        scene.report(&plan).await;
    }
    for seen in scene.cloud.seen() {
        let (head, sent) = seen.split_once("\r\n\r\n").expect("a head");
        let head = head.to_lowercase();
        assert!(head.contains(&format!("content-length: {}", body.len())), "{head}");
        assert!(!head.contains("transfer-encoding") && head.matches("content-length").count() == 1, "{head}");
        assert_eq!(sent, body, "one body, whole");
    }
    let counter = "machinist_plugin_http_requests_total{plugin=\"hostile\",outcome=\"2xx\"}";
    let sent = scene.world.metric(counter);
    assert!(sent >= 1 && sent == scene.cloud.seen().len() as u64, "{sent}");
}

#[tokio::test]
async fn attack_smuggling_in_the_request_line() {
    let scene = Scene::new().await;
    let url = scene.url("cloud.test", "/");
    for misbehaving in [
        json!({ "path": "/ HTTP/1.1\r\nx-evil: 1\r\n\r\nGET /evil" }),
        json!({ "path": "/a b" }),
        json!({ "path": "/\0" }),
        json!({ "path": "/\u{202e}x" }),
        json!({ "method": "GET / HTTP/1.1\r\nx-evil: 1\r\n\r\nGET" }),
        json!({ "method": "" }),
        json!({ "authority": "cloud.test\r\nx-evil: 1" }),
        json!({ "authority": "cloud.test /evil" }),
        json!({ "authority": "" }),
        json!({ "no-authority": true }),
        json!({ "scheme": "file" }),
        json!({ "method": "CONNECT" }),
        json!({ "method": "TRACE" }),
    ] {
        let mut plan = json!({ "do": "fetch", "url": url });
        for (field, value) in misbehaving.as_object().expect("an object") {
            plan[field] = value.clone();
        }
        let report = scene.report(&plan).await;
        let is_contained =
            report["error"].is_string() || scene.cloud.seen().iter().all(|seen| !seen.contains("evil"));
        assert!(is_contained, "{plan}: {report}");
    }
    for seen in scene.cloud.seen() {
        assert!(!seen.contains("evil") && seen.matches("HTTP/1.1").count() == 1, "{seen}");
    }
    let refused =
        scene.world.metric("machinist_plugin_http_refused_total{plugin=\"hostile\",reason=\"target\"}");
    assert_eq!(refused, scene.refusals() as u64, "what reached the egress was refused as no target");
}

#[tokio::test]
async fn attack_trailers() {
    let scene = Scene::new().await;
    let plan = json!({ "do": "fetch", "method": "POST", "url": scene.url("cloud.test", "/"), "body": "x", "trailers": { "authorization": "Bearer forged" } });
    scene.report(&plan).await;
    let seen = scene.cloud.seen();
    assert!(seen.iter().all(|seen| !seen.contains("forged")), "{seen:?}");
    let requests = "machinist_plugin_http_requests_total{plugin=\"hostile\"";
    assert_eq!(scene.world.metric(requests), 1);
    assert_eq!(scene.refusals(), 0);
}

#[tokio::test]
async fn attack_another_port_scheme_or_host_than_granted() {
    let scene = Scene::new().await;
    for (url, reason) in [
        ("http://cloud.test:1/".to_owned(), "grant-port"),
        (scene.url("cloud.test", "/").replace("http:", "https:"), "grant-scheme"),
        (scene.url("evil.test", "/"), "grant-host"),
        (scene.url("cloud.test.evil.test", "/"), "grant-host"),
        (scene.url("xcloud.test", "/"), "grant-host"),
    ] {
        scene.refused(&json!({ "do": "fetch", "url": url }), reason).await;
    }
    assert!(scene.cloud.seen().is_empty());
}

#[tokio::test]
async fn attack_redirect_to_the_metadata_service() {
    let cloud = Cloud::saying(|_| {
        b"HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/latest/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_vec()
    });
    let scene = Scene::with(cloud).await;
    let plan = json!({ "do": "fetch", "url": scene.url("cloud.test", "/") });
    assert_eq!(scene.report(&plan).await["status"], 302, "the host does not follow");
    let plan = json!({ "do": "fetch", "url": scene.url("cloud.test", "/"), "follow": 3 });
    let report = scene.refused(&plan, "grant-host").await;
    assert_eq!(report["hops"].as_array().map(Vec::len), Some(1), "{report}");
    assert_eq!(scene.cloud.seen().len(), 2);
}

#[tokio::test]
async fn attack_flood_of_requests() {
    let scene = Scene::new().await;
    let plan = json!({ "do": "fetch", "url": scene.url("cloud.test", "/"), "times": 100 });
    let report = scene.refused(&plan, "request-count").await;
    assert!(report["error"].is_string(), "{report}");
    assert_eq!(scene.cloud.seen().len(), 20);
    let plan = json!({ "do": "fetch", "url": scene.url("cloud.test", "/"), "parallel": 40 });
    let report = scene.refused(&plan, "request-count").await;
    assert_eq!(report["answers"], 20, "{report}");
}

#[tokio::test]
async fn attack_request_without_end() {
    let scene = Scene::new().await;
    let body = json!({ "repeat": "x".repeat(1024), "times": 5_000 });
    let plan = json!({ "do": "fetch", "method": "POST", "url": scene.url("cloud.test", "/"), "body": body });
    scene.refused(&plan, "request-size").await;
    assert!(scene.cloud.seen().is_empty());
}
