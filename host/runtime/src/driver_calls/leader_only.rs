//! Drivers that are called only by a leader: a call ends when leadership does.
//!
//! Another process may lead once the Lease has run out, which is seconds after this one has given up. Calls that went on beyond
//! that would make and remove VMs behind its back.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use machinist_core::driver::error::{Breakage, Refusal};
use machinist_core::driver::{
    Answer, ClassSpec, Creation, Deletion, DriverFacts, ListRequest, MachineRequest, Page, Vm,
};
use machinist_core::value::digest::DriverDigest;
use machinist_core::value::id::{ProviderId, ProviderName};
use tokio::sync::watch;

use crate::ports::Drivers;

/// Drivers of a process that may cease to lead.
pub(crate) struct LeaderOnly {
    drivers: Arc<dyn Drivers>,
    leads: watch::Receiver<bool>,
}

impl LeaderOnly {
    pub(crate) fn new(drivers: Arc<dyn Drivers>, leads: watch::Receiver<bool>) -> Self {
        Self { drivers, leads }
    }

    /// Dropping a call ends it, and the requests that it has open.
    fn until_lost<'a, T: Send + 'a>(&self, call: BoxFuture<'a, Answer<T>>) -> BoxFuture<'a, Answer<T>> {
        let mut leads = self.leads.clone();
        async move {
            tokio::select! {
                biased;
                () = lost(&mut leads) => {
                    Err(Breakage::CutOff { detail: "this process does not lead".to_owned() }.into())
                }
                answer = call => answer,
            }
        }
        .boxed()
    }
}

/// A sender that is gone says nothing of leadership: the process is ending.
async fn lost(leads: &mut watch::Receiver<bool>) {
    if leads.wait_for(|leads| !leads).await.is_err() {
        std::future::pending::<()>().await;
    }
}

impl Drivers for LeaderOnly {
    fn facts(&self, provider: &ProviderName, pin: Option<DriverDigest>) -> Result<DriverFacts, Refusal> {
        self.drivers.facts(provider, pin)
    }

    fn create(&self, request: MachineRequest) -> BoxFuture<'_, Answer<Creation>> {
        self.until_lost(self.drivers.create(request))
    }

    fn initialize(&self, request: MachineRequest) -> BoxFuture<'_, Answer<Vm>> {
        self.until_lost(self.drivers.initialize(request))
    }

    fn delete(&self, request: MachineRequest) -> BoxFuture<'_, Answer<Deletion>> {
        self.until_lost(self.drivers.delete(request))
    }

    fn get_status(&self, request: MachineRequest) -> BoxFuture<'_, Answer<Vm>> {
        self.until_lost(self.drivers.get_status(request))
    }

    fn reboot(&self, request: MachineRequest) -> BoxFuture<'_, Answer<()>> {
        self.until_lost(self.drivers.reboot(request))
    }

    fn delete_by_id(&self, request: MachineRequest, vm: ProviderId) -> BoxFuture<'_, Answer<()>> {
        self.until_lost(self.drivers.delete_by_id(request, vm))
    }

    fn list(&self, request: ListRequest) -> BoxFuture<'_, Answer<Page>> {
        self.until_lost(self.drivers.list(request))
    }

    fn get_volume_ids(
        &self,
        provider: ProviderName,
        pin: Option<DriverDigest>,
        volume_specs: Vec<String>,
    ) -> BoxFuture<'_, Answer<Vec<Option<String>>>> {
        self.until_lost(self.drivers.get_volume_ids(provider, pin, volume_specs))
    }

    fn validate_class(&self, class: ClassSpec) -> BoxFuture<'_, Answer<Vec<String>>> {
        self.until_lost(self.drivers.validate_class(class))
    }
}
