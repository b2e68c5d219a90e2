//! Ownership of resources by Machines and clusters.
//!
//! VMs, network interfaces and disks of this driver have tags with the cluster's mark and the Machine's uid and name.
//! Those of machine-controller-manager have none: they belong to a Machine only if the operator adopts them
//! (`adoption`), by two tag keys and the Machine's name. A class's own tags prove nothing, since the class's author
//! chooses them.

use std::collections::BTreeMap;

use machinist_sdk::driver::Request;

use crate::class::spec::Spec;
use crate::tags::{CLUSTER_TAG, NAME_TAG, TagKeys, Tags, UID_TAG};

/// The owner of a resource that has the name of a Machine's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// It belongs to the Machine.
    Own,
    /// It belongs to another Machine of this cluster.
    Neighbours,
    /// It belongs to another cluster, which its mark names. `is_moved`: it has the Machine's uid, from before the
    /// control plane was moved.
    OfCluster { cluster: String, is_moved: bool },
    /// It has no tags that count. `is_likely`: it has the tags of the class, so another program may have made it for
    /// this Machine.
    Unmarked { is_likely: bool },
}

/// The marks of one Machine's resources.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks<'a> {
    pub(crate) cluster: &'a str,
    pub(crate) uid: &'a str,
    pub(crate) name: &'a str,
    /// True if the Machine's provider id is stored: a Machine that was restored from a backup has another uid.
    has_id: bool,
    /// The keys by which this cluster adopts. `None`: it adopts nothing.
    pub(crate) adopted: Option<&'a TagKeys>,
}

impl<'a> Marks<'a> {
    pub(crate) fn new(request: &'a Request, adopted: Option<&'a TagKeys>) -> Self {
        let machine = &request.machine;
        Self {
            cluster: &request.cluster,
            uid: &machine.uid,
            name: &machine.name,
            has_id: machine.provider_id.is_some(),
            adopted,
        }
    }

    /// Returns the owner of a resource by its tags. `is_named` says that its own name is derived from the Machine's.
    pub(crate) fn whose(&self, tags: &Tags, is_named: bool, class_keys: Option<&TagKeys>) -> Whose {
        let is_uid = tags.get(UID_TAG) == Some(self.uid);
        match tags.get(CLUSTER_TAG) {
            Some(cluster) if cluster != self.cluster => {
                Whose::OfCluster { cluster: cluster.to_owned(), is_moved: is_uid }
            }
            Some(_) if is_uid => Whose::Own,
            Some(_) if self.has_id && tags.get(NAME_TAG) == Some(self.name) => Whose::Own,
            Some(_) => Whose::Neighbours,
            None if tags.get(UID_TAG).is_none() && is_named && self.adopts(tags) => Whose::Own,
            None => Whose::Unmarked { is_likely: class_keys.is_some_and(|keys| keys.are_in(tags)) },
        }
    }

    fn adopts(&self, tags: &Tags) -> bool {
        self.adopted.is_some_and(|keys| keys.are_in(tags))
    }

    /// Returns the tags of everything that is created for the Machine.
    pub(crate) fn tags(&self, spec: &Spec) -> BTreeMap<String, String> {
        let mut tags = spec.tags.clone();
        for (key, value) in self.own_tags() {
            tags.insert(key.to_owned(), value.to_owned());
        }
        tags
    }

    /// Returns the tags that prove that a resource belongs to the Machine.
    pub(crate) fn own_tags(&self) -> [(&'static str, &'a str); 3] {
        [(CLUSTER_TAG, self.cluster), (UID_TAG, self.uid), (NAME_TAG, self.name)]
    }
}

/// True if it lacks the cluster's mark or the Machine's uid.
pub(crate) fn lacks_marks(tags: &Tags) -> bool {
    tags.get(CLUSTER_TAG).is_none() || tags.get(UID_TAG).is_none()
}

/// True if it has neither.
pub(crate) fn is_unmarked(tags: &Tags) -> bool {
    tags.get(CLUSTER_TAG).is_none() && tags.get(UID_TAG).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(pairs: &[(&str, &str)]) -> Tags {
        Tags(pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect())
    }

    fn marks(has_id: bool, adopted: Option<&TagKeys>) -> Marks<'_> {
        Marks { cluster: "c1", uid: "u1", name: "vm-1", has_id, adopted }
    }

    #[test]
    fn only_marks_and_the_operator_s_keys_prove_ownership() {
        let keys = TagKeys { cluster: "kubernetes.io-cluster-a".into(), role: "kubernetes.io-role-b".into() };
        let mcm = tags(&[("kubernetes.io-cluster-a", "1"), ("kubernetes.io-role-b", "1")]);
        let whose = |tags: &Tags, has_id: bool| marks(has_id, None).whose(tags, true, Some(&keys));
        let own = tags(&[("Machinist.dev-Cluster", "c1"), (UID_TAG, "u1")]);
        assert_eq!(whose(&own, false), Whose::Own);
        let restored = tags(&[(CLUSTER_TAG, "c1"), (UID_TAG, "u0"), (NAME_TAG, "vm-1")]);
        assert_eq!((whose(&restored, true), whose(&restored, false)), (Whose::Own, Whose::Neighbours));
        let moved = tags(&[(CLUSTER_TAG, "c2"), (UID_TAG, "u1")]);
        assert_eq!(whose(&moved, false), Whose::OfCluster { cluster: "c2".into(), is_moved: true });
        assert_eq!(whose(&mcm, true), Whose::Unmarked { is_likely: true });
        assert_eq!(whose(&Tags::default(), true), Whose::Unmarked { is_likely: false });
        let adopting = marks(false, Some(&keys));
        assert_eq!(adopting.whose(&mcm, true, None), Whose::Own);
        assert_eq!(adopting.whose(&mcm, false, None), Whose::Unmarked { is_likely: false });
        let half = tags(&[("kubernetes.io-cluster-a", "1"), ("kubernetes.io-role-b", "1"), (UID_TAG, "u2")]);
        assert_eq!(adopting.whose(&half, true, None), Whose::Unmarked { is_likely: false });
    }
}
