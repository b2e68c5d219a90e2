//! The rate limit and its headers, full groups, networks and locations.

use hetzner::Options;
use serde_json::json;

use crate::{Client, server};

#[tokio::test]
async fn a_project_has_its_requests_an_hour_and_says_how_many_are_left() {
    let client = Client::of(Options { requests_per_hour: 5, ..Options::default() });
    for left in (0..5).rev() {
        let answer = client.send("GET", "/servers", None).await.expect("an answer");
        assert_eq!(answer.status(), 200);
        let header = |name: &str| answer.headers()[name].to_str().expect("a text").to_owned();
        assert_eq!(
            (header("ratelimit-limit"), header("ratelimit-remaining")),
            ("5".to_owned(), left.to_string())
        );
        assert!(header("ratelimit-reset").parse::<i64>().expect("seconds") > 1_700_000_000);
    }
    let (status, body) = client.call("GET", "/servers", None).await;
    assert_eq!((status, &body["error"]["code"]), (429, &json!("rate_limit_exceeded")));
}

#[tokio::test]
async fn a_placement_group_has_room_for_ten_servers() {
    let client = Client::new();
    for number in 0..10 {
        let body = server(&format!("spread-{number}"), json!({ "placement_group": 897 }));
        assert_eq!(client.call("POST", "/servers", Some(body)).await.0, 201, "{number}");
    }
    assert_eq!(client.refused(json!({ "placement_group": 897 })).await, (412, "placement_error".to_owned()));
    let (_, listed) = client.call("GET", "/servers?name=spread-3", None).await;
    let id = &listed["servers"][0]["id"];
    assert_eq!(client.call("DELETE", &format!("/servers/{id}"), None).await.0, 200);
    let body = server("spread-11", json!({ "placement_group": 897 }));
    assert_eq!(client.call("POST", "/servers", Some(body)).await.0, 201);
}

#[tokio::test]
async fn networks_and_locations_run_out_of_room() {
    let client = Client::new();
    let small = json!({ "networks": [3_002] });
    assert_eq!(client.call("POST", "/servers", Some(server("first", small.clone()))).await.0, 201);
    assert_eq!(client.refused(small).await, (409, "no_subnet_available".to_owned()));
    client.cloud.fill("hel1", false);
    assert_eq!(client.refused(json!({})).await, (412, "resource_unavailable".to_owned()));
    assert_eq!(
        client.call("POST", "/servers", Some(server("elsewhere", json!({ "location": "fsn1" })))).await.0,
        201
    );
}

#[tokio::test]
async fn a_server_that_cannot_start_stays_off_and_its_action_says_why() {
    let client = Client::new();
    client.cloud.fill("hel1", true);
    let (status, body) = client.call("POST", "/servers", Some(server("late", json!({})))).await;
    assert_eq!((status, &body["next_actions"][0]["error"]["code"]), (201, &json!("resource_unavailable")));
    let (_, found) = client.call("GET", "/servers?name=late", None).await;
    assert_eq!(found["servers"][0]["status"], "off");
}

#[tokio::test]
async fn the_limits_of_a_project_are_refusals() {
    let client = Client::of(Options { most_servers: 1, most_floating_ips: 0, ..Options::default() });
    assert_eq!(client.call("POST", "/servers", Some(server("only", json!({})))).await.0, 201);
    assert_eq!(client.refused(json!({})).await, (403, "resource_limit_exceeded".to_owned()));
    let address = json!({ "type": "ipv4", "home_location": "hel1" });
    assert_eq!(client.call("POST", "/floating_ips", Some(address)).await.0, 403);
}
