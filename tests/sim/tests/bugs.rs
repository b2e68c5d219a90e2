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

#[test]
fn a_second_vm_for_a_machine_is_found() {
    hunt(Planted::CreatesTwice);
}

#[test]
fn a_cloud_that_is_asked_over_and_over_is_found() {
    hunt(Planted::OrdersOverAndOver);
}

#[test]
fn a_finalizer_that_goes_before_the_vm_is_found() {
    hunt(Planted::ForgetsVms);
}

#[test]
fn a_vm_of_nobody_is_found() {
    hunt(Planted::LeaksVms);
}

#[test]
fn who_acts_without_leading_is_found() {
    hunt(Planted::LeadsAlways);
}

#[test]
fn a_pod_that_is_deleted_against_its_budget_is_found() {
    hunt(Planted::DeletesPods);
}

#[test]
fn a_vm_that_is_deleted_unasked_is_found() {
    hunt(Planted::DeletesUnasked);
}

#[test]
fn a_machine_that_is_failed_although_it_is_well_is_found() {
    hunt(Planted::FailsAtOnce);
}

#[test]
fn a_gate_that_stays_open_is_found() {
    hunt(Planted::GateStaysOpen);
}

#[test]
fn who_writes_for_ever_is_found() {
    hunt(Planted::DropsConditions);
}

#[test]
fn what_never_comes_to_its_end_is_found() {
    hunt(Planted::NeverDeletes);
}

#[test]
fn a_panic_is_found() {
    hunt(Planted::Panics);
}

#[test]
fn an_orphan_that_is_deleted_at_first_sight_is_found() {
    hunt(Planted::DeletesOrphansAtOnce);
}

#[test]
fn machines_that_are_replaced_all_at_once_are_found() {
    hunt(Planted::ReplacesAllAtOnce);
}

#[test]
fn a_zone_that_is_given_up_while_its_vms_live_is_found() {
    hunt(Planted::GivesUpZones);
}

#[test]
fn a_drain_that_waits_for_no_hook_is_found() {
    hunt(Planted::IgnoresHooks);
}

#[test]
fn a_vm_that_is_deleted_despite_a_hook_is_found() {
    hunt(Planted::HurriesHooks);
}

#[test]
fn a_vm_that_goes_from_under_its_pods_is_found() {
    hunt(Planted::HidesPods);
}

#[test]
fn a_vm_that_goes_while_a_volume_leaves_it_is_found() {
    hunt(Planted::LeavesVolumes);
}

#[test]
fn an_attachment_that_is_left_behind_with_a_node_is_found() {
    hunt(Planted::KeepsAttachments);
}

#[test]
fn a_preserved_machine_that_is_deleted_is_found() {
    hunt(Planted::DeletesPreserved);
}

#[test]
fn a_node_that_is_handed_over_for_its_update_with_pods_on_it_is_found() {
    hunt(Planted::HandsOverUndrained);
}

#[test]
fn a_policy_that_decides_although_it_only_observes_is_found() {
    hunt(Planted::AppliesObservers);
}

#[test]
fn a_host_that_believes_listings_which_lie_is_found() {
    hunt(Planted::BelievesListings);
}

#[test]
fn a_machine_that_is_made_once_more_than_wanted_is_found() {
    hunt(Planted::MakesAgain);
}

#[test]
fn a_text_that_is_handed_down_as_it_is_is_found() {
    hunt(Planted::HandsDownTexts);
}

#[test]
fn a_set_that_is_made_larger_than_the_surge_allows_is_found() {
    hunt(Planted::RaisesTooFar);
}

#[test]
fn a_set_that_is_emptied_before_others_are_available_is_found() {
    hunt(Planted::EmptiesSets);
}

#[test]
fn a_machine_that_goes_in_the_place_of_the_autoscalers_is_found() {
    hunt(Planted::ChoosesOthers);
}

#[test]
fn a_rollout_beyond_its_disruption_budget_is_found() {
    hunt(Planted::OverlooksBudgets);
}

#[test]
fn a_name_that_is_given_twice_is_found() {
    hunt(Planted::ForgetsOrdinals);
}

#[test]
fn a_set_that_goes_before_its_machines_is_found() {
    hunt(Planted::ReleasesSets);
}

#[test]
fn a_frozen_set_that_makes_machines_is_found() {
    hunt(Planted::OverlooksFreeze);
}

#[test]
fn a_freeze_that_is_believed_to_have_ended_is_found() {
    hunt(Planted::StaysFrozen);
}

#[test]
fn a_driver_that_never_says_for_certain_that_no_vm_was_made_is_found() {
    hunt(Planted::ClaimsDoubt);
}

#[test]
fn a_doubt_that_outlives_the_lag_of_reads_is_found() {
    hunt(Planted::KeepsDoubt);
}

#[test]
fn a_create_that_is_never_tried_again_is_found() {
    hunt(Planted::NeverRetries);
}

#[test]
fn a_deletion_that_is_asked_for_without_a_pause_is_found() {
    hunt(Planted::AsksOverAndOver);
}

#[test]
fn a_vm_that_is_taken_for_the_second_one_of_its_machine_is_found() {
    hunt(Planted::TakesTheFirst);
}

#[test]
fn a_second_vm_that_never_goes_is_found() {
    hunt(Planted::LeavesTheSecond);
}

#[test]
fn a_node_of_another_vm_that_is_written_is_found() {
    hunt(Planted::WritesOthersNodes);
}

#[test]
fn machines_that_are_failed_together_for_the_names_of_their_nodes_are_found() {
    hunt(Planted::GivesUpForNames);
}

#[test]
fn a_host_that_takes_doubt_for_a_clear_no_is_found() {
    hunt(Planted::DeniesDoubt);
}
