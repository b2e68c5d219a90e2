//! A health policy in a fresh instance, beside the same rule in plain Rust.

use anyhow::{Result, ensure};
use e2e::manifests;
use e2e::plugins::sandbox;
use jiff::{SignedDuration, Timestamp};
use machinist_core::health_policy::{
    ConditionFact, DomainFact, HistoryFact, NodeQuestion, PolicyQuestion, PolicyVerdict, Subject,
};
use machinist_core::machine::node::health::{self, ConditionStatus, NodeConditionFact};
use machinist_core::value::id::{ObjectKey, PluginName, Uid};
use machinist_core::value::phase::Phase;
use machinist_plugin_host::PluginKeys;
use machinist_plugin_host::{PluginHost, RawConfigMap};

const NAME: &str = "default";

/// The rule that is shipped as a policy, as a user declares it.
pub(crate) fn declared(component: Vec<u8>) -> RawConfigMap {
    let mut raw = sandbox::raw(manifests::plugin_with(NAME, "plugin.wasm", component));
    raw.labels.insert(PluginKeys::KIND_LABEL.to_owned(), PluginKeys::POLICY_KIND.to_owned());
    raw
}

/// One question: a Node with the conditions that Nodes have, one of which speaks against it.
pub(crate) struct Asked {
    policy: PluginName,
    question: PolicyQuestion,
    conditions: Vec<NodeConditionFact>,
}

impl Asked {
    pub(crate) fn new() -> Self {
        let condition = |kind: &str, status| ConditionFact {
            kind: kind.to_owned(),
            status,
            reason: format!("KubeletSays{kind}"),
            message: "what a kubelet writes about it, in a sentence".to_owned(),
            since: Some(Timestamp::UNIX_EPOCH),
        };
        let facts = vec![
            condition("DiskPressure", ConditionStatus::True),
            condition("MemoryPressure", ConditionStatus::False),
            condition("PIDPressure", ConditionStatus::False),
            condition("Ready", ConditionStatus::True),
        ];
        let plain = |fact: &ConditionFact| NodeConditionFact { kind: fact.kind.clone(), status: fact.status };
        let conditions = facts.iter().map(plain).collect();
        Self { policy: NAME.into(), question: question(facts), conditions }
    }

    pub(crate) async fn sandboxed(&self, host: &PluginHost) -> Result<bool> {
        let answer = host.evaluate(&self.policy, self.question.clone(), Timestamp::UNIX_EPOCH).await?;
        Ok(answer.verdict == PolicyVerdict::Healthy)
    }

    pub(crate) fn native(&self) -> bool {
        health::verdict(&self.conditions, &self.question.machine.must_be_false) == health::NodeHealth::Healthy
    }

    /// Both ways find the same.
    pub(crate) async fn answer_alike(&self, host: &PluginHost) -> Result<()> {
        let healthy = (self.sandboxed(host).await?, self.native());
        ensure!(healthy == (false, false), "both ways see the disk: {healthy:?}");
        Ok(())
    }
}

fn question(conditions: Vec<ConditionFact>) -> PolicyQuestion {
    PolicyQuestion {
        machine: Subject {
            key: ObjectKey::new("shoot", "machine-1"),
            uid: Uid::new("uid-1"),
            class: "small".into(),
            deployment: Some("pool-a".to_owned()),
            labels: [("pool".to_owned(), "a".to_owned())].into(),
            provider_id: Some("plain:///0.1.0/uid-1".into()),
            created: Timestamp::UNIX_EPOCH,
            health_timeout: Some(SignedDuration::from_mins(10)),
            must_be_false: vec!["DiskPressure".to_owned(), "KernelDeadlock".to_owned()],
            can_reboot: true,
        },
        node: Some(NodeQuestion {
            name: "node-1".into(),
            created: Some(Timestamp::UNIX_EPOCH),
            labels: [("kubernetes.io/os".to_owned(), "linux".to_owned())].into(),
            is_unschedulable: false,
            conditions,
        }),
        history: HistoryFact { phase: Phase::Running, phase_since: None, reboots: Vec::new() },
        domain: DomainFact { name: Some("zone-a".into()), machines: 10, silent: 0 },
    }
}
