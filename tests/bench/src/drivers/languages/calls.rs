//! Calls in fresh instances, in turn with the same work in plain Rust.

use std::hint::black_box;
use std::time::Instant;

use anyhow::{Result, ensure};
use machinist_core::driver::MachineRequest;
use machinist_plugin_host::PluginHost;

use super::Both;
use crate::calls::host::request;
use crate::calls::native::{Native, validate_class};
use crate::times::Times;

const WARM_UP: usize = 50;
const ROUNDS: usize = 1_000;

/// An empty call, and one with a request.
pub(super) async fn measure(host: &PluginHost, cloud: &str) -> Result<(Both, Both)> {
    let (host, native) = (host.clone(), Native::new(cloud)?);
    let machine = request("sim", "sim:///sim-1a/vm-1");
    // As a task, on a worker, as the controllers make their calls.
    tokio::spawn(async move {
        let vms = (host.get_status(machine.clone()).await?, native.get_status(&machine).await?);
        ensure!(vms.0 == vms.1, "both ways see one VM: {vms:?}");
        let empty = empty(&host, &machine).await?;
        Ok((empty, with_request(&host, &native, &machine).await?))
    })
    .await?
}

async fn empty(host: &PluginHost, machine: &MachineRequest) -> Result<Both> {
    let (mut sandboxed, mut native) = (Vec::new(), Vec::new());
    for round in 0..WARM_UP + ROUNDS {
        let started = Instant::now();
        black_box(validate_class(black_box(&machine.class))?);
        let natively = started.elapsed();
        let started = Instant::now();
        black_box(host.validate_class(machine.class.clone()).await?);
        if round >= WARM_UP {
            sandboxed.push(started.elapsed());
            native.push(natively);
        }
    }
    Ok(Both { sandboxed: Times::of(sandboxed), native: Times::of(native) })
}

async fn with_request(host: &PluginHost, plain: &Native, machine: &MachineRequest) -> Result<Both> {
    let (mut sandboxed, mut native) = (Vec::new(), Vec::new());
    for round in 0..WARM_UP + ROUNDS {
        let started = Instant::now();
        black_box(plain.get_status(machine).await?);
        let natively = started.elapsed();
        let started = Instant::now();
        black_box(host.get_status(machine.clone()).await?);
        if round >= WARM_UP {
            sandboxed.push(started.elapsed());
            native.push(natively);
        }
    }
    Ok(Both { sandboxed: Times::of(sandboxed), native: Times::of(native) })
}
