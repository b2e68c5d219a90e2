//! Keys that are reconciled, and kinds that are watched.

use machinist_core::value::id::ObjectKey;

/// The key of an object that is reconciled.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    /// A Secret, for its finalizer.
    Secret(ObjectKey),
    /// A MachineClass, for its finalizer.
    Class(ObjectKey),
    Machine(ObjectKey),
    Set(ObjectKey),
    Deployment(ObjectKey),
    /// A VM of a Machine of Cluster API.
    InfraMachine(ObjectKey),
    /// Settings that the machines of a cluster of Cluster API share.
    InfraCluster(ObjectKey),
    /// A MachinistIdentity, for its finalizer.
    InfraIdentity(ObjectKey),
    /// A Secret with the credentials of machines of Cluster API, for its finalizer. No watch shows it.
    InfraSecret(ObjectKey),
    /// A template of machines for Cluster API.
    InfraTemplate(ObjectKey),
    /// A remediation of a machine of Cluster API.
    InfraRemediation(ObjectKey),
}

impl Key {
    /// For metrics and logs: a closed set.
    pub(crate) fn controller(&self) -> &'static str {
        match self {
            Self::Secret(_) => "secret",
            Self::Class(_) => "machineclass",
            Self::Machine(_) => "machine",
            Self::Set(_) => "machineset",
            Self::Deployment(_) => "machinedeployment",
            Self::InfraMachine(_) => "machinistmachine",
            Self::InfraCluster(_) => "machinistcluster",
            Self::InfraIdentity(_) | Self::InfraSecret(_) => "machinistidentity",
            Self::InfraTemplate(_) => "machinistmachinetemplate",
            Self::InfraRemediation(_) => "machinistremediation",
        }
    }

    pub(crate) fn object(&self) -> &ObjectKey {
        match self {
            Self::Secret(key)
            | Self::Class(key)
            | Self::Machine(key)
            | Self::Set(key)
            | Self::Deployment(key)
            | Self::InfraMachine(key)
            | Self::InfraCluster(key)
            | Self::InfraTemplate(key)
            | Self::InfraRemediation(key)
            | Self::InfraIdentity(key)
            | Self::InfraSecret(key) => key,
        }
    }

    /// Of which kind its own object is.
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Secret(_) => Kind::Secret,
            Self::Class(_) => Kind::Class,
            Self::Machine(_) => Kind::Machine,
            Self::Set(_) => Kind::Set,
            Self::Deployment(_) => Kind::Deployment,
            Self::InfraMachine(_) => Kind::InfraMachine,
            Self::InfraCluster(_) => Kind::InfraCluster,
            Self::InfraIdentity(_) | Self::InfraSecret(_) => Kind::InfraIdentity,
            Self::InfraTemplate(_) => Kind::InfraTemplate,
            Self::InfraRemediation(_) => Kind::InfraRemediation,
        }
    }
}

/// Kinds whose versions arrive in order, one watch for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Machines of the control namespace.
    Machine,
    /// Classes of the control namespace.
    Class,
    /// Secrets of the control namespace.
    Secret,
    /// Nodes of the target cluster.
    Node,
    /// Sets of the control namespace.
    Set,
    /// Deployments of the control namespace.
    Deployment,
    InfraMachine,
    InfraCluster,
    InfraTemplate,
    InfraRemediation,
    InfraIdentity,
    /// Machines of Cluster API.
    OwnerMachine,
    /// Clusters of Cluster API.
    OwnerCluster,
}
