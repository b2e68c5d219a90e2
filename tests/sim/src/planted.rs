//! Bugs that are put between the host and the world, so that it can be seen that each rule bites.
//!
//! They stand at the ports: the host itself is as it is shipped.

use std::sync::Arc;
use std::task::{Context, Poll};

use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Method, Request};
use http_body_util::BodyExt;
use kube::client::Body;
use machinist_core::driver::{
    Answer, ClassSpec, Creation, Deletion, DriverFacts, ListRequest, MachineRequest, Page, Vm, VmState,
};
use machinist_core::driver_digest::DriverDigest;
use machinist_core::driver_error::{Code, DriverError, Refusal};
use machinist_core::id::{ProviderName, Uid};
use machinist_runtime::ports::Drivers;
use serde_json::Value;
use tower::{BoxError, Service};

use crate::check::Rule;

/// A bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planted {
    /// Every create is sent twice, with two keys.
    CreatesTwice,
    /// A look at a VM removes it.
    DeletesUnasked,
    /// A VM that a listing shows without a Machine is removed at once.
    DeletesOrphansAtOnce,
    /// VMs are said to be gone that nobody removed.
    ForgetsVms,
    /// Every create makes one more VM that carries nobody's mark.
    LeaksVms,
    /// The host believes that it leads, always.
    LeadsAlways,
    /// A Node of which nothing is heard fails its machine within seconds: the gate never closes, and the cloud is said to have
    /// stopped every VM.
    FailsAtOnce,
    /// The conditions that a host copies from a Node never arrive.
    DropsConditions,
    /// The VM never goes.
    NeverDeletes,
    /// Pods are deleted where they should be evicted.
    DeletesPods,
    /// The API servers are never found to be away, and tokens come from elsewhere.
    GateStaysOpen,
    /// A pass panics.
    Panics,
}

impl Planted {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::CreatesTwice,
        Self::DeletesUnasked,
        Self::DeletesOrphansAtOnce,
        Self::ForgetsVms,
        Self::LeaksVms,
        Self::LeadsAlways,
        Self::FailsAtOnce,
        Self::DropsConditions,
        Self::NeverDeletes,
        Self::DeletesPods,
        Self::GateStaysOpen,
        Self::Panics,
    ];

    /// The rule that it breaks.
    pub fn breaks(self) -> Rule {
        match self {
            Self::CreatesTwice => Rule::OneVm,
            Self::DeletesUnasked | Self::DeletesOrphansAtOnce => Rule::NoUnaskedDelete,
            Self::ForgetsVms => Rule::FinalizerLast,
            Self::LeaksVms => Rule::NoLeak,
            Self::LeadsAlways => Rule::Leader,
            Self::FailsAtOnce => Rule::HealthyStays,
            Self::DropsConditions => Rule::Quiet,
            Self::NeverDeletes => Rule::Converges,
            Self::DeletesPods => Rule::Budget,
            Self::GateStaysOpen => Rule::Gate,
            Self::Panics => Rule::NoPanic,
        }
    }
}

/// The drivers with a bug in them.
pub(crate) fn drivers(drivers: Arc<dyn Drivers>, planted: Option<Planted>) -> Arc<dyn Drivers> {
    match planted {
        Some(bug) => Arc::new(Faulty { drivers, bug }),
        None => drivers,
    }
}

struct Faulty {
    drivers: Arc<dyn Drivers>,
    bug: Planted,
}

impl Faulty {
    /// The same request for somebody else.
    fn again(request: &MachineRequest, uid: &str) -> MachineRequest {
        let mut other = request.clone();
        other.machine.uid = Uid::new(uid);
        other.idempotency_key = format!("{}-again", request.idempotency_key);
        other
    }
}

impl Drivers for Faulty {
    fn facts(&self, provider: &ProviderName, pin: Option<DriverDigest>) -> Result<DriverFacts, Refusal> {
        self.drivers.facts(provider, pin)
    }

    fn create(&self, request: MachineRequest) -> BoxFuture<'_, Answer<Creation>> {
        let second = match self.bug {
            Planted::CreatesTwice => Some(Self::again(&request, request.machine.uid.as_str())),
            Planted::LeaksVms => {
                // Of another cluster, so that nobody who looks for orphans finds it.
                let mut other = Self::again(&request, &format!("{}-nobody", request.machine.uid));
                other.cluster = "other".to_owned();
                Some(other)
            }
            _ => None,
        };
        async move {
            let made = self.drivers.create(request).await;
            if let Some(second) = second {
                let _ = self.drivers.create(second).await;
            }
            made
        }
        .boxed()
    }

    fn initialize(&self, request: MachineRequest) -> BoxFuture<'_, Answer<Vm>> {
        self.drivers.initialize(request)
    }

    fn delete(&self, request: MachineRequest) -> BoxFuture<'_, Answer<Deletion>> {
        match self.bug {
            Planted::ForgetsVms | Planted::NeverDeletes => {
                async { Ok(Deletion::Deleted { last_known_state: None }) }.boxed()
            }
            _ => self.drivers.delete(request),
        }
    }

    fn get_status(&self, request: MachineRequest) -> BoxFuture<'_, Answer<Vm>> {
        match self.bug {
            Planted::ForgetsVms => {
                async { Err(DriverError::new(Code::NotFound, "there is no such VM").into()) }.boxed()
            }
            Planted::DeletesUnasked => async move {
                let _ = self.drivers.delete(request.clone()).await;
                self.drivers.get_status(request).await
            }
            .boxed(),
            Planted::FailsAtOnce => async move {
                let seen = self.drivers.get_status(request).await?;
                Ok(Vm { state: VmState::Stopped, ..seen })
            }
            .boxed(),
            Planted::Panics => async { panic!("a bug was planted here") }.boxed(),
            _ => self.drivers.get_status(request),
        }
    }

    fn reboot(&self, request: MachineRequest) -> BoxFuture<'_, Answer<()>> {
        self.drivers.reboot(request)
    }

    fn list(&self, request: ListRequest) -> BoxFuture<'_, Answer<Page>> {
        self.drivers.list(request)
    }

    fn get_volume_ids(
        &self,
        provider: ProviderName,
        pin: Option<DriverDigest>,
        specs: Vec<String>,
    ) -> BoxFuture<'_, Answer<Vec<Option<String>>>> {
        self.drivers.get_volume_ids(provider, pin, specs)
    }

    fn validate_class(&self, class: ClassSpec) -> BoxFuture<'_, Answer<Vec<String>>> {
        self.drivers.validate_class(class)
    }
}

/// A connection to the API server with a bug in it.
#[derive(Clone)]
pub(crate) struct Bent<S> {
    inner: S,
    /// A way that goes on when the other one is cut off.
    detour: S,
    bug: Option<Planted>,
}

impl<S> Bent<S> {
    pub(crate) fn new(inner: S, detour: S, bug: Option<Planted>) -> Self {
        Self { inner, detour, bug }
    }
}

impl<S> Service<Request<Body>> for Bent<S>
where
    S: Service<Request<Body>, Error = BoxError, Future: Send> + Clone + Send + 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<S::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let bug = self.bug;
        // No VM is made without a token, and no token without the cluster of the Nodes.
        let is_token = request.uri().path().contains("/namespaces/kube-system/secrets");
        let goes_around = bug == Some(Planted::GateStaysOpen) && is_token;
        let mut inner = if goes_around { self.detour.clone() } else { self.inner.clone() };
        async move {
            let request = match bug {
                Some(bug) => bent(request, bug).await?,
                None => request,
            };
            inner.call(request).await
        }
        .boxed()
    }
}

async fn bent(request: Request<Body>, bug: Planted) -> Result<Request<Body>, BoxError> {
    let path = request.uri().path().to_owned();
    match bug {
        Planted::DropsConditions if path.contains("/machines/") && path.ends_with("/status") => {
            let (head, body) = request.into_parts();
            let mut patch: Value = serde_json::from_slice(&body.collect().await?.to_bytes())?;
            if let Some(status) = patch["status"].as_object_mut() {
                status.remove("conditions");
            }
            // What changes nothing makes no version, so that the bug is not even told by an event.
            Ok(Request::from_parts(head, Body::from(serde_json::to_vec(&patch)?)))
        }
        Planted::DeletesPods if path.ends_with("/eviction") => {
            let (mut head, _) = request.into_parts();
            head.method = Method::DELETE;
            head.uri = path.trim_end_matches("/eviction").parse()?;
            Ok(Request::from_parts(head, Body::empty()))
        }
        _ => Ok(request),
    }
}
