//! From Google's objects to the contract's types.

use machinist_sdk::driver::{self as wit, Code, Failure, quoted};

use crate::gce::answer::{Instance, InstanceStatus};
use crate::names::{UID_LABEL, is_name, is_place, is_project};

const PREFIX: &str = "gce://";

/// The parts of a provider id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place<'a> {
    pub(crate) project: &'a str,
    pub(crate) zone: &'a str,
    pub(crate) name: &'a str,
}

/// Returns the provider id `gce:///PROJECT/ZONE/NAME`.
pub(crate) fn provider_id(project: &str, zone: &str, name: &str) -> String {
    format!("{PREFIX}/{project}/{zone}/{name}")
}

/// Returns `gce://PROJECT/ZONE/NAME`, the id that Google's cloud controller manager gives to the Node of an instance.
pub(crate) fn node_id(vm: &wit::Vm) -> Result<String, Failure> {
    match parts(&vm.provider_id) {
        Some(Place { project, zone, name }) => Ok(format!("{PREFIX}{project}/{zone}/{name}")),
        None => {
            let message = format!("{:?} is no id of this driver", quoted(&vm.provider_id));
            Err(Failure::new(Code::InvalidArgument, message))
        }
    }
}

/// Parses a provider id, with two or three slashes at its begin. `None` if it names no instance, or anything that does
/// not belong into a URL.
pub(crate) fn parts(provider_id: &str) -> Option<Place<'_>> {
    let rest = provider_id.strip_prefix(PREFIX)?;
    let mut segments = rest.strip_prefix('/').unwrap_or(rest).split('/');
    let place = Place { project: segments.next()?, zone: segments.next()?, name: segments.next()? };
    let is_whole = segments.next().is_none();
    (is_whole && is_project(place.project) && is_place(place.zone) && is_name(place.name)).then_some(place)
}

/// Converts an instance. Its Node registers under its name.
pub(crate) fn vm(instance: &Instance, project: &str) -> wit::Vm {
    let address = |(kind, address): &(&str, String)| wit::Address {
        kind: (*kind).to_owned(),
        address: address.clone(),
    };
    wit::Vm {
        provider_id: provider_id(project, &instance.zone, &instance.name),
        node_name: instance.name.clone(),
        state: match instance.status {
            InstanceStatus::Starting => wit::VmState::Pending,
            InstanceStatus::Running => wit::VmState::Running,
            InstanceStatus::Stopping => wit::VmState::Stopping,
            InstanceStatus::Stopped => wit::VmState::Stopped,
            InstanceStatus::Other => wit::VmState::Unknown,
        },
        addresses: instance.addresses.iter().map(address).collect(),
        failure_domain: Some(instance.zone.clone()),
        conditions: Vec::new(),
        last_known_state: None,
    }
}

/// Converts an instance of a listing.
pub(crate) fn listed(instance: &Instance, project: &str) -> wit::Listed {
    wit::Listed {
        provider_id: provider_id(project, &instance.zone, &instance.name),
        machine_name: instance.name.clone(),
        machine_uid: instance.label(UID_LABEL).map(str::to_owned),
        created_at_ms: instance.created.as_deref().and_then(milliseconds),
    }
}

/// Parses a time with an offset, as Google writes it.
fn milliseconds(text: &str) -> Option<u64> {
    let Some(at) = text.len().checked_sub("+00:00".len()).filter(|_| !text.ends_with('Z')) else {
        return wit::rfc3339_ms(text);
    };
    let (local, offset) = text.split_at_checked(at)?;
    let (hours, minutes) = offset.get(1..)?.split_once(':')?;
    let offset_ms = (hours.parse::<u64>().ok()? * 60 + minutes.parse::<u64>().ok()?) * 60_000;
    let local_ms = wit::rfc3339_ms(&format!("{local}Z"))?;
    match offset.get(..1)? {
        "-" => local_ms.checked_add(offset_ms),
        "+" => local_ms.checked_sub(offset_ms),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_google_have_an_offset() {
        for (text, expected) in [
            ("2026-01-01T19:04:05.678-08:00", Some(1_767_323_045_678)),
            ("2026-01-02T04:04:05.678+01:00", Some(1_767_323_045_678)),
            ("2026-01-02T03:04:05.678Z", Some(1_767_323_045_678)),
            ("2026-01-02T03:04:05.678", None),
            ("soon", None),
            ("", None),
            ("ä-08:00", None),
        ] {
            assert_eq!(milliseconds(text), expected, "{text}");
        }
    }

    #[test]
    fn a_provider_id_names_project_zone_and_instance() {
        let place = Place { project: "example.com:lab", zone: "europe-west1-b", name: "worker-1" };
        let id = provider_id(place.project, place.zone, place.name);
        assert_eq!(id, "gce:///example.com:lab/europe-west1-b/worker-1");
        assert_eq!(parts(&id), Some(place));
        assert_eq!(parts("gce://example.com:lab/europe-west1-b/worker-1"), Some(place));
        for other in [
            "", "gce:///", "gce:///p/z", "gce:///p/z/n/x", "gce:///p/../n", "gce:///P/z/n", "gce:///p/z/n?x",
            "gce:////p/z/n", "aws:///eu-west-1/i-1", "gce:///p/z/",
        ] {
            assert_eq!(parts(other), None, "{other}");
        }
    }
}
