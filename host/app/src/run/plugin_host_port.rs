//! Connects the plugin host to the runtime's ports. Neither crate knows the other.

use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::{BoxStream, StreamExt, select};
use jiff::Timestamp;
use machinist_core::driver::error::{CallError, Refusal};
use machinist_core::driver::{
    ClassRequest, ClassSpec, Creation, Deletion, DriverFacts, DriverResult, ListRequest, MachineRequest,
    NodeResources, Page, Vm,
};
use machinist_core::health_policy::{Mode, PolicyFact, PolicyQuestion, RawAnswer};
use machinist_core::value::digest::DriverDigest;
use machinist_core::value::id::{FailureDomain, PluginName, ProviderId, ProviderName};
use machinist_plugin_host::PluginKeys;
use machinist_plugin_host::status::PluginStatus;
use machinist_plugin_host::{
    CodeTier, PluginHost, PluginReport, PluginState, PolicyTerms, RawConfigMap, ReadyReport, Release,
    SourceId,
};
use machinist_runtime::each_driver_call;
use machinist_runtime::ports::{
    Drivers, HealthPolicies, PluginConfigMap, PluginMessage, PluginStatus as PortStatus, Plugins,
};

use crate::plugin::show::shadow;
use crate::run::failures::PluginFailures;

/// Both ports in one.
pub(crate) struct PluginHostPort {
    pub(crate) host: PluginHost,
    pub(crate) failures: Arc<PluginFailures>,
}

macro_rules! to_host {
    ($($about:ident { $(
        $(#[$doc:meta])*
        $call:ident $(= $operation:ident)? ($($name:ident: $type:ty),*) -> $answer:ty;
    )+ })+) => {
        $($(fn $call(&self, $($name: $type),*) -> BoxFuture<'_, DriverResult<$answer>> {
            Box::pin(self.host.$call($($name),*))
        })+)+
    };
}

impl Drivers for PluginHostPort {
    fn facts(&self, provider: &ProviderName, pin: Option<DriverDigest>) -> Result<DriverFacts, Refusal> {
        self.host.facts(provider, pin)
    }

    each_driver_call!(to_host);
}

impl HealthPolicies for PluginHostPort {
    fn policies(&self) -> Arc<[PolicyFact]> {
        self.host.policies()
    }

    fn evaluate(
        &self,
        policy: &PluginName,
        question: PolicyQuestion,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<RawAnswer, CallError>> {
        let policy = policy.clone();
        Box::pin(async move { self.host.evaluate(&policy, question, now).await })
    }
}

impl Plugins for PluginHostPort {
    fn declare(&self, map: PluginConfigMap) -> BoxFuture<'_, ()> {
        let raw = RawConfigMap {
            namespace: map.namespace,
            name: map.name.clone(),
            uid: map.uid.clone(),
            resource_version: map.resource_version,
            created: map.created,
            labels: map.labels,
            annotations: map.annotations,
            data: map.data,
            binary_data: map.binary_data.into_iter().map(|(key, value)| (key, value.into())).collect(),
        };
        self.failures.found(map.name, map.uid);
        Box::pin(async move { self.host.declare(raw).await })
    }

    fn withdraw(&self, namespace: String, name: String) -> BoxFuture<'_, ()> {
        self.failures.gone(&name);
        Box::pin(async move { self.host.withdraw(SourceId::new(namespace, name)).await })
    }

    fn listing(&self) {
        self.host.listing();
    }

    fn listed(&self) {
        self.host.listed();
    }

    fn messages(&self) -> BoxStream<'static, PluginMessage> {
        let failures = self.failures.clone();
        let states = self.host.changes().map(move |report| {
            let source = report.source.to_string();
            let is_elsewhere = report.source.is_in_directory();
            let config_map = if is_elsewhere { source.as_str() } else { report.source.name.as_str() };
            if report.serving {
                failures.serves(report.plugin.as_str(), config_map);
            }
            let uid = failures.uid(config_map);
            PluginMessage::State(port_status(&report, uid))
        });
        select(states, self.failures.stream()).boxed()
    }
}

fn port_status(report: &PluginReport, uid: String) -> PortStatus {
    let providers = report.held.as_ref().map(|held| held.providers.clone()).unwrap_or_default();
    PortStatus {
        source: report.source.to_string(),
        config_map: (!report.source.is_in_directory()).then(|| report.source.name.to_string()),
        uid,
        state: report.state.name().to_owned(),
        is_final: matches!(
            report.state,
            PluginState::Ready
                | PluginState::Trial
                | PluginState::Withdrawn
                | PluginState::Rejected
                | PluginState::Quarantined { .. }
        ),
        is_warning: matches!(
            report.state,
            PluginState::Rejected | PluginState::Withdrawn | PluginState::Quarantined { .. }
        ),
        message: message(report),
        status: PluginStatus::from(report).to_json(),
        providers,
        is_policy: report.kind == PluginKeys::POLICY_KIND,
    }
}

/// The part of the calls that a version on trial answers, for the message.
fn part(rollout: &Release) -> String {
    let classes = rollout.classes.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    match (rollout.share > 0.0, rollout.classes.is_empty()) {
        (true, true) => format!("{}% of the Machines", rollout.share),
        (true, false) => format!("{}% of the Machines and those of classes {classes}", rollout.share),
        (false, _) => format!("the Machines of classes {classes}"),
    }
}

fn policy_message(held: &ReadyReport, terms: &PolicyTerms, is_serving: bool, digest: &str) -> String {
    let does = match (is_serving, terms.mode) {
        (true, Mode::Observe) => "observes",
        (true, Mode::Enforce) => "decides about",
        (false, Mode::Observe | Mode::Enforce) => "could be asked about",
    };
    let whom =
        if terms.scope.is_everything() { "all Machines" } else { "the Machines that policy.yaml names" };
    format!("policy {} {} {does} {whom} ({digest})", held.driver, held.version)
}

fn message(report: &PluginReport) -> String {
    let digest = report.digest.map(|digest| digest.to_string()).unwrap_or_default();
    let mut text = match (&report.state, &report.held) {
        (PluginState::Rejected, held) => {
            let reason = report.reason.as_deref().unwrap_or("no reason is known");
            match held {
                Some(held) => format!("rejected: {reason}; {} {} goes on serving", held.driver, held.version),
                None => format!("rejected: {reason}"),
            }
        }
        (PluginState::Quarantined { until }, _) => {
            let reason = report.reason.as_deref().unwrap_or("it broke again and again");
            format!("not called until {until}: {reason}")
        }
        (PluginState::Trial, Some(held)) => {
            let rollout = report.rollout.as_ref();
            let terms = rollout.and_then(|rollout| rollout.terms.as_ref());
            let part = terms.map_or_else(|| "a part of the calls".to_owned(), |terms| part(terms));
            let (driver, version) = (&held.driver, &held.version);
            match rollout.and_then(|rollout| rollout.shadow.as_ref()) {
                None => format!("{driver} {version} is on trial: it answers {part} ({digest})"),
                Some(shadow) => {
                    let seen = shadow::summary(shadow);
                    format!(
                        "{driver} {version} is the shadow of {part}, and answers no call ({digest}){seen}"
                    )
                }
            }
        }
        (PluginState::Withdrawn, Some(held)) => {
            let reason = report.reason.as_deref().unwrap_or("no reason is known");
            let does = if report.serving {
                "creates no VMs any more; it continues to delete them, since there is no other version"
            } else {
                "answers no call"
            };
            format!("{} {} was withdrawn and {does}: {reason}", held.driver, held.version)
        }
        (PluginState::Ready, Some(held)) => {
            let providers: Vec<&str> = held.providers.iter().map(ProviderName::as_str).collect();
            let serves = if report.serving { "serves" } else { "could serve" };
            match &held.terms {
                Some(terms) => policy_message(held, terms, report.serving, &digest),
                None => {
                    format!("{} {} {serves} {} ({digest})", held.driver, held.version, providers.join(", "))
                }
            }
        }
        (state, _) => format!("{} {digest}", state.name()).trim_end().to_owned(),
    };
    if report.state == PluginState::Ready
        && report.held.as_ref().is_some_and(|held| held.code != CodeTier::Optimised)
    {
        text.push_str("; its calls take longer until its code is optimised");
    }
    for warning in &report.warnings {
        text.push_str("; ");
        text.push_str(warning);
    }
    text
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use machinist_plugin_host::Digest;

    use super::*;

    fn ready(code: CodeTier) -> PluginReport {
        let held = ReadyReport {
            digest: Digest::of(b"component"),
            driver: "sim".to_owned(),
            version: "1.0.0".to_owned(),
            providers: vec!["sim".into()],
            terms: None,
            code,
            generation: 1,
            calls_total: 0,
            calls_broken: 0,
            calls_in_flight: 0,
        };
        PluginReport {
            plugin: "sim".into(),
            kind: "driver".to_owned(),
            source: SourceId::new("machinist", "sim"),
            content: None,
            state: PluginState::Ready,
            reason: None,
            since: Timestamp::UNIX_EPOCH,
            warnings: Vec::new(),
            digest: Some(held.digest),
            size_bytes: None,
            compile_ms: None,
            from_cache: false,
            resolved: None,
            signer: None,
            bundle: None,
            serving: true,
            serves: vec!["sim".into()],
            claim_denied: false,
            rollout: None,
            held: Some(held),
        }
    }

    #[test]
    fn the_runtime_writes_the_annotation_that_the_plugin_host_reads() {
        assert_eq!(machinist_runtime::client::field_manager::PLUGIN_STATUS, PluginKeys::STATUS_ANNOTATION);
    }

    #[test]
    fn a_plugin_of_the_directory_is_never_reported_on_a_configmap_of_its_name() {
        let status_of =
            |source| port_status(&PluginReport { source, ..ready(CodeTier::Optimised) }, String::new());
        let status = status_of(SourceId::in_directory("sim"));
        assert_eq!((status.source.as_str(), status.config_map), ("directory:sim", None));
        let status = status_of(SourceId::new("machinist", "sim"));
        assert_eq!((status.source.as_str(), status.config_map.as_deref()), ("machinist/sim", Some("sim")));
    }

    #[test]
    fn a_version_whose_code_is_made_in_haste_says_so_until_it_is_optimised() {
        let says = |code| port_status(&ready(code), String::new());
        for (code, name) in [(CodeTier::Baseline, "baseline"), (CodeTier::Quick, "quick")] {
            let status = says(code);
            assert!(
                status.message.ends_with("its calls take longer until its code is optimised"),
                "{}",
                status.message
            );
            assert!(status.status.contains(&format!("\"code\":\"{name}\"")), "{}", status.status);
        }
        let status = says(CodeTier::Optimised);
        assert!(!status.message.contains("optimised"), "{}", status.message);
        assert!(status.status.contains(r#""code":"optimised""#), "{}", status.status);
    }
}
