//! Bugs that are put between the host and the world, so that it can be seen that each rule bites.
//!
//! They stand at the ports: the host itself is as it is shipped.
//!
//! | module | the bugs |
//! | --- | --- |
//! | `owners` | in the actions on sets and their Machines |
//! | `cluster_api` | in the writes to MachinistMachines |

mod cluster_api;
mod owners;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Method, Request};
use http_body_util::BodyExt;
use jiff::{SignedDuration, Timestamp};
use kube::client::Body;
use machinist_api::names::{annotations, node_conditions};
use machinist_core::driver::error::{CallError, Code, DriverError, Refusal, Sent};
use machinist_core::driver::{
    ClassRequest, ClassSpec, Creation, Deletion, DriverFacts, DriverResult, ListRequest, MachineRequest,
    NodeResources, Page, Vm, VmState,
};
use machinist_core::health_policy::{Mode, PolicyFact, PolicyQuestion, RawAnswer};
use machinist_core::value::digest::DriverDigest;
use machinist_core::value::id::{FailureDomain, PluginName, ProviderId, ProviderName, Uid};
use machinist_runtime::ports::{Drivers, HealthPolicies};
use serde_json::{Value, json};
use tower::{BoxError, Service};

use crate::names::NAMESPACE;
use crate::plan::Planted;

/// The drivers with a bug in them.
pub(crate) fn drivers(drivers: Arc<dyn Drivers>, planted: Option<Planted>) -> Arc<dyn Drivers> {
    match planted {
        Some(bug) => Arc::new(Faulty { drivers, bug, running: Mutex::default() }),
        None => drivers,
    }
}

/// So much longer than reads lag, for a bug.
const KEEPS_DOUBT_FOR: SignedDuration = SignedDuration::from_mins(5);

/// So often a VM is seen to run, before it is said to have stopped.
const SEEN_TO_RUN: u32 = 2;

struct Faulty {
    drivers: Arc<dyn Drivers>,
    bug: Planted,
    /// How often each key's VM was seen to run.
    running: Mutex<BTreeMap<String, u32>>,
}

impl Faulty {
    /// The bug, where it is about this request: some are about MachinistMachines alone.
    fn bug_of(&self, request: &MachineRequest) -> Option<Planted> {
        let is_of_cluster_api = request.machine.namespace.as_str() != NAMESPACE;
        (is_of_cluster_api || !self.bug.breaks().is_of_cluster_api()).then_some(self.bug)
    }

    fn was_seen_running(&self, key: &str) -> bool {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let count = running.entry(key.to_owned()).or_default();
        *count += 1;
        *count > SEEN_TO_RUN
    }
}

/// The same request for somebody else.
fn again(request: &MachineRequest, uid: &str) -> MachineRequest {
    let mut other = request.clone();
    other.machine.uid = Uid::new(uid);
    other.idempotency_key = format!("{}-again", request.idempotency_key);
    other
}

impl Drivers for Faulty {
    fn facts(&self, provider: &ProviderName, pin: Option<DriverDigest>) -> Result<DriverFacts, Refusal> {
        let facts = self.drivers.facts(provider, pin)?;
        Ok(match self.bug {
            Planted::KeepsDoubt => {
                let consistency_window = facts.consistency_window + KEEPS_DOUBT_FOR;
                DriverFacts { consistency_window, ..facts }
            }
            _ => facts,
        })
    }

    fn create(&self, request: MachineRequest) -> BoxFuture<'_, DriverResult<Creation>> {
        let key = request.machine.uid.as_str();
        let second = match self.bug_of(&request) {
            Some(Planted::CreatesTwice | Planted::CreatesTwiceForKeys) => Some(again(&request, key)),
            Some(Planted::LeaksInfraVms) => Some(again(&request, &format!("{key}-nobody"))),
            Some(Planted::LeaksVms) => {
                // Of another cluster, so that nobody who looks for orphans finds it.
                let mut other = again(&request, &format!("{key}-nobody"));
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
            match self.bug {
                Planted::DeniesDoubt => made.map_err(denied),
                Planted::ClaimsDoubt => made.map_err(|error| claimed(&error)),
                Planted::NeverRetries if made.is_err() => std::future::pending().await,
                _ => made,
            }
        }
        .boxed()
    }

    fn initialize(&self, request: MachineRequest) -> BoxFuture<'_, DriverResult<Vm>> {
        self.drivers.initialize(request)
    }

    fn delete(&self, request: MachineRequest) -> BoxFuture<'_, DriverResult<Deletion>> {
        match self.bug_of(&request) {
            Some(Planted::ForgetsVms | Planted::NeverDeletes | Planted::ForgetsInfraVms) => {
                async { Ok(Deletion::Deleted { last_known_state: None }) }.boxed()
            }
            Some(Planted::OrdersOverAndOver) => async move {
                for _ in 0..25 {
                    let _ = self.drivers.delete(request.clone()).await;
                }
                self.drivers.delete(request).await
            }
            .boxed(),
            _ => self.drivers.delete(request),
        }
    }

    fn get_status(&self, request: MachineRequest) -> BoxFuture<'_, DriverResult<Vm>> {
        match self.bug_of(&request) {
            Some(Planted::ForgetsVms | Planted::ForgetsInfraVms) => {
                async { Err(DriverError::new(Code::NotFound, "there is no such VM").into()) }.boxed()
            }
            Some(Planted::DeletesUnasked) => async move {
                let _ = self.drivers.delete(request.clone()).await;
                self.drivers.get_status(request).await
            }
            .boxed(),
            Some(Planted::BelievesListings) => async move {
                let all = ListRequest {
                    class: request.class.clone(),
                    cluster: request.cluster.clone(),
                    token: None,
                    secrets: request.secrets.clone(),
                };
                let page = self.drivers.list(all).await?;
                let seen = self.drivers.get_status(request).await?;
                let is_listed = page.machines.iter().any(|vm| vm.provider_id == seen.provider_id);
                let gone = || DriverError::new(Code::NotFound, "no listing shows it").into();
                if is_listed { Ok(seen) } else { Err(gone()) }
            }
            .boxed(),
            Some(Planted::CallsTheRunningStopped) => async move {
                let key = request.machine.uid.to_string();
                let seen = self.drivers.get_status(request).await?;
                let is_called_stopped = seen.state == VmState::Running && self.was_seen_running(&key);
                Ok(if is_called_stopped { Vm { state: VmState::Stopped, ..seen } } else { seen })
            }
            .boxed(),
            Some(Planted::FailsAtOnce | Planted::GivesUpZones) => async move {
                let seen = self.drivers.get_status(request).await?;
                Ok(Vm { state: VmState::Stopped, ..seen })
            }
            .boxed(),
            Some(Planted::Panics) => async { panic!("a bug was planted here") }.boxed(),
            _ => self.drivers.get_status(request),
        }
    }

    fn reboot(&self, request: MachineRequest) -> BoxFuture<'_, DriverResult<()>> {
        self.drivers.reboot(request)
    }

    fn delete_by_id(&self, request: MachineRequest, vm: ProviderId) -> BoxFuture<'_, DriverResult<()>> {
        match (self.bug, request.machine.provider_id.clone()) {
            (Planted::TakesTheFirst, Some(first)) => self.drivers.delete_by_id(request, first),
            (Planted::LeavesTheSecond, _) => async { Ok(()) }.boxed(),
            _ => self.drivers.delete_by_id(request, vm),
        }
    }

    fn node_id(&self, request: MachineRequest, vm: Vm) -> BoxFuture<'_, DriverResult<ProviderId>> {
        self.drivers.node_id(request, vm)
    }

    fn place(&self, request: MachineRequest, domain: FailureDomain) -> BoxFuture<'_, DriverResult<String>> {
        self.drivers.place(request, domain)
    }

    fn is_interruptible(&self, request: MachineRequest) -> BoxFuture<'_, DriverResult<bool>> {
        self.drivers.is_interruptible(request)
    }

    fn node_capacity(&self, request: ClassRequest) -> BoxFuture<'_, DriverResult<NodeResources>> {
        self.drivers.node_capacity(request)
    }

    fn list(&self, request: ListRequest) -> BoxFuture<'_, DriverResult<Page>> {
        self.drivers.list(request)
    }

    fn get_volume_ids(
        &self,
        provider: ProviderName,
        pin: Option<DriverDigest>,
        specs: Vec<String>,
    ) -> BoxFuture<'_, DriverResult<Vec<Option<String>>>> {
        self.drivers.get_volume_ids(provider, pin, specs)
    }

    fn validate_class(&self, class: ClassSpec) -> BoxFuture<'_, DriverResult<Vec<String>>> {
        self.drivers.validate_class(class)
    }
}

/// The same error, as if the driver did not know whether a VM was made.
fn claimed(error: &CallError) -> CallError {
    DriverError { may_have_happened: true, ..DriverError::new(error.code(), "nobody knows") }.into()
}

/// The same error without its doubt.
fn denied(error: CallError) -> CallError {
    match error {
        CallError::Guest(error) => DriverError { may_have_happened: false, ..error }.into(),
        other @ (CallError::Broken(_) | CallError::Refused(_)) => other.having_sent(Sent::Nothing),
    }
}

/// The policies with a bug in them.
pub(crate) fn policies(
    policies: Arc<dyn HealthPolicies>,
    planted: Option<Planted>,
) -> Arc<dyn HealthPolicies> {
    match planted {
        Some(Planted::AppliesObservers) => Arc::new(Applied(policies)),
        Some(_) | None => policies,
    }
}

struct Applied(Arc<dyn HealthPolicies>);

impl HealthPolicies for Applied {
    fn policies(&self) -> Arc<[PolicyFact]> {
        let decides = |fact: &PolicyFact| PolicyFact { mode: Mode::Enforce, ..fact.clone() };
        self.0.policies().iter().map(decides).collect()
    }

    fn evaluate(
        &self,
        policy: &PluginName,
        question: PolicyQuestion,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<RawAnswer, CallError>> {
        self.0.evaluate(policy, question, now)
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
    S: Service<Request<Body>, Response = owners::Reply, Error = BoxError, Future: Send>
        + Clone
        + Send
        + 'static,
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
            let Some(bug) = bug else { return inner.call(request).await };
            let request = owners::bent(&mut inner, bent(request, bug).await?, bug).await?;
            let request = cluster_api::bent(&mut inner, request, bug).await?;
            Ok(owners::seen(inner.call(request).await?, bug))
        }
        .boxed()
    }
}

async fn bent(request: Request<Body>, bug: Planted) -> Result<Request<Body>, BoxError> {
    let path = request.uri().path().to_owned();
    match bug {
        Planted::DropsConditions if path.contains("/machines/") && path.ends_with("/status") => {
            // A write without a change makes no version, so that the bug does not even show as an event.
            patched(request, |patch| {
                if let Some(status) = patch["status"].as_object_mut() {
                    status.remove("conditions");
                }
            })
            .await
        }
        Planted::DeletesPods if path.ends_with("/eviction") => {
            let (mut head, _) = request.into_parts();
            head.method = Method::DELETE;
            head.uri = path.trim_end_matches("/eviction").parse()?;
            Ok(Request::from_parts(head, Body::empty()))
        }
        Planted::HidesPods if path == "/api/v1/pods" => {
            let (mut head, body) = request.into_parts();
            let all = head.uri.to_string().replace("spec.nodeName%3D", "spec.nodeName%3Dnot-");
            head.uri = all.parse()?;
            Ok(Request::from_parts(head, body))
        }
        Planted::KeepsAttachments
            if path.contains("/volumeattachments/") && request.method() == Method::DELETE =>
        {
            let (mut head, _) = request.into_parts();
            head.method = Method::GET;
            Ok(Request::from_parts(head, Body::empty()))
        }
        Planted::HurriesHooks if path.contains("/machines/") => {
            patched(request, |patch| {
                if let Some(since) =
                    patch["metadata"]["annotations"].get_mut(annotations::PRE_TERMINATE_SINCE)
                {
                    *since = json!("2020-01-01T00:00:00Z");
                }
            })
            .await
        }
        Planted::HandsOverUndrained if path.contains("/nodes/") && path.ends_with("/status") => {
            let (head, body) = request.into_parts();
            let text = String::from_utf8_lossy(&body.collect().await?.to_bytes()).into_owned();
            let text = text.replace(node_conditions::SELECTED_FOR_UPDATE, node_conditions::DRAIN_SUCCESSFUL);
            Ok(Request::from_parts(head, Body::from(text.into_bytes())))
        }
        Planted::DeletesPreserved if path.contains("/nodes/") && path.ends_with("/status") => {
            let (mut head, body) = request.into_parts();
            let bytes = body.collect().await?.to_bytes();
            // The condition on the Node once its Machine is kept.
            if !String::from_utf8_lossy(&bytes).contains(node_conditions::PRESERVED_BY_USER) {
                return Ok(Request::from_parts(head, Body::from(bytes.to_vec())));
            }
            let name = path.trim_start_matches("/api/v1/nodes/").trim_end_matches("/status");
            head.method = Method::DELETE;
            head.uri =
                format!("/apis/{}/namespaces/{NAMESPACE}/machines/{name}", machinist_api::names::API_VERSION)
                    .parse()?;
            Ok(Request::from_parts(head, Body::empty()))
        }
        _ => Ok(request),
    }
}

/// Returns the same request with another patch in it. A request without a patch stays as it is.
async fn patched(request: Request<Body>, change: impl FnOnce(&mut Value)) -> Result<Request<Body>, BoxError> {
    if request.method() != Method::PATCH {
        return Ok(request);
    }
    let (head, body) = request.into_parts();
    let mut patch: Value = serde_json::from_slice(&body.collect().await?.to_bytes())?;
    change(&mut patch);
    Ok(Request::from_parts(head, Body::from(serde_json::to_vec(&patch)?)))
}
