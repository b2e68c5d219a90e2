//! Output that operators see without a query: metrics of Machines, which disappear with them, and Events.

use anyhow::{Context, Result, ensure};
use e2e::{LabOptions, manifests};
use kube::api::PostParams;
use serde_json::json;

use crate::scene::{installed, is_gone, is_running, patch_class};

#[tokio::test]
async fn a_machine_is_counted_while_it_is_there_and_its_life_is_timed() {
    installed(LabOptions::default(), async |lab, host| {
        let template = json!({
            "capacity": { "cpu": "1", "gpu": "0", "memory": "1Gi" },
            "instanceType": "sim.small", "region": "sim-1", "zone": "sim-1a",
        });
        patch_class(lab, "small", &json!({ "nodeTemplate": template })).await?;
        let mut machine = serde_json::to_value(manifests::machine("m", "small"))?;
        machine["metadata"]["labels"] = json!({ "name": "pool-a" });
        machine["spec"]["nodeTemplate"]["metadata"]["labels"]["topology.kubernetes.io/zone"] =
            json!("sim-1a");
        lab.machines().create(&PostParams::default(), &serde_json::from_value(machine)?).await?;
        let machine = is_running(lab, "m").await?;

        // The host counts what its own watch has brought, which may be later than what the test has read.
        let metrics = e2e::eventually("the host's watch has brought the Machine as it is", async || {
            let metrics = host.metrics().await?;
            let is_shown = ["mcm_machine_current_status_phase", "mcm_machine_status_condition"]
                .iter()
                .all(|name| metrics.sum(name, &["name=\"m\""]) >= 1.0);
            Ok(is_shown.then_some(metrics))
        })
        .await?;
        let one = |name: &str, labels: &[&str]| -> Result<f64> {
            let found: Vec<(&str, f64)> = metrics.matching(name, labels).collect();
            let (_, value) = found.first().with_context(|| format!("{name} is missing"))?;
            ensure!(found.len() == 1, "{name} is there {} times: {found:?}", found.len());
            Ok(*value)
        };
        ensure!(one("mcm_machine_items_total", &[])? == 1.0, "one Machine");
        ensure!(one("mcm_machine_controller_frozen", &[])? == 0.0, "nothing is held");
        ensure!(one("mcm_machine_current_status_phase", &["name=\"m\""])? == 1.0, "Running is 1");
        let id = format!("spec_provider_id=\"{}\"", machine.provider_id().unwrap_or_default());
        ensure!(
            one("mcm_machine_info", &["name=\"m\"", &id, "spec_class_name=\"small\"", "node_name="])? == 1.0,
            "{id}"
        );
        ensure!(
            one("mcm_machine_status_condition", &["name=\"m\"", "condition=\"Ready\""])? == 1.0,
            "True is 1"
        );
        let pool = ["machine_deployment=\"pool-a\"", "instance_type=\"sim.small\"", "zone=\"sim-1a\""];
        ensure!(one("mcm_machine_create_duration_seconds", &pool)? > 0.0, "it took time");
        // In whole seconds, like the creation of a Node; the simulated cloud starts the VM before it answers.
        ensure!(one("mcm_machine_join_duration_seconds", &pool)? >= 0.0, "it joined");
        let call = ["provider=\"sim\"", "operation=\"CreateMachine\""];
        ensure!(one("mcm_cloud_api_driver_request_duration_seconds_count", &call)? == 1.0, "one create");
        for name in ["depth", "adds_total", "queue_duration_seconds_count", "work_duration_seconds_count"] {
            let name = format!("mcm_workqueue_{name}");
            ensure!(metrics.matching(&name, &["name=\"machine\""]).count() == 1, "{name} is missing");
        }
        ensure!(
            metrics.sum("machinist_phase_duration_seconds_count", &["phase=\"Pending\""]) == 1.0,
            "it was Pending"
        );
        let codes = ["method=\"PATCH\"", "code=\"200\"", "host=\"127.0.0.1:"];
        ensure!(metrics.sum("rest_client_requests_total", &codes) > 0.0, "requests are counted by host");
        lab.event("Machine", "m", "VmRecorded", "its Node will be").await?;

        lab.delete_machine("m").await?;
        is_gone(lab, "m").await?;
        lab.event("Machine", "m", "VmTerminating", "").await?;
        e2e::eventually("the series of the Machine are gone", async || {
            let metrics = host.metrics().await?;
            let names =
                ["mcm_machine_info", "mcm_machine_current_status_phase", "mcm_machine_status_condition"];
            let left = names.iter().any(|name| metrics.matching(name, &[]).next().is_some());
            Ok((!left).then_some(()))
        })
        .await?;
        let metrics = host.metrics().await?;
        ensure!(
            metrics.sum("mcm_machine_delete_duration_seconds", &pool) > 0.0,
            "how long the end took is told yet"
        );
        ensure!(metrics.sum("machinist_pass_panics_total", &[]) == 0.0, "no pass panicked");
        Ok(())
    })
    .await;
}
