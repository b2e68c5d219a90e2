//! From a declaration to something that can be called: unpack, verify, compile, link, describe.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use bytes::Bytes;
use machinist_artifacts::ContentDigest;
use machinist_core::driver::Operation;
use machinist_core::driver::error::CallError;
use machinist_core::value::id::{PluginName, ProviderName};
use tokio::task::spawn_blocking;
use tracing::{info, warn};

use crate::calls::bindings::optional::ExportIndices;
use crate::calls::bindings::policy::HealthPolicyPre;
use crate::calls::call::{DriverCode, Prepared, Sandbox};
use crate::calls::convert::About;
use crate::calls::engine::CodeTier;
use crate::calls::exports::Describe;
use crate::calls::limits::{self, Ceilings, Limits};
use crate::health_policy::PolicyAbout;
use crate::health_policy::call::{PolicyCode, PolicySandbox, PreparedPolicy};
use crate::health_policy::terms::PolicyTerms;
use crate::loading::code_cache::notes::{Note, Notes};
use crate::loading::compiler::{Code, CompileService};
use crate::loading::compiler_process as compile;
use crate::loading::verify::{self, Names, Outside};
use crate::metrics::Metrics;
use crate::resources::budget::{Budget, MemoryAccount, Purse};
use crate::sources::Contract;
use crate::sources::fetch::{self, Fetcher};
use crate::sources::remote::Origin;
use crate::sources::signatures::ceiling::{self, CeilingBreach, GrantsCeiling};
use crate::sources::signatures::counters::{CounterError, Counters};
use crate::sources::signatures::{Signed, UnsignedProvider};
use crate::sources::{Declared, Encoding, Packed, PluginKey, PluginKind, UnpackError};

/// Why a declared plugin cannot serve.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Fetch(fetch::Error),
    #[error("failed to unpack the component")]
    Unpack(#[source] UnpackError),
    #[error("the component's digest is {found}, and sha256 says {expected}")]
    Digest { expected: ContentDigest, found: ContentDigest },
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
    #[error(
        "it claims provider {provider}, and its grants name only {}: add it to providers in grants.yaml if the plugin may \
         serve it",
        named(.granted)
    )]
    Provider { provider: ProviderName, granted: BTreeSet<ProviderName> },
    #[error(transparent)]
    SignedProvider(UnsignedProvider),
    #[error(transparent)]
    Ceiling(CeilingBreach),
    #[error(transparent)]
    Counter(CounterError),
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
            Self::Fetch(error) => error.is_passing(),
            Self::Compile(error) => error.is_passing(),
            // An administrator may lower the counter that is kept.
            Self::Cache(_) | Self::Interrupted | Self::Counter(_) => true,
            Self::Describe(CallError::Refused(_)) | Self::AskSettings(CallError::Refused(_)) => true,
            Self::Unpack(_)
            | Self::Digest { .. }
            | Self::Verify(_)
            | Self::Limits(_)
            | Self::Code { .. }
            | Self::Link { .. }
            | Self::Provider { .. }
            | Self::SignedProvider(_)
            | Self::Ceiling(_)
            | Self::Settings { .. }
            | Self::AskSettings(CallError::Guest(_) | CallError::Broken(_))
            | Self::Describe(CallError::Guest(_) | CallError::Broken(_)) => false,
        }
    }
}

impl Error {
    /// Returns the pause before the next attempt.
    pub(crate) fn rests_for(&self) -> Option<Duration> {
        match self {
            Self::Compile(error) => error.rests_for(),
            _ => None,
        }
    }
}

/// A step of a load, reported when it happens.
pub(crate) enum Progress {
    Resolved {
        manifest: ContentDigest,
    },
    Fetched {
        digest: ContentDigest,
        size_bytes: usize,
    },
    /// The signer, where signatures were checked.
    Signed(Box<Signed>),
    Verified,
    Compiled {
        took: Option<Duration>,
    },
}

/// A component, known and perhaps at hand.
struct KnownComponent {
    digest: ContentDigest,
    size_bytes: usize,
    names: Result<Names, verify::Error>,
    bytes: Option<Bytes>,
}

impl KnownComponent {
    fn unpacked(packed: &Packed) -> Result<Self, UnpackError> {
        let bytes = packed.unpack()?;
        let (digest, names) = (ContentDigest::of(&bytes), verify::names(&bytes));
        Ok(Self { digest, size_bytes: bytes.len(), names, bytes: Some(bytes) })
    }
}

/// The result of a load.
pub(crate) enum Loaded {
    Driver(Prepared, About),
    Policy(PreparedPolicy, PolicyAbout),
}

pub(crate) struct Loader {
    pub(crate) fetcher: Fetcher,
    pub(crate) ceiling: Option<Arc<GrantsCeiling>>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) sandbox: Arc<Sandbox>,
    pub(crate) policies: Arc<PolicySandbox>,
    pub(crate) of_drivers: CompileService,
    pub(crate) of_policies: CompileService,
    pub(crate) notes: Arc<Notes>,
    pub(crate) defaults: Limits,
    pub(crate) ceilings: Ceilings,
    pub(crate) budget: Budget,
    pub(crate) metrics: Metrics,
}

impl Loader {
    /// Everything up to an instance's first answer. Dropping the future ends it, a running compiler included.
    pub(crate) async fn load(
        &self,
        declared: &Declared<Origin>,
        tell: &(dyn Fn(Progress) + Send + Sync),
    ) -> Result<Loaded, Error> {
        // Before anything is fetched, or computed.
        let ceiling = self.ceiling.as_ref().filter(|_| declared.kind == PluginKind::Driver);
        let ceiling = ceiling.map(|ceiling| ceiling.check(&declared.plugin, &declared.grants));
        let ceiling = ceiling.transpose().map_err(Error::Ceiling)?;
        let resolved = |manifest| tell(Progress::Resolved { manifest });
        let brought = self.fetcher.fetch(declared, resolved).await.map_err(Error::Fetch)?;
        let packed = brought.packed;
        let KnownComponent { digest, size_bytes, names, mut bytes } = self.identify(packed.clone()).await?;
        tell(Progress::Fetched { digest, size_bytes });
        // Before the work of compiling: what is wrong with the limits is known.
        let limits = Limits::from_raw(declared.grants.limits(), &self.defaults, &self.ceilings)
            .map_err(Error::Limits)?;
        if let Some(expected) = declared.digest.filter(|&expected| expected != digest) {
            return Err(Error::Digest { expected, found: digest });
        }
        if bytes.is_none() && self.fetcher.checks_bytes(declared) {
            bytes = Some(self.again(packed.clone(), digest).await?);
        }
        let unpacked = (digest, bytes.as_deref().unwrap_or_default());
        let signed = self.fetcher.check(declared, unpacked, brought.beside).map_err(Error::Fetch)?;
        if signed.counts {
            let plugin = PluginKey { name: declared.plugin.clone(), role: declared.kind.contract() };
            self.counters.check(&plugin, signed.counter()).await.map_err(Error::Counter)?;
        }
        tell(Progress::Signed(Box::new(signed.clone())));
        verify(names, declared.kind.contract()).map_err(Error::Verify)?;
        tell(Progress::Verified);
        let compile_service = self.compile_service(&declared.kind);
        let code = match (compile_service.ready_made(size_bytes, digest).await?, bytes) {
            (Some(code), _) => code,
            (None, Some(bytes)) => compile_service.first(&bytes, digest).await?,
            (None, None) => {
                let bytes = self.again(packed, digest).await?;
                compile_service.first(&bytes, digest).await?
            }
        };
        tell(Progress::Compiled { took: code.took });
        match &declared.kind {
            PluginKind::Driver => {
                let (prepared, about) = self.driver(declared, digest, &code, limits).await?;
                signed.check_providers(&about.providers).map_err(Error::SignedProvider)?;
                ceiling::check_providers(ceiling, &about.providers).map_err(Error::Ceiling)?;
                Ok(Loaded::Driver(prepared, about))
            }
            PluginKind::HealthPolicy(terms) => self.policy(declared, digest, &code, terms.clone()).await,
        }
    }

    /// Returns the declared component, without its bytes if there is a note about it.
    async fn identify(&self, packed: Packed) -> Result<KnownComponent, Error> {
        let notes = Arc::clone(&self.notes);
        blocking(move || {
            if packed.encoding() == Encoding::None {
                return KnownComponent::unpacked(&packed);
            }
            let content = notes.content(&packed);
            if let Some(Note { digest, size_bytes, names }) = notes.read(&content) {
                return Ok(KnownComponent { digest, size_bytes, names: Ok(names), bytes: None });
            }
            let known = KnownComponent::unpacked(&packed)?;
            if let Ok(names) = &known.names {
                let note = Note { digest: known.digest, size_bytes: known.size_bytes, names: names.clone() };
                if let Err(error) = notes.write(&content, &note) {
                    warn!(digest = %note.digest, error = %error, "cannot note what is in a component");
                }
            }
            Ok(known)
        })
        .await?
        .map_err(Error::Unpack)
    }

    /// The bytes of which only a note was read.
    async fn again(&self, packed: Packed, expected: ContentDigest) -> Result<Bytes, Error> {
        let (bytes, found) = unpack(packed).await?;
        if found == expected { Ok(bytes) } else { Err(Error::Digest { expected, found }) }
    }

    async fn driver(
        &self,
        declared: &Declared<Origin>,
        digest: ContentDigest,
        code: &Code,
        limits: Limits,
    ) -> Result<(Prepared, About), Error> {
        let code = Arc::new(self.driver_code(code).map_err(link_error)?);
        let prepared = Prepared {
            plugin: declared.plugin.clone(),
            digest,
            code: ArcSwap::new(Arc::clone(&code)),
            settings: Arc::clone(&declared.settings),
            grants: Arc::clone(&declared.grants),
            limits,
            memory: Arc::new(Purse::new(self.account(&declared.plugin))),
        };
        let mut about = self.describe(&prepared, &code).await?;
        if let Some(error) = declared.grants.providers().and_then(|granted| beyond(&about.providers, granted))
        {
            return Err(error);
        }
        code.exports.add_to(&mut about.capabilities);
        Ok((prepared, about))
    }

    fn account(&self, plugin: &PluginName) -> MemoryAccount {
        self.budget.of_plugin(plugin, self.metrics.memory_of(plugin))
    }

    fn driver_code(&self, code: &Code) -> wasmtime::Result<DriverCode> {
        let Code { component, tier, .. } = code;
        let pre = self.sandbox.linker_of(component).instantiate_pre(component)?;
        let exports = ExportIndices::of(component, &pre)?;
        Ok(DriverCode { tier: *tier, pre, exports })
    }

    async fn describe(&self, prepared: &Prepared, code: &DriverCode) -> Result<About, Error> {
        let longest = Operation::Describe.deadline().unsigned_abs();
        let deadline = Instant::now() + longest.min(prepared.limits.deadline);
        self.sandbox.call_in(code, prepared, Describe, deadline).await.map_err(Error::Describe)
    }

    async fn policy(
        &self,
        declared: &Declared<Origin>,
        digest: ContentDigest,
        code: &Code,
        terms: PolicyTerms,
    ) -> Result<Loaded, Error> {
        let code = Arc::new(self.policy_code(code).map_err(link_error)?);
        let prepared = PreparedPolicy {
            plugin: declared.plugin.clone(),
            digest,
            code: ArcSwap::new(Arc::clone(&code)),
            settings: Arc::clone(&declared.settings),
            terms,
            memory: self.account(&declared.plugin),
        };
        let about = self.policies.describe(&prepared, &code).await.map_err(Error::Describe)?;
        let checked = self.policies.check_settings(&prepared).await.map_err(Error::AskSettings)?;
        checked.map_err(|problem| Error::Settings { problem })?;
        Ok(Loaded::Policy(prepared, about))
    }

    fn policy_code(&self, code: &Code) -> wasmtime::Result<PolicyCode> {
        let pre = self.policies.linker.instantiate_pre(&code.component)?;
        let pre = HealthPolicyPre::new(pre)?;
        Ok(PolicyCode { tier: code.tier, pre })
    }

    /// Compiles optimised code of a component that serves. `needed` returns the digest of its version while that
    /// serves; `None` if no version needs the code any more.
    pub(crate) async fn optimised(
        &self,
        declared: &Declared<Origin>,
        needed: impl Fn() -> Option<ContentDigest>,
    ) -> Result<Option<(Code, ContentDigest)>, Error> {
        let compile_service = self.compile_service(&declared.kind);
        let compiled = compile_service.compile_queue.background(|| async {
            let Some(expected) = needed() else { return Ok(None) };
            // By the digest to which a reference was resolved, and so from what is kept.
            let fetched = self.fetcher.fetch(declared, |_manifest| {}).await.map_err(Error::Fetch)?;
            let (bytes, digest) = unpack(fetched.packed).await?;
            if digest != expected {
                return Err(Error::Digest { expected, found: digest });
            }
            compile_service.best(&bytes, digest).await.map(|code| Some((code, digest)))
        });
        compiled.await
    }

    /// Replaces the code of a serving driver, and returns the tier of the code before. Code whose `describe` fails is
    /// not used.
    pub(crate) async fn replace_driver(&self, prepared: &Prepared, code: &Code) -> Result<CodeTier, Error> {
        let code = Arc::new(self.driver_code(code).map_err(link_error)?);
        self.describe(prepared, &code).await?;
        Ok(prepared.code.swap(code).tier)
    }

    /// The same for a policy.
    pub(crate) async fn replace_policy(
        &self,
        prepared: &PreparedPolicy,
        code: &Code,
    ) -> Result<CodeTier, Error> {
        let code = Arc::new(self.policy_code(code).map_err(link_error)?);
        self.policies.describe(prepared, &code).await.map_err(Error::Describe)?;
        Ok(prepared.code.swap(code).tier)
    }

    /// Removes code that better code has replaced.
    pub(crate) async fn forget(&self, kind: &PluginKind, digest: ContentDigest, replaced: CodeTier) {
        self.compile_service(kind).forget(digest, replaced).await;
    }

    fn compile_service(&self, kind: &PluginKind) -> &CompileService {
        match kind {
            PluginKind::Driver => &self.of_drivers,
            PluginKind::HealthPolicy(_) => &self.of_policies,
        }
    }
}

/// The operator, not the driver, says which providers the plugin may serve.
fn beyond(claimed: &[ProviderName], granted: &BTreeSet<ProviderName>) -> Option<Error> {
    let provider = claimed.iter().find(|provider| !granted.contains(*provider))?;
    Some(Error::Provider { provider: provider.clone(), granted: granted.clone() })
}

fn named(providers: &BTreeSet<ProviderName>) -> String {
    providers.iter().map(ProviderName::as_str).collect::<Vec<_>>().join(", ")
}

#[expect(clippy::needless_pass_by_value, reason = "as `map_err` hands it over")]
fn link_error(error: wasmtime::Error) -> Error {
    Error::Link { detail: format!("{error:#}") }
}

async fn unpack(packed: Packed) -> Result<(Bytes, ContentDigest), Error> {
    blocking(move || {
        let bytes = packed.unpack()?;
        let digest = ContentDigest::of(&bytes);
        Ok((bytes, digest))
    })
    .await?
    .map_err(Error::Unpack)
}

fn verify(names: Result<Names, verify::Error>, contract: Contract) -> Result<(), verify::Error> {
    let inspection = Outside::of(names?, contract).verify(contract)?;
    info!(granted = ?inspection.granted, inert = ?inspection.inert, contract = %inspection.contract, "component verified");
    Ok(())
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
    spawn_blocking(work).await.map_err(|_ended| Error::Interrupted)
}
