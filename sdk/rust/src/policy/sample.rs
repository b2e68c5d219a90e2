//! A healthy Machine for tests to change.

use super::{Condition, Domain, History, Machine, Node, Phase, Question, Status};

/// A Running Machine with a healthy Node, alone in its zone.
pub fn question() -> Question {
    Question {
        machine: Machine {
            namespace: "shoot".to_owned(),
            name: "machine-1".to_owned(),
            uid: "uid-1".to_owned(),
            class: "small".to_owned(),
            deployment: None,
            labels: Vec::new(),
            provider_id: Some("cloud:///vm-1".to_owned()),
            created: 0,
            health_timeout_ms: Some(600_000),
            must_be_false: vec!["DiskPressure".to_owned()],
            can_reboot: true,
        },
        node: Some(Node {
            name: "node-1".to_owned(),
            created: Some(0),
            labels: Vec::new(),
            unschedulable: false,
            conditions: vec![condition("Ready", Status::True, 0)],
        }),
        history: History { phase: Phase::Running, phase_since: Some(0), reboots: Vec::new() },
        domain: Domain { name: Some("zone-a".to_owned()), machines: 1, silent: 0 },
    }
}

/// A condition with its status since this time.
pub fn condition(kind: &str, status: Status, since: u64) -> Condition {
    Condition {
        kind: kind.to_owned(),
        status,
        reason: "Test".to_owned(),
        message: String::new(),
        since: Some(since),
    }
}
