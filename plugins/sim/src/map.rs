//! From the cloud's words to the contract's.

use serde_json::Value;

use crate::answer::{NAME_TAG, State, UID_TAG, Vm};
use crate::bindings::machinist::provider::types::{self as wit, Code, DriverError};
use crate::errors::error;

/// The CSI driver of the cloud's volumes.
pub(crate) const CSI_DRIVER: &str = "sim.csi.machinist.dev";
const PREFIX: &str = "sim:///";

/// `sim:///ZONE/ID`, as Nodes register with it.
pub(crate) fn provider_id(vm: &Vm) -> String {
    format!("{PREFIX}{}/{}", vm.zone, vm.id)
}

/// Zone and id of a provider id; `None` when it is none of this cloud.
pub(crate) fn parts(provider_id: &str) -> Option<(&str, &str)> {
    let (zone, id) = provider_id.strip_prefix(PREFIX)?.split_once('/')?;
    (!zone.is_empty() && !id.is_empty() && !id.contains('/')).then_some((zone, id))
}

/// A VM as the cloud shows it. Its Node registers under its name.
pub(crate) fn vm(vm: &Vm) -> wit::Vm {
    let address =
        |(kind, address): &(String, String)| wit::Address { kind: kind.clone(), address: address.clone() };
    wit::Vm {
        provider_id: provider_id(vm),
        node_name: vm.name.clone(),
        state: match vm.state {
            State::Pending => wit::VmState::Pending,
            State::Running => wit::VmState::Running,
            State::Stopping => wit::VmState::Stopping,
            State::Terminated => wit::VmState::Stopped,
            State::Other => wit::VmState::Unknown,
        },
        addresses: vm.addresses.iter().map(address).collect(),
        failure_domain: Some(vm.zone.clone()),
        conditions: Vec::new(),
        last_known_state: None,
    }
}

/// A VM in a listing.
pub(crate) fn listed(vm: &Vm) -> wit::Listed {
    wit::Listed {
        provider_id: provider_id(vm),
        machine_name: vm.tag(NAME_TAG).unwrap_or_default().to_owned(),
        machine_uid: vm.tag(UID_TAG).map(str::to_owned),
        created_at_ms: vm.created.as_deref().and_then(milliseconds),
    }
}

/// The volume handle of a PersistentVolume's spec; `None` when it is of another kind.
pub(crate) fn volume_id(spec: &str, index: usize) -> Result<Option<String>, Box<DriverError>> {
    let spec: Value = serde_json::from_str(spec).map_err(|_| {
        Box::new(error(Code::InvalidArgument, format!("failed to read volume spec {index}: it is not JSON")))
    })?;
    let csi = spec.get("csi");
    let text = |field: &str| csi.and_then(|csi| csi.get(field)).and_then(Value::as_str);
    let handle = text("volumeHandle").filter(|handle| !handle.is_empty());
    Ok(handle.filter(|_| text("driver") == Some(CSI_DRIVER)).map(str::to_owned))
}

/// Milliseconds since 1970 of a time as RFC 3339 writes it in UTC. `None` for anything else, and before 1970.
fn milliseconds(text: &str) -> Option<u64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let [year, month, day] = numbers(date, '-')?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    let [hour, minute, second] = numbers(time, ':')?;
    let is_time =
        (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second <= 60;
    if !is_time || year < 1970 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let millis: u64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    // Years begin in March here, so that the leap day is their last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    // 719,468 days lie between the first of March of the year 0 and 1970.
    let seconds = ((days.checked_sub(719_468)? * 24 + hour) * 60 + minute) * 60 + second;
    Some(seconds * 1_000 + millis)
}

fn numbers(text: &str, between: char) -> Option<[u64; 3]> {
    let mut parts = text.split(between).map(|part| {
        let is_number = (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| part.parse().ok()).flatten()
    });
    let numbers = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_milliseconds_since_1970() {
        let table = [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2026-01-02T03:04:05.678Z", Some(1_767_323_045_678)),
            ("2024-02-29T23:59:59.9Z", Some(1_709_251_199_900)),
            ("2000-03-01T00:00:00.123456789Z", Some(951_868_800_123)),
            ("1969-12-31T23:59:59Z", None),
            ("2026-13-02T03:04:05Z", None),
            ("2026-01-02T03:04:05+01:00", None),
            ("yesterday", None),
            ("2026-01-02T03:04:05.ä1Z", None),
        ];
        for (text, expected) in table {
            assert_eq!(milliseconds(text), expected, "{text}");
            let judge: Option<jiff::Timestamp> = text.parse().ok().filter(|_| expected.is_some());
            assert_eq!(judge.and_then(|at| u64::try_from(at.as_millisecond()).ok()), expected, "{text}");
        }
    }

    #[test]
    fn a_provider_id_has_a_zone_and_an_id() {
        assert_eq!(parts("sim:///sim-1a/vm-1"), Some(("sim-1a", "vm-1")));
        for other in
            ["", "vm-1", "sim:///vm-1", "sim:////vm-1", "sim:///sim-1a/", "sim:///a/b/c", "aws:///a/b"]
        {
            assert_eq!(parts(other), None, "{other}");
        }
    }

    #[test]
    fn volumes_of_other_kinds_have_no_id_here() {
        let id = |spec: &str| volume_id(spec, 7).map_err(|error| error.message);
        let ours = r#"{"csi": {"driver": "sim.csi.machinist.dev", "volumeHandle": "vol-1"}, "capacity": {}}"#;
        assert_eq!(id(ours), Ok(Some("vol-1".to_owned())));
        assert_eq!(id(r#"{"csi": {"driver": "other", "volumeHandle": "vol-1"}}"#), Ok(None));
        assert_eq!(id(r#"{"csi": {"driver": "sim.csi.machinist.dev"}}"#), Ok(None));
        assert_eq!(id(r#"{"hostPath": {"path": "/"}}"#), Ok(None));
        assert!(id("{").unwrap_err().contains("volume spec 7"));
    }
}
