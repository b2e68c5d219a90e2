//! The network interfaces of a launch.

use super::{needed, one_of};
use crate::class::lenient::{Findings, Object};

const TYPES: [&str; 3] = ["interface", "efa", "efa-only"];

/// A network interface of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interface {
    pub(crate) subnet: String,
    pub(crate) security_groups: Vec<String>,
    pub(crate) has_public_address: Option<bool>,
    pub(crate) goes_with_instance: bool,
    pub(crate) description: Option<String>,
    pub(crate) ipv6_addresses: Option<i32>,
    /// True only with `ipv6_addresses`.
    pub(crate) has_primary_ipv6: bool,
    /// Assigned after the launch; 0 for none.
    pub(crate) ipv6_prefixes: i32,
    pub(crate) kind: Option<String>,
    pub(crate) card: Option<i32>,
    pub(crate) device: i32,
}

pub(super) fn read(root: &mut Object<'_>, findings: &mut Findings) -> Vec<Interface> {
    let before = findings.problems.len();
    let entries = root.list("networkInterfaces", findings);
    if entries.is_empty() && findings.problems.len() == before {
        findings.problem("networkInterfaces is missing");
    }
    let mut interfaces = Vec::new();
    for (index, (at, entry)) in entries.into_iter().enumerate() {
        let mut object = Object::entry(at, entry, findings);
        interfaces.push(interface(&mut object, index, findings));
        object.finish(findings);
    }
    interfaces
}

fn interface(object: &mut Object<'_>, index: usize, findings: &mut Findings) -> Interface {
    let subnet = needed(object, "subnetID", findings);
    let before = findings.problems.len();
    let groups = object.texts("securityGroupIDs", findings);
    if groups.is_empty() && findings.problems.len() == before {
        findings.problem(format!("{} is missing", object.path("securityGroupIDs")));
    }
    for (at, _) in groups.iter().filter(|(_, group)| group.trim().is_empty()) {
        findings.problem(format!("{at} is blank"));
    }
    let ipv6_addresses = object.optional_number("ipv6AddressCount", findings);
    let primary = object.optional_flag("primaryIpv6", findings);
    Interface {
        subnet,
        security_groups: groups.into_iter().map(|(_, group)| group).collect(),
        has_public_address: object.optional_flag("associatePublicIPAddress", findings),
        goes_with_instance: object.optional_flag("deleteOnTermination", findings).unwrap_or(true),
        description: object.optional_text("description", findings),
        ipv6_addresses,
        has_primary_ipv6: ipv6_addresses.is_some() && primary.unwrap_or(true),
        ipv6_prefixes: object.optional_number("ipv6PrefixCount", findings).unwrap_or(0),
        kind: one_of(object, "interfaceType", &TYPES, findings),
        card: not_negative(object, "networkCardIndex", findings),
        device: not_negative(object, "deviceIndex", findings)
            .unwrap_or_else(|| i32::try_from(index).unwrap_or(i32::MAX)),
    }
}

fn not_negative(object: &mut Object<'_>, name: &'static str, findings: &mut Findings) -> Option<i32> {
    let number = object.optional_number(name, findings)?;
    if number < 0 {
        findings.problem(format!("{} must not be negative, got {number}", object.path(name)));
    }
    Some(number)
}
