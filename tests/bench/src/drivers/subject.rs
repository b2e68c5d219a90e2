//! A cloud of these figures: its plain client, its requests.

use std::path::PathBuf;

use anyhow::{Context, Result};
use e2e::Cloud;

/// A cloud whose driver is measured.
pub(crate) trait Subject: Cloud {
    /// The library of its plain client.
    const LIBRARY: &'static str;
    /// How many Machines, and VMs of the plain client.
    const MACHINES: usize = 100;
    /// Requests that its API needs at least: to make a VM and see it run, and to remove it and see that it is gone.
    const FEWEST: [u32; 2];

    /// All requests that it got so far, those for tokens too, those of kubelets and tests not.
    fn requests(&self) -> u64;

    /// Where its API listens on loopback.
    fn url(&self) -> String;

    /// Where the plain client finds it.
    fn client_url(&self) -> String {
        self.url()
    }

    /// The certificate, in PEM, that the plain client is to trust; empty: none.
    fn certificate(&self) -> String {
        String::new()
    }

    /// A Python that has the library. Blocks, the first time for as long as it takes to install.
    fn python() -> Result<PathBuf>;

    /// The port of [`Self::url`].
    fn port(&self) -> Result<u16> {
        let url = self.url();
        let port = url.trim_end_matches('/').rsplit_once(':').and_then(|(_, port)| port.parse().ok());
        port.with_context(|| format!("{url} has no port"))
    }
}
