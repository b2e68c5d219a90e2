//! The same scenes on EC2: they are those of the simulated cloud, with another driver.

use e2e::Aws;

use super::scene::{managed, options};
use super::{deletions, journey, kills, moves};

#[tokio::test]
#[ignore = "nightly: three minutes; the simulated cloud has this journey on each change"]
async fn a_workload_cluster_on_ec2_is_made_scaled_rolled_and_deleted() {
    managed::<Aws>(options(), async |lab, _, host| journey::life(lab, host, 10).await).await;
}

#[tokio::test]
#[ignore = "nightly: four minutes; lives of the runtime crash on each change"]
async fn a_host_that_is_killed_again_and_again_makes_one_instance_for_each_machine() {
    kills::killed::<Aws>().await;
}

#[tokio::test]
#[ignore = "nightly: two minutes; lives of the runtime pause on each change"]
async fn while_it_is_paused_nothing_reaches_ec2() {
    managed::<Aws>(options(), async |lab, _, _| moves::pauses(lab).await).await;
}

#[tokio::test]
#[ignore = "nightly: two minutes; on each change a workload cluster is deleted in the journey"]
async fn an_instance_lives_until_the_drain_of_core_and_its_hooks_are_through() {
    managed::<Aws>(deletions::with_pods(), async |lab, _, _| deletions::drained(lab).await).await;
}

#[tokio::test]
#[ignore = "nightly: a minute and a half; lives of the runtime delete both on each change"]
async fn bootstrap_data_and_keys_of_ec2_may_be_deleted_first() {
    managed::<Aws>(options(), async |lab, _, _| deletions::without_secrets(lab).await).await;
}

#[tokio::test]
#[ignore = "nightly: a minute and a half; a life of the runtime deletes everything at once on each change"]
async fn a_namespace_that_is_deleted_as_a_whole_leaves_no_instance() {
    managed::<Aws>(options(), async |lab, _, _| deletions::without_namespace(lab).await).await;
}
