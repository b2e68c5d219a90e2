//! Where VMs come from.
//!
//! | module | what it does |
//! | --- | --- |
//! | `simcloud` | the VMs of the simulated cloud |
//! | `ec2` | the VMs of an EC2 that verifies no signatures, which is moto |
//! | `polled` | the VMs of a cloud that is asked again and again which of them run |

mod ec2;
mod polled;
mod simcloud;

use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::mpsc;

use crate::vm::Vm;

pub use ec2::Ec2Source;
pub use polled::{Polled, PolledSource};
pub use simcloud::SimcloudSource;

/// The events of the VMs of a cloud.
#[derive(Clone, Debug)]
pub enum VmEvent {
    /// These VMs run, and no others.
    All(Vec<Vm>),
    Runs(Vm),
    /// This VM was rebooted.
    Rebooted(Vm),
    /// The VM with this id is shut down or gone.
    Ended(String),
}

/// A cloud as the node simulator sees it.
pub trait VmSource: Send + Sync + 'static {
    /// Sends what happens to VMs, first [`VmEvent::All`], until the receiver goes. An implementation rides out
    /// failures of its cloud, and sends [`VmEvent::All`] again when it may have missed something.
    fn follow(self: Arc<Self>, events: mpsc::Sender<VmEvent>) -> BoxFuture<'static, ()>;

    /// The user data that the VM got, decoded as the VM sees it.
    fn user_data<'a>(&'a self, vm: &'a Vm) -> BoxFuture<'a, anyhow::Result<Vec<u8>>>;
}
