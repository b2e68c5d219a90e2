//! From EC2's objects to the contract's types.

use machinist_sdk::driver::{self as wit, Code, Failure, quoted};

use crate::ec2::answer::{Instance, InstanceState};
use crate::ec2::pending::is_instance;
use crate::ec2::region;
use crate::tags::{NAME_TAG, UID_TAG};

const PREFIX: &str = "aws://";

/// Returns the provider id `aws:///REGION/ID`.
pub(crate) fn provider_id(region: &str, instance: &str) -> String {
    format!("{PREFIX}/{region}/{instance}")
}

/// Returns `aws:///ZONE/ID`, the id that AWS's cloud controller manager gives to the Node of an instance.
pub(crate) fn node_id(vm: &wit::Vm) -> Result<String, Failure> {
    let Some((_, instance)) = parts(&vm.provider_id) else {
        let message = format!("{:?} is no id of this driver", quoted(&vm.provider_id));
        return Err(Failure::new(Code::InvalidArgument, message));
    };
    match vm.failure_domain.as_deref().filter(|zone| !zone.is_empty()) {
        Some(zone) => Ok(provider_id(zone, instance)),
        None => {
            let message = format!("EC2 does not say in which zone the instance {instance} is");
            Err(Failure::new(Code::FailedPrecondition, message))
        }
    }
}

/// Returns region and instance of a provider id: its last two segments. `None` if it names no instance. An invalid
/// region is omitted.
pub(crate) fn parts(provider_id: &str) -> Option<(Option<&str>, &str)> {
    let mut segments = provider_id.strip_prefix(PREFIX)?.rsplit('/');
    let instance = segments.next().filter(|id| is_instance(id))?;
    Some((segments.next().filter(|name| region::is_region(name)), instance))
}

/// Converts an instance. Its Node registers under its private DNS name.
pub(crate) fn vm(instance: &Instance, region: &str) -> wit::Vm {
    let address = |(kind, address): &(&str, String)| wit::Address {
        kind: (*kind).to_owned(),
        address: address.clone(),
    };
    wit::Vm {
        provider_id: provider_id(region, &instance.id),
        node_name: instance.node_name.clone(),
        state: match instance.state {
            InstanceState::Pending => wit::VmState::Pending,
            InstanceState::Running => wit::VmState::Running,
            InstanceState::Stopping | InstanceState::ShuttingDown => wit::VmState::Stopping,
            InstanceState::Stopped | InstanceState::Terminated => wit::VmState::Stopped,
            InstanceState::Other => wit::VmState::Unknown,
        },
        addresses: instance.addresses.iter().map(address).collect(),
        failure_domain: instance.zone.clone(),
        conditions: Vec::new(),
        last_known_state: None,
    }
}

/// Converts an instance of a listing.
pub(crate) fn listed(instance: &Instance, region: &str) -> wit::Listed {
    wit::Listed {
        provider_id: provider_id(region, &instance.id),
        machine_name: instance.tag(NAME_TAG).unwrap_or_default().to_owned(),
        machine_uid: instance.tag(UID_TAG).map(str::to_owned),
        created_at_ms: instance.launched.as_deref().and_then(wit::rfc3339_ms),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_has_the_zone_of_its_instance_in_its_id() {
        let vm = |provider_id: &str, zone: Option<&str>| wit::Vm {
            provider_id: provider_id.into(),
            node_name: "ip-10-0-0-1".into(),
            state: wit::VmState::Running,
            addresses: Vec::new(),
            failure_domain: zone.map(str::to_owned),
            conditions: Vec::new(),
            last_known_state: None,
        };
        let id = |vm: &wit::Vm| node_id(vm).map_err(|failure| failure.code);
        let made = vm("aws:///eu-west-1/i-0a1", Some("eu-west-1b"));
        assert_eq!(id(&made).as_deref(), Ok("aws:///eu-west-1b/i-0a1"));
        assert_eq!(id(&vm("aws:///eu-west-1/i-0a1", None)), Err(Code::FailedPrecondition));
        assert_eq!(id(&vm("sim:///a/vm-1", Some("a"))), Err(Code::InvalidArgument));
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
