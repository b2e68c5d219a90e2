//! The tags by which instances are known: those of this driver, and those of machine-controller-manager.

use crate::ec2::answer::Instance;

/// The tag with the Machine's name.
pub(crate) const NAME_TAG: &str = "Name";
/// The tag with the Machine's uid.
pub(crate) const UID_TAG: &str = "machinist.dev/machine-uid";
/// The tag with the cluster's mark.
pub(crate) const CLUSTER_TAG: &str = "machinist.dev/cluster";

/// The prefix of the key that marks a cluster's instances; the cluster's name follows.
pub(crate) const CLUSTER_KEY: &str = "kubernetes.io/cluster/";
/// The prefix of the key with a role; the role follows.
pub(crate) const ROLE_KEY: &str = "kubernetes.io/role/";

/// The keys of the two tags that machine-controller-manager set on each instance of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TagKeys {
    pub(crate) cluster: String,
    pub(crate) role: String,
}

impl TagKeys {
    /// True if the instance has both tags.
    pub(crate) fn are_on(&self, instance: &Instance) -> bool {
        instance.tags.contains_key(&self.cluster) && instance.tags.contains_key(&self.role)
    }
}
