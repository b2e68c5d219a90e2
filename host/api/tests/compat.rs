//! The texts that other programs read, and the one place where such a text is read.

use jiff::SignedDuration;
use machinist_api::compat::{DELETION_STAGES, Deleting, StatusMessage, marker, stage_left_at};
use machinist_core::machine::DeletionStage;

const E: &str = "machine codes error: code = [Internal] message = [x]";

fn every_deletion_message() -> Vec<Deleting<'static>> {
    vec![
        Deleting::Begun,
        Deleting::FindVmFailed { error: E },
        Deleting::NodeKnown,
        Deleting::NoTargetCluster,
        Deleting::VmNotFound,
        Deleting::VmNotInitialized,
        Deleting::NoNodeToDrain,
        Deleting::NodeConditionFailed { error: E },
        Deleting::DrainFailed { error: E },
        Deleting::ForcedDrainFailed { error: E },
        Deleting::Drained,
        Deleting::ForceDrained,
        Deleting::VolumesDetached,
        Deleting::VmDeletionFailed { error: E },
        Deleting::VmDeletionRefused { error: E },
        Deleting::VmDeleted,
        Deleting::VmGone,
        Deleting::NoNodeLabel { machine: "m" },
        Deleting::NodeGone { machine: "m" },
        Deleting::NodeDeletionFailed { node: "n", error: E },
        Deleting::NodeDeleted { node: "n" },
    ]
}

#[test]
fn a_deletion_that_another_program_began_is_taken_up_where_it_was() {
    let rows = [
        ("Set machine status to termination. Now, getting VM Status", DeletionStage::VmStatus),
        ("Initiate node drain", DeletionStage::Drain),
        (
            "VM was not found at provider. Moving forward to node drain. Initiate node drain",
            DeletionStage::Drain,
        ),
        ("Drain failed due to - PDB. Will retry in next sync. Initiate node drain", DeletionStage::Drain),
        (
            "Drain failed due to - x. However, since it's a force deletion shall continue deletion of VM. Delete Volume Attachments",
            DeletionStage::VolumeAttachments,
        ),
        ("Force Drain successful. Delete Volume Attachments", DeletionStage::VolumeAttachments),
        ("Drain successful. Initiate VM deletion", DeletionStage::Vm),
        (
            "Running without target cluster, skipping node drain and volume attachment deletion. Initiate VM deletion",
            DeletionStage::Vm,
        ),
        ("VM deletion was successful. Initiate node object deletion", DeletionStage::Node),
        ("VM not found. Continuing deletion flow. Initiate node object deletion", DeletionStage::Node),
        (
            "No node object found for \"n\". Initiate machine object finalizer removal",
            DeletionStage::Finalizer,
        ),
        // The first marker in the order of the steps counts, wherever it is in the text.
        ("Initiate machine object finalizer removal, after: Initiate node drain", DeletionStage::Drain),
        // Any other text starts the deletion again.
        ("Deleting machine from cloud provider", DeletionStage::VmStatus),
        ("Machine m successfully joined the cluster in 2m15s", DeletionStage::VmStatus),
        ("initiate vm deletion", DeletionStage::VmStatus),
        ("", DeletionStage::VmStatus),
    ];
    for (description, stage) in rows {
        assert_eq!(stage_left_at(description), stage, "{description}");
    }
}

#[test]
fn our_deletion_messages_name_the_next_step() {
    let mut seen = Vec::new();
    for message in every_deletion_message() {
        let text = StatusMessage::Deleting(message).to_string();
        assert_eq!(stage_left_at(&text), message.next(), "{text}");
        assert!(text.ends_with(marker(message.next())), "{text}");
        seen.push(text);
    }
    seen.sort();
    // Two texts for one step may be equal only where nothing is to be said but the step.
    seen.dedup();
    assert_eq!(seen.len(), every_deletion_message().len());
}

#[test]
fn every_step_that_takes_a_pass_is_reached_by_some_message() {
    let mut reached: Vec<_> = every_deletion_message().iter().map(Deleting::next).collect();
    reached.sort();
    reached.dedup();
    // Attachments are removed in the same pass as the pods of a forced drain, with no text between both.
    let seen = DELETION_STAGES.into_iter().filter(|stage| *stage != DeletionStage::VolumeAttachments);
    assert_eq!(reached, seen.collect::<Vec<_>>());
}

#[test]
fn texts_read_as_other_programs_know_them() {
    let minutes = SignedDuration::from_mins;
    let rows = [
        (StatusMessage::Creating, "Creating machine on cloud provider"),
        (StatusMessage::Created, "Created machine on cloud provider"),
        (
            StatusMessage::CreationFailed { error: E },
            "Cloud provider message - machine codes error: code = [Internal] message = [x]",
        ),
        (
            StatusMessage::InitializationFailed { error: E },
            "Provider error: machine codes error: code = [Internal] message = [x]. Initialize VM Instance",
        ),
        (StatusMessage::StaleNode, "VM using old node obj"),
        (
            StatusMessage::Joined { machine: "m", after: SignedDuration::from_millis(135_900) },
            "Machine m successfully joined the cluster in 2m15s",
        ),
        (StatusMessage::Rejoined { machine: "m" }, "Machine m successfully re-joined the cluster"),
        (
            StatusMessage::NodeMissing { machine: "m" },
            "Node object went missing. Machine m is unhealthy - changing MachinePhase to Unknown",
        ),
        (
            StatusMessage::Unhealthy { machine: "m", conditions: "Ready=False" },
            "Machine m is unhealthy - changing MachinePhase to Unknown. Node conditions: Ready=False",
        ),
        (
            StatusMessage::JoinTimedOut { machine: "m", limit: minutes(20) },
            "Machine m failed to join the cluster in 20 minutes.",
        ),
        (
            StatusMessage::JoinTimedOut { machine: "m", limit: SignedDuration::from_secs(90) },
            "Machine m failed to join the cluster in 1.5 minutes.",
        ),
        (
            StatusMessage::HealthTimedOut { machine: "m", limit: minutes(10), conditions: "Ready=Unknown" },
            "Machine m health checks failing since last 10 minutes. Node conditions: Ready=Unknown",
        ),
        (
            StatusMessage::HealthTimeoutReset,
            "Machine Health Timeout was reset due to APIServer being unreachable",
        ),
        (StatusMessage::DeletionRequested, "Deleting machine from cloud provider"),
        (
            StatusMessage::Deleting(Deleting::Begun),
            "Set machine status to termination. Now, getting VM Status",
        ),
        (StatusMessage::Deleting(Deleting::Drained), "Drain successful. Initiate VM deletion"),
    ];
    for (message, text) in rows {
        assert_eq!(message.to_string(), text);
    }
}
