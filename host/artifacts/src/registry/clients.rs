//! The HTTP clients. Each address is checked before it is dialled: an address in a URL before the request, the
//! addresses of a name when the name server returns them. The clients follow no redirects.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, Method, RequestBuilder, redirect};
use url::Url;

use super::{Error, Limits, hop};

/// Says why an address is not asked, as in `it is at a link-local address`.
pub type Judge = fn(IpAddr) -> Result<(), &'static str>;

/// The clients for registries on this machine and for all others.
#[derive(Clone, Debug)]
pub(super) struct Clients {
    /// No TLS needed, no proxy.
    here: Client,
    /// TLS only, by the proxy of the environment where there is one, which then decides where names lead.
    elsewhere: Client,
    judge: Judge,
}

impl Clients {
    pub(super) fn new(limits: &Limits, judge: Judge) -> Result<Self, Error> {
        let client = |networks: Networks| {
            Client::builder()
                .connect_timeout(limits.connect)
                .user_agent(concat!("machinist/", env!("CARGO_PKG_VERSION")))
                .redirect(redirect::Policy::none())
                .dns_resolver(Arc::new(Names { networks, judge }))
        };
        let here = client(Networks::Loopback).no_proxy();
        let elsewhere = client(Networks::All).https_only(true);
        Ok(Self {
            here: here.build().map_err(Error::Setup)?,
            elsewhere: elsewhere.build().map_err(Error::Setup)?,
            judge,
        })
    }

    /// A request, or why this address is not asked.
    pub(super) fn request(&self, method: Method, url: &Url) -> Result<RequestBuilder, &'static str> {
        if let Some(address) = hop::literal(url) {
            (self.judge)(address)?;
        }
        let client = if hop::is_on_loopback(url) { &self.here } else { &self.elsewhere };
        Ok(client.request(method, url.clone()))
    }
}

/// Where names may lead, beside what the judge says.
#[derive(Clone, Copy)]
enum Networks {
    All,
    /// Without TLS nothing leaves this machine.
    Loopback,
}

/// The system's name server, whose answers are judged.
struct Names {
    networks: Networks,
    judge: Judge,
}

#[derive(Debug, thiserror::Error)]
#[error("the name leads to an address that is not asked: {0}")]
struct Prohibited(&'static str);

impl Resolve for Names {
    fn resolve(&self, name: Name) -> Resolving {
        let (networks, judge) = (self.networks, self.judge);
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            judged(&found, networks, judge)?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// One address that is not asked spoils the others: nobody who answers so is trusted.
fn judged(found: &[SocketAddr], networks: Networks, judge: Judge) -> Result<(), Prohibited> {
    for address in found {
        judge(address.ip()).map_err(Prohibited)?;
        match networks {
            Networks::Loopback if !address.ip().is_loopback() => {
                return Err(Prohibited("it is not on this machine, and TLS is needed for others"));
            }
            Networks::Loopback | Networks::All => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(address: IpAddr) -> Result<(), &'static str> {
        if address.to_string().starts_with("169.") { Err("link-local") } else { Ok(()) }
    }

    #[test]
    fn attack_one_prohibited_address_of_a_name_spoils_the_others() {
        let check = |addresses: &[&str], networks| {
            let found: Vec<SocketAddr> =
                addresses.iter().map(|one| SocketAddr::new(one.parse().unwrap(), 0)).collect();
            judged(&found, networks, judge).map_err(|error| error.0)
        };
        assert_eq!(check(&["93.184.216.34"], Networks::All), Ok(()));
        assert_eq!(check(&["93.184.216.34", "169.254.169.254"], Networks::All), Err("link-local"));
        assert_eq!(check(&["127.0.0.1", "::1"], Networks::Loopback), Ok(()));
        assert!(check(&["127.0.0.1", "10.0.0.1"], Networks::Loopback).is_err());
    }
}
