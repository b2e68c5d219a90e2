//! The set and the Machines of these tests.

use std::collections::BTreeSet;

use crate::disruption::requests::Permits;
use crate::machine::summary::MachineSummary;
use crate::machine::{ClassFact, OperationFact};
use crate::machine_set::{
    Alternatives, ChildFact, Freshness, MachineOwner, ReportedSetStatus, SetFact, SetNames, SetSelectorFact,
    SetSettings, SetView, TemplateFact,
};
use crate::scheduling::gate::Gate;
use crate::value::id::ObjectKey;
use crate::value::phase::{OperationState, OperationType, Phase};
use crate::value::selector::{Labels, Selector};

use super::seconds;

static NAMES: SetNames = SetNames {
    freeze: "freeze",
    freeze_value: "True",
    unfreeze: "unfreeze",
    closed_ordinal: "closed-ordinal",
    failed_joins: "failed-joins",
};

pub(super) fn labels(pairs: &[(&str, &str)]) -> Labels {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

pub(super) fn selector(pairs: &[(&str, &str)]) -> SetSelectorFact {
    SetSelectorFact::Given(Selector::parse(&labels(pairs), []).unwrap())
}

/// A set without Machines that is claimed and wants none.
pub(super) fn view() -> SetView {
    let template =
        TemplateFact { labels: labels(&[("pool", "a"), ("more", "x")]), class: Some("worker".into()) };
    SetView {
        set: SetFact {
            key: ObjectKey::new("garden", "pool-a"),
            uid: "set-uid".into(),
            generation: 7,
            deletion: None,
            leaves_machines: false,
            has_finalizer: true,
            replicas: 0,
            selector: selector(&[("pool", "a")]),
            template: Some(template),
            is_frozen: false,
            is_scale_up_disabled: false,
            is_thaw_asked: false,
            scaled_down_at: None,
            closed_ordinal: None,
            failed_joins: None,
            auto_preserve_max: 0,
            problems: Vec::new(),
            reported: ReportedSetStatus::default(),
        },
        machines: Vec::new(),
        class: ClassFact::Ready("worker".into()),
        alternatives: Alternatives::default(),
        deployment: None,
        permits: Permits::All,
        gate: Gate::Open,
        freshness: Freshness::Current,
        settings: SetSettings::default(),
        names: &NAMES,
    }
}

/// The set's Machine with this ordinal, created that many seconds after the first. It does well.
pub(super) fn child(ordinal: u32) -> ChildFact {
    ChildFact {
        summary: MachineSummary {
            name: format!("m{ordinal}").into(),
            uid: format!("uid-{ordinal}").into(),
            created: seconds(i64::from(ordinal)),
            is_deleting: false,
            phase: Phase::Running,
            priority: 3,
            marked_at: None,
            is_updated_in_place: false,
            is_unreadable: false,
            preserve_request: None,
            node_preserve_request: Some(String::new()),
            applied_node_request: None,
            preserved_until: None,
        },
        labels: labels(&[("pool", "a"), ("more", "x")]),
        owner: MachineOwner::This,
        class: Some("worker".into()),
        is_exhausted: false,
        operation: Some(OperationFact { kind: OperationType::Create, state: OperationState::Successful }),
        ordinal: Some(ordinal),
        drift: BTreeSet::new(),
    }
}

impl ChildFact {
    pub(super) fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    pub(super) fn phase(self, phase: Phase) -> Self {
        self.with(|machine| machine.phase = phase)
    }

    pub(super) fn going(self) -> Self {
        self.with(|machine| {
            machine.is_deleting = true;
            machine.phase = Phase::Terminating;
        })
    }

    pub(super) fn failed(self) -> Self {
        self.with(|machine| {
            machine.phase = Phase::Failed;
            machine.operation =
                Some(OperationFact { kind: OperationType::HealthCheck, state: OperationState::Failed });
        })
    }

    /// The cloud has no capacity for it.
    pub(super) fn exhausted(self) -> Self {
        self.with(|machine| {
            machine.phase = Phase::CrashLoopBackOff;
            machine.is_exhausted = true;
            machine.node_preserve_request = None;
            machine.operation =
                Some(OperationFact { kind: OperationType::Create, state: OperationState::Failed });
        })
    }

    pub(super) fn owner(self, owner: MachineOwner) -> Self {
        self.with(|machine| machine.owner = owner)
    }

    pub(super) fn request(self, request: &str) -> Self {
        self.with(|machine| machine.preserve_request = Some(request.into()))
    }

    /// Kept until this second.
    pub(super) fn kept(self, until: i64) -> Self {
        self.with(|machine| machine.preserved_until = Some(seconds(until)))
    }
}
