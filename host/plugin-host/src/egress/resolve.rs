//! Names to addresses. A port of its own so that tests can answer as a hostile name server does.

use std::io;
use std::net::IpAddr;

use futures::future::BoxFuture;

/// Finds the addresses of a name. Never asked for literals.
pub trait Resolve: Send + Sync {
    /// All addresses, the preferred ones first.
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// The operating system's resolver, with `/etc/hosts` and search domains as the pod has them.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}
