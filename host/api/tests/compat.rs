//! The sentences that other programs read, and the one place where such a sentence is read.

use jiff::SignedDuration;
use machinist_api::compat::{DELETION_STAGES, Deleting, Sentence, marker, stage_left_at};
use machinist_core::machine::DeletionStage;

const E: &str = "machine codes error: code = [Internal] message = [x]";

fn every_deletion_sentence() -> Vec<Deleting<'static>> {
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
        // The first marker in the order of the steps counts, wherever in the text it stands.
        ("Initiate machine object finalizer removal, after: Initiate node drain", DeletionStage::Drain),
        // Anything else begins anew.
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
fn a_sentence_of_ours_names_the_step_that_comes_next() {
    let mut seen = Vec::new();
    for sentence in every_deletion_sentence() {
        let text = Sentence::Deleting(sentence).to_string();
        assert_eq!(stage_left_at(&text), sentence.next(), "{text}");
        assert!(text.ends_with(marker(sentence.next())), "{text}");
        seen.push(text);
    }
    seen.sort();
    // Two sentences for one step may be equal only where nothing is to be said but the step.
    seen.dedup();
    assert_eq!(seen.len(), every_deletion_sentence().len());
}

#[test]
fn every_step_that_takes_a_pass_is_reached_by_some_sentence() {
    let mut reached: Vec<_> = every_deletion_sentence().iter().map(Deleting::next).collect();
    reached.sort();
    reached.dedup();
    // Attachments go in the same pass as the pods of a forced drain, so nothing is told between both.
    let told = DELETION_STAGES.into_iter().filter(|stage| *stage != DeletionStage::VolumeAttachments);
    assert_eq!(reached, told.collect::<Vec<_>>());
}

#[test]
fn sentences_read_as_others_know_them() {
    let minutes = SignedDuration::from_mins;
    let rows = [
        (Sentence::Creating, "Creating machine on cloud provider"),
        (Sentence::Created, "Created machine on cloud provider"),
        (
            Sentence::CreationFailed { error: E },
            "Cloud provider message - machine codes error: code = [Internal] message = [x]",
        ),
        (
            Sentence::InitializationFailed { error: E },
            "Provider error: machine codes error: code = [Internal] message = [x]. Initialize VM Instance",
        ),
        (Sentence::StaleNode, "VM using old node obj"),
        (
            Sentence::Joined { machine: "m", after: SignedDuration::from_millis(135_900) },
            "Machine m successfully joined the cluster in 2m15s",
        ),
        (Sentence::Rejoined { machine: "m" }, "Machine m successfully re-joined the cluster"),
        (
            Sentence::NodeMissing { machine: "m" },
            "Node object went missing. Machine m is unhealthy - changing MachinePhase to Unknown",
        ),
        (
            Sentence::Unhealthy { machine: "m", conditions: "Ready=False" },
            "Machine m is unhealthy - changing MachinePhase to Unknown. Node conditions: Ready=False",
        ),
        (
            Sentence::JoinTimedOut { machine: "m", limit: minutes(20) },
            "Machine m failed to join the cluster in 20 minutes.",
        ),
        (
            Sentence::JoinTimedOut { machine: "m", limit: SignedDuration::from_secs(90) },
            "Machine m failed to join the cluster in 1.5 minutes.",
        ),
        (
            Sentence::HealthTimedOut { machine: "m", limit: minutes(10), conditions: "Ready=Unknown" },
            "Machine m health checks failing since last 10 minutes. Node conditions: Ready=Unknown",
        ),
        (Sentence::HealthTimeoutReset, "Machine Health Timeout was reset due to APIServer being unreachable"),
        (Sentence::DeletionRequested, "Deleting machine from cloud provider"),
        (Sentence::Deleting(Deleting::Begun), "Set machine status to termination. Now, getting VM Status"),
        (Sentence::Deleting(Deleting::Drained), "Drain successful. Initiate VM deletion"),
    ];
    for (sentence, text) in rows {
        assert_eq!(sentence.to_string(), text);
    }
}
