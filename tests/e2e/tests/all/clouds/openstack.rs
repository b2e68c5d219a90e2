//! Tells the stories of a lab on OpenStack.

use e2e::OpenStack;
use tokio::sync::Mutex;

use super::kills::killed;
use super::life::life;
use super::recordings::replays;
use crate::cluster_api::workload_cluster_on;
use crate::tls_bootstrap::joined;

/// One OpenStack at a time: it takes a gigabyte, and a core for half a minute.
static ALONE: Mutex<()> = Mutex::const_new(());
/// Servers that Nova and Neutron make in half a minute on two cores.
const AT_ONCE: usize = 5;

#[tokio::test]
#[ignore = "nightly: the services of OpenStack, which take minutes to install"]
async fn machines_become_servers_with_ports_and_leave_nothing_behind() {
    let _alone = ALONE.lock().await;
    replays::<OpenStack>(&life::<OpenStack>().await).await;
}

#[tokio::test]
#[ignore = "nightly: the services of OpenStack, which take minutes to install"]
async fn a_host_that_is_killed_at_any_moment_makes_one_server_with_its_port_for_each_machine() {
    let _alone = ALONE.lock().await;
    killed::<OpenStack>().await;
}

#[tokio::test]
#[ignore = "nightly: the services of OpenStack and the kubelet, which take minutes to install, and twenty servers"]
async fn twenty_machines_of_openstack_join_by_tls_bootstrap() {
    let _alone = ALONE.lock().await;
    joined::<OpenStack>(AT_ONCE).await;
}

#[tokio::test]
#[ignore = "nightly: the services of OpenStack, which take minutes to install; minutes of rollouts"]
async fn a_workload_cluster_on_openstack_is_made_scaled_rolled_and_deleted() {
    let _alone = ALONE.lock().await;
    workload_cluster_on::<OpenStack>().await;
}
