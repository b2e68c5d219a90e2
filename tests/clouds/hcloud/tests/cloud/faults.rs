//! Lost answers, half answers, pages of proxies.

use std::time::Duration;

use hetzner::{Effect, Options, Rule};
use serde_json::json;

use crate::{Client, server};

#[tokio::test]
async fn a_lost_answer_leaves_the_server_and_a_lost_request_does_not() {
    let client = Client::new();
    client.cloud.add(Rule::new(Effect::LostAnswer).on("POST", "/v1/servers").nth(1));
    client.cloud.add(Rule::new(Effect::LostRequest).on("POST", "/v1/servers").nth(1));
    assert!(client.send("POST", "/servers", Some(server("done", json!({})))).await.is_err());
    assert!(client.send("POST", "/servers", Some(server("not-done", json!({})))).await.is_err());
    assert_eq!(client.cloud.leftovers().servers, ["done"]);
    let (status, body) = client.call("POST", "/servers", Some(server("done", json!({})))).await;
    assert_eq!((status, &body["error"]["code"]), (409, &json!("uniqueness_error")));
    assert_eq!(client.cloud.most_at_once("done"), 1);
}

#[tokio::test]
async fn half_of_an_answer_and_the_page_of_a_proxy_are_no_json() {
    let client = Client::new();
    client.cloud.add(Rule::new(Effect::HalfAnswer).on("GET", "/v1/servers").nth(1));
    let answer = client.send("GET", "/servers", None).await.expect("a head");
    assert!(answer.text().await.is_err());
    client.cloud.calm();
    client.cloud.add(Rule::new(Effect::Html { status: 502, is_after_work: true }).on("POST", "/v1/servers"));
    let answer = client.send("POST", "/servers", Some(server("behind", json!({})))).await.expect("an answer");
    assert_eq!(
        (answer.status().as_u16(), answer.headers()["content-type"].as_bytes()),
        (502, &b"text/html"[..])
    );
    assert_eq!(client.cloud.leftovers().servers, ["behind"]);
}

#[tokio::test]
async fn actions_take_their_time_and_lock_their_server() {
    let client = Client::of(Options { action_time: Duration::from_hours(1), ..Options::default() });
    let (_, made) = client.call("POST", "/servers", Some(server("slow", json!({})))).await;
    let id = &made["server"]["id"];
    assert_eq!(
        (&made["server"]["status"], &made["server"]["locked"]),
        (&json!("initializing"), &json!(true))
    );
    let (status, body) = client.call("DELETE", &format!("/servers/{id}"), None).await;
    assert_eq!((status, &body["error"]["code"]), (423, &json!("locked")));
}

#[tokio::test]
async fn reads_do_not_show_a_new_server_while_they_lag() {
    let client = Client::of(Options { creation_lag: Duration::from_hours(1), ..Options::default() });
    let (_, made) = client.call("POST", "/servers", Some(server("hidden", json!({})))).await;
    let id = &made["server"]["id"];
    assert_eq!(client.call("GET", &format!("/servers/{id}"), None).await.0, 404);
    assert_eq!(client.call("GET", "/servers", None).await.1["servers"], json!([]));
    assert_eq!(client.call("DELETE", &format!("/servers/{id}"), None).await.0, 200);
    assert_eq!(client.cloud.leftovers().servers, Vec::<String>::new());
}
