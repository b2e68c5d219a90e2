//! Drivers that are called only by a leader: a call ends when leadership does.
//!
//! Another process may lead once the Lease has expired, seconds after this process has lost leadership. Longer calls
//! would create and delete VMs behind the new leader's back.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use machinist_core::driver::error::{GuestFailure, Refusal};
use machinist_core::driver::{
    ClassRequest, ClassSpec, Creation, Deletion, DriverFacts, DriverResult, ListRequest, MachineRequest,
    NodeResources, Page, Vm,
};
use machinist_core::value::digest::DriverDigest;
use machinist_core::value::id::{FailureDomain, ProviderId, ProviderName};
use tokio::sync::watch;

use crate::each_driver_call;
use crate::ports::Drivers;

/// Drivers of a process that may cease to lead.
pub(crate) struct LeaderOnly {
    pub(crate) drivers: Arc<dyn Drivers>,
    pub(crate) leads: watch::Receiver<bool>,
}

impl LeaderOnly {
    /// Dropping a call ends it, and the requests that it has open.
    fn until_lost<'a, T: Send + 'a>(
        &self,
        call: BoxFuture<'a, DriverResult<T>>,
    ) -> BoxFuture<'a, DriverResult<T>> {
        let mut leads = self.leads.clone();
        async move {
            tokio::select! {
                biased;
                () = lost(&mut leads) => {
                    Err(GuestFailure::CutOff { detail: "this process does not lead".to_owned() }.into())
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

macro_rules! until_lost {
    ($($about:ident { $(
        $(#[$doc:meta])*
        $call:ident $(= $operation:ident)? ($($name:ident: $type:ty),*) -> $answer:ty;
    )+ })+) => {
        $($(fn $call(&self, $($name: $type),*) -> BoxFuture<'_, DriverResult<$answer>> {
            self.until_lost(self.drivers.$call($($name),*))
        })+)+
    };
}

impl Drivers for LeaderOnly {
    fn facts(&self, provider: &ProviderName, pin: Option<DriverDigest>) -> Result<DriverFacts, Refusal> {
        self.drivers.facts(provider, pin)
    }

    each_driver_call!(until_lost);
}
