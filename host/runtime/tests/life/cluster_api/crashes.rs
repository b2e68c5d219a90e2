//! Hosts that crash between any two requests, and the next one, which continues.

use std::time::Duration;

use super::objects::{MACHINES, add_cluster, add_machine, empty, find, is_provisioned, of_team};
use crate::fixture::cloud::Habits;
use crate::fixture::stage::count_moments;

const FORGETFUL: Habits = Habits { keeps_keys: false, reads_lag: Duration::from_secs(8), initializes: false };
const LATE: Habits = Habits { keeps_keys: true, reads_lag: Duration::from_secs(8), initializes: true };
const LIMIT: Duration = Duration::from_secs(1_200);

/// Lets the host die at the `number`th call of a create or of a deletion. False when that was over before.
async fn survives(habits: Habits, is_deletion: bool, number: usize, is_carried_out: bool) -> bool {
    let stage = empty(habits);
    let host = stage.host_without_target("host");
    add_cluster(&stage);
    if is_deletion {
        add_machine(&stage, "vm");
        stage.until("the VM is provided", LIMIT, || is_provisioned(&stage, "vm")).await;
        tokio::time::sleep(Duration::from_secs(10)).await;
    }
    stage.crash_at(number, is_carried_out);
    if is_deletion {
        stage.api.delete(MACHINES, &of_team("vm")).unwrap();
    } else {
        add_machine(&stage, "vm");
    }
    let is_over = || if is_deletion { find(&stage, "vm").is_none() } else { is_provisioned(&stage, "vm") };
    let ends = async {
        stage.until("the end", LIMIT, is_over).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    };
    tokio::select! {
        biased;
        () = stage.wire.crashed() => {}
        () = ends => return false,
    }
    drop(host);
    stage.wire.heal();
    let _next = stage.host_without_target("next");
    stage.until("the end after the crash", LIMIT, is_over).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    if is_deletion {
        assert_eq!(stage.cloud.vms(), 0, "{}", stage.wire.trace());
    } else {
        stage.assert_one_vm_each(1);
    }
    true
}

#[tokio::test(start_paused = true)]
async fn a_crash_at_any_moment_leaves_one_vm_and_after_a_deletion_none() {
    for habits in [Habits::default(), LATE, FORGETFUL] {
        for (is_deletion, at_least) in [(false, 8), (true, 4)] {
            for is_carried_out in [false, true] {
                let moments =
                    count_moments(async |number| survives(habits, is_deletion, number, is_carried_out).await)
                        .await;
                assert!(moments >= at_least, "only {moments} moments");
            }
        }
    }
}
