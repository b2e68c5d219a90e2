//! One call of a policy: a fresh store and a fresh instance, fuelled, and gone afterwards.

use std::sync::Arc;
use std::time::Instant;

use arc_swap::ArcSwap;
use jiff::Timestamp;
use machinist_artifacts::ContentDigest;
use machinist_core::driver::error::{CallError, GuestFailure, Refusal};
use machinist_core::health_policy::{PolicyQuestion, RawAnswer};
use machinist_core::value::id::PluginName;
use tokio::time::timeout_at;
use tracing::debug;
use wasmtime::component::Linker;
use wasmtime::{Engine, Store};

use super::guest::PolicyState;
use super::terms::PolicyTerms;
use crate::calls::bindings::policy::{HealthPolicy, HealthPolicyPre};
use crate::calls::engine::CodeTier;
use crate::calls::failure::{self, CallFailure};
use crate::calls::log_ring::{LogRing, LogSource};
use crate::health_policy::convert::{self, PolicyAbout};
use crate::output_limits::{self, TEXT_BYTES};
use crate::resources::budget::MemoryAccount;

/// How much fuel burns before other work of the thread gets its turn: well below a millisecond.
const FUEL_BETWEEN_TURNS: u64 = 500_000;
/// Handles of the component's own: a policy has no use for any beyond what its language's runtime opens.
const MOST_HANDLES: usize = 256;

/// The parts that all calls of policies share.
pub(crate) struct PolicySandbox {
    /// The last log lines of each plugin.
    pub(crate) log_ring: LogRing,
    pub(crate) engine: Engine,
    pub(crate) linker: Linker<PolicyState>,
}

/// A version of a policy, ready to be instantiated.
pub(crate) struct PreparedPolicy {
    pub(crate) plugin: PluginName,
    pub(crate) digest: ContentDigest,
    /// Better code may take its place; a call keeps what it began with.
    pub(crate) code: ArcSwap<PolicyCode>,
    pub(crate) settings: Arc<str>,
    pub(crate) terms: PolicyTerms,
    /// Pays for its calls.
    pub(crate) memory: MemoryAccount,
}

/// A policy's code, linked.
pub(crate) struct PolicyCode {
    pub(crate) tier: CodeTier,
    pub(crate) pre: HealthPolicyPre<PolicyState>,
}

impl PolicySandbox {
    /// Returns the policy's description of itself in this code.
    pub(crate) async fn describe(
        &self,
        policy: &PreparedPolicy,
        code: &PolicyCode,
    ) -> Result<PolicyAbout, CallError> {
        let now = Timestamp::UNIX_EPOCH;
        let about = self
            .call(policy, code, (now, "describe"), async |instance, store| {
                instance.machinist_policy_policy().call_describe(store).await
            })
            .await?;
        convert::about(about).map_err(Into::into)
    }

    /// `Err` inside: the settings are wrong, in the policy's words.
    pub(crate) async fn check_settings(
        &self,
        policy: &PreparedPolicy,
    ) -> Result<Result<(), String>, CallError> {
        let settings = policy.settings.to_string();
        let about = (Timestamp::UNIX_EPOCH, "check-settings");
        self.call(policy, &policy.code.load_full(), about, async |instance, store| {
            instance.machinist_policy_policy().call_check_settings(store, &settings).await
        })
        .await
    }

    pub(crate) async fn evaluate(
        &self,
        policy: &PreparedPolicy,
        question: &PolicyQuestion,
        now: Timestamp,
    ) -> Result<RawAnswer, CallError> {
        let call = format!("evaluate {}", question.machine.key);
        let question = convert::question(question);
        let settings = policy.settings.to_string();
        let verdict = self
            .call(policy, &policy.code.load_full(), (now, &call), async |instance, store| {
                let policy_of = instance.machinist_policy_policy();
                policy_of.call_evaluate(store, &question, &settings, convert::time(now)).await
            })
            .await?;
        Ok(convert::answer(&verdict))
    }

    async fn call<T>(
        &self,
        policy: &PreparedPolicy,
        code: &PolicyCode,
        (now, call): (Timestamp, &str),
        ask: impl AsyncFnOnce(&HealthPolicy, &mut Store<PolicyState>) -> wasmtime::Result<T>,
    ) -> Result<T, CallError> {
        let limits = policy.terms.limits.common();
        let mut store = self.store(policy, now, call).map_err(|error| explain(&error, "", policy))?;
        let deadline = Instant::now() + limits.deadline;
        let asked = timeout_at(deadline.into(), async {
            let instance = code.pre.instantiate_async(&mut store).await?;
            ask(&instance, &mut store).await
        })
        .await;
        let fuel = policy.terms.limits.fuel.saturating_sub(store.get_fuel().unwrap_or(0));
        let state = store.data();
        let output = state.output.text_without_secrets();
        let memory_bytes = state.limiter.memory_bytes();
        debug!(fuel, memory_bytes, dropped_lines = state.dropped_lines(), output, "policy ended");
        match asked {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(explain(&error, &output, policy)),
            Err(_elapsed) => Err(failure::past_deadline(limits.deadline).into()),
        }
    }

    fn store(
        &self,
        policy: &PreparedPolicy,
        now: Timestamp,
        call: &str,
    ) -> wasmtime::Result<Store<PolicyState>> {
        let limits = policy.terms.limits.common();
        let source = LogSource {
            log_ring: self.log_ring.clone(),
            plugin: policy.plugin.clone(),
            digest: policy.digest,
            call: call.into(),
        };
        let mut store =
            Store::new(&self.engine, PolicyState::new(now, &limits, source, policy.memory.nothing()));
        store.limiter(|state| &mut state.limiter);
        store.set_hostcall_fuel(usize::try_from(limits.copied_bytes).unwrap_or(usize::MAX));
        store.set_max_component_handles(MOST_HANDLES);
        store.set_fuel(policy.terms.limits.fuel)?;
        store.fuel_async_yield_interval(Some(FUEL_BETWEEN_TURNS))?;
        Ok(store)
    }
}

fn explain(error: &wasmtime::Error, output: &str, policy: &PreparedPolicy) -> CallError {
    let limits = policy.terms.limits.common();
    match failure::classify(error, output, &limits) {
        CallFailure::NoRoom => Refusal::Busy { plugin: policy.plugin.to_string() }.into(),
        CallFailure::Broken(GuestFailure::Limit {
            limit: limit @ machinist_core::driver::error::Limit::Fuel,
            ..
        }) => GuestFailure::Limit { limit, detail: format!("{} units", policy.terms.limits.fuel) }.into(),
        CallFailure::Broken(GuestFailure::Trap { detail }) => {
            GuestFailure::Trap { detail: output_limits::text(&detail, TEXT_BYTES) }.into()
        }
        CallFailure::Broken(failure) => failure.into(),
    }
}
