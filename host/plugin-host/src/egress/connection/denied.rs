//! Networks that no driver reaches, whatever its grants say. An address alone does not tell that it is a Node's, a load
//! balancer's of the cluster, or one behind which a router finds an IPv4 address: the operator knows.

use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;

use crate::target::{AddressClass, embedded};

/// Networks that no driver reaches. A clone is the same list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeniedNetworks(Arc<[IpNet]>);

impl DeniedNetworks {
    /// Parses a list such as `203.0.113.0/24,2001:db8::7`; an empty text is an empty list. Fails with the first part
    /// that is neither a network nor an address.
    pub fn parse(list: &str) -> Result<Self, String> {
        let parts = list.split(',').map(str::trim).filter(|part| !part.is_empty());
        let network = |part: &str| {
            let network = part.parse().or_else(|_| part.parse::<IpAddr>().map(IpNet::from));
            network.map_err(|_| part.to_owned())
        };
        parts.map(network).collect::<Result<_, _>>().map(Self)
    }

    /// The class of an address, [`AddressClass::Denied`] where a network of the list has it or the IPv4 address within
    /// it.
    pub(crate) fn class_of(&self, address: IpAddr) -> AddressClass {
        let has = |address: IpAddr| self.0.iter().any(|network| network.contains(&address));
        if has(address) || embedded(address).is_some_and(has) {
            AddressClass::Denied
        } else {
            AddressClass::of(address)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attack_a_public_address_leads_back_into_the_cluster() {
        let denied =
            DeniedNetworks::parse("198.51.100.0/24, 2001:4860:64::/96,93.184.216.34").expect("a list");
        for (address, class) in [
            ("198.51.100.7", AddressClass::Denied),
            ("93.184.216.34", AddressClass::Denied),
            ("::ffff:93.184.216.34", AddressClass::Denied),
            ("64:ff9b::5db8:d822", AddressClass::Denied),
            ("2001:4860:64::a00:1", AddressClass::Denied),
            ("2001:4860:65::1", AddressClass::Public),
            ("93.184.216.35", AddressClass::Public),
            ("10.0.0.1", AddressClass::Private),
        ] {
            assert_eq!(denied.class_of(address.parse().expect("an address")), class, "{address}");
        }
    }

    #[test]
    fn an_invalid_network_is_named() {
        assert_eq!(DeniedNetworks::parse(" , "), Ok(DeniedNetworks::default()));
        for (list, wrong) in
            [("10.0.0.0/33", "10.0.0.0/33"), ("::/0,example.com", "example.com"), ("1.2.3", "1.2.3")]
        {
            assert_eq!(DeniedNetworks::parse(list), Err(wrong.to_owned()));
        }
    }
}
