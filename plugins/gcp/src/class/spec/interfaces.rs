//! The network interfaces of an instance.

use machinist_sdk::driver::quoted_up_to as quoted;

use super::one_of;
use crate::class::lenient::{Findings, Object};

/// A network interface of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interface {
    /// A name, or a path of another project; may be empty.
    pub(crate) network: String,
    pub(crate) subnetwork: String,
    pub(crate) has_external_ip: bool,
    pub(crate) is_dual_stack: bool,
    /// The value in the class, which is sent as it is.
    pub(crate) stack_type: Option<String>,
    pub(crate) has_external_ipv6: bool,
    pub(crate) has_alias: bool,
    /// The alias range; may be empty.
    pub(crate) cidr_range: String,
    pub(crate) range_name: String,
}

pub(super) fn read(root: &mut Object<'_>, findings: &mut Findings) -> Vec<Interface> {
    let before = findings.problems.len();
    let entries = root.list("networkInterfaces", findings);
    if entries.is_empty() && findings.problems.len() == before {
        findings.problem("networkInterfaces is missing");
    }
    let mut interfaces = Vec::new();
    for (at, entry) in entries {
        let mut object = Object::entry(at, entry, findings);
        interfaces.push(interface(&mut object, findings));
        object.finish(findings);
    }
    interfaces
}

fn interface(object: &mut Object<'_>, findings: &mut Findings) -> Interface {
    let before = findings.problems.len();
    let (network, subnetwork) = (object.text("network", findings), object.text("subnetwork", findings));
    if network.is_empty() && subnetwork.is_empty() && findings.problems.len() == before {
        findings.problem(format!(
            "{} is missing, and {} too: name at least one",
            object.path("network"),
            object.path("subnetwork")
        ));
    }
    let stack_type = one_of(object, "stackType", &["IPV4_ONLY", "IPV4_IPV6"], findings);
    // Keys are compared without case, so that ipv6AccessType is the same field.
    let ipv6 = one_of(object, "ipv6accessType", &["EXTERNAL", "INTERNAL"], findings);
    let cidr_range = object.text("ipCidrRange", findings);
    if !cidr_range.is_empty() && !is_prefix_length(&cidr_range) {
        let shown = quoted(&cidr_range, 40);
        findings.problem(format!("{} must be /0 to /32, got {shown:?}", object.path("ipCidrRange")));
    }
    Interface {
        network,
        subnetwork,
        has_external_ip: !object.flag("disableExternalIP", findings),
        is_dual_stack: stack_type.as_deref() == Some("IPV4_IPV6"),
        stack_type,
        has_external_ipv6: ipv6.as_deref() == Some("EXTERNAL"),
        has_alias: object.flag("useAliasIPs", findings),
        cidr_range,
        range_name: object.text("subnetworkRangeName", findings),
    }
}

fn is_prefix_length(text: &str) -> bool {
    let Some(digits) = text.strip_prefix('/') else { return false };
    let is_plain = !digits.is_empty()
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && (digits.len() == 1 || !digits.starts_with('0'));
    is_plain && digits.parse::<u8>().is_ok_and(|bits| bits <= 32)
}

#[cfg(test)]
mod tests {
    use super::is_prefix_length;

    #[test]
    fn a_range_is_a_prefix_length() {
        for good in ["/0", "/9", "/24", "/32"] {
            assert!(is_prefix_length(good), "{good}");
        }
        for bad in ["24", "/", "/33", "/024", "/-1", "/1 ", "10.0.0.0/24"] {
            assert!(!is_prefix_length(bad), "{bad}");
        }
    }
}
