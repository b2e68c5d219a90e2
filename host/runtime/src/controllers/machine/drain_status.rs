//! The memory of a drain, to and from `status.machinist`.

use jiff::{SignedDuration, Timestamp};
use machinist_api::own_status::{AwaitedVolume as Stored, DrainStatus, OwnMachineStatus};
use machinist_api::value;
use machinist_core::drain::{AwaitedVolume, DrainMemory, VolumeName};
use machinist_core::value::id::ObjectKey;

/// Reads the memory that an earlier reconcile has stored. A volume without a name or a time is none.
pub(crate) fn memory(own: &OwnMachineStatus) -> DrainMemory {
    let stored = own.drain.as_ref().map(|drain| drain.volumes.as_slice());
    DrainMemory { volumes: stored.unwrap_or_default().iter().filter_map(volume).collect() }
}

fn volume(stored: &Stored) -> Option<AwaitedVolume> {
    let key = |text: &String| text.split_once('/').map(|(namespace, name)| ObjectKey::new(namespace, name));
    Some(AwaitedVolume {
        volume: VolumeName::new(stored.name.as_deref()?),
        ids: stored.ids.iter().cloned().collect(),
        pod: stored.pod.as_ref().and_then(key),
        since: stored.since.as_ref()?.0,
        grace: SignedDuration::from_secs(stored.grace_seconds.unwrap_or_default().max(0)),
        detached: stored.detached.as_ref().map(|time| time.0),
    })
}

/// As it is stored. Times are whole seconds there.
pub(super) fn status(memory: &DrainMemory, reported_at: Option<Timestamp>) -> DrainStatus {
    let one = |volume: &AwaitedVolume| Stored {
        name: Some(volume.volume.as_str().to_owned()),
        ids: volume.ids.iter().cloned().collect(),
        pod: volume.pod.as_ref().map(ToString::to_string),
        since: Some(value::time(volume.since)),
        grace_seconds: Some(volume.grace.as_secs()),
        detached: volume.detached.map(value::time),
    };
    DrainStatus {
        reported_at: reported_at.map(value::time),
        volumes: memory.volumes.iter().map(one).collect(),
    }
}
