//! At which addresses registries are asked, by the kinds of networks that grants know. Pure.

use std::net::IpAddr;

use crate::target::AddressClass;

/// Whether components may come from registries on the machine of the host, which are asked without TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoopbackRegistries {
    /// Nothing that listens beside the host is asked.
    #[default]
    Refused,
    /// For tests and development.
    Allowed,
}

impl LoopbackRegistries {
    /// Says why a registry at an address is not asked. Registries inside a company or a cluster are usual, and need
    /// TLS; metadata services and neighbours on the network segment are never registries.
    #[must_use]
    pub fn judge(self) -> machinist_artifacts::Judge {
        match self {
            Self::Refused => elsewhere,
            Self::Allowed => everywhere,
        }
    }
}

fn everywhere(address: IpAddr) -> Result<(), &'static str> {
    match AddressClass::of(address) {
        AddressClass::Public | AddressClass::Private | AddressClass::Shared | AddressClass::Loopback => {
            Ok(())
        }
        AddressClass::LinkLocal => Err("it is at a link-local address"),
        AddressClass::Metadata => Err("it is at an address of a cloud's metadata service"),
        AddressClass::Unusable | AddressClass::Denied => Err("it is at an address that is not of one host"),
    }
}

fn elsewhere(address: IpAddr) -> Result<(), &'static str> {
    match AddressClass::of(address) {
        AddressClass::Loopback => {
            Err("it is on the machine of the host, which asks there only with --allow-loopback-registries")
        }
        AddressClass::Public
        | AddressClass::Private
        | AddressClass::Shared
        | AddressClass::LinkLocal
        | AddressClass::Metadata
        | AddressClass::Unusable
        | AddressClass::Denied => everywhere(address),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attack_no_registry_is_a_metadata_service_or_a_neighbour_of_the_host() {
        let asked = |registries: LoopbackRegistries, address: &str| {
            registries.judge()(address.parse().expect("an address")).is_ok()
        };
        for (address, with_flag, without) in [
            ("93.184.216.34", true, true),
            ("10.1.2.3", true, true),
            ("100.64.0.1", true, true),
            ("127.0.0.1", true, false),
            ("127.9.9.9", true, false),
            ("::1", true, false),
            ("::ffff:127.0.0.1", true, false),
            ("169.254.169.254", false, false),
            ("::ffff:169.254.169.254", false, false),
            ("fd00:ec2::254", false, false),
            ("100.100.100.200", false, false),
            ("169.254.1.1", false, false),
            ("fe80::1", false, false),
            ("0.0.0.0", false, false),
            ("224.0.0.1", false, false),
        ] {
            assert_eq!(asked(LoopbackRegistries::Allowed, address), with_flag, "{address}");
            assert_eq!(asked(LoopbackRegistries::Refused, address), without, "{address}");
        }
    }
}
