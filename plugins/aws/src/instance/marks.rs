//! Ownership of EC2 instances by Machines and clusters.
//!
//! Instances of this driver have tags with the cluster's mark and the Machine's uid. Instances of
//! machine-controller-manager have neither: one belongs to a Machine only if the operator adopts it (`adoption`), by
//! two tag keys and the Machine's name. A class's own tags prove nothing, since the class's author chooses them: they
//! only help to find instances that must not count as absent.

use std::collections::BTreeMap;

use machinist_sdk::driver::Request;

use crate::class::spec::Spec;
use crate::ec2::answer::Instance;
use crate::ec2::params::Filter;
use crate::ec2::pending::is_token_of;
use crate::tags::{CLUSTER_TAG, NAME_TAG, TagKeys, UID_TAG};

/// States in which an instance exists.
const STATES: [&str; 4] = ["pending", "running", "stopping", "stopped"];

/// The marks of one cluster's instances.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClusterMarks<'a> {
    pub(crate) cluster: &'a str,
    /// The keys by which this cluster adopts. `None`: it adopts nothing.
    pub(crate) adopted: Option<&'a TagKeys>,
}

impl<'a> ClusterMarks<'a> {
    /// True if it has the cluster's mark.
    pub(crate) fn are_on(&self, instance: &Instance) -> bool {
        instance.tag(CLUSTER_TAG) == Some(self.cluster)
    }

    /// True if it has no marks, but the keys by which this cluster adopts.
    pub(crate) fn adopt(&self, instance: &Instance) -> bool {
        is_unmarked(instance) && self.adopted.is_some_and(|keys| keys.are_on(instance))
    }

    /// Returns filters for instances with the cluster's mark.
    pub(crate) fn filters(&self) -> Vec<Filter> {
        vec![Filter::tag(CLUSTER_TAG, self.cluster), exists()]
    }

    /// Returns filters for instances with these tag keys, of any program.
    pub(crate) fn key_filters(keys: &TagKeys) -> Vec<Filter> {
        vec![Filter::new("tag-key", &keys.cluster), Filter::new("tag-key", &keys.role), exists()]
    }
}

/// The owner of the instance to which a Machine's provider id leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose<'a> {
    /// It belongs to the Machine.
    Own,
    /// It belongs to another Machine of this cluster.
    Neighbours,
    /// It belongs to another cluster, which its mark names.
    OfCluster(&'a str),
    /// It has no tags that count.
    Unmarked,
}

/// The marks of one Machine's instance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks<'a> {
    pub(crate) cluster: ClusterMarks<'a>,
    pub(crate) uid: &'a str,
    pub(crate) name: &'a str,
    /// The idempotency key, from which client tokens are derived.
    key: &'a str,
    /// The class's tag keys, which prove nothing.
    class_keys: Option<&'a TagKeys>,
}

impl<'a> Marks<'a> {
    pub(crate) fn new(
        request: &'a Request,
        class_keys: Option<&'a TagKeys>,
        adopted: Option<&'a TagKeys>,
    ) -> Self {
        let cluster = ClusterMarks { cluster: &request.cluster, adopted };
        let machine = &request.machine;
        Self { cluster, uid: &machine.uid, name: &machine.name, key: &request.idempotency_key, class_keys }
    }

    pub(crate) fn uid_filters(&self) -> Vec<Filter> {
        vec![Filter::tag(UID_TAG, self.uid), Filter::tag(CLUSTER_TAG, self.cluster.cluster), exists()]
    }

    /// Returns one search for each pair of keys: the operator's, then the class's. None without keys: a name alone is
    /// no mark.
    pub(crate) fn name_filters(&self) -> Vec<Vec<Filter>> {
        let class_keys = self.class_keys.filter(|keys| self.cluster.adopted != Some(keys));
        let pairs = self.cluster.adopted.into_iter().chain(class_keys);
        let filters = |keys| {
            let keys = ClusterMarks::key_filters(keys);
            [Filter::tag(NAME_TAG, self.name)].into_iter().chain(keys).collect()
        };
        pairs.map(filters).collect()
    }

    /// True if it has the Machine's uid.
    pub(crate) fn are_on(&self, instance: &Instance) -> bool {
        self.cluster.are_on(instance) && self.uid_is_on(instance)
    }

    /// True if an instance that was found by its name belongs to the Machine: it has no uid, and has the cluster's mark
    /// or the adopted keys, or it was launched for this Machine.
    pub(crate) fn own_by_name(&self, instance: &Instance) -> bool {
        let is_ours = self.cluster.are_on(instance) || self.cluster.adopt(instance);
        instance.tag(UID_TAG).is_none()
            && self.name_is_on(instance)
            && (is_ours || self.is_launched_for_it(instance))
    }

    /// True if it has the Machine's name and no marks: it may belong to this Machine, and nothing proves it.
    pub(crate) fn may_be_on(&self, instance: &Instance) -> bool {
        is_unmarked(instance) && self.name_is_on(instance)
    }

    /// Returns the owner of the instance to which the Machine's provider id leads. The id itself proves nothing, since
    /// others write it as well. In this cluster the name is enough, since a Machine that was restored from a backup has
    /// another uid. An instance that was launched with the Machine's own client token belongs to it, whatever its tags.
    pub(crate) fn whose<'b>(&self, instance: &'b Instance) -> Whose<'b> {
        match instance.tag(CLUSTER_TAG) {
            Some(cluster) if cluster != self.cluster.cluster => Whose::OfCluster(cluster),
            Some(_) if self.name_is_on(instance) || self.uid_is_on(instance) => Whose::Own,
            Some(_) => Whose::Neighbours,
            None if self.is_launched_for_it(instance) => Whose::Own,
            None if self.name_is_on(instance) && self.cluster.adopt(instance) => Whose::Own,
            None => Whose::Unmarked,
        }
    }

    /// Returns the mark of another cluster, if the instance has one.
    pub(crate) fn other_cluster<'b>(&self, instance: &'b Instance) -> Option<&'b str> {
        instance.tag(CLUSTER_TAG).filter(|cluster| *cluster != self.cluster.cluster)
    }

    /// True if it has the Machine's uid, with any cluster's mark. A name proves nothing: clusters that share classes
    /// share names.
    pub(crate) fn uid_is_on(&self, instance: &Instance) -> bool {
        instance.tag(UID_TAG) == Some(self.uid)
    }

    fn name_is_on(&self, instance: &Instance) -> bool {
        instance.tag(NAME_TAG) == Some(self.name)
    }

    fn is_launched_for_it(&self, instance: &Instance) -> bool {
        instance.client_token.as_deref().is_some_and(|token| is_token_of(self.key, token))
    }

    /// Returns the tags of everything that is created for the Machine.
    pub(crate) fn tags(&self, spec: &Spec) -> BTreeMap<String, String> {
        let own = self.own_tags().into_iter().chain([(NAME_TAG, self.name)]);
        let own = own.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let mut tags = spec.tags.clone();
        // Not collected: that would bring a sort of five kilobytes into the component. The other maps do the same.
        tags.extend(own);
        tags
    }

    /// Returns the tags that prove that the instance belongs to the Machine.
    pub(crate) fn own_tags(&self) -> [(&'static str, &'a str); 2] {
        [(CLUSTER_TAG, self.cluster.cluster), (UID_TAG, self.uid)]
    }
}

/// True if it has neither a cluster's mark nor a Machine's uid.
fn is_unmarked(instance: &Instance) -> bool {
    instance.tag(CLUSTER_TAG).is_none() && instance.tag(UID_TAG).is_none()
}

/// True if it lacks one of both marks.
pub(crate) fn lacks_marks(instance: &Instance) -> bool {
    instance.tag(CLUSTER_TAG).is_none() || instance.tag(UID_TAG).is_none()
}

fn exists() -> Filter {
    Filter::any_of("instance-state-name", &STATES)
}
