//! The one gate before every effect.

use std::fmt;

use jiff::Timestamp;

/// Why everything that could do harm is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FreezeReason {
    /// The control cluster's API server does not answer: what we know of Machines is out of date.
    ControlClusterUnreachable,
    /// The target cluster's API server does not answer: nodes cannot report, so nothing can be said of their health.
    TargetClusterUnreachable,
    /// The API servers answer again after an outage, and what they hold is being listed: until that is done, the caches are as
    /// old as the outage.
    CatchingUp,
    /// An operator asked for it, for example while a control plane moves.
    Requested,
    /// Another control plane works on the same Nodes under the same mark.
    ClusterMarkHeld,
}

impl FreezeReason {
    /// As it stands in conditions and metrics. Stable.
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

/// Name of the ConfigMap beside the Machines by which an operator asks to hold everything.
pub const FREEZE_REQUEST: &str = "machinist-freeze";

impl FreezeReason {
    /// For people: what is the matter, and when it ends.
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

/// Whether effects pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gate {
    /// All of them.
    #[default]
    Open,
    /// Only those that cannot make an outage worse, see [`permits`].
    Frozen {
        /// Since when.
        since: Timestamp,
        /// Why.
        reason: FreezeReason,
    },
}

/// What an effect does, as far as the gate cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EffectKind {
    /// Reads the cloud: the status of a machine, a listing.
    CloudRead,
    /// Makes a machine in the cloud.
    Create,
    /// The step after creation.
    Initialize,
    /// Writes phase Failed, whereupon the machine is replaced, or ends an update in place for its time.
    FailMachine,
    /// Removes a machine of the cloud that no Machine answers for.
    OrphanDelete,
    /// Deletes a Machine object because its set has too many, because it has failed, or because its Node is being deleted.
    SetDelete,
    /// Deletes a Machine object because its set carries a deletion timestamp.
    CascadeDelete,
    /// Removes the cloud's machine of a Machine that carries a deletion timestamp.
    RequestedDelete,
    /// Cordons and evicts for a Machine that carries a deletion timestamp.
    Drain,
    /// Takes the Node of a Machine that nobody deletes out of service: cordons and evicts, or hands it over for an update in place.
    EmptyNode,
    /// Removes the Node of a Machine that carries a deletion timestamp.
    NodeDelete,
    /// Writes labels, annotations, taints, finalizers or a condition of a Node, which empties nothing.
    NodeWrite,
    /// Starts a cloud's machine anew because a policy asks for it.
    Reboot,
    /// Makes or prolongs a bootstrap token, which a create needs.
    TokenWrite,
    /// Removes a bootstrap token that has served.
    TokenDelete,
    /// Writes metadata of our own objects, or the id of what was created.
    ObjectWrite,
    /// Takes our finalizer off an object that is being deleted.
    FinalizerRelease,
    /// Writes status, except for what is [`EffectKind::FailMachine`] or [`EffectKind::EmptyNode`].
    StatusWrite,
    /// Tells people.
    Event,
}

impl EffectKind {
    /// All kinds.
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

/// Whether an effect of this kind may happen.
///
/// While frozen nothing is created, no machine is failed, and nothing is deleted or emptied that nobody asked to
/// delete: what we believe about nodes may be wrong for all of them at once. A Machine that carries a deletion
/// timestamp goes on to its end, since somebody asked for that one. The Machines of a set that is being deleted go too
/// while only the target cluster is away: whoever tears a cluster down does not wait for its API server. Behind every
/// other freeze the set may not be what the caches show, or an operator wants all to stay. Reading, and writing down
/// what is, harms nobody.
///
/// A control plane whose mark another one holds may be a copy: its Machines name the other one's VMs and Nodes. It
/// reads, writes its own objects, and lets go of a Machine whose VM is proven gone. Not even a requested deletion
/// removes anything.
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
