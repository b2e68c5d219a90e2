//! The class of a network address. It is decided on the address that is dialled, whatever notation named it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A kind of network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AddressClass {
    Public,
    /// RFC 1918, unique-local and site-local.
    Private,
    /// RFC 6598, between carriers and their customers; some clouds and clusters use it inside.
    Shared,
    Loopback,
    LinkLocal,
    /// The metadata and credential services of clouds, wherever they live.
    Metadata,
    /// Multicast, broadcast, unspecified, documentation, reserved: never dialled.
    Unusable,
    /// In a network that the operator of the host denies to all drivers: never dialled.
    Denied,
}

impl AddressClass {
    /// The class of an address. An IPv4 address inside an IPv6 address counts as itself.
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(v4) => of_v4(v4),
            IpAddr::V6(v6) => of_v6(v6),
        }
    }

    /// As grants write it; also the label in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Private => "private",
            Self::Shared => "shared",
            Self::Loopback => "loopback",
            Self::LinkLocal => "link-local",
            Self::Metadata => "metadata",
            Self::Unusable => "unusable",
            Self::Denied => "denied",
        }
    }

    /// The classes that a grant can name.
    pub(crate) const GRANTABLE: [Self; 6] =
        [Self::Public, Self::Private, Self::Shared, Self::Loopback, Self::LinkLocal, Self::Metadata];
}

/// A set of classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AddressClasses(u8);

impl AddressClasses {
    /// The classes that a rule allows by default.
    pub const PUBLIC: Self = Self(1 << AddressClass::Public as u8);

    /// The set of these classes.
    pub fn new(classes: impl IntoIterator<Item = AddressClass>) -> Self {
        Self(classes.into_iter().fold(0, |bits, class| bits | 1 << class as u8))
    }

    /// Whether each class of the other set is in this one.
    pub(crate) fn has_all(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }

    /// Returns whether an address of this class may be dialled. Never true for [`AddressClass::Unusable`] and
    /// [`AddressClass::Denied`].
    pub fn contains(self, class: AddressClass) -> bool {
        !matches!(class, AddressClass::Unusable | AddressClass::Denied) && self.0 & (1 << class as u8) != 0
    }
}

/// Services that hand out credentials or configuration, at addresses that are not link-local in every cloud.
const METADATA_V4: [Ipv4Addr; 6] = [
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(169, 254, 169, 253),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(169, 254, 170, 23),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(168, 63, 129, 16),
];

/// Their counterparts among the unique-local addresses.
const METADATA_V6: [Ipv6Addr; 4] = [
    Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x253),
    Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x23),
    Ipv6Addr::new(0xfd20, 0x00ce, 0, 0, 0, 0, 0, 0x254),
];

fn of_v4(address: Ipv4Addr) -> AddressClass {
    if METADATA_V4.contains(&address) {
        return AddressClass::Metadata;
    }
    match address.octets() {
        [127, ..] => AddressClass::Loopback,
        [169, 254, ..] => AddressClass::LinkLocal,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => AddressClass::Private,
        [100, 64..=127, ..] => AddressClass::Shared,
        // "This network", IETF protocol assignments, documentation, 6to4 relays, benchmarks, multicast and above.
        [0, ..]
        | [192, 0, 0 | 2, _]
        | [192, 88, 99, _]
        | [198, 18 | 19, ..]
        | [198, 51, 100, _]
        | [203, 0, 113, _]
        | [224..=255, ..] => AddressClass::Unusable,
        _ => AddressClass::Public,
    }
}

fn of_v6(address: Ipv6Addr) -> AddressClass {
    if METADATA_V6.contains(&address) {
        return AddressClass::Metadata;
    }
    if address == Ipv6Addr::LOCALHOST {
        return AddressClass::Loopback;
    }
    if let Some(embedded) = embedded_v4(address) {
        return of_v4(embedded);
    }
    match address.segments() {
        [0xfe80..=0xfebf, ..] => AddressClass::LinkLocal,
        [0xfc00..=0xfdff | 0xfec0..=0xfeff, ..] => AddressClass::Private,
        // Protocol assignments (among them Teredo) and documentation lie inside the global range.
        [0x2001, 0..=0x01ff, ..] | [0x2001, 0x0db8, ..] | [0x3fff, 0..=0x0fff, ..] => AddressClass::Unusable,
        // An interface id of ISATAP carries an IPv4 address behind any prefix.
        [0x2000..=0x3fff, _, _, _, 0 | 0x0200, 0x5efe, ..] => AddressClass::Unusable,
        [0x2000..=0x3fff, ..] => AddressClass::Public,
        _ => AddressClass::Unusable,
    }
}

/// The IPv4 address within an IPv6 address.
pub(crate) fn embedded(address: IpAddr) -> Option<IpAddr> {
    match address {
        IpAddr::V4(_) => None,
        IpAddr::V6(address) => embedded_v4(address).map(IpAddr::V4),
    }
}

/// The IPv4 address that a router would take out of this address: mapped, compatible, 6to4, NAT64, SIIT.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let from = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0, 0, 0, 0, 0, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => Some(from(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(class: AddressClass, addresses: &[&str]) {
        for address in addresses {
            assert_eq!(AddressClass::of(address.parse().unwrap()), class, "{address}");
        }
    }

    #[test]
    fn every_address_has_the_class_of_its_network() {
        check(AddressClass::Public, &["8.8.8.8", "100.63.255.255", "100.128.0.1", "172.32.0.1", "192.0.1.1"]);
        check(AddressClass::Public, &["2600::1", "2a00:1450::8", "2001:4860::8888"]);
        check(AddressClass::Private, &["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1"]);
        check(AddressClass::Private, &["fc00::1", "fd12:3456::1", "fec0::1"]);
        check(AddressClass::Shared, &["100.64.0.1", "100.127.255.254"]);
        check(AddressClass::Loopback, &["127.0.0.1", "127.1.2.3", "::1"]);
        check(AddressClass::LinkLocal, &["169.254.0.1", "169.254.169.1", "fe80::1", "febf::1"]);
        check(
            AddressClass::Metadata,
            &["169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16"],
        );
        check(AddressClass::Metadata, &["fd00:ec2::254", "fd20:ce::254"]);
        check(AddressClass::Unusable, &["0.0.0.0", "0.1.2.3", "224.0.0.1", "239.1.1.1", "240.0.0.1"]);
        check(AddressClass::Unusable, &["255.255.255.255", "192.0.2.1", "198.18.0.1", "203.0.113.9"]);
        check(AddressClass::Unusable, &["::", "ff02::1", "2001:db8::1", "2001::1", "100::1", "64:ff9b:1::1"]);
        check(AddressClass::Unusable, &["2600::5efe:7f00:1", "2600::200:5efe:a00:1", "4000::1"]);
    }

    #[test]
    fn an_embedded_ipv4_address_counts_as_itself() {
        check(
            AddressClass::Loopback,
            &["::ffff:127.0.0.1", "::127.0.0.1", "64:ff9b::127.0.0.1", "2002:7f00:1::"],
        );
        check(AddressClass::Metadata, &["::ffff:169.254.169.254", "::169.254.169.254", "64:ff9b::a9fe:a9fe"]);
        check(AddressClass::Metadata, &["2002:a9fe:a9fe::1", "::ffff:0:169.254.169.254"]);
        check(AddressClass::Private, &["::ffff:10.1.2.3", "2002:c0a8:101::"]);
        check(AddressClass::Public, &["::ffff:8.8.8.8", "64:ff9b::8.8.8.8"]);
        check(AddressClass::Unusable, &["::ffff:0.0.0.0", "::ffff:255.255.255.255"]);
    }

    #[test]
    fn no_set_contains_what_is_never_dialled() {
        let all = AddressClasses::new(AddressClass::GRANTABLE);
        assert!(AddressClass::GRANTABLE.into_iter().all(|class| all.contains(class)));
        assert!(!all.contains(AddressClass::Unusable));
        assert!(!AddressClasses::new([AddressClass::Unusable]).contains(AddressClass::Unusable));
        assert!(!AddressClasses::PUBLIC.contains(AddressClass::Loopback));
    }
}
