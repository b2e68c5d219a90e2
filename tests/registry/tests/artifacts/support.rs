use std::time::Duration;

use bytes::Bytes;
use machinist_artifacts::{Error, Limits, Pulled, Reference, Registry};
use registry::{Door, Liar};

/// A registry, a liar in front of it that tells the truth at first, and a client.
pub(crate) struct Harness {
    pub(crate) registry: registry::Registry,
    pub(crate) liar: Liar,
    pub(crate) client: Registry,
}

pub(crate) const COMPONENT: &[u8] = b"\0asm a component, as far as a registry can tell";

impl Harness {
    pub(crate) async fn new(door: Door) -> Self {
        let registry =
            tokio::task::spawn_blocking(move || registry::Registry::start(door)).await.unwrap().unwrap();
        let liar = Liar::start(registry.address()).await.unwrap();
        Self { registry, liar, client: client(Duration::from_secs(30)) }
    }

    /// In the registry itself.
    pub(crate) fn straight(&self, rest: &str) -> Reference {
        format!("{}/{rest}", self.registry.address()).parse().unwrap()
    }

    pub(crate) fn askew(&self, rest: &str) -> Reference {
        format!("{}/{rest}", self.liar.address()).parse().unwrap()
    }

    pub(crate) async fn push(
        &self,
        reference: &Reference,
        component: &'static [u8],
    ) -> machinist_artifacts::ContentDigest {
        self.client.push(reference, &Bytes::from_static(component), &[], &[], None).await.unwrap()
    }

    pub(crate) async fn pull(&self, reference: &Reference) -> Result<Pulled, Error> {
        self.client.pull(reference, None).await
    }
}

/// A client that waits so long for anything.
pub(crate) fn client(timeout: Duration) -> Registry {
    // Fails only when another provider was installed before, and then there is one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let limits = Limits { silence: timeout, question: timeout, transfer: timeout, ..Limits::default() };
    Registry::new(limits, |_| Ok(())).unwrap()
}

/// An error and its causes.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let cause = error.source().map(|source| format!(": {}", chain(source)));
    format!("{error}{}", cause.unwrap_or_default())
}
