//! Requests that the API's types refuse.

use serde_json::json;

use crate::{Client, server};

#[tokio::test]
async fn a_field_that_the_api_does_not_have_is_refused_at_any_depth() {
    let client = Client::new();
    for changes in [
        json!({ "datacenter": "hel1-dc2" }),
        json!({ "public_net": { "enable_ipv4": true, "ipv4_id": 7 } }),
        json!({ "firewalls": [{ "firewall": 38_001, "status": "applied" }] }),
    ] {
        assert_eq!(client.refused(changes.clone()).await, (422, "invalid_input".to_owned()), "{changes}");
    }
    assert_eq!(client.cloud.leftovers().servers, Vec::<String>::new());
}

#[tokio::test]
async fn a_field_of_another_type_and_a_missing_one_are_refused() {
    let client = Client::new();
    for changes in
        [json!({ "labels": ["a"] }), json!({ "networks": ["nodes"] }), json!({ "server_type": null })]
    {
        assert_eq!(client.refused(changes.clone()).await, (422, "invalid_input".to_owned()), "{changes}");
    }
    let (status, _) =
        client.call("POST", "/servers", Some(server("accepted", json!({ "networks": null })))).await;
    assert_eq!(status, 201);
}

#[tokio::test]
async fn removed_parts_of_the_api_say_so() {
    let client = Client::new();
    for path in ["/datacenters", "/datacenters/1", "/actions"] {
        let (status, body) = client.call("GET", path, None).await;
        assert_eq!((status, &body["error"]["code"]), (410, &json!("deprecated_api_endpoint")), "{path}");
    }
}
