//! Tells the stories of a lab on Hetzner Cloud.

use e2e::Hcloud;

use super::kills::killed;
use super::life::life;
use super::recordings::replays;
use crate::cluster_api::workload_cluster_on;

#[tokio::test]
async fn machines_become_servers_and_leave_nothing_behind() {
    replays::<Hcloud>(&life::<Hcloud>().await).await;
}

#[tokio::test]
#[ignore = "nightly: two minutes; a host is killed in the simulated cloud on each change"]
async fn a_host_that_is_killed_at_any_moment_makes_one_server_for_each_machine() {
    killed::<Hcloud>().await;
}

#[tokio::test]
#[ignore = "nightly: two minutes; the simulated cloud has this journey on each change"]
async fn a_workload_cluster_on_hetzner_cloud_is_made_scaled_rolled_and_deleted() {
    workload_cluster_on::<Hcloud>().await;
}
