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
