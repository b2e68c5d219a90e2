//! Each rule bites: a bug that breaks it is found, within a few seeds.

use std::time::Duration;

use sim::{Plan, Planted, run};

/// Finds a bug, or says what was found instead.
fn hunt(bug: Planted) {
    let mut found = Vec::new();
    for seed in 1..=24 {
        let report = run(&Plan::new(seed, 3, Duration::from_mins(20)).with(bug)).unwrap();
        match report.violation {
            Some(violation) if violation.rule == bug.breaks() => return,
            Some(violation) => found.push(format!("seed {seed}: {violation}")),
            None => found.push(format!("seed {seed}: nothing")),
        }
    }
    panic!("{bug:?} was not found as {:?}:\n{}", bug.breaks(), found.join("\n"));
}

macro_rules! hunts {
    ($($name:ident: $bug:ident;)*) => {
        $(
            #[test]
            fn $name() {
                hunt(Planted::$bug);
            }
        )*
    };
}

hunts! {
    a_second_vm_for_a_machine_is_found: CreatesTwice;
    a_cloud_that_is_asked_over_and_over_is_found: OrdersOverAndOver;
    a_finalizer_that_goes_before_the_vm_is_found: ForgetsVms;
    a_vm_of_nobody_is_found: LeaksVms;
    who_acts_without_leading_is_found: LeadsAlways;
    a_pod_that_is_deleted_against_its_budget_is_found: DeletesPods;
    a_vm_that_is_deleted_unasked_is_found: DeletesUnasked;
    a_machine_that_is_failed_although_it_is_well_is_found: FailsAtOnce;
    a_gate_that_stays_open_is_found: GateStaysOpen;
    who_writes_for_ever_is_found: DropsConditions;
    what_never_comes_to_its_end_is_found: NeverDeletes;
    a_panic_is_found: Panics;
    an_orphan_that_is_deleted_at_first_sight_is_found: DeletesOrphansAtOnce;
    machines_that_are_replaced_all_at_once_are_found: ReplacesAllAtOnce;
    a_zone_that_is_given_up_while_its_vms_live_is_found: GivesUpZones;
    a_drain_that_waits_for_no_hook_is_found: IgnoresHooks;
    a_vm_that_is_deleted_despite_a_hook_is_found: HurriesHooks;
    a_vm_that_goes_from_under_its_pods_is_found: HidesPods;
    a_vm_that_goes_while_a_volume_leaves_it_is_found: LeavesVolumes;
    an_attachment_that_is_left_behind_with_a_node_is_found: KeepsAttachments;
    a_preserved_machine_that_is_deleted_is_found: DeletesPreserved;
    a_node_that_is_handed_over_for_its_update_with_pods_on_it_is_found: HandsOverUndrained;
    a_policy_that_decides_although_it_only_observes_is_found: AppliesObservers;
    a_host_that_believes_listings_which_lie_is_found: BelievesListings;
    a_machine_that_is_made_once_more_than_wanted_is_found: MakesAgain;
    a_text_that_is_handed_down_as_it_is_is_found: HandsDownTexts;
    a_set_that_is_made_larger_than_the_surge_allows_is_found: RaisesTooFar;
    a_set_that_is_emptied_before_others_are_available_is_found: EmptiesSets;
    a_machine_that_goes_in_the_place_of_the_autoscalers_is_found: ChoosesOthers;
    a_rollout_beyond_its_disruption_budget_is_found: OverlooksBudgets;
    a_name_that_is_given_twice_is_found: ForgetsOrdinals;
    a_set_that_goes_before_its_machines_is_found: ReleasesSets;
    a_frozen_set_that_makes_machines_is_found: OverlooksFreeze;
    a_freeze_that_is_believed_to_have_ended_is_found: StaysFrozen;
    a_driver_that_never_says_for_certain_that_no_vm_was_made_is_found: ClaimsDoubt;
    a_doubt_that_outlives_the_lag_of_reads_is_found: KeepsDoubt;
    a_create_that_is_never_tried_again_is_found: NeverRetries;
    a_deletion_that_is_asked_for_without_a_pause_is_found: AsksOverAndOver;
    a_vm_that_is_taken_for_the_second_one_of_its_machine_is_found: TakesTheFirst;
    a_second_vm_that_never_goes_is_found: LeavesTheSecond;
    a_node_of_another_vm_that_is_written_is_found: WritesOthersNodes;
    machines_that_are_failed_together_for_the_names_of_their_nodes_are_found: GivesUpForNames;
    a_second_vm_for_a_key_is_found: CreatesTwiceForKeys;
    a_call_for_a_paused_machine_is_found: OverlooksPauses;
    a_vm_of_no_machinist_machine_is_found: LeaksInfraVms;
    a_provider_id_that_changes_is_found: RewritesProviderIds;
    a_provision_that_is_taken_back_is_found: TakesProvisionedBack;
    a_finalizer_that_goes_before_the_vm_of_its_key_is_found: ForgetsInfraVms;
    a_running_vm_that_is_called_stopped_is_found: CallsTheRunningStopped;
    a_host_that_takes_doubt_for_a_clear_no_is_found: DeniesDoubt;
}
