//! A drain's memory in `status.machinist.drain`.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use machinist_api::Machine;
use machinist_api::own_status::{OwnDrainStatus, OwnDrainedVolume};
use machinist_core::drain::{AwaitedVolume, Memory, VolumeName};
use machinist_core::id::ObjectKey;

/// What the status remembers. What cannot be understood is forgotten: at most a wait is skipped or begun anew.
pub(super) fn memory_of(machine: &Machine) -> Memory {
    let own = machine.status.as_ref().and_then(|status| status.machinist.as_ref());
    let volumes = own.iter().flat_map(|own| &own.drain.volumes);
    Memory { volumes: volumes.filter_map(awaited).collect() }
}

fn awaited(stored: &OwnDrainedVolume) -> Option<AwaitedVolume> {
    let text = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let volume = VolumeName::new(text(&stored.persistent_volume)?);
    let pod = match (text(&stored.pod_namespace), text(&stored.pod_name)) {
        (Some(namespace), Some(name)) => Some(ObjectKey::new(namespace, name)),
        (Some(_) | None, None) | (None, Some(_)) => None,
    };
    Some(AwaitedVolume {
        volume,
        ids: stored.volume_ids.iter().cloned().collect::<BTreeSet<_>>(),
        pod,
        since: stored.since.as_ref()?.0,
        grace: SignedDuration::from_secs(stored.grace_seconds.unwrap_or(0).max(0)),
        detached: stored.detached.as_ref().map(|time| time.0),
    })
}

/// As the status is to have it. Times are whole seconds, as objects store them: the same memory is always the same status.
pub(crate) fn own_status(memory: &Memory) -> OwnDrainStatus {
    let time = |at: Timestamp| machinist_api::value::time(at);
    let stored = |awaited: &AwaitedVolume| OwnDrainedVolume {
        persistent_volume: Some(awaited.volume.to_string()),
        volume_ids: awaited.ids.iter().cloned().collect(),
        pod_namespace: awaited.pod.as_ref().map(|pod| pod.namespace.to_string()),
        pod_name: awaited.pod.as_ref().map(|pod| pod.name.to_string()),
        since: Some(time(awaited.since)),
        grace_seconds: Some(awaited.grace.as_secs()),
        detached: awaited.detached.map(time),
    };
    OwnDrainStatus { volumes: memory.volumes.iter().map(stored).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memory_is_read_as_it_was_written_up_to_parts_of_a_second() {
        let at = |millis| Timestamp::from_millisecond(millis).unwrap();
        let memory = Memory {
            volumes: vec![
                AwaitedVolume {
                    volume: VolumeName::new("pv-1"),
                    ids: BTreeSet::from(["vol-1".to_owned(), "vol-2".to_owned()]),
                    pod: Some(ObjectKey::new("shop", "db-0")),
                    since: at(5_000),
                    grace: SignedDuration::from_secs(30),
                    detached: Some(at(9_000)),
                },
                AwaitedVolume {
                    volume: VolumeName::new("pv-2"),
                    ids: BTreeSet::new(),
                    pod: None,
                    since: at(7_000),
                    grace: SignedDuration::ZERO,
                    detached: None,
                },
            ],
        };
        let mut machine = Machine::new("m", machinist_api::MachineSpec::default());
        let status = machine.status.get_or_insert_default();
        status.machinist.get_or_insert_default().drain = own_status(&memory);
        let json = serde_json::to_value(&machine).unwrap();
        let machine: Machine = serde_json::from_value(json).unwrap();
        assert_eq!(memory_of(&machine), memory);
    }

    #[test]
    fn what_cannot_be_understood_is_forgotten() {
        let json = serde_json::json!({
            "apiVersion": "machine.sapcloud.io/v1alpha1", "kind": "Machine", "metadata": { "name": "m" }, "spec": {},
            "status": { "machinist": { "drain": { "volumes": [
                { "persistentVolume": "pv", "since": "yesterday" },
                { "since": "2026-01-01T00:00:00Z" },
                { "persistentVolume": "kept", "since": "2026-01-01T00:00:00Z", "graceSeconds": -5 },
            ] } } },
        });
        let memory = memory_of(&serde_json::from_value(json).unwrap());
        assert_eq!(memory.volumes.len(), 1);
        assert_eq!(memory.volumes[0].grace, SignedDuration::ZERO);
    }
}
