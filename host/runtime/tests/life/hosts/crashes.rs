//! Hosts that crash between any two requests, and the next one, which continues.

use std::time::Duration;

use crate::fixture::cloud::Habits;
use crate::fixture::kubelet::KubeletHabits;
use crate::fixture::stage::{Stage, count_moments, in_namespace};

/// A cloud that makes another VM for each create and shows it only after a while.
const FORGETFUL: Habits = Habits { keeps_keys: false, reads_lag: Duration::from_secs(8), initializes: false };
/// A cloud that keeps keys, shows VMs late, and needs a second step.
const LATE: Habits = Habits { keeps_keys: true, reads_lag: Duration::from_secs(8), initializes: true };

fn stage(habits: Habits) -> Stage {
    let stage = Stage::with(habits, KubeletHabits::default());
    stage.add_class();
    stage
}

/// The events before and after the crash.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Story {
    /// A Machine is created; the next host brings it to Running.
    Create,
    /// A Machine that runs is deleted; the next host ends that.
    Delete,
    /// A Machine is created, and deleted while no host runs.
    CreateThenDelete,
}

/// Lets the host die at the `number`th call of the story. False when the story was over before.
async fn survives(habits: Habits, story: Story, number: usize, is_carried_out: bool) -> bool {
    let stage = stage(habits);
    let host = stage.host("host");
    if story == Story::Delete {
        stage.add_running("a").await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    stage.crash_at(number, is_carried_out);
    match story {
        Story::Create | Story::CreateThenDelete => stage.add_machine("a"),
        Story::Delete => drop(stage.api.delete("machines", &in_namespace("a")).unwrap()),
    }
    let ends = async {
        match story {
            Story::Create | Story::CreateThenDelete => stage.until_running("a").await,
            Story::Delete => stage.until_gone("a").await,
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    };
    tokio::select! {
        biased;
        () = stage.wire.crashed() => {}
        () = ends => return false,
    }
    drop(host);
    stage.wire.heal();
    if story == Story::CreateThenDelete {
        // It may be gone at once, when the host had not yet put its finalizer on.
        stage.api.delete("machines", &in_namespace("a")).unwrap();
    }
    let _next = stage.host("next");
    match story {
        Story::Create => {
            stage.until_running("a").await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            stage.assert_one_vm_each(1);
            assert!(stage.tokens().is_empty(), "tokens left:\n{}", stage.wire.trace());
        }
        Story::Delete | Story::CreateThenDelete => {
            stage.until_gone("a").await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            stage.assert_nothing_left();
            assert!(stage.cloud.made().values().all(|made| *made == 1), "{}", stage.wire.trace());
        }
    }
    true
}

/// Every moment of the story, before and after the call of that moment.
async fn check(habits: Habits, story: Story, at_least: usize) {
    for is_carried_out in [false, true] {
        let moments =
            count_moments(async |number| survives(habits, story, number, is_carried_out).await).await;
        assert!(moments >= at_least, "only {moments} moments");
    }
}

#[tokio::test(start_paused = true)]
async fn a_crash_at_any_moment_of_a_create_leaves_one_vm() {
    // Lists and watches of the start, ten for the Machine, those for class and Secret, and Events.
    check(Habits::default(), Story::Create, 20).await;
}

#[tokio::test(start_paused = true)]
async fn a_crash_at_any_moment_of_a_create_leaves_one_vm_in_a_cloud_that_shows_it_late() {
    check(LATE, Story::Create, 20).await;
}

#[tokio::test(start_paused = true)]
async fn a_crash_at_any_moment_of_a_create_leaves_one_vm_in_a_cloud_without_keys() {
    check(FORGETFUL, Story::Create, 20).await;
}

#[tokio::test(start_paused = true)]
async fn a_crash_at_any_moment_of_a_deletion_leaves_nothing() {
    for habits in [Habits::default(), LATE, FORGETFUL] {
        check(habits, Story::Delete, 8).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_is_deleted_after_a_crash_of_its_create_leaves_nothing() {
    for habits in [Habits::default(), LATE, FORGETFUL] {
        check(habits, Story::CreateThenDelete, 20).await;
    }
}
