//! A cloud that has no more: the autoscaler reads it, gives up what cannot be made, and leaves the group alone.

use anyhow::{Context, ensure};
use e2e::autoscaler::{Dialect, Instance, InstanceState, is_rollout_finished};
use e2e::{LabOptions, eventually};
use simcloud::{Capacity, Faults};

use super::{POOL, autoscaler, group, list_is_empty, names, pool};
use crate::scene::installed;

fn is_out_of_resources(instance: &Instance) -> bool {
    matches!(&instance.state, InstanceState::OutOfResources { message } if !message.is_empty())
}

#[tokio::test]
#[ignore = "nightly: lives of the runtime show it on each change"]
async fn what_the_cloud_has_no_room_for_is_given_up_and_nothing_that_runs_is_lost() {
    installed(LabOptions::default(), async |lab, _| {
        let fleet = pool(lab, 2).await?;
        let capacity = vec![Capacity { zone: "*".into(), kind: "*".into(), limit: 3 }];
        let faults = Faults { capacity, ..Faults::default() };
        lab.cloud.set_faults(faults).map_err(|error| anyhow::anyhow!("{error:?}"))?;
        let autoscaler = autoscaler(lab, Dialect::NamesAndTimes);
        autoscaler.turn(3).await?;
        fleet.until("a third one runs", |tally| tally.available == 3).await?;
        let ran = fleet.look(|fleet| {
            let runs = fleet.machines().values().filter(|machine| machine.is_available());
            runs.map(|machine| machine.name.clone()).collect::<Vec<_>>()
        });
        let exhausted: Vec<Instance> = eventually("two are out of resources", async || {
            let mut instances = autoscaler.instances(&group()).await?;
            instances.retain(is_out_of_resources);
            Ok((instances.len() == 2).then_some(instances))
        })
        .await?;
        let named = |instance: &Instance| instance.id == format!("requested://{}", instance.machine);
        ensure!(exhausted.iter().all(named), "they are known by their Machines: {exhausted:?}");
        let deployment = lab.deployments().get(POOL).await?;
        ensure!(is_rollout_finished(&deployment), "a scale-up is no rollout: {:?}", deployment.status);
        ensure!(fleet.stretch().most == 5, "none is made anew meanwhile: {:?}", fleet.stretch());

        fleet.begin();
        ensure!(autoscaler.turn(0).await?.is_none(), "nothing is missing");
        ensure!(autoscaler.is_backed_off(POOL), "the group is left alone");
        let refused = autoscaler.turn(1).await.err().context("no group may be made larger")?;
        ensure!(refused.to_string().contains("backed off"), "{refused:#}");
        fleet.until("three are left", |tally| tally.objects == 3).await?;
        let done = lab.deployment_is_complete(POOL).await?;
        ensure!(done.spec.replicas == Some(3), "{:?}", done.spec.replicas);
        ensure!(names(&fleet).into_iter().eq(sorted(ran)), "those that ran are left: {:?}", names(&fleet));
        let stretch = fleet.stretch();
        ensure!((stretch.made, stretch.fewest_available) == (0, 3), "{stretch:?}");
        list_is_empty(lab).await?;

        lab.cloud.clear_faults();
        autoscaler.increase_size(&group(), 1).await?;
        lab.deployment_is_complete(POOL).await?;
        Ok(())
    })
    .await;
}

fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names
}
