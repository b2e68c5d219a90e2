//! How many calls a second the simulated cloud serves on this machine: `cargo run --release --example load`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context as _, ensure};
use clap::Parser;
use serde_json::json;
use simcloud::{Config, Latency, Server};

/// Creates, reads, lists and deletes VMs as fast as possible, many at once.
#[derive(Parser)]
struct Arguments {
    /// Number of VMs to create
    #[arg(long, default_value_t = 5000)]
    vms: usize,
    /// Number of calls in flight
    #[arg(long, default_value_t = 64)]
    concurrency: usize,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    // The client wants a TLS provider even where all URLs are plain.
    rustls::crypto::ring::default_provider().install_default().ok();
    let server = Server::start(Config { latency: Latency::ZERO, ..Config::default() })?;
    let load = Arc::new(Load {
        client: reqwest::Client::builder().no_proxy().build()?,
        url: server.url(),
        token: server.token().to_owned(),
    });
    let n = arguments.vms;
    let measure = |what: &'static str, calls: usize, call: Call| {
        let load = Arc::clone(&load);
        async move {
            let start = Instant::now();
            load.run(calls, arguments.concurrency, call).await?;
            let took = start.elapsed();
            println!(
                "{what:<12} {calls:>6} calls in {took:>10.3?} = {:>8.0}/s",
                calls as f64 / took.as_secs_f64()
            );
            anyhow::Ok(())
        }
    };
    measure("create", n, Call::Create).await?;
    let ids: Arc<[String]> = server.live_vms().into_iter().map(|vm| vm.id).collect();
    ensure!(ids.len() == n, "{} VMs instead of {n}", ids.len());
    measure("get", 2 * n, Call::Get(Arc::clone(&ids))).await?;
    measure("find by tag", 2 * n, Call::Find).await?;
    measure("list of 100", n / 10, Call::List).await?;
    measure("delete", n, Call::Delete(ids)).await?;
    ensure!(server.live_vms().is_empty(), "VMs are left");
    Ok(())
}

#[derive(Clone)]
enum Call {
    Create,
    Get(Arc<[String]>),
    Find,
    List,
    Delete(Arc<[String]>),
}

struct Load {
    client: reqwest::Client,
    url: String,
    token: String,
}

impl Load {
    /// Makes calls with numbers from 0, so many of them at once.
    async fn run(self: Arc<Self>, calls: usize, concurrency: usize, call: Call) -> anyhow::Result<()> {
        let next = Arc::new(AtomicUsize::new(0));
        let mut workers = tokio::task::JoinSet::new();
        for _ in 0..concurrency {
            let (load, next, call) = (Arc::clone(&self), Arc::clone(&next), call.clone());
            workers.spawn(async move {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= calls {
                        return anyhow::Ok(());
                    }
                    load.one(&call, number).await?;
                }
            });
        }
        while let Some(done) = workers.join_next().await {
            done??;
        }
        Ok(())
    }

    async fn one(&self, call: &Call, number: usize) -> anyhow::Result<()> {
        let url = &self.url;
        let id = |ids: &[String]| ids.get(number % ids.len().max(1)).cloned().context("no VM");
        let request = match call {
            Call::Create => self
                .client
                .post(format!("{url}/v1/vms"))
                .header("Idempotency-Key", format!("key-{number}"))
                .json(&json!({"name": format!("vm-{number}"), "zone": "sim-1a", "type": "sim.small",
                    "image": "linux-1", "userData": "aGVsbG8gd29ybGQh".repeat(100),
                    "tags": {"cluster": "c1", "machine-uid": format!("uid-{number}"), "role": "worker"}})),
            Call::Get(ids) => self.client.get(format!("{url}/v1/vms/{}", id(ids)?)),
            Call::Find => {
                self.client.get(format!("{url}/v1/vms?tag=cluster:c1&tag=machine-uid:uid-{number}"))
            }
            Call::List => self.client.get(format!("{url}/v1/vms?tag=cluster:c1")),
            Call::Delete(ids) => self.client.delete(format!("{url}/v1/vms/{}", id(ids)?)),
        };
        request.bearer_auth(&self.token).send().await?.error_for_status()?.bytes().await?;
        Ok(())
    }
}
