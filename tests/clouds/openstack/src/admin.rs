//! A server that needs no login, for the conformance kit: `GET /vms?cluster=…&uid=…` returns the ids of a Machine's
//! servers, and every other request goes to its service as the project's user.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::Context;
use bytes::Bytes;
use faulty_http::{Broken, ServerThread, serve};
use http::request::Parts;
use serde_json::{Value, json};

use crate::client::Client;
use crate::proxy::handle::plain;

const REQUEST_LIMIT_BYTES: usize = 1 << 20;

#[derive(Debug)]
pub(crate) struct Admin {
    thread: ServerThread,
}

impl Admin {
    pub(crate) fn start(client: Client) -> anyhow::Result<Self> {
        let client = Arc::new(client);
        let answer = move |head, body| answer(Arc::clone(&client), head, body);
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let thread = ServerThread::start("openstack-admin", 1, address, |listener| {
            serve(listener, REQUEST_LIMIT_BYTES, answer)
        });
        Ok(Self { thread: thread.context("failed to start the admin's server")? })
    }

    pub(crate) fn url(&self) -> String {
        self.thread.url()
    }
}

async fn answer(client: Arc<Client>, head: Parts, body: Bytes) -> faulty_http::Answer {
    let path = head.uri.path();
    if path == "/vms" {
        let query = head.uri.query().unwrap_or_default();
        let value = |key: &str| {
            let mut pairs = form_urlencoded::parse(query.as_bytes());
            pairs.find(|(name, _)| name == key).map(|(_, value)| value.into_owned()).unwrap_or_default()
        };
        let ids = servers_of(&client, &value("cluster"), &value("uid")).await.map_err(|_| Broken)?;
        let vms: Vec<Value> = ids.into_iter().map(|id| json!({ "vm": id })).collect();
        return Ok(plain(200, json!(vms).to_string()));
    }
    let service = match path.split('/').nth(1) {
        Some("compute") => "nova",
        Some("network") => "neutron",
        Some("volume") => "cinder",
        Some("image") => "glance",
        _ => return Ok(plain(404, "there is no such service".to_owned())),
    };
    let target = head.uri.path_and_query().map_or("/", |target| target.as_str());
    let below = target.get(1..).and_then(|rest| rest.find('/').map(|at| &rest[at..])).unwrap_or("/");
    let body = String::from_utf8_lossy(&body).into_owned();
    let answered = client.send(head.method, service, below, body).await.map_err(|_| Broken)?;
    Ok(plain(answered.status, answered.text))
}

/// Returns the servers with these marks that nobody is deleting.
pub(crate) async fn servers_of(client: &Client, cluster: &str, uid: &str) -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    let mut marker = String::new();
    loop {
        let listing = client.get("nova", &format!("/v2.1/servers/detail?limit=1000{marker}")).await?;
        let servers = listing["servers"].as_array().context("Nova lists no servers")?;
        for server in servers {
            let is = |key: &str, value: &str| server["metadata"][key].as_str() == Some(value);
            let is_leaving = server["OS-EXT-STS:task_state"].as_str() == Some("deleting");
            if is("machinist.dev-cluster", cluster) && is("machinist.dev-machine-uid", uid) && !is_leaving {
                found.extend(server["id"].as_str().map(str::to_owned));
            }
        }
        match servers.last().and_then(|last| last["id"].as_str()) {
            Some(id) if listing.get("servers_links").is_some() => marker = format!("&marker={id}"),
            _ => return Ok(found),
        }
    }
}
