//! The catalog leads through the proxy, which adds faults, lag and TLS.

use std::time::Duration;

use openstack::{Effect, Rule};
use reqwest::{Certificate, Client, Method, StatusCode};
use serde_json::{Value, json};

use crate::support::{ask, cloud, login, plain};

fn public_urls(catalog: &Value, region: &str) -> Vec<String> {
    let services = catalog["catalog"].as_array().into_iter().flatten();
    let endpoints = services.flat_map(|service| service["endpoints"].as_array().into_iter().flatten());
    let public = endpoints.filter(|one| one["interface"] == "public" && one["region_id"] == region);
    public.filter_map(|one| one["url"].as_str().map(str::to_owned)).collect()
}

#[tokio::test]
#[ignore = "nightly: starts the services of OpenStack, which takes minutes the first time"]
async fn the_catalog_names_the_address_that_the_client_uses() {
    let cloud = cloud().await;
    let (tls, authority) = cloud.tls().expect("it listens with TLS");
    let authority = Certificate::from_pem(authority.as_bytes()).expect("a certificate");
    let trusting = Client::builder().no_proxy().tls_certs_only([authority]).build().expect("a client");
    for (client, url) in [(plain(), cloud.url()), (trusting, tls)] {
        let token = login(&client, &url, &cloud.facts().password).await.expect("a login");
        let catalog = format!("{url}/identity/v3/auth/catalog");
        let (_, catalog) = ask(&client, &token, Method::GET, catalog, None).await.expect("a catalog");
        let urls = public_urls(&catalog, "RegionOne");
        assert!(urls.len() == 6 && urls.iter().all(|one| one.starts_with(&url)), "{urls:?}");
        let down = public_urls(&catalog, "RegionTwo");
        assert!(down.len() == 5 && down.iter().all(|one| one.starts_with(&format!("{url}/RegionTwo/"))));
        let (status, _) = ask(&client, &token, Method::GET, down[0].clone(), None).await.expect("an answer");
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        let flavors = format!("{url}/compute/v2.1/flavors?limit=1");
        let (_, flavors) = ask(&client, &token, Method::GET, flavors, None).await.expect("flavors");
        let next = flavors["flavors_links"][0]["href"].as_str().expect("a link to the next page");
        assert!(next.starts_with(&format!("{}/compute/", url.replace("https", "http"))), "{next}");
    }
}

#[tokio::test]
#[ignore = "nightly: starts the services of OpenStack, which takes minutes the first time"]
async fn a_client_without_the_authority_gets_no_session() {
    let cloud = cloud().await;
    let (tls, _) = cloud.tls().expect("it listens with TLS");
    login(&plain(), &tls, "x").await.expect_err("the certificate is not trusted");
}

#[tokio::test]
#[ignore = "nightly: starts the services of OpenStack, which takes minutes the first time"]
async fn faults_apply_to_the_requests_that_rules_name() {
    let cloud = cloud().await;
    let (client, url) = (plain(), cloud.url());
    let token = login(&client, &url, &cloud.facts().password).await.expect("a login");
    let list = || ask(&client, &token, Method::GET, format!("{url}/compute/v2.1/servers/detail"), None);
    cloud.faults().add(Rule::new(Effect::throttle(Some(7))).on("GET compute/servers/detail").nth(1));
    cloud.faults().add(Rule::new(Effect::LostAnswer).on("GET compute/servers/detail").nth(2));
    cloud.faults().add(Rule::new(Effect::Cut).on("GET compute/servers/detail").nth(1));
    assert_eq!(list().await.expect("an answer").0, StatusCode::TOO_MANY_REQUESTS);
    list().await.expect_err("the answer is lost");
    assert_eq!(list().await.expect("an answer").0, StatusCode::OK);
    let statuses: Vec<u16> = cloud.journal().iter().skip(1).map(|entry| entry.status).collect();
    assert_eq!(statuses, [429, 0, 200]);
    assert_eq!(cloud.counts()["GET compute/servers/detail"], 3);
}

#[tokio::test]
#[ignore = "nightly: starts the services of OpenStack, which takes minutes the first time"]
async fn reads_do_not_show_a_server_that_is_younger_than_the_lag() {
    let cloud = cloud().await;
    let (client, url) = (plain(), cloud.url());
    let token = login(&client, &url, &cloud.facts().password).await.expect("a login");
    cloud.set_lag(Duration::from_secs(3600));
    let body = json!({ "server": { "name": "lagging", "flavorRef": "1", "imageRef": cloud.facts().image_id,
        "networks": [{ "uuid": cloud.facts().nodes_network_id }] } });
    let servers = format!("{url}/compute/v2.1/servers");
    let (status, made) =
        ask(&client, &token, Method::POST, servers.clone(), Some(body)).await.expect("a server");
    assert_eq!(status, StatusCode::ACCEPTED, "{made}");
    let id = made["server"]["id"].as_str().expect("an id").to_owned();
    let read = || ask(&client, &token, Method::GET, format!("{servers}/{id}"), None);
    let listed = || ask(&client, &token, Method::GET, format!("{servers}/detail?name=lagging"), None);
    assert_eq!(read().await.expect("an answer").0, StatusCode::NOT_FOUND);
    assert_eq!(listed().await.expect("an answer").1["servers"], json!([]));
    assert_eq!(cloud.named("lagging").await.expect("a listing").servers, std::slice::from_ref(&id));
    cloud.set_lag(Duration::ZERO);
    assert_eq!(read().await.expect("an answer").0, StatusCode::OK);
    assert_eq!(listed().await.expect("an answer").1["servers"][0]["id"], id.as_str());
    ask(&client, &token, Method::DELETE, format!("{servers}/{id}"), None).await.expect("a deletion");
}
