//! The one gate before every effect.

use std::fmt;

use jiff::Timestamp;

/// The condition that makes a freeze necessary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FreezeReason {
    /// The control cluster's API server does not answer: the cached Machines are out of date.
    ControlClusterUnreachable,
    /// The target cluster's API server does not answer: nodes cannot report, so nothing can be said of their health.
    TargetClusterUnreachable,
    /// The API servers answer again after an outage, and the caches are being listed: until then they are as old as the
    /// outage.
    CatchingUp,
    /// An operator asked for it, for example while a control plane moves.
    Requested,
    /// Another control plane works on the same Nodes under the same mark.
    ClusterMarkHeld,
}

impl FreezeReason {
    /// Returns the name in conditions and metrics. Stable.
    pub fn name(self) -> &'static str {
        match self {
            Self::ControlClusterUnreachable => "ControlClusterUnreachable",
            Self::TargetClusterUnreachable => "TargetClusterUnreachable",
            Self::CatchingUp => "CatchingUp",
            Self::Requested => "Requested",
            Self::ClusterMarkHeld => "ClusterMarkHeld",
        }
    }
}

/// The name of the ConfigMap beside the Machines by which an operator requests a freeze.
pub const FREEZE_REQUEST: &str = "machinist-freeze";

impl FreezeReason {
    /// Returns the text for people: the cause, and when the freeze ends.
    pub fn sentence(self) -> String {
        match self {
            Self::ControlClusterUnreachable => {
                "the API server of the control cluster does not answer; it goes on when it does".to_owned()
            }
            Self::TargetClusterUnreachable => {
                "the API server of the target cluster does not answer; it goes on when it does".to_owned()
            }
            Self::CatchingUp => {
                "the API servers answer again and what they hold is being listed; it goes on after that"
                    .to_owned()
            }
            Self::ClusterMarkHeld => {
                "another control plane holds this cluster's mark, by the Secret machinist-cluster-mark-… in kube-system of the \
                 target cluster, and this one may be its copy: nothing is created, drained or removed, deletions included. It goes on \
                 some minutes after that one has stopped. If both are to work, start each with a --cluster-id of its own. If this \
                 one was copied by mistake, stop it before you remove its Machines and their finalizers"
                    .to_owned()
            }
            Self::Requested => {
                format!("ConfigMap {FREEZE_REQUEST} asks for it; it goes on when that is deleted")
            }
        }
    }
}

impl fmt::Display for FreezeReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The gate: whether effects may happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gate {
    #[default]
    Open,
    /// Only those that cannot make an outage worse may happen, see [`permits`].
    Frozen { since: Timestamp, reason: FreezeReason },
}

/// The kind of an effect, as far as the gate distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EffectKind {
    /// Reads the cloud: the status of a machine, a listing.
    CloudRead,
    Create,
    /// The step after creation.
    Initialize,
    /// Writes phase Failed, after which the Machine is replaced, or ends an update in place for its timeout.
    FailMachine,
    /// Deletes a VM without a Machine.
    OrphanDelete,
    /// Deletes a Machine object because its set has too many, because it has failed, or because its Node is being
    /// deleted.
    SetDelete,
    /// Deletes a Machine object because its set has a deletion timestamp.
    CascadeDelete,
    /// Deletes the VM of a Machine with a deletion timestamp.
    RequestedDelete,
    /// Cordons and evicts for a Machine with a deletion timestamp.
    Drain,
    /// Takes the Node of a Machine that is not being deleted out of service: cordons and evicts, or hands it over for
    /// an update in place.
    EmptyNode,
    /// Deletes the Node of a Machine with a deletion timestamp.
    NodeDelete,
    /// Writes labels, annotations, taints, finalizers or a condition of a Node, without a drain.
    NodeWrite,
    /// Reboots a VM because a policy requests it.
    Reboot,
    /// Creates or extends a bootstrap token, which a create needs.
    TokenWrite,
    /// Deletes a used bootstrap token.
    TokenDelete,
    /// Writes metadata of our own objects, or the id of a created VM.
    ObjectWrite,
    /// Removes our finalizer from an object that is being deleted.
    FinalizerRelease,
    /// Writes status, except as [`EffectKind::FailMachine`] or [`EffectKind::EmptyNode`].
    StatusWrite,
    Event,
}

impl EffectKind {
    pub const ALL: [Self; 19] = [
        Self::CloudRead,
        Self::Create,
        Self::Initialize,
        Self::FailMachine,
        Self::OrphanDelete,
        Self::SetDelete,
        Self::CascadeDelete,
        Self::RequestedDelete,
        Self::Drain,
        Self::EmptyNode,
        Self::NodeDelete,
        Self::NodeWrite,
        Self::Reboot,
        Self::TokenWrite,
        Self::TokenDelete,
        Self::ObjectWrite,
        Self::FinalizerRelease,
        Self::StatusWrite,
        Self::Event,
    ];
}

/// Returns whether an effect of this kind may happen.
///
/// While frozen nothing is created, no Machine fails, and nothing is deleted or drained without a request to delete it:
/// the observed state of all Nodes may be wrong at once. A Machine with a deletion timestamp is deleted, since that was
/// requested. The Machines of a set in deletion are deleted too while only the target cluster is unreachable: the
/// deletion of a whole cluster does not wait for its API server. In every other freeze the set may differ from the
/// caches, or an operator wants all to stay. Reads, and writes of observed facts, are harmless.
///
/// A control plane whose mark another one holds may be a copy: its Machines name the other one's VMs and Nodes. It
/// reads, writes its own objects, and releases a Machine whose VM is proven gone. Not even a requested deletion deletes
/// anything.
pub fn permits(gate: Gate, effect: EffectKind) -> bool {
    match gate {
        Gate::Open => true,
        Gate::Frozen { reason: FreezeReason::ClusterMarkHeld, .. } => matches!(
            effect,
            EffectKind::CloudRead
                | EffectKind::ObjectWrite
                | EffectKind::FinalizerRelease
                | EffectKind::StatusWrite
                | EffectKind::Event
        ),
        Gate::Frozen { reason, .. } => match effect {
            EffectKind::Create
            | EffectKind::Initialize
            | EffectKind::FailMachine
            | EffectKind::OrphanDelete
            | EffectKind::SetDelete
            | EffectKind::EmptyNode
            | EffectKind::Reboot
            | EffectKind::TokenWrite => false,
            EffectKind::CascadeDelete => reason == FreezeReason::TargetClusterUnreachable,
            EffectKind::CloudRead
            | EffectKind::RequestedDelete
            | EffectKind::Drain
            | EffectKind::NodeDelete
            | EffectKind::NodeWrite
            | EffectKind::TokenDelete
            | EffectKind::ObjectWrite
            | EffectKind::FinalizerRelease
            | EffectKind::StatusWrite
            | EffectKind::Event => true,
        },
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    const REASONS: [FreezeReason; 3] = [
        FreezeReason::ControlClusterUnreachable,
        FreezeReason::TargetClusterUnreachable,
        FreezeReason::Requested,
    ];

    #[test]
    fn an_open_gate_lets_everything_pass() {
        assert!(EffectKind::ALL.into_iter().all(|effect| permits(Gate::default(), effect)));
    }

    #[test]
    fn a_frozen_gate_creates_nothing_but_finishes_requested_deletions() {
        for reason in
            [FreezeReason::ControlClusterUnreachable, FreezeReason::CatchingUp, FreezeReason::Requested]
        {
            let gate = Gate::Frozen { since: Timestamp::UNIX_EPOCH, reason };
            let row = |effect| {
                format!("{effect:?}: {}\n", if permits(gate, effect) { "passes" } else { "is held" })
            };
            expect![[r#"
                CloudRead: passes
                Create: is held
                Initialize: is held
                FailMachine: is held
                OrphanDelete: is held
                SetDelete: is held
                CascadeDelete: is held
                RequestedDelete: passes
                Drain: passes
                EmptyNode: is held
                NodeDelete: passes
                NodeWrite: passes
                Reboot: is held
                TokenWrite: is held
                TokenDelete: passes
                ObjectWrite: passes
                FinalizerRelease: passes
                StatusWrite: passes
                Event: passes
            "#]]
            .assert_eq(&EffectKind::ALL.into_iter().map(row).collect::<String>());
        }
    }

    #[test]
    fn while_only_the_target_cluster_is_away_the_machines_of_a_set_that_is_deleted_go() {
        let gate = |reason| Gate::Frozen { since: Timestamp::UNIX_EPOCH, reason };
        let other = gate(FreezeReason::Requested);
        let away = gate(FreezeReason::TargetClusterUnreachable);
        let differs = |effect: &EffectKind| permits(away, *effect) != permits(other, *effect);
        let different: Vec<EffectKind> = EffectKind::ALL.into_iter().filter(differs).collect();
        assert_eq!(
            (different, permits(away, EffectKind::CascadeDelete)),
            (vec![EffectKind::CascadeDelete], true)
        );
    }

    #[test]
    fn a_copy_of_a_control_plane_removes_nothing_even_on_request() {
        let gate = Gate::Frozen { since: Timestamp::UNIX_EPOCH, reason: FreezeReason::ClusterMarkHeld };
        let passing: Vec<EffectKind> =
            EffectKind::ALL.into_iter().filter(|effect| permits(gate, *effect)).collect();
        let harmless = [
            EffectKind::CloudRead,
            EffectKind::ObjectWrite,
            EffectKind::FinalizerRelease,
            EffectKind::StatusWrite,
            EffectKind::Event,
        ];
        assert_eq!(passing, harmless);
    }

    #[test]
    fn all_kinds_are_listed_once_and_in_order() {
        assert!(EffectKind::ALL.is_sorted_by(|a, b| a < b));
        assert_eq!(EffectKind::ALL.last().map(|last| *last as usize + 1), Some(EffectKind::ALL.len()));
    }

    #[test]
    fn reasons_print_as_conditions_have_them() {
        assert_eq!(
            REASONS.map(|reason| reason.to_string()),
            ["ControlClusterUnreachable", "TargetClusterUnreachable", "Requested"]
        );
    }
}
