//! The bugs that can be planted.

use super::Owners;
use crate::rule::Rule;

/// Each bug with the rule that it breaks, and with the owners that Machines need for it to show.
macro_rules! bugs {
    ($($(#[$doc:meta])* $name:ident: $rule:ident, $owners:ident;)*) => {
        /// A bug between the hosts and the world.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Planted {
            $($(#[$doc])* $name,)*
        }

        impl Planted {
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The kind of owner that Machines need for the bug to show.
            pub(crate) fn needs(self) -> Owners {
                match self {
                    $(Self::$name => Owners::$owners,)*
                }
            }

            /// The rule that it breaks.
            pub fn breaks(self) -> Rule {
                match self {
                    $(Self::$name => Rule::$rule,)*
                }
            }
        }
    };
}

bugs! {
    /// Every create is sent twice, with two keys.
    CreatesTwice: OneVm, Nobody;
    /// A look at a VM removes it.
    DeletesUnasked: NoUnaskedDelete, Nobody;
    /// A VM that a listing shows without a Machine is removed at once.
    DeletesOrphansAtOnce: NoUnaskedDelete, Nobody;
    /// VMs are said to be gone that nobody removed.
    ForgetsVms: FinalizerLast, Nobody;
    /// Every create makes one more VM that carries nobody's mark.
    LeaksVms: NoLeak, Nobody;
    /// The host believes that it leads, always.
    LeadsAlways: Leader, Nobody;
    /// A Node of which nothing is heard fails its machine within seconds: the gate never closes, and the cloud is said
    /// to have stopped every VM.
    FailsAtOnce: HealthyStays, Nobody;
    /// The conditions that a host copies from a Node never arrive.
    DropsConditions: Quiet, Nobody;
    /// The VM never goes.
    NeverDeletes: Converges, Nobody;
    /// Pods are deleted where they should be evicted.
    DeletesPods: Budget, Nobody;
    /// The API servers are never found to be away, and tokens come from elsewhere.
    GateStaysOpen: Gate, Nobody;
    /// Every order to remove a VM is sent over and over.
    OrdersOverAndOver: Sparing, Nobody;
    Panics: NoPanic, Nobody;
    /// Any number of Machines may be given up at a time.
    ReplacesAllAtOnce: Meltdown, Nobody;
    /// The cloud is said to have stopped every VM that is looked at.
    GivesUpZones: Meltdown, Nobody;
    IgnoresHooks: PreDrain, Nobody;
    /// The wait for hooks before the removal of a VM is noted to have begun long ago.
    HurriesHooks: PreTerminate, Nobody;
    /// Drains see no pods.
    HidesPods: Drained, Nobody;
    /// Volumes are given up as soon as their pods have gone.
    LeavesVolumes: Volumes, Nobody;
    /// Attachments are never asked to go.
    KeepsAttachments: Volumes, Nobody;
    /// A Machine that is to be preserved is deleted.
    DeletesPreserved: Preserved, Nobody;
    /// A Node that is selected for an update is said to be empty at once.
    HandsOverUndrained: InPlace, Nobody;
    /// Policies that observe decide.
    AppliesObservers: Verdicts, Nobody;
    /// A VM that no listing shows is said to be gone.
    BelievesListings: FinalizerLast, Nobody;
    /// Every Machine of a set is made again under another name, as after an answer that got lost.
    MakesAgain: Surplus, Set;
    /// Sets are to want one more than was decided.
    RaisesTooFar: Surge, Deployments;
    /// Sets that are to want fewer are to want none.
    EmptiesSets: Availability, Deployments;
    /// Another Machine goes in the place of one that the autoscaler has chosen.
    ChoosesOthers: Chosen, Deployments;
    /// Disruption budgets are not seen.
    OverlooksBudgets: Disruptions, Deployments;
    /// That an ordinal is closed never arrives.
    ForgetsOrdinals: Names, Set;
    /// Sets that are deleted are let go at once.
    ReleasesSets: Orphans, Deployments;
    /// A set's label that says that it is frozen is not seen.
    OverlooksFreeze: Frozen, Deployments;
    /// It is never taken off, and the host believes that it was.
    StaysFrozen: Frozen, Deployments;
    /// A create that may have made a VM is said to have made none.
    DeniesDoubt: OneVm, Nobody;
    /// A create that failed for certain is said to have made a VM perhaps.
    ClaimsDoubt: Doubt, Nobody;
    /// A create that may have made a VM is waited for five minutes longer than reads of the cloud lag.
    KeepsDoubt: Doubt, Nobody;
    /// A create that has failed is never tried again.
    NeverRetries: ComesUp, Nobody;
    /// Every deletion of a Machine is asked for over and over.
    AsksOverAndOver: Repeats, Set;
    /// The VM that a Machine has is removed in the place of the one beside it.
    TakesTheFirst: SecondVms, Nobody;
    /// VMs beside those of Machines are said to be removed, and stay.
    LeavesTheSecond: SecondVms, Nobody;
    /// A Node that has the name of a Machine's Node is labelled, although it is another's.
    WritesOthersNodes: OthersNodes, Set;
    /// With a Machine that is failed for the name of its Node, another one of its set is.
    GivesUpForNames: NamesTaken, Set;
    /// The annotation of a set is copied to its Machines as it is.
    HandsDownTexts: HandedDown, Set;
    /// Every create for a MachinistMachine is sent twice, with two keys for requests.
    CreatesTwiceForKeys: OneVmForKey, Nobody;
    /// No pause is seen, neither of a Cluster nor of one object.
    OverlooksPauses: Paused, Nobody;
    /// Every create for a MachinistMachine makes one more VM under the same mark.
    LeaksInfraVms: NoneLeft, Nobody;
    /// With the status of a MachinistMachine, another provider id is written.
    RewritesProviderIds: ProviderIdStays, Nobody;
    /// Statuses of MachinistMachines say that they are not provisioned, whenever they are written again.
    TakesProvisionedBack: ProvisionedStays, Nobody;
    /// VMs of MachinistMachines are said to be gone that nobody removed.
    ForgetsInfraVms: InfraFinalizerLast, Nobody;
    /// VMs of MachinistMachines are said to have stopped, once they have been seen to run.
    CallsTheRunningStopped: RunningStaysReady, Nobody;
}
