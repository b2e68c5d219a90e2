//! From EC2's words to the contract's.

use crate::answer::{Instance, State};
use crate::bindings::machinist::provider::types as wit;
use crate::marks::{NAME_TAG, UID_TAG};
use crate::region;
use crate::state::is_instance;

const PREFIX: &str = "aws://";

/// `aws:///REGION/ID`.
pub(crate) fn provider_id(region: &str, instance: &str) -> String {
    format!("{PREFIX}/{region}/{instance}")
}

/// Region and instance of a provider id: its last two segments. `None` when it names no instance. A region that can be none
/// is left out.
pub(crate) fn parts(provider_id: &str) -> Option<(Option<&str>, &str)> {
    let mut segments = provider_id.strip_prefix(PREFIX)?.rsplit('/');
    let instance = segments.next().filter(|id| is_instance(id))?;
    Some((segments.next().filter(|name| region::is_region(name)), instance))
}

/// An instance as EC2 shows it. Its Node registers under its private DNS name.
pub(crate) fn vm(instance: &Instance, region: &str) -> wit::Vm {
    let address = |(kind, address): &(&str, String)| wit::Address {
        kind: (*kind).to_owned(),
        address: address.clone(),
    };
    wit::Vm {
        provider_id: provider_id(region, &instance.id),
        node_name: instance.node_name.clone(),
        state: match instance.state {
            State::Pending => wit::VmState::Pending,
            State::Running => wit::VmState::Running,
            State::Stopping | State::ShuttingDown => wit::VmState::Stopping,
            State::Stopped | State::Terminated => wit::VmState::Stopped,
            State::Other => wit::VmState::Unknown,
        },
        addresses: instance.addresses.iter().map(address).collect(),
        failure_domain: instance.zone.clone(),
        conditions: Vec::new(),
        last_known_state: None,
    }
}

/// An instance in a listing.
pub(crate) fn listed(instance: &Instance, region: &str) -> wit::Listed {
    wit::Listed {
        provider_id: provider_id(region, &instance.id),
        machine_name: instance.tag(NAME_TAG).unwrap_or_default().to_owned(),
        machine_uid: instance.tag(UID_TAG).map(str::to_owned),
        created_at_ms: instance.launched.as_deref().and_then(milliseconds),
    }
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
    fn a_provider_id_ends_with_its_region_and_its_instance() {
        assert_eq!(parts("aws:///eu-west-1/i-0a1"), Some((Some("eu-west-1"), "i-0a1")));
        assert_eq!(parts(&provider_id("eu-west-1", "i-0a1")), Some((Some("eu-west-1"), "i-0a1")));
        assert_eq!(parts("aws:///i-0a1"), Some((None, "i-0a1")));
        assert_eq!(parts("aws:///a.evil/i-0a1"), Some((None, "i-0a1")));
        for other in
            ["", "i-0a1", "aws:///eu-west-1/", "aws:///eu-west-1/vm-1", "aws:///eu-west-1/i-", "sim:///a/i-1"]
        {
            assert_eq!(parts(other), None, "{other}");
        }
    }
}
