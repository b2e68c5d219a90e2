//! The tags by which resources are known: those of this driver, and those of machine-controller-manager.
//!
//! Azure refuses a slash in the name of a tag, and ignores the case of names.

use std::collections::BTreeMap;

/// The tag with the cluster's mark.
pub(crate) const CLUSTER_TAG: &str = "machinist.dev-cluster";
/// The tag with the Machine's uid.
pub(crate) const UID_TAG: &str = "machinist.dev-machine-uid";
/// The tag with the Machine's name.
pub(crate) const NAME_TAG: &str = "machinist.dev-machine-name";
/// All tags of this driver.
pub(crate) const OWN_TAGS: [&str; 3] = [CLUSTER_TAG, UID_TAG, NAME_TAG];

/// The prefix of the key that marks a cluster's resources; the cluster's name follows.
pub(crate) const CLUSTER_KEY: &str = "kubernetes.io-cluster-";
/// The prefix of the key with a role; the role follows.
pub(crate) const ROLE_KEY: &str = "kubernetes.io-role-";

/// The tags of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tags(pub(crate) BTreeMap<String, String>);

impl Tags {
    /// Returns the value of a tag, by its name in any case.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known.eq_ignore_ascii_case(key)).map(|(_, value)| value.as_str())
    }
}

/// The keys of the two tags that machine-controller-manager set on each resource of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TagKeys {
    pub(crate) cluster: String,
    pub(crate) role: String,
}

impl TagKeys {
    /// True if both tags are there.
    pub(crate) fn are_in(&self, tags: &Tags) -> bool {
        tags.get(&self.cluster).is_some() && tags.get(&self.role).is_some()
    }
}
