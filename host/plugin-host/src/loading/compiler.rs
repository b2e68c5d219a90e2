//! Code for components: from the cache or the compiler, first what is there soon, later what runs fast.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use jiff::Timestamp;
use tokio::task::spawn_blocking;
use tracing::{info, warn};
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::calls::engine::{CodeTier, Means, first_tiers};
use crate::loading::code_cache::attempts::History;
use crate::loading::code_cache::{CodeCache, Lookup};
use crate::loading::compile_queue::CompileQueue;
use crate::loading::compiler_process::{self, CompileJob, Compiler};
use crate::loading::load::Error;
use crate::loading::shape;
use crate::metrics::Metrics;
use crate::resources::budget::MemoryAccount;
use machinist_artifacts::ContentDigest;

/// An engine, and where its code is kept.
pub(crate) struct EngineCache {
    pub(crate) engine: Engine,
    pub(crate) cache: Arc<CodeCache>,
}

/// Makes and keeps the code of drivers, or that of policies.
pub(crate) struct CompileService {
    pub(crate) main: EngineCache,
    /// Absent where there is no baseline compiler.
    pub(crate) baseline: Option<EngineCache>,
    pub(crate) compiler: Compiler,
    /// Common to all workshops.
    pub(crate) compile_queue: Arc<CompileQueue>,
    pub(crate) at_once_bytes: usize,
    pub(crate) metrics: Metrics,
    /// Pays for the compiler.
    pub(crate) memory: MemoryAccount,
}

/// A component that can be linked.
pub(crate) struct Code {
    pub(crate) component: Component,
    pub(crate) tier: CodeTier,
    /// How long it took to compile; `None` when it came from the cache.
    pub(crate) took: Option<Duration>,
}

impl CompileService {
    /// Code that is in the cache: the best of a component of this size, or what is good enough to begin with.
    pub(crate) async fn ready_made(
        &self,
        size_bytes: usize,
        digest: ContentDigest,
    ) -> Result<Option<Code>, Error> {
        self.kept(first_tiers(self.means(), size_bytes), digest).await
    }

    /// Code that can serve soon, compiled.
    pub(crate) async fn first(&self, bytes: &Bytes, digest: ContentDigest) -> Result<Code, Error> {
        let tiers = first_tiers(self.means(), bytes.len());
        let code_bytes = self.code_bytes(bytes).await?;
        let wanted_bytes = compiler_bytes(bytes.len(), code_bytes);
        let mut has_killed = false;
        for &tier in tiers {
            has_killed |= self.history(digest, tier, wanted_bytes).await? != History::Clean;
        }
        // A component that killed the compiler before does not delay others.
        if has_killed {
            return self.compile_queue.background(|| self.first_of(tiers, (bytes, code_bytes), digest)).await;
        }
        self.compile_queue.urgent(self.first_of(tiers, (bytes, code_bytes), digest)).await
    }

    async fn first_of(
        &self,
        tiers: &[CodeTier],
        (bytes, code_bytes): (&Bytes, u64),
        digest: ContentDigest,
    ) -> Result<Code, Error> {
        // Somebody else may have compiled the same component meanwhile.
        if let Some(code) = self.kept(tiers, digest).await? {
            return Ok(code);
        }
        let mut tiers = tiers.iter().copied().peekable();
        while let Some(tier) = tiers.next() {
            match self.compile((bytes, code_bytes), digest, tier).await {
                Err(Error::Compile(error)) if error.is_of_this_tier() && tiers.peek().is_some() => {
                    let error = crate::output_limits::reason(&error);
                    info!(%digest, tier = tier.name(), error, "component does not compile in this tier");
                }
                outcome => return outcome,
            }
        }
        Err(Error::Interrupted)
    }

    /// Returns the optimised code. Must run as background work of the queue, so that urgent work interrupts it.
    pub(crate) async fn best(&self, bytes: &Bytes, digest: ContentDigest) -> Result<Code, Error> {
        match self.kept(&[CodeTier::Optimised], digest).await? {
            Some(code) => Ok(code),
            None => {
                let code_bytes = self.code_bytes(bytes).await?;
                self.compile((bytes, code_bytes), digest, CodeTier::Optimised).await
            }
        }
    }

    /// Better code has taken the place of this tier's, for this host and the next.
    pub(crate) async fn forget(&self, digest: ContentDigest, tier: CodeTier) {
        let cache = Arc::clone(&self.engine_cache(tier).cache);
        if let Ok(Err(error)) = blocking(move || cache.forget(&digest, tier)).await {
            warn!(%digest, error = %error, "cannot remove compiled code that is not needed");
        }
    }

    fn means(&self) -> Means {
        let has_baseline = self.baseline.is_some();
        Means { kind: self.compiler.kind(), has_baseline, at_once_bytes: self.at_once_bytes }
    }

    fn engine_cache(&self, tier: CodeTier) -> &EngineCache {
        match tier {
            // Where there is none, nothing is ever compiled in that tier.
            CodeTier::Baseline => self.baseline.as_ref().unwrap_or(&self.main),
            CodeTier::Quick | CodeTier::Optimised => &self.main,
        }
    }

    /// Returns the code in the cache: optimised, or else in one of these tiers.
    async fn kept(&self, tiers: &[CodeTier], digest: ContentDigest) -> Result<Option<Code>, Error> {
        let optimised = [CodeTier::Optimised];
        let others = tiers.iter().filter(|tier| !optimised.contains(tier));
        for &tier in optimised.iter().chain(others) {
            if let Some(component) = self.look_up(digest, tier).await? {
                return Ok(Some(Code { component, tier, took: None }));
            }
        }
        Ok(None)
    }

    /// Checks that no function is one that only an attacker makes. Returns how many bytes of code there are.
    async fn code_bytes(&self, bytes: &Bytes) -> Result<u64, Error> {
        let bytes = bytes.clone();
        let checked = blocking(move || shape::check(&bytes)).await?;
        checked.map_err(|error| Error::Compile(compiler_process::Error::Shape(error)))
    }

    async fn history(
        &self,
        digest: ContentDigest,
        tier: CodeTier,
        wanted_bytes: u64,
    ) -> Result<History, Error> {
        let cache = Arc::clone(&self.engine_cache(tier).cache);
        let memory_bytes = self.memory.most_of_compiler(wanted_bytes);
        blocking(move || cache.history(&digest, tier, memory_bytes, Timestamp::now())).await
    }

    /// Compiles, unless an earlier attempt forbids it for now, and remembers if it kills the compiler.
    async fn compile(
        &self,
        (bytes, code_bytes): (&Bytes, u64),
        digest: ContentDigest,
        tier: CodeTier,
    ) -> Result<Code, Error> {
        let wanted_bytes = compiler_bytes(bytes.len(), code_bytes);
        if let History::Rests { deaths, left, how } = self.history(digest, tier, wanted_bytes).await? {
            return Err(Error::Compile(compiler_process::Error::Rests { deaths, left, how }));
        }
        let aside = self.memory.set_aside(wanted_bytes).await.map_err(|_full| Error::Interrupted)?;
        let memory_bytes = aside.bytes();
        let cache = Arc::clone(&self.engine_cache(tier).cache);
        let begun = blocking(move || cache.begin(&digest, tier, memory_bytes, Timestamp::now())).await?;
        let attempt = begun.map_err(Error::Cache)?;
        let job = CompileJob { component: bytes, tier, memory_bytes, code_bytes };
        let outcome = self.compile_once(job, digest).await;
        drop(aside);
        match &outcome {
            Err(Error::Compile(error)) if error.is_death() => {
                self.metrics.compiler_died(tier.name());
                attempt.died(&crate::output_limits::reason(error), Timestamp::now());
            }
            Ok(_) | Err(_) => attempt.ended(),
        }
        outcome
    }

    async fn compile_once(&self, job: CompileJob<'_>, digest: ContentDigest) -> Result<Code, Error> {
        let (started, tier) = (Instant::now(), job.tier);
        let engine_cache = self.engine_cache(tier);
        let cache = Arc::clone(&engine_cache.cache);
        let draft = blocking(move || cache.draft()).await?.map_err(Error::Cache)?;
        let output = draft.as_file().try_clone().map_err(Error::Cache)?;
        self.compiler.compile(job, output).await.map_err(Error::Compile)?;
        let took = started.elapsed();
        self.metrics.compiled(tier.name(), took);
        info!(%digest, tier = tier.name(), took_ms = took.as_millis(), "component compiled");
        let cache = Arc::clone(&engine_cache.cache);
        let engine = engine_cache.engine.clone();
        let kept = blocking(move || {
            cache.keep(&digest, tier, draft)?;
            cache.load(&engine, &digest, tier)
        });
        match kept.await?.map_err(Error::Cache)? {
            Lookup::Hit(component) => Ok(Code { component, tier, took: Some(took) }),
            Lookup::Absent | Lookup::Tampered => {
                Err(Error::Code { detail: "it vanished from the cache".to_owned() })
            }
            Lookup::Unusable(error) => Err(Error::Code { detail: format!("{error:#}") }),
        }
    }

    async fn look_up(&self, digest: ContentDigest, tier: CodeTier) -> Result<Option<Component>, Error> {
        let EngineCache { engine, cache } = self.engine_cache(tier);
        let (cache, engine) = (Arc::clone(cache), engine.clone());
        let (outcome, component) = match blocking(move || cache.load(&engine, &digest, tier)).await? {
            Ok(Lookup::Hit(component)) => ("hit", Some(component)),
            Ok(Lookup::Absent) => ("miss", None),
            Ok(Lookup::Tampered) => {
                warn!(%digest, "compiled code is not what was compiled, compiling again");
                ("tampered", None)
            }
            Ok(Lookup::Unusable(error)) => {
                warn!(%digest, error = format!("{error:#}"), "compiled code does not fit, compiling again");
                ("unusable", None)
            }
            Err(error) => {
                warn!(%digest, error = %error, "cannot read compiled code, compiling again");
                ("unusable", None)
            }
        };
        self.metrics.cache(outcome);
        Ok(component)
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
    spawn_blocking(work).await.map_err(|_ended| Error::Interrupted)
}

/// Returns the memory for the compiler of a component: a third more than the SDKs' components need in the tier that
/// needs most.
fn compiler_bytes(component_bytes: usize, code_bytes: u64) -> u64 {
    const BASE_BYTES: u64 = 64 << 20;
    let component_bytes = u64::try_from(component_bytes).unwrap_or(u64::MAX);
    let of_code = code_bytes.saturating_mul(72);
    BASE_BYTES.saturating_add(component_bytes.saturating_mul(3)).saturating_add(of_code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_gets_more_than_components_of_the_sdks_were_seen_to_need() {
        // Bytes of the component, bytes of its code, MiB that the compiler's data were at most.
        for (component_bytes, code_bytes, needed_mib) in [
            (401_713, 321_697, 31),
            (4_699_572, 2_955_003, 163),
            (14_097_818, 9_215_439, 457),
            (19_540_744, 6_587_183, 407),
        ] {
            let given_mib = compiler_bytes(component_bytes, code_bytes) >> 20;
            assert!(given_mib * 3 >= needed_mib * 4, "{given_mib} MiB for {needed_mib} MiB");
        }
    }
}
