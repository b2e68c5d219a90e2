//! The clouds that a lab can have, and what is different about them.
//!
//! | module | the cloud |
//! | --- | --- |
//! | `aws` | EC2, played by moto |
//! | `azure` | Azure |
//! | `gcp` | Google Compute Engine |
//! | `hcloud` | Hetzner Cloud |
//! | `lxd` | Debian's LXD with real containers |
//! | `openstack` | OpenStack: the released services |
//! | `sim` | the simulated cloud |

mod aws;
mod azure;
mod gcp;
mod hcloud;
mod lxd;
mod openstack;
mod sim;

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;
use guests::Driver;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use machinist_api::MachineClass;
use nodesim::VmSource;
use serde_json::Value;

pub use self::gcp::Gcp;
pub use self::lxd::Lxd;
pub use self::openstack::OpenStack;
pub use aws::Aws;
pub use azure::Azure;
pub use hcloud::Hcloud;

/// The VMs of a cloud so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Made {
    /// VMs that were made.
    pub created: u64,
    /// Of these, VMs of a Machine that had a live one already.
    pub duplicates: u64,
}

/// A VM that lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveVm {
    pub id: String,
    /// The uid or the key of the object that it was made for; empty if it has none.
    pub key: String,
    /// The failure domain that it is in.
    pub zone: String,
    /// The provider id of its Node, as the cloud's controller manager writes it.
    pub node_id: String,
}

/// A running cloud, its driver, and how a user's objects name both.
pub trait Cloud: Send + Sync + 'static {
    /// The name of its plugin, its Secret, and in lower case of its provider.
    const NAME: &'static str;
    /// The driver whose plugin a lab pushes.
    const DRIVER: Driver;
    /// A field of its classes, as a JSON pointer, and a value of it that makes larger VMs.
    const LARGE: (&'static str, &'static str);
    /// The provider id of a Node, as a template of cloud-init: the user data of real kubelets has it.
    const PROVIDER_ID: &'static str;
    /// Whether its VMs boot and start kubelets of their own, which join by TLS bootstrap with their user data.
    const BOOTS: bool = false;

    /// Starts it for a lab. The settings are those of the simulated cloud.
    fn begin(settings: &simcloud::Config) -> impl Future<Output = Result<Self>> + Send
    where
        Self: Sized;

    /// Lets VMs that boot reach the API server at this address, and shows them a kubelet.
    fn connect(&self, _api_server: &str) -> impl Future<Output = Result<()>> + Send {
        std::future::ready(Ok(()))
    }

    /// Its VMs, for kubelets. Those that start their own are not among them.
    fn vm_source(&self) -> Result<Arc<dyn VmSource>>;

    /// The ConfigMap of its driver.
    fn plugin(&self, component: &[u8]) -> Result<ConfigMap>;

    /// A Secret of this name with credentials and user data.
    fn secret(&self, name: &str) -> Secret;

    /// A class whose Secret has the name `secret`.
    fn class(&self, name: &str, secret: &str) -> MachineClass;

    /// A class of larger VMs.
    fn large_class(&self, name: &str, secret: &str) -> MachineClass {
        let mut class = self.class(name, secret);
        class.provider_spec.as_mut().map(Self::enlarge);
        class
    }

    /// Turns the specification of a class into that of larger VMs.
    fn enlarge(spec: &mut Value) {
        let (field, value) = Self::LARGE;
        *spec.pointer_mut(field).expect("each class has the field that LARGE names") = value.into();
    }

    /// The specification of VMs that can be in each of the failure domains.
    fn specification(&self) -> Value {
        self.class("small", Self::NAME).provider_spec.unwrap_or_default()
    }

    /// Names of failure domains: two or more where the cloud has so many.
    fn failure_domains(&self) -> Vec<String>;

    /// The host's name for the cluster; by default the host finds a name itself.
    fn cluster(&self) -> Option<&str> {
        None
    }

    /// Ids of the VMs that live.
    fn live(&self) -> impl Future<Output = Result<Vec<String>>> + Send;

    /// Names of VMs and of everything that a VM has and that can be left without it, such as NICs, disks and
    /// addresses.
    fn leftovers(&self) -> impl Future<Output = Result<Vec<String>>> + Send {
        self.live()
    }

    /// The VMs that live.
    fn live_machines(&self) -> impl Future<Output = Result<Vec<LiveVm>>> + Send;

    /// Requests so far that create or delete VMs, whatever came of them.
    fn changes_asked(&self) -> u64;

    /// The VMs made since the cloud began, for each key: by the cloud's own record, which misses none.
    fn made_by_key(&self) -> Result<BTreeMap<String, u64>>;

    /// Somebody removes a VM, without the host.
    fn remove(&self, id: &str) -> impl Future<Output = Result<()>> + Send;

    /// From here on reads lag, and some creates are done and not answered.
    fn disturb(&self) -> Result<()>;

    /// Nothing goes wrong on purpose any more.
    fn heal(&self) -> Result<()>;

    /// The VMs created since the cloud began.
    fn made(&self) -> impl Future<Output = Result<Made>> + Send;
}
