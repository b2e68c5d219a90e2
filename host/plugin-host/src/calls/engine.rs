//! The engine of all drivers, and the settings that compiled code depends on.

use std::hash::{Hash as _, Hasher};
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tracing::warn;
use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig,
    RegallocAlgorithm, Result, Strategy,
};

use crate::calls::memory_inspector::Memories;

/// One tick of the epoch, and so the unit in which processor time is counted.
pub(crate) const TICK: Duration = Duration::from_millis(5);

/// Sizes of the pool, for as many calls as run at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PoolSizes {
    /// Calls at the same time, over all plugins.
    pub calls: u32,
    /// The largest linear memory that a grant may allow.
    pub memory_bytes: u64,
    /// The largest table that a grant may allow.
    pub table_elements: u64,
    /// Memories are to be looked at when a call is over, so they cannot be the pool's.
    pub is_witnessed: bool,
}

impl Default for PoolSizes {
    fn default() -> Self {
        Self { calls: 128, memory_bytes: 256 * 1024 * 1024, table_elements: 20_000, is_witnessed: false }
    }
}

/// The use of compiled code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CodeKind {
    /// Drivers, in memories of wasmtime.
    Standard,
    /// Code of policies: counts fuel, and every NaN has the same bits.
    Policy,
    /// Drivers, in memories that a test inspects. wasmtime cannot map the beginning of these from a file, and fills
    /// them itself.
    Inspected,
}

/// Where the baseline compiler is as well kept as the optimising one. Elsewhere large components begin with quick code.
pub(crate) const HAS_BASELINE: bool = cfg!(target_arch = "x86_64");

/// How much more processor time and stack baseline code may use for the same work.
pub(crate) const BASELINE_ALLOWANCE: u32 = 4;

/// The settings that compiled code depends on: the same in the host and in the process that compiles.
///
/// Quick and optimised code runs in one engine. Baseline code calls in another way, so it has an engine of its own.
fn code_settings(kind: CodeKind, tier: CodeTier) -> Config {
    let mut config = Config::new();
    config
        .strategy(match tier {
            CodeTier::Baseline => Strategy::Winch,
            CodeTier::Quick | CodeTier::Optimised => Strategy::Cranelift,
        })
        // Code that a caller waits for may take more than one processor.
        .parallel_compilation(tier != CodeTier::Optimised)
        .epoch_interruption(kind != CodeKind::Policy)
        .consume_fuel(kind == CodeKind::Policy)
        .max_wasm_stack(512 * 1024)
        .async_stack_size(2 * 1024 * 1024)
        // Exports are plain functions; concurrency inside of a component would only cost.
        .concurrency_support(false)
        .memory_init_cow(kind != CodeKind::Inspected)
        // Every proposal that is off is code that cannot be wrong. No tool chain needs these yet.
        .wasm_relaxed_simd(false)
        .wasm_memory64(false)
        .wasm_custom_page_sizes(false)
        .wasm_wide_arithmetic(false);
    match tier {
        CodeTier::Baseline => {
            config.max_wasm_stack(512 * 1024 * BASELINE_ALLOWANCE as usize).async_stack_size(4 * 1024 * 1024);
        }
        CodeTier::Quick => {
            config
                .cranelift_opt_level(OptLevel::None)
                .cranelift_regalloc_algorithm(RegallocAlgorithm::SinglePass)
                .cranelift_nan_canonicalization(kind == CodeKind::Policy);
        }
        CodeTier::Optimised => {
            config.cranelift_nan_canonicalization(kind == CodeKind::Policy);
        }
    }
    config
}

/// An engine on the pool where the address space allows one, else on plain allocation.
pub(crate) fn engine(pool: &PoolSizes) -> Result<Engine> {
    if pool.is_witnessed {
        let mut witnessed = code_settings(CodeKind::Inspected, CodeTier::Optimised);
        return Engine::new(witnessed.with_host_memory(Arc::new(Memories)));
    }
    let mut pooled = code_settings(CodeKind::Standard, CodeTier::Optimised);
    pooled.allocation_strategy(InstanceAllocationStrategy::Pooling(pooling(pool)));
    match Engine::new(&pooled) {
        Ok(engine) => Ok(engine),
        Err(error) => {
            warn!(error = format!("{error:#}"), "no room for the instance pool, plain allocation instead");
            Engine::new(&code_settings(CodeKind::Standard, CodeTier::Optimised))
        }
    }
}

/// The engine of baseline code. It is used for minutes, by large components, for which a pool gains nothing.
pub(crate) fn baseline_engine() -> Result<Engine> {
    Engine::new(&code_settings(CodeKind::Standard, CodeTier::Baseline))
}

/// The engine of policies. They are small and seldom asked: plain allocation, without a pool that reserves for many.
pub(crate) fn policy_engine() -> Result<Engine> {
    Engine::new(&code_settings(CodeKind::Policy, CodeTier::Optimised))
}

/// The engine of the process that compiles: it runs nothing and reserves nothing.
pub(crate) fn compiling_engine(kind: CodeKind, tier: CodeTier) -> Result<Engine> {
    Engine::new(&code_settings(kind, tier))
}

fn pooling(pool: &PoolSizes) -> PoolingAllocationConfig {
    let calls = pool.calls;
    let mut config = PoolingAllocationConfig::new();
    config
        .total_component_instances(calls)
        .total_stacks(calls)
        // A component of Rust has 3 core instances and 2 tables, one of Python about 40.
        .total_core_instances(calls.saturating_mul(40))
        .total_tables(calls.saturating_mul(40))
        .total_memories(calls.saturating_mul(2))
        .max_memory_size(usize::try_from(pool.memory_bytes).unwrap_or(usize::MAX))
        .table_elements(usize::try_from(pool.table_elements).unwrap_or(usize::MAX))
        .max_core_instances_per_component(64)
        .max_tables_per_component(64)
        .max_memories_per_component(8)
        .max_component_instance_size(4 * 1024 * 1024)
        .max_core_instance_size(4 * 1024 * 1024)
        .max_unused_warm_slots(64);
    if PoolingAllocationConfig::is_pagemap_scan_available() {
        // The kernel knows which pages a call has touched. Wiping these is cheaper than unmapping them and faulting
        // them in again: a third of an empty call's time. Without that knowledge all pages would be wiped.
        config
            .pagemap_scan(Enabled::Yes)
            .linear_memory_keep_resident(512 * 1024)
            .async_stack_keep_resident(64 * 1024)
            .table_keep_resident(64 * 1024);
    }
    config
}

/// Names what compiled code must fit: engine version, target, processor features, settings.
pub(crate) fn compatibility(engine: &Engine) -> [u8; 32] {
    let mut hasher = Sha256Hasher(Sha256::new());
    engine.precompile_compatibility_hash().hash(&mut hasher);
    hasher.0.finalize().into()
}

/// `Hash` into SHA-256: std's own hasher may differ between two builds of the host.
struct Sha256Hasher(Sha256);

impl Hasher for Sha256Hasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        let digest: [u8; 32] = self.0.clone().finalize().into();
        digest.first_chunk().copied().map_or(0, u64::from_le_bytes)
    }
}

/// How well code is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CodeTier {
    /// By the baseline compiler, in one pass: an eighth of the time, and code that takes up to twice as long.
    Baseline,
    /// By the optimising compiler without its optimisations: for what the baseline compiler does not know.
    Quick,
    /// By the optimising compiler.
    Optimised,
}

impl CodeTier {
    /// All of them, worst first.
    pub const ALL: [Self; 3] = [Self::Baseline, Self::Quick, Self::Optimised];

    /// For metrics and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Quick => "quick",
            Self::Optimised => "optimised",
        }
    }
}

/// The compilers of this host for an engine's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Means {
    pub(crate) kind: CodeKind,
    pub(crate) has_baseline: bool,
    /// Components up to this size are optimised at once: that takes less than a second.
    pub(crate) at_once_bytes: usize,
}

/// Returns the tiers of a component's first code, in order: a later one applies if the component does not compile in an
/// earlier one. Optimised code replaces all others later.
pub(crate) fn first_tiers(means: Means, component_bytes: usize) -> &'static [CodeTier] {
    match means {
        Means { at_once_bytes, .. } if component_bytes <= at_once_bytes => &[CodeTier::Optimised],
        Means { kind: CodeKind::Standard, has_baseline: true, .. } => &[CodeTier::Baseline, CodeTier::Quick],
        // The baseline compiler does not give every NaN the same bits, which policies need, and does not support
        // inspected memories.
        Means { kind: CodeKind::Policy | CodeKind::Inspected, .. }
        | Means { kind: CodeKind::Standard, has_baseline: false, .. } => &[CodeTier::Quick],
    }
}

#[cfg(test)]
mod tier_tests {
    use super::*;

    fn check(kind: CodeKind, has_baseline: bool, component_bytes: usize, expected: &[CodeTier]) {
        let means = Means { kind, has_baseline, at_once_bytes: 1_000 };
        assert_eq!(first_tiers(means, component_bytes), expected, "{means:?}, {component_bytes} bytes");
    }

    #[test]
    fn a_small_component_is_optimised_at_once_and_a_large_one_begins_with_what_is_made_fast() {
        use CodeKind::{Inspected, Policy, Standard};
        use CodeTier::{Baseline, Optimised, Quick};

        for kind in [Standard, Policy, Inspected] {
            for has_baseline in [true, false] {
                check(kind, has_baseline, 1_000, &[Optimised]);
            }
        }
        check(Standard, true, 1_001, &[Baseline, Quick]);
        check(Standard, false, 1_001, &[Quick]);
        for kind in [Policy, Inspected] {
            check(kind, true, 1_001, &[Quick]);
        }
    }
}
