//! The next step for each reason of a MachinistMachine's condition Ready. Pure.

use machinist_core::infra_machine::InfraReason;
use machinist_core::machine::MachineReason;

/// The names that steps say.
#[derive(Debug)]
pub(super) struct Names {
    /// Its Cluster with its kind, or words in place of it.
    pub(super) cluster: String,
    /// The same of its MachinistCluster.
    pub(super) infra_cluster: String,
    /// The same of its Machine of Cluster API.
    pub(super) owner: String,
    pub(super) vm: String,
    pub(super) namespace: String,
}

/// Returns the next step: who does something, and what that is.
pub(super) fn step(reason: InfraReason, names: &Names) -> String {
    let Names { cluster, infra_cluster, owner, vm, namespace } = names;
    let replace = format!("delete {owner}, so that its owner makes another one");
    let renew =
        format!("let the owner of {owner} use a template of another name, which replaces this machine");
    match reason {
        InfraReason::WaitingForMachine => {
            "Cluster API's core sets the owner reference; if you wrote this object yourself, write a Machine whose \
             spec.infrastructureRef names it"
                .to_owned()
        }
        InfraReason::WaitingForCluster => {
            "create the Cluster, or correct the label cluster.x-k8s.io/cluster-name; the host goes on at once".to_owned()
        }
        InfraReason::WaitingForClusterInfrastructure => format!(
            "the VM is created when {cluster} has infrastructure; core takes that over from {infra_cluster}, whose condition \
             Ready says what it waits for"
        ),
        InfraReason::WaitingForBootstrapData => {
            format!("the VM is created when {owner} has bootstrap data; its condition BootstrapConfigReady says what is missing")
        }
        InfraReason::CredentialsMissing => {
            "create the object that the message names, or change identityRef; the host goes on at once".to_owned()
        }
        InfraReason::CredentialsRefused => {
            format!("allow namespace {namespace} to use the credentials, as the message says, or name others in identityRef")
        }
        InfraReason::CredentialsRejected => {
            "put valid credentials with all rights that the driver needs into the Secret; the host goes on at once".to_owned()
        }
        InfraReason::FailureDomainUnsupported => format!(
            "take the failure domain off the owner of {owner}, or use a driver with the interface placement; then {replace}"
        ),
        InfraReason::NodeIdUnknown => {
            "the host asks the driver again; `machinist plugin logs` shows its log, and its author can correct node-id".to_owned()
        }
        InfraReason::BootstrapDataChanged => {
            "the host looks for the VM of the earlier create until the cloud must show it, and then creates one with the new \
             data"
                .to_owned()
        }
        InfraReason::KeyContested => {
            "take the finalizer off the object that is the copy, and delete it; then the host goes on with the other".to_owned()
        }
        InfraReason::Paused => paused(cluster),
        InfraReason::InsufficientCapacity => {
            format!("the host tries again, until the cloud has room; for another type or failure domain, {renew}")
        }
        InfraReason::InvalidSpec => {
            format!("if the message is about the MachinistCluster, correct that; else {renew}")
        }
        InfraReason::SeveralInstances => {
            format!("delete the VM in the cloud that is one too many; the host goes on with the other, or {replace}")
        }
        InfraReason::InstancePending => {
            "the VM boots; the host looks again within seconds, and then says that it is provisioned".to_owned()
        }
        InfraReason::InstanceRunning => "nothing, while its VM runs".to_owned(),
        InfraReason::InstanceStopped => format!("start {vm} in the cloud, or {replace}"),
        InfraReason::InstanceDeleted => {
            format!("{replace}; a MachineHealthCheck can do that by the condition InfrastructureReady")
        }
        InfraReason::InstanceNotFound => {
            format!("the host looks again; if {vm} stays away, {replace}")
        }
        InfraReason::InstanceMisplaced => format!("{replace}; report it to the author of the driver"),
        InfraReason::InstanceUnknown => {
            format!("the host asks the cloud again within ten minutes; nothing is done to {vm} meanwhile")
        }
        InfraReason::DriverUnavailable => {
            format!("install or repair the driver: `machinist plugin list` shows the plugins; {vm} runs on meanwhile")
        }
        InfraReason::Machine(reason) => as_machine(reason, names, &replace, &renew),
    }
}

/// Returns the way out of a pause.
pub(super) fn paused(cluster: &str) -> String {
    format!(
        "take spec.paused off {cluster}, or the annotation cluster.x-k8s.io/paused off this object, whichever is there; \
         `clusterctl move` does so itself"
    )
}

/// The reasons that Machines of both APIs have.
fn as_machine(reason: MachineReason, names: &Names, replace: &str, renew: &str) -> String {
    let Names { owner, vm, .. } = names;
    match reason {
        MachineReason::ClassMissing
        | MachineReason::ClassInvalid
        | MachineReason::SecretMissing
        | MachineReason::SecretRefused
        | MachineReason::UserDataMissing => {
            "correct the object that the message names; the host goes on at once".to_owned()
        }
        MachineReason::ClassDeleting => {
            format!("create a MachineClass of another name, and {renew}")
        }
        MachineReason::InvalidMachine => format!("correct what the message names, or {renew}"),
        MachineReason::DriverLoading => "the host loads its plugins, and then goes on".to_owned(),
        MachineReason::DriverNotReady => {
            "install or repair the driver: `machinist plugin list` shows the plugins; the host goes on at once".to_owned()
        }
        MachineReason::DriverBroken => {
            "the host tries again; `machinist plugin logs` shows the driver's log, `machinist plugin rollback` goes back to an \
             earlier version"
                .to_owned()
        }
        MachineReason::Frozen => {
            "the host goes on when the cause in the message is over: an API server that answers, or ConfigMap machinist-freeze \
             that you delete"
                .to_owned()
        }
        MachineReason::ClaimFailed | MachineReason::WriteFailed | MachineReason::FinalizerHeld => {
            "the host writes again; if that goes on, the message says which right or policy is missing".to_owned()
        }
        MachineReason::CloudUnreachable => {
            "the host asks the cloud again; the message says whether network, grant or cloud is to blame".to_owned()
        }
        MachineReason::CreationFailed => {
            format!("the host tries again; if the message is about the template, {renew}")
        }
        MachineReason::CloudWorking => "the cloud works on it; the host looks again".to_owned(),
        MachineReason::CreationUnresolved => {
            "a create may have made the VM; the host looks until the cloud must show it, and only then creates again".to_owned()
        }
        MachineReason::InitializationFailed => {
            format!("the host completes {vm} again; if the message is about the template, {renew}")
        }
        MachineReason::VmCreated => "nothing, while its VM runs".to_owned(),
        MachineReason::VmContested => {
            "take spec.providerID off the object that does not own the VM, or delete that one; then the host goes on".to_owned()
        }
        MachineReason::ClusterMarkDiffers => {
            "correct clusterID of the MachinistCluster, or the annotation machinist.dev/cluster-id, as the message says".to_owned()
        }
        MachineReason::Deleting | MachineReason::VmTerminating => {
            format!("the cloud deletes {vm}; the host looks until it is gone")
        }
        MachineReason::VmDeletionFailed => {
            format!("the host deletes {vm} again; the message says what the cloud or the driver wants corrected")
        }
        MachineReason::Deleted | MachineReason::VmDeclaredGone => "nothing: the object is gone at once".to_owned(),
        MachineReason::PreDrainHooks | MachineReason::PreTerminateHooks => {
            "others take their annotations off, and then the host deletes the VM".to_owned()
        }
        MachineReason::VmRebooted | MachineReason::RebootHeld | MachineReason::RebootFailed => {
            format!("the host looks at the VM again; if it does not come back, {replace}")
        }
        MachineReason::BootstrapTokenFailed
        | MachineReason::WaitingForNode
        | MachineReason::NodeNameTaken
        | MachineReason::NodeNotReady
        | MachineReason::NodeHealthy
        | MachineReason::NodeUnhealthy
        | MachineReason::NodeMissing
        | MachineReason::JoinTimedOut
        | MachineReason::HealthTimedOut
        | MachineReason::PolicyHolds
        | MachineReason::PolicyUnheard
        | MachineReason::NodeContested
        | MachineReason::NodeDeleting
        | MachineReason::ReplacementHeld
        | MachineReason::ZoneHeld
        | MachineReason::UpdatingInPlace
        | MachineReason::UpdatedInPlace
        | MachineReason::InPlaceUpdateFailed
        | MachineReason::HealthTimeoutReset
        | MachineReason::Failed
        | MachineReason::Draining
        | MachineReason::DrainFailed
        | MachineReason::NodeDeletionFailed => {
            format!("Cluster API's core looks after the Node: {owner} shows what it does")
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn every_reason_of_the_host_has_a_next_step() {
        let names = Names {
            cluster: "Cluster c".to_owned(),
            infra_cluster: "MachinistCluster i".to_owned(),
            owner: "Machine m".to_owned(),
            vm: "VM v".to_owned(),
            namespace: "team".to_owned(),
        };
        let mut table = String::new();
        for reason in InfraReason::all() {
            let step = step(reason, &names);
            assert!(!step.trim().is_empty() && !step.ends_with('.'), "{reason:?}: {step:?}");
            assert_eq!(InfraReason::parse(reason.as_str()), Some(reason), "a condition leads to its step");
            table.push_str(&format!("{}: {step}\n", reason.as_str()));
        }
        expect![[r#"
            WaitingForMachine: Cluster API's core sets the owner reference; if you wrote this object yourself, write a Machine whose spec.infrastructureRef names it
            WaitingForCluster: create the Cluster, or correct the label cluster.x-k8s.io/cluster-name; the host goes on at once
            WaitingForClusterInfrastructureReady: the VM is created when Cluster c has infrastructure; core takes that over from MachinistCluster i, whose condition Ready says what it waits for
            WaitingForBootstrapData: the VM is created when Machine m has bootstrap data; its condition BootstrapConfigReady says what is missing
            CredentialsMissing: create the object that the message names, or change identityRef; the host goes on at once
            CredentialsRefused: allow namespace team to use the credentials, as the message says, or name others in identityRef
            CredentialsRejected: put valid credentials with all rights that the driver needs into the Secret; the host goes on at once
            FailureDomainUnsupported: take the failure domain off the owner of Machine m, or use a driver with the interface placement; then delete Machine m, so that its owner makes another one
            NodeIdUnknown: the host asks the driver again; `machinist plugin logs` shows its log, and its author can correct node-id
            BootstrapDataChanged: the host looks for the VM of the earlier create until the cloud must show it, and then creates one with the new data
            KeyContested: take the finalizer off the object that is the copy, and delete it; then the host goes on with the other
            Paused: take spec.paused off Cluster c, or the annotation cluster.x-k8s.io/paused off this object, whichever is there; `clusterctl move` does so itself
            InsufficientCapacity: the host tries again, until the cloud has room; for another type or failure domain, let the owner of Machine m use a template of another name, which replaces this machine
            InvalidSpec: if the message is about the MachinistCluster, correct that; else let the owner of Machine m use a template of another name, which replaces this machine
            SeveralInstances: delete the VM in the cloud that is one too many; the host goes on with the other, or delete Machine m, so that its owner makes another one
            InstancePending: the VM boots; the host looks again within seconds, and then says that it is provisioned
            InstanceRunning: nothing, while its VM runs
            InstanceStopped: start VM v in the cloud, or delete Machine m, so that its owner makes another one
            InstanceDeleted: delete Machine m, so that its owner makes another one; a MachineHealthCheck can do that by the condition InfrastructureReady
            InstanceNotFound: the host looks again; if VM v stays away, delete Machine m, so that its owner makes another one
            InstanceMisplaced: delete Machine m, so that its owner makes another one; report it to the author of the driver
            InstanceStateUnknown: the host asks the cloud again within ten minutes; nothing is done to VM v meanwhile
            DriverUnavailable: install or repair the driver: `machinist plugin list` shows the plugins; VM v runs on meanwhile
            InvalidMachine: correct what the message names, or let the owner of Machine m use a template of another name, which replaces this machine
            ClassMissing: correct the object that the message names; the host goes on at once
            ClassInvalid: correct the object that the message names; the host goes on at once
            ClassDeleting: create a MachineClass of another name, and let the owner of Machine m use a template of another name, which replaces this machine
            SecretMissing: correct the object that the message names; the host goes on at once
            SecretRefused: correct the object that the message names; the host goes on at once
            UserDataMissing: correct the object that the message names; the host goes on at once
            DriverLoading: the host loads its plugins, and then goes on
            DriverNotReady: install or repair the driver: `machinist plugin list` shows the plugins; the host goes on at once
            DriverBroken: the host tries again; `machinist plugin logs` shows the driver's log, `machinist plugin rollback` goes back to an earlier version
            Frozen: the host goes on when the cause in the message is over: an API server that answers, or ConfigMap machinist-freeze that you delete
            ClaimFailed: the host writes again; if that goes on, the message says which right or policy is missing
            BootstrapTokenFailed: Cluster API's core looks after the Node: Machine m shows what it does
            WriteFailed: the host writes again; if that goes on, the message says which right or policy is missing
            CloudUnreachable: the host asks the cloud again; the message says whether network, grant or cloud is to blame
            CreationFailed: the host tries again; if the message is about the template, let the owner of Machine m use a template of another name, which replaces this machine
            CloudWorking: the cloud works on it; the host looks again
            CreationUnresolved: a create may have made the VM; the host looks until the cloud must show it, and only then creates again
            InitializationFailed: the host completes VM v again; if the message is about the template, let the owner of Machine m use a template of another name, which replaces this machine
            WaitingForNode: Cluster API's core looks after the Node: Machine m shows what it does
            NodeNameTaken: Cluster API's core looks after the Node: Machine m shows what it does
            VmCreated: nothing, while its VM runs
            NodeNotReady: Cluster API's core looks after the Node: Machine m shows what it does
            NodeHealthy: Cluster API's core looks after the Node: Machine m shows what it does
            NodeUnhealthy: Cluster API's core looks after the Node: Machine m shows what it does
            NodeMissing: Cluster API's core looks after the Node: Machine m shows what it does
            JoinTimedOut: Cluster API's core looks after the Node: Machine m shows what it does
            HealthTimedOut: Cluster API's core looks after the Node: Machine m shows what it does
            PolicyHolds: Cluster API's core looks after the Node: Machine m shows what it does
            PolicyUnheard: Cluster API's core looks after the Node: Machine m shows what it does
            VmRebooted: the host looks at the VM again; if it does not come back, delete Machine m, so that its owner makes another one
            RebootFailed: the host looks at the VM again; if it does not come back, delete Machine m, so that its owner makes another one
            NodeContested: Cluster API's core looks after the Node: Machine m shows what it does
            VmContested: take spec.providerID off the object that does not own the VM, or delete that one; then the host goes on
            ClusterMarkDiffers: correct clusterID of the MachinistCluster, or the annotation machinist.dev/cluster-id, as the message says
            NodeDeleting: Cluster API's core looks after the Node: Machine m shows what it does
            ReplacementHeld: Cluster API's core looks after the Node: Machine m shows what it does
            RebootHeld: the host looks at the VM again; if it does not come back, delete Machine m, so that its owner makes another one
            ZoneHeld: Cluster API's core looks after the Node: Machine m shows what it does
            UpdatingInPlace: Cluster API's core looks after the Node: Machine m shows what it does
            UpdatedInPlace: Cluster API's core looks after the Node: Machine m shows what it does
            InPlaceUpdateFailed: Cluster API's core looks after the Node: Machine m shows what it does
            HealthTimeoutReset: Cluster API's core looks after the Node: Machine m shows what it does
            Failed: Cluster API's core looks after the Node: Machine m shows what it does
            Deleting: the cloud deletes VM v; the host looks until it is gone
            PreDrainHooks: others take their annotations off, and then the host deletes the VM
            Draining: Cluster API's core looks after the Node: Machine m shows what it does
            DrainFailed: Cluster API's core looks after the Node: Machine m shows what it does
            PreTerminateHooks: others take their annotations off, and then the host deletes the VM
            VmTerminating: the cloud deletes VM v; the host looks until it is gone
            VmDeletionFailed: the host deletes VM v again; the message says what the cloud or the driver wants corrected
            NodeDeletionFailed: Cluster API's core looks after the Node: Machine m shows what it does
            FinalizerHeld: the host writes again; if that goes on, the message says which right or policy is missing
            Deleted: nothing: the object is gone at once
            VmDeclaredGone: nothing: the object is gone at once
        "#]].assert_eq(&table);
    }
}
