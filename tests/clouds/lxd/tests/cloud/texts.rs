//! LXD's errors have no codes: the driver decides by their texts. Here the daemon itself says each of them, and the
//! file of the driver's unit tests must have the same.

use std::collections::BTreeMap;

use lxd::{Lxd, Options, SMALL};
use serde_json::{Value, json};

use crate::{TURN, body, start};

const TEXTS: &str = include_str!("../../../../../plugins/lxd/test/texts.json");

/// Requests that LXD refuses, by the name of the text.
fn refused() -> Vec<(&'static str, &'static str, Value)> {
    let with = |fields: Value| {
        let mut body = body("t", SMALL, &json!({}));
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        body
    };
    let at = "/1.0/instances";
    vec![
        ("unknown image", at, with(json!({ "source": { "type": "image", "alias": "nope" } }))),
        (
            "unknown fingerprint",
            at,
            with(json!({ "source": { "type": "image", "fingerprint": "0123456789ab" } })),
        ),
        ("unknown project", "/1.0/instances?project=nope", with(json!({}))),
        ("unknown profile", at, with(json!({ "profiles": ["nope"] }))),
        ("unknown member", "/1.0/instances?target=nope", with(json!({}))),
        (
            "unknown pool",
            at,
            with(json!({ "devices": { "root": { "type": "disk", "path": "/", "pool": "nope" } } })),
        ),
        ("no root disk", at, with(json!({ "profiles": [] }))),
        ("unknown key", at, with(json!({ "config": { "limits.foo": "1" } }))),
        ("invalid limit", at, with(json!({ "config": { "limits.cpu": "many" } }))),
        ("invalid value", at, with(json!({ "config": { "security.nesting": "maybe" } }))),
        ("unknown device", at, with(json!({ "devices": { "x": { "type": "floppy" } } }))),
        ("unknown network", at, with(json!({ "devices": { "eth0": { "type": "nic", "network": "nope" } } }))),
        ("other type", at, with(json!({ "type": "virtual-machine" }))),
        (
            "missing source",
            at,
            with(
                json!({ "devices": { "data": { "type": "disk", "path": "/x", "source": "/nonexistent" } } }),
            ),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "nightly: needs root, and Debian's packages lxd and debootstrap"]
async fn the_daemon_says_what_the_table_of_the_driver_expects() {
    let _turn = TURN.lock().await;
    let known: BTreeMap<String, String> = serde_json::from_str(TEXTS).unwrap();
    let cloud = Lxd::start(Options::default()).await.unwrap();
    for (name, target, body) in refused() {
        let said = cloud.ask("POST", target, Some(body)).await.unwrap_err().to_string();
        assert_eq!(said, known[name], "{name}");
        assert_eq!(cloud.instances().await.unwrap(), [], "{name} leaves something");
    }

    cloud.ask("POST", "/1.0/instances", Some(body("t", SMALL, &json!({})))).await.unwrap();
    let twice = cloud
        .ask("POST", "/1.0/instances", Some(body("t", SMALL, &json!({}))))
        .await
        .unwrap_err()
        .to_string();
    assert!(twice.contains(r#"This "instances" entry already exists"#), "{twice}");
    cloud.ask("PUT", "/1.0/instances/t/state", Some(start())).await.unwrap();
    let running = cloud.ask("DELETE", "/1.0/instances/t", None).await.unwrap_err().to_string();
    assert_eq!(running, "Instance is running");
    let started = cloud.ask("PUT", "/1.0/instances/t/state", Some(start())).await.unwrap_err().to_string();
    assert!(started.contains("already running"), "{started}");
    let stop = json!({ "action": "stop", "force": true, "timeout": -1 });
    cloud.ask("PUT", "/1.0/instances/t/state", Some(stop.clone())).await.unwrap();
    let stopped = cloud.ask("PUT", "/1.0/instances/t/state", Some(stop)).await.unwrap_err().to_string();
    assert_eq!(stopped, "The instance is already stopped");
    let protect = json!({ "config": { "security.protection.delete": "true" } });
    cloud.ask("PATCH", "/1.0/instances/t", Some(protect)).await.unwrap();
    let protected = cloud.ask("DELETE", "/1.0/instances/t", None).await.unwrap_err().to_string();
    assert_eq!(protected, known["protected"]);
    let free = json!({ "config": { "security.protection.delete": "false" } });
    cloud.ask("PATCH", "/1.0/instances/t", Some(free)).await.unwrap();
    cloud.ask("DELETE", "/1.0/instances/t", None).await.unwrap();
    for (method, target) in [("GET", "/1.0/instances/t"), ("DELETE", "/1.0/instances/t")] {
        assert_eq!(cloud.ask(method, target, None).await.unwrap_err().to_string(), "Instance not found");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "nightly: needs root, and Debian's packages lxd and debootstrap"]
async fn a_server_alone_has_no_targets() {
    let _turn = TURN.lock().await;
    let cloud = Lxd::start(Options { member: None, ..Options::default() }).await.unwrap();
    let said = cloud
        .ask("POST", "/1.0/instances?target=lab-1", Some(body("t", SMALL, &json!({}))))
        .await
        .unwrap_err();
    assert_eq!(said.to_string(), "Target only allowed when clustered");
}
