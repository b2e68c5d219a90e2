//! From a declaration to something that can be called: unpack, verify, compile, link, describe.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use machinist_core::driver::Operation;
use machinist_core::driver_error::CallError;
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;
use tracing::{info, warn};
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::ask::Describe;
use crate::bindings::ProviderIndices;
use crate::call::{Prepared, Sandbox};
use crate::code_cache::{CodeCache, Lookup};
use crate::compile::{self, Compiler};
use crate::convert::About;
use crate::digest::Digest;
use crate::limits::{self, Ceilings, Limits};
use crate::metrics::{CacheOutcome, Metrics};
use crate::optional_bindings::RebooterIndices;
use crate::policy::PolicyAbout;
use crate::policy::call::{PolicySandbox, PreparedPolicy};
use crate::policy::terms::Terms;
use crate::policy_bindings::HealthPolicyPre;
use crate::source::{Declared, Kind, UnpackError};
use crate::verify::{self, Contract};

/// Why a declared plugin cannot serve.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("failed to unpack the component")]
    Unpack(#[source] UnpackError),
    #[error("the component's digest is {found}, and sha256 says {expected}")]
    Digest { expected: Digest, found: Digest },
    #[error("failed to verify the component")]
    Verify(#[source] verify::Error),
    #[error("the grants ask for wrong limits")]
    Limits(#[source] limits::Error),
    #[error("failed to compile the component")]
    Compile(#[source] compile::Error),
    #[error("failed to keep compiled code")]
    Cache(#[source] std::io::Error),
    #[error("the compiled code does not load: {detail}")]
    Code { detail: String },
    #[error("the component does not fit the contract: {detail}")]
    Link { detail: String },
    #[error("failed to ask the plugin who it is")]
    Describe(#[source] CallError),
    #[error("failed to ask the policy whether its settings are right")]
    AskSettings(#[source] CallError),
    #[error("its settings are wrong: {problem}")]
    Settings { problem: String },
    #[error("a part of the host gave up")]
    Interrupted,
}

impl Error {
    /// True when another attempt with the same content may end otherwise.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Compile(error) => error.is_passing(),
            Self::Cache(_) | Self::Interrupted => true,
            Self::Describe(CallError::Refused(_)) | Self::AskSettings(CallError::Refused(_)) => true,
            Self::Unpack(_)
            | Self::Digest { .. }
            | Self::Verify(_)
            | Self::Limits(_)
            | Self::Code { .. }
            | Self::Link { .. }
            | Self::Settings { .. }
            | Self::AskSettings(CallError::Guest(_) | CallError::Broken(_))
            | Self::Describe(CallError::Guest(_) | CallError::Broken(_)) => false,
        }
    }
}

/// How far a load has come. Told as it happens.
pub(crate) enum Progress {
    Fetched { digest: Digest, size_bytes: usize },
    Verified,
    Compiled { took: Option<Duration> },
}

/// What a load ends with.
pub(crate) enum Loaded {
    Driver(Prepared, About),
    Policy(PreparedPolicy, PolicyAbout),
}

/// One engine's code: where it is kept, and who makes it.
pub(crate) struct Workshop {
    pub(crate) engine: Engine,
    pub(crate) cache: Arc<CodeCache>,
    pub(crate) compiler: Compiler,
}

/// Loads components.
pub(crate) struct Loader {
    pub(crate) sandbox: Arc<Sandbox>,
    pub(crate) policies: Arc<PolicySandbox>,
    pub(crate) of_drivers: Workshop,
    pub(crate) of_policies: Workshop,
    /// Held while a digest that is not in the cache is compiled, so that each is compiled once.
    pub(crate) compiling: Mutex<()>,
    pub(crate) defaults: Limits,
    pub(crate) ceilings: Ceilings,
    pub(crate) metrics: Metrics,
}

impl Loader {
    /// Everything up to an instance's first answer. Dropping the future ends it, a running compiler included.
    pub(crate) async fn load(
        &self,
        declared: &Declared,
        tell: &(dyn Fn(Progress) + Send + Sync),
    ) -> Result<Loaded, Error> {
        let (bytes, digest) = unpack(declared).await?;
        tell(Progress::Fetched { digest, size_bytes: bytes.len() });
        // Before the work of compiling: what is wrong with the limits is known.
        let limits = Limits::from_raw(declared.grants.limits(), &self.defaults, &self.ceilings)
            .map_err(Error::Limits)?;
        if let Some(expected) = declared.digest.filter(|&expected| expected != digest) {
            return Err(Error::Digest { expected, found: digest });
        }
        verify(&bytes, Contract::from(&declared.kind)).await?;
        tell(Progress::Verified);
        let workshop = match declared.kind {
            Kind::Driver => &self.of_drivers,
            Kind::HealthPolicy(_) => &self.of_policies,
        };
        let (component, took) = self.code(workshop, &bytes, digest).await?;
        tell(Progress::Compiled { took });
        match &declared.kind {
            Kind::Driver => self.driver(declared, digest, &component, limits).await,
            Kind::HealthPolicy(terms) => self.policy(declared, digest, &component, terms.clone()).await,
        }
    }

    async fn driver(
        &self,
        declared: &Declared,
        digest: Digest,
        component: &Component,
        limits: Limits,
    ) -> Result<Loaded, Error> {
        let pre = self.sandbox.linker.instantiate_pre(component).map_err(link_error)?;
        let exports = ProviderIndices::new(&pre).map_err(link_error)?;
        // What is not exported is not offered; what is exported must fit.
        let offers_reboot = component.get_export_index(None, REBOOT).is_some();
        let reboots = offers_reboot.then(|| RebooterIndices::new(&pre)).transpose().map_err(link_error)?;
        let prepared = Prepared {
            plugin: declared.plugin.clone(),
            digest,
            pre,
            exports,
            reboots,
            settings: Arc::clone(&declared.settings),
            grants: Arc::clone(&declared.grants),
            limits,
        };
        let longest = Operation::Describe.deadline().unsigned_abs();
        let deadline = Instant::now() + longest.min(prepared.limits.deadline);
        let mut about = self.sandbox.call(&prepared, Describe, deadline).await.map_err(Error::Describe)?;
        about.capabilities.reboot = offers_reboot;
        Ok(Loaded::Driver(prepared, about))
    }

    async fn policy(
        &self,
        declared: &Declared,
        digest: Digest,
        component: &Component,
        terms: Terms,
    ) -> Result<Loaded, Error> {
        let pre = self
            .policies
            .linker
            .instantiate_pre(component)
            .and_then(HealthPolicyPre::new)
            .map_err(link_error)?;
        let prepared = PreparedPolicy {
            plugin: declared.plugin.clone(),
            digest,
            pre,
            settings: Arc::clone(&declared.settings),
            terms,
        };
        let about = self.policies.describe(&prepared).await.map_err(Error::Describe)?;
        let checked = self.policies.check_settings(&prepared).await.map_err(Error::AskSettings)?;
        checked.map_err(|problem| Error::Settings { problem })?;
        Ok(Loaded::Policy(prepared, about))
    }

    /// The component's code, from the cache or the compiler, and how long the compiler took.
    async fn code(
        &self,
        workshop: &Workshop,
        bytes: &Bytes,
        digest: Digest,
    ) -> Result<(Component, Option<Duration>), Error> {
        if let Some(component) = self.look_up(workshop, digest).await? {
            return Ok((component, None));
        }
        let _turn = self.compiling.lock().await;
        // Somebody else may have compiled the same digest meanwhile.
        if let Some(component) = self.look_up(workshop, digest).await? {
            return Ok((component, None));
        }
        let started = Instant::now();
        let cache = Arc::clone(&workshop.cache);
        let draft = blocking(move || cache.draft()).await?.map_err(Error::Cache)?;
        let output = draft.as_file().try_clone().map_err(Error::Cache)?;
        workshop.compiler.compile(bytes, output).await.map_err(Error::Compile)?;
        let took = started.elapsed();
        self.metrics.compiled(took);
        info!(%digest, took_ms = took.as_millis(), "component compiled");
        let cache = Arc::clone(&workshop.cache);
        let engine = workshop.engine.clone();
        let kept = blocking(move || {
            cache.keep(&digest, draft)?;
            cache.load(&engine, &digest)
        });
        match kept.await?.map_err(Error::Cache)? {
            Lookup::Hit(component) => Ok((component, Some(took))),
            Lookup::Absent | Lookup::Tampered => {
                Err(Error::Code { detail: "it vanished from the cache".to_owned() })
            }
            Lookup::Unusable(error) => Err(Error::Code { detail: format!("{error:#}") }),
        }
    }

    async fn look_up(&self, workshop: &Workshop, digest: Digest) -> Result<Option<Component>, Error> {
        let (cache, engine) = (Arc::clone(&workshop.cache), workshop.engine.clone());
        let (outcome, component) = match blocking(move || cache.load(&engine, &digest)).await? {
            Ok(Lookup::Hit(component)) => (CacheOutcome::Hit, Some(component)),
            Ok(Lookup::Absent) => (CacheOutcome::Miss, None),
            Ok(Lookup::Tampered) => {
                warn!(%digest, "compiled code is not what was compiled, compiling anew");
                (CacheOutcome::Tampered, None)
            }
            Ok(Lookup::Unusable(error)) => {
                warn!(%digest, error = format!("{error:#}"), "compiled code does not fit, compiling anew");
                (CacheOutcome::Unusable, None)
            }
            Err(error) => {
                warn!(%digest, error = %error, "cannot read compiled code, compiling anew");
                (CacheOutcome::Unusable, None)
            }
        };
        self.metrics.cache(outcome);
        Ok(component)
    }
}

/// The optional interface; a compatible later version of it is found by this name too.
const REBOOT: &str = "machinist:provider/reboot@0.1.0";

#[expect(clippy::needless_pass_by_value, reason = "as `map_err` hands it over")]
fn link_error(error: wasmtime::Error) -> Error {
    Error::Link { detail: format!("{error:#}") }
}

async fn unpack(declared: &Declared) -> Result<(Bytes, Digest), Error> {
    let packed = declared.component.clone();
    blocking(move || {
        let bytes = packed.unpack()?;
        let digest = Digest::of(&bytes);
        Ok((bytes, digest))
    })
    .await?
    .map_err(Error::Unpack)
}

async fn verify(bytes: &Bytes, contract: Contract) -> Result<(), Error> {
    let bytes = bytes.clone();
    let inspection = blocking(move || verify::inspect(&bytes, contract)).await?.map_err(Error::Verify)?;
    info!(granted = ?inspection.granted, inert = ?inspection.inert, contract = %inspection.contract, "component verified");
    Ok(())
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
    spawn_blocking(work).await.map_err(|_ended| Error::Interrupted)
}
