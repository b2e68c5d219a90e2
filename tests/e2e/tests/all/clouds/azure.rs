//! Tells the stories of a lab on Azure.

use e2e::Azure;

use super::kills::killed;
use super::life::life;
use super::recordings::replays;
use crate::cluster_api::workload_cluster_on;

#[tokio::test]
async fn machines_become_vms_with_parts_and_leave_nothing_behind() {
    replays::<Azure>(&life::<Azure>().await).await;
}

#[tokio::test]
#[ignore = "nightly: two minutes; a host is killed in the simulated cloud on each change"]
async fn a_host_that_is_killed_at_any_moment_makes_one_vm_with_its_parts_for_each_machine() {
    killed::<Azure>().await;
}

#[tokio::test]
#[ignore = "nightly: two minutes; the simulated cloud has this journey on each change"]
async fn a_workload_cluster_on_azure_is_made_scaled_rolled_and_deleted() {
    workload_cluster_on::<Azure>().await;
}
