//! What `lastOperation.description` says for each note of the core.

use machinist_api::compat::{Deleting, Sentence};
use machinist_core::machine::{DeletionStage, Note};

/// The sentence, in the words that other programs know.
pub(super) fn sentence(note: &Note, machine: &str) -> String {
    match note {
        Note::Creating => Sentence::Creating.to_string(),
        Note::Created => Sentence::Created.to_string(),
        Note::CloudWorking { message } => format!("{}: {message}", Sentence::Creating),
        Note::CreationFailed { error } => Sentence::CreationFailed { error }.to_string(),
        Note::InitializationFailed { error } => Sentence::InitializationFailed { error }.to_string(),
        Note::CreationWaits { message } => message.clone(),
        Note::Joined { took } => Sentence::Joined { machine, after: *took }.to_string(),
        Note::Rejoined => Sentence::Rejoined { machine }.to_string(),
        Note::Unhealthy { because } => Sentence::Unhealthy { machine, conditions: because }.to_string(),
        Note::NodeMissing => Sentence::NodeMissing { machine }.to_string(),
        Note::JoinTimedOut { limit } => Sentence::JoinTimedOut { machine, limit: *limit }.to_string(),
        Note::HealthTimedOut { limit, because } => {
            Sentence::HealthTimedOut { machine, limit: *limit, conditions: because }.to_string()
        }
        Note::Deleting { stage, trouble } => {
            Sentence::Deleting(deleting(*stage, trouble.as_deref(), machine)).to_string()
        }
    }
}

fn deleting<'a>(stage: DeletionStage, trouble: Option<&'a str>, machine: &'a str) -> Deleting<'a> {
    match (stage, trouble) {
        (DeletionStage::VmStatus, None) => Deleting::Begun,
        (DeletionStage::VmStatus, Some(error)) => Deleting::FindVmFailed { error },
        (DeletionStage::Drain, None) => Deleting::NodeKnown,
        (DeletionStage::Drain, Some(error)) => Deleting::DrainFailed { error },
        (DeletionStage::VolumeAttachments, _) => Deleting::ForceDrained,
        (DeletionStage::Vm, None) => Deleting::VolumesDetached,
        (DeletionStage::Vm, Some(error)) => Deleting::VmDeletionFailed { error },
        (DeletionStage::Node, _) => Deleting::VmDeleted,
        (DeletionStage::Finalizer, _) => Deleting::NodeGone { machine },
    }
}
