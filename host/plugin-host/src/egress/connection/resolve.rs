//! Names to addresses. A port of its own so that tests can answer as a hostile name server does.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use futures::future::BoxFuture;
use ipnet::IpNet;

use crate::target::{AddressClass, embedded};

/// Finds the addresses of a name. Never asked for literals.
pub trait Resolve: Send + Sync {
    /// All addresses, the preferred ones first.
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// The operating system's resolver, with `/etc/hosts` and search domains as the pod has them. It first asks for a full
/// name as it is: in a pod the search domains would come first, and the owner of a Namespace called `com` could answer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let hosts_file = tokio::fs::read_to_string("/etc/hosts").await.unwrap_or_default();
            let mut answer = Err(io::Error::from(io::ErrorKind::NotFound));
            for name in questions(host, &hosts_file) {
                answer = addresses(&name).await;
                if answer.is_ok() {
                    break;
                }
            }
            answer
        })
    }
}

async fn addresses(name: &str) -> io::Result<Vec<IpAddr>> {
    Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect())
}

/// Returns the names to ask for, in order. Names of `/etc/hosts` are not found with a dot behind them.
fn questions(host: &str, hosts_file: &str) -> Vec<String> {
    let is_full = host.contains('.') && !host.ends_with('.');
    let names = |line: &'_ str| {
        let line = line.split('#').next().unwrap_or_default();
        line.split_whitespace().skip(1).any(|name| name.eq_ignore_ascii_case(host))
    };
    if is_full && !hosts_file.lines().any(names) {
        vec![format!("{host}."), host.to_owned()]
    } else {
        vec![host.to_owned()]
    }
}

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
mod denied_tests {
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

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTS: &str = "127.0.0.1 localhost\n10.0.0.7\tkeystone.example.com keystone # old.example.com\n";

    #[test]
    fn attack_a_search_domain_answers_for_a_full_name() {
        assert_eq!(questions("ec2.example.com", HOSTS), ["ec2.example.com.", "ec2.example.com"]);
        assert_eq!(questions("old.example.com", HOSTS), ["old.example.com.", "old.example.com"]);
    }

    #[test]
    fn names_of_the_hosts_file_and_short_ones_are_asked_for_as_they_are() {
        for host in ["Keystone.example.com", "localhost", "keystone", "ec2.example.com."] {
            assert_eq!(questions(host, HOSTS), [host]);
        }
    }

    #[tokio::test]
    async fn this_machine_has_a_name() {
        let found = SystemResolver.resolve("localhost").await.expect("every machine knows it");
        assert!(found.iter().all(IpAddr::is_loopback) && !found.is_empty(), "{found:?}");
    }
}
