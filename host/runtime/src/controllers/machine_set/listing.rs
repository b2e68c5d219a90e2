//! All Machines as the API server itself has them.

use kube::Api;
use kube::api::ListParams;
use kube::core::{DeserializeGuard, ObjectMeta};
use machinist_api::Machine;
use machinist_core::driver::write_error::ActError;

use crate::client::errors::within_deadline;

/// Of one page: small enough that no server stumbles over it.
const PAGE: u32 = 500;

/// The Machines of a namespace, and the version that they are of.
pub(super) struct MachineListing {
    pub(super) machines: Vec<Machine>,
    /// Those that cannot be decoded: they are there, and nothing else is known of them.
    pub(super) unreadable: Vec<ObjectMeta>,
    pub(super) version: String,
}

/// Without a version in the request, which makes the server look at what is stored and not at what it remembers. All pages
/// are of the version of the first. A Machine that cannot be decoded harms only itself.
pub(super) async fn list(api: &Api<DeserializeGuard<Machine>>) -> Result<MachineListing, ActError> {
    let (mut machines, mut unreadable) = (Vec::new(), Vec::new());
    let mut params = ListParams::default().limit(PAGE);
    loop {
        let page = within_deadline(api.list(&params)).await?;
        for item in page.items {
            match item.0 {
                Ok(machine) => machines.push(machine),
                Err(invalid) => unreadable.push(invalid.metadata),
            }
        }
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => {
                let version = page.metadata.resource_version.unwrap_or_default();
                return Ok(MachineListing { machines, unreadable, version });
            }
        }
    }
}
