//! Requests that a driver may not send: refused, counted, and reported on its ConfigMap.

use anyhow::{Result, ensure};
use e2e::{Host, Lab, LabOptions, manifests};
use serde_json::{Value, json};

use crate::plugins::hostile_servers::Server;
use crate::scene::{HOSTILE, installed, runs};

/// Lets the driver send these requests in one call; its report is the Machine's message.
async fn sends(lab: &Lab, name: &str, requests: &[Value]) -> Result<String> {
    let spec = json!({ "do": "sequence", "steps": requests, "then": "error", "in": ["create"] });
    lab.put_class(&manifests::class_of(name, "sim", "hostile", &spec)).await?;
    lab.create_machine(name, name).await?;
    Ok(lab.machine_reason(name, "CreationFailed", "").await?.message)
}

async fn refused(host: &Host, reason: &str) -> Result<f64> {
    let label = format!("reason=\"{reason}\"");
    Ok(host.metrics().await?.sum("machinist_plugin_http_refused_total", &["plugin=\"hostile\"", &label]))
}

async fn install(lab: &Lab, egress: &Value) -> Result<()> {
    let map = manifests::plugin_granted("hostile", &HOSTILE, &json!({}), &json!({ "egress": egress }))?;
    lab.put_plugin(&map).await?;
    lab.plugin_state("hostile", "Ready").await
}

fn fetch(url: &str) -> Value {
    json!({ "url": url })
}

/// One address, as many write it.
const METADATA: [&str; 8] = [
    "http://169.254.169.254/latest", "http://0xa9fea9fe/", "http://2852039166/", "http://169.254.43518/",
    "http://0251.0376.0251.0376/", "http://[::ffff:169.254.169.254]/", "http://[::ffff:a9fe:a9fe]/",
    "http://169.254.169.254./",
];

#[tokio::test]
async fn hosts_that_are_not_granted_are_refused_counted_and_reported() {
    installed(LabOptions::default(), async |lab, host| {
        let open = Server::redirecting("http://169.254.169.254/latest/meta-data").await?;
        let own = json!({ "host": "127.0.0.1", "scheme": "http", "ports": [open.port()], "addresses": ["loopback"] });
        install(lab, &json!([own])).await?;

        let said = sends(lab, "elsewhere", &[fetch("http://example.com/"), fetch(&lab.plane.server())]).await?;
        ensure!(refused(host, "grant-host").await? >= 1.0, "{said}");
        let other_port = refused(host, "grant-port").await? + refused(host, "grant-scheme").await?;
        ensure!(other_port >= 1.0, "the API server beside it is not granted: {said}");
        lab.event("ConfigMap", "hostile", "EgressRefused", "example.com").await?;

        let before = refused(host, "grant-host").await?;
        let said = sends(lab, "metadata", &METADATA.map(fetch)).await?;
        ensure!(!said.contains("\"status\""), "{said}");
        ensure!(refused(host, "grant-host").await? >= before + 8.0, "each notation is the same host: {said}");

        let said = sends(lab, "redirected", &[json!({ "url": open.url(), "follow": 1 })]).await?;
        ensure!(open.requests() >= 1 && said.contains("hops"), "the redirect was seen: {said}");
        ensure!(said.contains("error") && !said.contains("\"status\":200"), "and not followed: {said}");
        let answered = sends(lab, "seen", &[fetch(&open.url())]).await?;
        ensure!(answered.contains("302"), "the host follows nothing by itself: {answered}");
        runs(lab, "beside").await.map(drop)
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly: tests of the plugin host show it on each change"]
async fn a_granted_name_that_leads_inside_is_refused_by_its_address() {
    installed(LabOptions::default(), async |lab, host| {
        let inside = Server::silent().await?;
        let ports = json!([inside.port(), 80]);
        // Granted by name, for addresses that everyone can reach, as a rule without `addresses` says.
        install(lab, &json!([{ "host": "localhost", "scheme": "http", "ports": ports }])).await?;
        let port = inside.port();
        let names = [format!("http://localhost:{port}/"), format!("http://LOCALHOST.:{port}/")];
        let said = sends(lab, "names", &names.map(|url| fetch(&url))).await?;
        ensure!(refused(host, "address-loopback").await? >= 2.0, "{said}");
        lab.event("ConfigMap", "hostile", "EgressRefused", "address-loopback").await?;
        let addresses = ["127.0.0.1", "127.1", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]"];
        let said =
            sends(lab, "addresses", &addresses.map(|host| fetch(&format!("http://{host}:{port}/")))).await?;
        ensure!(refused(host, "grant-host").await? >= 5.0, "{said}");
        ensure!(inside.requests() == 0, "nothing got through: {said}");
        Ok(())
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly: tests of the plugin host show it on each change"]
async fn addresses_inside_are_granted_by_their_class_or_not_at_all() {
    installed(LabOptions::default(), async |lab, _| {
        for (name, host, class) in
            [("metadata", "169.254.169.254", "metadata"), ("itself", "127.0.0.1", "loopback")]
        {
            let grants = json!({ "egress": [{ "host": host, "scheme": "http", "ports": [80] }] });
            let settings = json!({ "providers": [name] });
            lab.put_plugin(&manifests::plugin_granted(name, &HOSTILE, &settings, &grants)?).await?;
            lab.plugin_state(name, "Rejected").await?;
            lab.event("ConfigMap", name, "PluginRejected", &format!("{host} is a {class} address")).await?;
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_secret_goes_only_where_it_is_granted() {
    installed(LabOptions::default(), async |lab, host| {
        let open = Server::redirecting("/").await?;
        let own = json!({ "host": "127.0.0.1", "scheme": "http", "ports": [open.port()], "addresses": ["loopback"] });
        install(lab, &json!([own])).await?;
        let with_secret = json!({
            "url": open.url(),
            "placeholders": { "pw": { "key": "token" } },
            "headers": { "x-stolen": "{{pw}}" },
        });
        let said = sends(lab, "stolen", &[with_secret]).await?;
        ensure!(open.requests() == 0 && !said.contains(lab.cloud.token()), "the token stays: {said}");
        ensure!(said.contains("not-granted"), "{said}");
        let reveals = host.metrics().await?.sum("machinist_plugin_secret_reveals_total", &[]);
        ensure!(reveals == 0.0, "{reveals}");
        Ok(())
    })
    .await;
}
