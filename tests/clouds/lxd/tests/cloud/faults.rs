//! Faults of the proxy: each is what it says, and the work is done or not.

use std::time::{Duration, Instant};

use lxd::{Effect, Lxd, Options, Rule, SMALL};
use serde_json::{Value, json};

use crate::{TURN, body};

/// The status of the answer and its text; nothing if the connection ended.
async fn send(
    http: &reqwest::Client,
    method: &str,
    url: String,
    body: Option<Value>,
) -> Option<(u16, String)> {
    let mut request = http.request(method.parse().unwrap(), url);
    if let Some(body) = body {
        request = request.json(&body);
    }
    let answer = request.send().await.ok()?;
    Some((answer.status().as_u16(), answer.text().await.ok()?))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "nightly: needs root, and Debian's packages lxd and debootstrap"]
async fn a_fault_is_what_it_says_and_the_work_is_done_or_not() {
    let _turn = TURN.lock().await;
    let cloud = Lxd::start(Options::default()).await.unwrap();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let create = |name: &'static str| {
        let url = format!("{}/1.0/instances", cloud.url());
        send(&http, "POST", url, Some(body(name, SMALL, &json!({}))))
    };
    let effects = [
        (Effect::LostAnswer, None, true),
        (Effect::LostRequest, None, false),
        (Effect::error(500, "database is locked"), Some(500), false),
        (Effect::Error { status: 500, text: "late".to_owned(), is_after_work: true }, Some(500), true),
        (Effect::Throttle { retry_after: Some(3) }, Some(429), false),
        (Effect::Half, Some(202), true),
        (Effect::OtherShape, Some(200), true),
        (Effect::Html { status: 502, is_after_work: false }, Some(502), false),
        (Effect::Cut, None, true),
    ];
    let mut expected = 0;
    for (place, (effect, status, is_done)) in effects.into_iter().enumerate() {
        let name: &'static str = Box::leak(format!("c-{place}").into_boxed_str());
        cloud.faults().add(Rule::new(effect.clone()).on("create").first(1));
        assert_eq!(create(name).await.map(|(status, _)| status), status, "{effect:?}");
        cloud.faults().clear();
        expected += usize::from(is_done);
        // The record of an instance is there a moment after the answer.
        let began = Instant::now();
        while cloud.instances().await.unwrap().len() < expected && began.elapsed() < Duration::from_secs(10) {
            tokio::task::yield_now().await;
        }
        assert_eq!(cloud.instances().await.unwrap().len(), expected, "{effect:?}");
    }
    let actions: Vec<&str> = cloud.journal().iter().map(|entry| entry.action).collect();
    assert_eq!(actions, ["create"; 9]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "nightly: needs root, and Debian's packages lxd and debootstrap"]
async fn reads_can_be_late_and_operations_can_fail() {
    let _turn = TURN.lock().await;
    let cloud = Lxd::start(Options::default()).await.unwrap();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let at = |target: &str| format!("{}{target}", cloud.url());
    cloud.set_lag(Duration::from_secs(3_600));
    cloud.faults().add(Rule::new(Effect::Failure("no space left on device".to_owned())).on("wait"));
    cloud.faults().add(Rule::new(Effect::Delay(Duration::from_millis(30))).on("create").named("slow"));
    let began = Instant::now();
    let made =
        send(&http, "POST", at("/1.0/instances"), Some(body("late", SMALL, &json!({})))).await.unwrap();
    assert!(began.elapsed() >= Duration::from_millis(30));
    assert_eq!(cloud.faults().fired()["slow"], 1);
    let made: Value = serde_json::from_str(&made.1).unwrap();
    let wait = at(&format!("/1.0/operations/{}/wait?timeout=60", made["metadata"]["id"].as_str().unwrap()));
    let ended: Value = serde_json::from_str(&send(&http, "GET", wait, None).await.unwrap().1).unwrap();
    assert_eq!(
        (&ended["metadata"]["status_code"], &ended["metadata"]["err"]),
        (&json!(400), &json!("no space left on device"))
    );
    assert_eq!(send(&http, "GET", at("/1.0/instances/late"), None).await.unwrap().0, 404);
    for recursion in ["0", "1"] {
        let listed =
            send(&http, "GET", at(&format!("/1.0/instances?recursion={recursion}")), None).await.unwrap().1;
        assert!(!listed.contains("late"), "{listed}");
    }
    cloud.set_lag(Duration::ZERO);
    assert_eq!(send(&http, "GET", at("/1.0/instances/late"), None).await.unwrap().0, 200);
}
