//! LXD's own client, a second client: it sees what requests through the proxy made, and the other way round.

use std::process::Command;

use lxd::{Lxd, Options, SMALL};
use serde_json::{Value, json};

use crate::{TURN, body};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "nightly: needs root, and Debian's packages lxd and debootstrap"]
async fn the_client_of_lxd_and_requests_through_the_proxy_see_the_same_instances() {
    let _turn = TURN.lock().await;
    let cloud = Lxd::start(Options::default()).await.unwrap();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let config = json!({ "user.machinist-uid": "uid-1", "user.machinist-cluster": "lab" });
    let made = http.post(format!("{}/1.0/instances", cloud.admin_url())).json(&body("ours", SMALL, &config));
    assert_eq!(made.send().await.unwrap().status(), 202);

    let folder = tempfile::tempdir().unwrap();
    let variables = cloud.own_client(folder.path()).unwrap();
    let lxc = |arguments: &[&str]| {
        let said = Command::new("lxc").envs(variables.clone()).args(arguments).output().unwrap();
        assert!(said.status.success(), "lxc {arguments:?}: {}", String::from_utf8_lossy(&said.stderr));
        String::from_utf8(said.stdout).unwrap()
    };
    let listed: Vec<Value> = serde_json::from_str(&lxc(&["list", "--format", "json"])).unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0]["name"], "ours");
    assert_eq!(listed[0]["config"]["user.machinist-uid"], "uid-1");
    assert_eq!(listed[0]["location"], "lab-1");

    lxc(&["init", SMALL, "theirs", "--config", "user.machinist-uid=uid-2"]);
    // The filter of the driver: a regular expression without quotes.
    let url =
        format!("{}/1.0/instances?recursion=1&filter=config.user.machinist-uid%20eq%20uid-2", cloud.url());
    let found: Value = http.get(url).send().await.unwrap().json().await.unwrap();
    assert_eq!(found["metadata"].as_array().unwrap().len(), 1);
    assert_eq!(found["metadata"][0]["name"], "theirs");
    lxc(&["delete", "--force", "ours", "theirs"]);
    assert_eq!(cloud.leftovers().await.unwrap(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "nightly: needs root, and Debian's packages lxd and debootstrap"]
async fn a_client_without_a_certificate_that_lxd_trusts_is_refused() {
    let _turn = TURN.lock().await;
    let cloud = Lxd::start(Options::default()).await.unwrap();
    let server = reqwest::Certificate::from_pem(cloud.credentials().server_cert.as_bytes()).unwrap();
    let (certificate, key) = lxd::client_certificate("stranger").unwrap();
    let identity = reqwest::Identity::from_pem(format!("{certificate}{key}").as_bytes()).unwrap();
    let builder = || reqwest::Client::builder().no_proxy().tls_certs_only([server.clone()]);
    for client in [builder().build().unwrap(), builder().identity(identity).build().unwrap()] {
        let answer = client.get(format!("{}/1.0/instances", cloud.https_url())).send().await.unwrap();
        assert_eq!(answer.status(), 403);
        assert_eq!(answer.json::<Value>().await.unwrap()["error"], "not authorized");
    }
    // Another server's certificate is not this one's.
    let (other, _) = lxd::client_certificate("another server").unwrap();
    let other = reqwest::Certificate::from_pem(other.as_bytes()).unwrap();
    let client = reqwest::Client::builder().no_proxy().tls_certs_only([other]).build().unwrap();
    assert!(client.get(format!("{}/1.0", cloud.https_url())).send().await.unwrap_err().is_connect());
}
