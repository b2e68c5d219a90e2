//! The rules, by name, and what is found when one is broken.

use std::fmt;

use jiff::Timestamp;

/// The rules that always hold, and those that hold in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// Never two live VMs for one Machine.
    OneVm,
    /// Never a delete for a VM whose Machine is not being deleted, nor for one without a Machine before it is old
    /// enough and was listed often enough.
    NoUnaskedDelete,
    /// Never a VM deleted as the second one of its Machine that a Machine has stored; and second ones go in the end,
    /// where the driver offers that.
    SecondVms,
    /// The finalizer goes only after the VM is gone.
    FinalizerLast,
    /// Never a pod taken away against its budget before the force deadline.
    Budget,
    /// Never a Node written, or removed, that is that of another VM.
    OthersNodes,
    /// Never a second Machine of a group failed for the name of its Node while the first one is there, nor many of them
    /// soon.
    NamesTaken,
    /// Nothing is written and no cloud is called without leading.
    Leader,
    /// Nothing is created, failed, deleted or rebooted, unless somebody requested its deletion, while an API server is
    /// away for longer than the gate waits.
    Gate,
    /// A machine that is healthy is never failed, whatever is out of order around it.
    HealthyStays,
    /// Never more Machines of a group given up at a time than its limit, nor any of a silent zone whose VM is alive.
    Meltdown,
    /// Never a pod taken away for a deletion while a hook before the drain holds it.
    PreDrain,
    /// Never a VM deleted while a hook before that holds it.
    PreTerminate,
    /// Never a VM deleted with pods on its Node before force.
    Drained,
    /// Never a VM deleted while a volume has just begun to leave it, nor an attachment left behind with a Node.
    Volumes,
    /// Never a preserved Machine deleted by the host, nor kept for another time than it is to be.
    Preserved,
    /// Never a Node handed over for an update that is not selected, or not empty.
    InPlace,
    /// A policy that only observes never changes a phase and never reboots a VM.
    Verdicts,
    /// Never one Machine more made for a set than it wants.
    Surplus,
    /// Never more Machines of a deployment than its number and its surge, by what hosts make or want to be made.
    Surge,
    /// Never fewer available Machines of a deployment than its strategy allows, by what hosts take away.
    Availability,
    /// Never more Machines in service taken away within a time than the disruption budget of their deployment allows.
    Disruptions,
    /// Never another Machine taken away in the place of one that the autoscaler has chosen.
    Chosen,
    /// Never the name of a Machine that a set has let go, for another one of it.
    Names,
    /// Never a Machine or set that nobody would remove, nor one removed that is to stay without its owner.
    Orphans,
    /// Never a Machine made for a frozen set.
    Frozen,
    /// Never a Machine held for a VM that an earlier create may have made, when each of them failed for certain, nor
    /// for longer than reads of the cloud lag.
    Doubt,
    /// Without faults every Machine has asked for its VM soon.
    ComesUp,
    /// Never a text in the spec of a Machine or in the template of a set that is no duration where one is expected,
    /// written by a host.
    HandedDown,
    /// Never the same deletion of a Machine or set asked for again and again without a pause.
    Repeats,
    /// No VM is left without a Machine at the end.
    NoLeak,
    /// Without faults everything comes to where it is wished.
    Converges,
    /// Then nothing is written any more.
    Quiet,
    /// Never one cloud asked over and over about the removal of one VM.
    Sparing,
    NoPanic,
    /// Never two live VMs for the key of a MachinistMachine, nor another one once the id of the first is stored.
    OneVmForKey,
    /// Never a create or delete sent for a MachinistMachine that is paused, whose Cluster is, or that has moved away:
    /// from two minutes after that on, in which the host may learn of it; without faults, from five seconds on.
    Paused,
    /// In the end each MachinistMachine is provisioned and has one VM, and each VM belongs to one.
    NoneLeft,
    /// Never another id in `spec.providerID` than the first one.
    ProviderIdStays,
    /// Never `provisioned` taken back.
    ProvisionedStays,
    /// The finalizer of a MachinistMachine goes only after the VM is gone.
    InfraFinalizerLast,
    /// Never `Ready` False on a MachinistMachine whose VM runs, once it was provisioned: its owner would replace it.
    RunningStaysReady,
}

impl Rule {
    /// It is about MachinistMachines alone.
    pub(crate) fn is_of_cluster_api(self) -> bool {
        matches!(
            self,
            Self::OneVmForKey
                | Self::Paused
                | Self::NoneLeft
                | Self::ProviderIdStays
                | Self::ProvisionedStays
                | Self::InfraFinalizerLast
                | Self::RunningStaysReady
        )
    }
}

/// A rule that was broken.
#[derive(Clone, Debug)]
pub struct Violation {
    pub rule: Rule,
    /// When, in simulated time.
    pub at: Timestamp,
    pub detail: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {}: {}", self.rule, self.at, self.detail)
    }
}
