//! Ownership of instances by Machines and clusters.
//!
//! Instances of this driver have labels with the cluster's mark and the Machine's uid. Instances of
//! machine-controller-manager have neither: one belongs to a Machine only if the operator adopts it (`adoption`), by
//! two network tags and the Machine's name. A class's own tags prove nothing, since the class's author chooses them:
//! they only help to find instances that must not count as absent.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use machinist_sdk::driver::Request;

use crate::gce::answer::Instance;
use crate::gce::pending::Pending;
use crate::instance::adoption::TagPair;
use crate::names::{CLUSTER_LABEL, UID_LABEL};

/// Google's limit of a label's value.
const MOST_CHARACTERS: usize = 63;

/// The marks of one cluster's instances.
#[derive(Clone, Debug)]
pub(crate) struct ClusterMarks<'a> {
    pub(crate) cluster: &'a str,
    label: String,
    /// The tags by which this cluster adopts. `None`: it adopts nothing.
    pub(crate) adopted: Option<&'a TagPair>,
}

impl<'a> ClusterMarks<'a> {
    pub(crate) fn new(cluster: &'a str, adopted: Option<&'a TagPair>) -> Self {
        Self { cluster, label: label_value(cluster), adopted }
    }

    /// True if it has the cluster's mark.
    pub(crate) fn are_on(&self, instance: &Instance) -> bool {
        instance.label(CLUSTER_LABEL) == Some(self.label.as_str())
    }

    /// True if it has no marks, but the tags by which this cluster adopts.
    pub(crate) fn adopt(&self, instance: &Instance) -> bool {
        is_unmarked(instance) && self.adopted.is_some_and(|tags| tags.are_on(instance))
    }

    /// Returns a filter for instances with the cluster's mark.
    pub(crate) fn filter(&self) -> String {
        format!("labels.{CLUSTER_LABEL}=\"{}\"", self.label)
    }
}

/// The owner of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// It belongs to the Machine.
    Own,
    /// It belongs to another Machine of this cluster.
    Neighbours,
    /// It belongs to another cluster, which its mark names.
    OfCluster(String),
    /// It has no labels that count.
    Unmarked,
}

/// The marks of one Machine's instance.
#[derive(Clone, Debug)]
pub(crate) struct Marks<'a> {
    pub(crate) cluster: ClusterMarks<'a>,
    pub(crate) name: &'a str,
    uid_label: String,
    /// The number of the instance that this driver has created, by its own note.
    noted: Option<u64>,
}

impl<'a> Marks<'a> {
    pub(crate) fn new(request: &'a Request, adopted: Option<&'a TagPair>) -> Self {
        let machine = &request.machine;
        Self {
            cluster: ClusterMarks::new(&request.cluster, adopted),
            name: &machine.name,
            uid_label: label_value(&machine.uid),
            noted: Pending::parse(machine.last_known_state.as_deref()).instance,
        }
    }

    /// Returns a filter for instances and disks with the Machine's uid, of any cluster.
    pub(crate) fn uid_filter(&self) -> String {
        format!("labels.{UID_LABEL}=\"{}\"", self.uid_label)
    }

    /// True if it has the cluster's mark and the Machine's uid.
    pub(crate) fn are_on(&self, labels: &BTreeMap<String, String>) -> bool {
        let has = |key: &str, value: &str| labels.get(key).is_some_and(|known| known == value);
        has(CLUSTER_LABEL, &self.cluster.label) && has(UID_LABEL, &self.uid_label)
    }

    /// True if it has the Machine's uid, with any cluster's mark.
    pub(crate) fn uid_is_on(&self, instance: &Instance) -> bool {
        instance.label(UID_LABEL) == Some(self.uid_label.as_str())
    }

    /// Returns the owner of the instance that has the Machine's name. A name proves nothing: two namespaces and two
    /// clusters may have it.
    pub(crate) fn whose(&self, instance: &Instance) -> Whose {
        match instance.label(CLUSTER_LABEL) {
            Some(label) if label != self.cluster.label => Whose::OfCluster(shown(label)),
            Some(_) if self.uid_is_on(instance) => Whose::Own,
            Some(_) => Whose::Neighbours,
            None if self.noted == Some(instance.id) => Whose::Own,
            None if instance.name == self.name && self.cluster.adopt(instance) => Whose::Own,
            None => Whose::Unmarked,
        }
    }

    /// Returns the owner of the instance to which the Machine's provider id leads. The id itself proves nothing, since
    /// others write it as well. In this cluster the name is enough, since a Machine that was restored from a backup has
    /// another uid.
    pub(crate) fn whose_by_id(&self, instance: &Instance) -> Whose {
        match self.whose(instance) {
            Whose::Neighbours if instance.name == self.name => Whose::Own,
            other => other,
        }
    }

    /// Returns the labels that prove that something belongs to the Machine.
    pub(crate) fn own_labels(&self) -> [(&'static str, &str); 2] {
        [(CLUSTER_LABEL, &self.cluster.label), (UID_LABEL, &self.uid_label)]
    }
}

/// True if it has neither a cluster's mark nor a Machine's uid.
fn is_unmarked(instance: &Instance) -> bool {
    instance.label(CLUSTER_LABEL).is_none() && instance.label(UID_LABEL).is_none()
}

/// True if it lacks one of both marks.
pub(crate) fn lacks_marks(instance: &Instance) -> bool {
    instance.label(CLUSTER_LABEL).is_none() || instance.label(UID_LABEL).is_none()
}

/// Returns a text as the value of a label. Google takes few characters: others are written as `_` and two digits, and
/// what is then too long as `__` and a digest.
pub(crate) fn label_value(text: &str) -> String {
    let mut value = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' {
            value.push(char::from(byte));
        } else {
            // Writing to a text cannot fail.
            let _ = write!(value, "_{byte:02x}");
        }
    }
    if value.len() <= MOST_CHARACTERS {
        return value;
    }
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for byte in text.bytes() {
        hash = (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    }
    format!("__{hash:032x}")
}

/// Returns the text of a label's value, as far as it can be known.
fn shown(value: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = value;
    while let Some(at) = rest.find('_') {
        let (plain, escape) = rest.split_at(at);
        bytes.extend_from_slice(plain.as_bytes());
        let byte = escape.get(1..3).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let (Some(byte), Some(after)) = (byte, escape.get(3..)) else { return value.to_owned() };
        bytes.push(byte);
        rest = after;
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8(bytes).unwrap_or_else(|_| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_a_label_and_comes_back() {
        for (text, value) in [
            ("5c0e8f8a-1b1b-4f4f-9e9e-0123456789ab", "5c0e8f8a-1b1b-4f4f-9e9e-0123456789ab"),
            ("Prod.Eu", "_50rod_2e_45u"),
            ("a_2e", "a_5f2e"),
            ("ä", "_c3_a4"),
            ("", ""),
        ] {
            assert_eq!(label_value(text), value);
            assert_eq!(shown(value), text);
        }
    }

    #[test]
    fn long_marks_stay_apart() {
        let (first, second) = (label_value(&"A".repeat(80)), label_value(&"A".repeat(81)));
        assert_ne!(first, second);
        assert_eq!((first.len(), &first[..2]), (34, "__"));
        assert_eq!(shown(&first), first);
    }
}
