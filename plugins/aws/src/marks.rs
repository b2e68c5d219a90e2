//! Which instance is whose.
//!
//! What this driver makes carries the cluster's name and the Machine's uid. What machine-controller-manager has made
//! carries neither: it is known by two tag keys of the class, and by the Machine's name.

use std::collections::BTreeMap;

use machinist_sdk::driver::Request;

use crate::answer::Instance;
use crate::params::Filter;
use crate::spec::{Spec, TagKeys};

/// The tag with the Machine's name.
pub(crate) const NAME_TAG: &str = "Name";
/// The tag with the Machine's uid.
pub(crate) const UID_TAG: &str = "machinist.dev/machine-uid";
/// The tag with the cluster's name.
pub(crate) const CLUSTER_TAG: &str = "machinist.dev/cluster";

/// States in which an instance exists.
const STATES: [&str; 4] = ["pending", "running", "stopping", "stopped"];

/// The marks of one cluster's instances.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClusterMarks<'a> {
    pub(crate) cluster: &'a str,
    /// `None` when the class does not say them.
    pub(crate) keys: Option<&'a TagKeys>,
}

impl ClusterMarks<'_> {
    /// True when it carries the cluster's name; without any cluster's name, the class's keys decide.
    pub(crate) fn are_on(&self, instance: &Instance) -> bool {
        match instance.tag(CLUSTER_TAG) {
            Some(cluster) => cluster == self.cluster,
            None => self.keys.is_some_and(|keys| has_keys(instance, keys)),
        }
    }

    /// Filters for what carries the cluster's name.
    pub(crate) fn filters(&self) -> Vec<Filter> {
        vec![Filter::tag(CLUSTER_TAG, self.cluster), exists()]
    }

    /// Filters for what carries the class's keys, by whoever it was made.
    pub(crate) fn key_filters(keys: &TagKeys) -> Vec<Filter> {
        vec![Filter::new("tag-key", &keys.cluster), Filter::new("tag-key", &keys.role), exists()]
    }
}

/// The marks of one Machine's instance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks<'a> {
    pub(crate) cluster: ClusterMarks<'a>,
    pub(crate) uid: &'a str,
    pub(crate) name: &'a str,
}

impl<'a> Marks<'a> {
    pub(crate) fn new(request: &'a Request, keys: Option<&'a TagKeys>) -> Self {
        let cluster = ClusterMarks { cluster: &request.cluster, keys };
        Self { cluster, uid: &request.machine.uid, name: &request.machine.name }
    }

    pub(crate) fn uid_filters(&self) -> Vec<Filter> {
        vec![Filter::tag(UID_TAG, self.uid), Filter::tag(CLUSTER_TAG, self.cluster.cluster), exists()]
    }

    /// `None` without the class's keys: a name alone is no mark.
    pub(crate) fn name_filters(&self) -> Option<Vec<Filter>> {
        let keys = ClusterMarks::key_filters(self.cluster.keys?);
        Some([Filter::tag(NAME_TAG, self.name)].into_iter().chain(keys).collect())
    }

    /// True when it carries the Machine's uid.
    pub(crate) fn are_on(&self, instance: &Instance) -> bool {
        instance.tag(CLUSTER_TAG) == Some(self.cluster.cluster) && instance.tag(UID_TAG) == Some(self.uid)
    }

    /// True when it carries the Machine's name and nobody's uid.
    pub(crate) fn name_is_on(&self, instance: &Instance) -> bool {
        instance.tag(UID_TAG).is_none()
            && instance.tag(NAME_TAG) == Some(self.name)
            && self.cluster.are_on(instance)
    }

    /// True when an instance to which the Machine's provider id leads is the Machine's. With the id, the name is as good as
    /// the uid, since a Machine that was restored from a backup has another uid. What machine-controller-manager has made is
    /// known by its name also when the class lost its keys.
    pub(crate) fn belong_to(&self, instance: &Instance) -> bool {
        let is_named = instance.tag(NAME_TAG) == Some(self.name);
        match instance.tag(CLUSTER_TAG) {
            Some(cluster) => {
                cluster == self.cluster.cluster && (is_named || instance.tag(UID_TAG) == Some(self.uid))
            }
            None => is_named && self.cluster.keys.is_none_or(|keys| has_keys(instance, keys)),
        }
    }

    /// The mark of another cluster, when the instance carries one.
    pub(crate) fn other_cluster<'b>(&self, instance: &'b Instance) -> Option<&'b str> {
        instance.tag(CLUSTER_TAG).filter(|cluster| *cluster != self.cluster.cluster)
    }

    /// True when it carries the Machine's uid, whichever cluster's mark it carries. A name proves nothing: clusters that
    /// share classes share names.
    pub(crate) fn uid_is_on(&self, instance: &Instance) -> bool {
        instance.tag(UID_TAG) == Some(self.uid)
    }

    /// The tags of all that is made for the Machine.
    pub(crate) fn tags(&self, spec: &Spec) -> BTreeMap<String, String> {
        let own = [(NAME_TAG, self.name), (UID_TAG, self.uid), (CLUSTER_TAG, self.cluster.cluster)];
        let own = own.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned()));
        spec.tags.clone().into_iter().chain(own).collect()
    }
}

fn has_keys(instance: &Instance, keys: &TagKeys) -> bool {
    instance.tags.contains_key(&keys.cluster) && instance.tags.contains_key(&keys.role)
}

fn exists() -> Filter {
    Filter::any_of("instance-state-name", &STATES)
}
