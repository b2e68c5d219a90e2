//! Names to addresses. A port of its own so that tests can answer as a hostile name server does.

use std::io;
use std::net::IpAddr;

use futures::future::BoxFuture;

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
