//! An instance is rebooted, and stays the same.

use anyhow::{Context, Result, ensure};
use e2e::plugins::sandbox;
use e2e::{Aws, Cloud};
use machinist_core::driver::Creation;
use machinist_core::driver::error::{CallError, Code};
use machinist_plugin_host::PluginHost;

use super::scene::AWS;

#[tokio::test]
async fn an_instance_is_rebooted_once_and_one_that_is_gone_is_not_found() {
    rebooted().await.expect("it is rebooted");
}

async fn rebooted() -> Result<()> {
    let cloud = Aws::start().await?;
    let folder = tempfile::tempdir()?;
    let host = PluginHost::start(sandbox::settings(folder.path())?)?;
    sandbox::load(&host, sandbox::raw(cloud.plugin(&AWS)?)).await?;
    let mut request = sandbox::request("m0", &cloud.class("small", "aws"), &cloud.secret("aws"), "cluster-1");
    let Creation::Created(vm) = host.create(request.clone()).await? else {
        anyhow::bail!("it is created at once");
    };
    // By its uid, then by its id: both lead to the same instance.
    host.reboot(request.clone()).await.context("by uid")?;
    request.machine.provider_id = Some(vm.provider_id.clone());
    host.reboot(request.clone()).await.context("by id")?;
    let stats = cloud.stats();
    ensure!(stats.requests_of("RebootInstances") == 2, "{:?}", stats.requests);
    let live = cloud.live_instances().await?;
    let ids: Vec<&str> = live.iter().map(|instance| instance.id.as_str()).collect();
    let id = vm.provider_id.as_str().rsplit('/').next().unwrap_or_default();
    ensure!(ids == [id], "the instance is the same: {ids:?}");
    ensure!(host.get_status(request.clone()).await?.provider_id == vm.provider_id, "and is there");

    host.delete(request.clone()).await?;
    match host.reboot(request).await {
        Err(CallError::Guest(error)) => ensure!(error.code == Code::NotFound, "{error:?}"),
        other => anyhow::bail!("what is gone is not found: {other:?}"),
    }
    let stats = cloud.stats();
    ensure!(stats.requests_of("RebootInstances") == 2, "nothing is asked for what is gone");
    host.shutdown().await;
    Ok(())
}
