//! The clouds that a lab can have, and what is different about them.

mod aws;
mod sim;

use std::sync::Arc;

use anyhow::Result;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use machinist_api::MachineClass;
use nodesim::VmSource;
use serde_json::Value;

pub use aws::Aws;

/// The VMs of a cloud so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Made {
    /// VMs that were made.
    pub created: u64,
    /// Of these, VMs of a Machine that had a live one already.
    pub duplicates: u64,
}

/// A running cloud, its driver, and how a user's objects name both.
pub trait Cloud: Send + Sync + 'static {
    /// The name of its plugin, its Secret, and in lower case of its provider.
    const NAME: &'static str;
    /// The package of its driver.
    const DRIVER: &'static str;
    /// The variable of the driver's build that sets the version that it tells.
    const VERSION: &'static str;
    /// A field of its classes and a value of it that makes larger VMs.
    const LARGE: (&'static str, &'static str);

    /// Its VMs, for kubelets.
    fn vm_source(&self) -> Result<Arc<dyn VmSource>>;

    /// The ConfigMap of its driver.
    fn plugin(&self, component: &[u8]) -> Result<ConfigMap>;

    /// A Secret of this name with credentials and user data.
    fn secret(&self, name: &str) -> Secret;

    /// A class whose Secret has the name `secret`.
    fn class(&self, name: &str, secret: &str) -> MachineClass;

    /// A class of larger VMs.
    fn large_class(&self, name: &str, secret: &str) -> MachineClass {
        let (field, value) = Self::LARGE;
        let mut class = self.class(name, secret);
        if let Some(Value::Object(spec)) = &mut class.provider_spec {
            spec.insert(field.to_owned(), value.into());
        }
        class
    }

    /// The host's name for the cluster; by default the host finds a name itself.
    fn cluster(&self) -> Option<&str> {
        None
    }

    /// Ids of the VMs that live.
    fn live(&self) -> impl Future<Output = Result<Vec<String>>> + Send;

    /// The VMs created since the cloud began.
    fn made(&self) -> impl Future<Output = Result<Made>> + Send;
}
