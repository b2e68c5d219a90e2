//! Brings labels, annotations and taints of a Node in line with its Machine, and leaves those of others alone.
//!
//! A three-way merge between what the Node has, what the Machine wants, and what was last applied.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::driver::virtual_capacity::Quantities;

/// A taint. Its identity is key and effect: a Node has each pair at most once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TaintFact {
    pub key: String,
    /// Its value; empty when there is none.
    pub value: String,
    /// Its effect, as written. Unknown effects are kept like any other.
    pub effect: String,
    /// When Kubernetes put it there. Carried along, never compared.
    pub time_added: Option<Timestamp>,
}

impl TaintFact {
    fn identity(&self) -> (&str, &str) {
        (&self.key, &self.effect)
    }
}

/// Labels, annotations and taints: of a Node, of a template, or as last applied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeMeta {
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
    pub taints: Vec<TaintFact>,
}

impl NodeMeta {
    /// True when there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.annotations.is_empty() && self.taints.is_empty()
    }

    /// The same wishes: times and order of taints, and repetitions, do not count.
    fn wants_the_same_as(&self, other: &Self) -> bool {
        self.labels == other.labels
            && self.annotations == other.annotations
            && by_identity(&self.taints) == by_identity(&other.taints)
    }
}

/// The write to a Node: only the fields that differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeChange {
    /// Labels to set (`Some`) or remove (`None`).
    pub labels: BTreeMap<String, Option<String>>,
    /// Annotations to set (`Some`) or remove (`None`).
    pub annotations: BTreeMap<String, Option<String>>,
    /// All taints of the Node after the change, when any differs. A write of them needs the Node's version as a
    /// precondition, or it removes what others have put there meanwhile.
    pub taints: Option<Vec<TaintFact>>,
    /// The metadata to store as last applied, when it differs. It goes into the same write, as an annotation of the
    /// caller's.
    pub last_applied: Option<NodeMeta>,
    /// Our finalizer is to be put on, beside those that are there.
    pub takes_finalizer: bool,
    /// The virtual capacity to note, when it differs; `Some(None)`: none. See `virtual_capacity`.
    pub capacity_note: Option<Option<Quantities>>,
}

impl NodeChange {
    /// True when there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
            && self.annotations.is_empty()
            && self.taints.is_none()
            && self.last_applied.is_none()
            && !self.takes_finalizer
            && self.capacity_note.is_none()
    }

    /// Adds the controller's own metadata, which wins over the template.
    pub fn with(mut self, node: &NodeMeta, own: &ControllerNodeMeta) -> Self {
        for (key, value) in &own.annotations {
            let is_so = node.annotations.get(key) == value.as_ref();
            if is_so {
                self.annotations.remove(key);
            } else {
                self.annotations.insert(key.clone(), value.clone());
            }
        }
        let mut taints = self.taints.unwrap_or_else(|| node.taints.clone());
        taints.retain(|taint| own.taints_off.iter().all(|off| off.identity() != taint.identity()));
        for on in &own.taints_on {
            if taints.iter().all(|taint| taint.identity() != on.identity()) {
                taints.push(on.clone());
            }
        }
        self.taints = (taints != node.taints).then_some(taints);
        self
    }
}

/// Metadata that the controller itself sets on a Node, beside the template. It is no part of "last applied".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControllerNodeMeta {
    /// Annotations that are to be there (`Some`) or not (`None`).
    pub annotations: BTreeMap<String, Option<String>>,
    /// Taints that are to be there.
    pub taints_on: Vec<TaintFact>,
    /// Taints that are not to be there.
    pub taints_off: Vec<TaintFact>,
}

/// The metadata that a Machine wants on its Node.
#[derive(Clone, Copy, Debug)]
pub struct WantedNodeMeta<'a> {
    /// From the Machine's node template; becomes "last applied".
    pub template: &'a NodeMeta,
    /// Labels that the controller itself keeps, such as the Machine's name. They are no part of "last applied", they
    /// are never removed, and they win over the template.
    pub own_labels: &'a BTreeMap<String, String>,
}

/// Compares and merges.
///
/// Wanted entries are set, also over another value. Entries that were applied last and are no longer wanted are
/// removed. Everything else on the Node is left alone: labels of others, and taints with their order and times.
///
/// `last_applied` is `None` when nothing was ever applied (or cannot be read): then nothing is removed.
///
/// Promises: applied to the Node, the change leads to an empty one.
pub fn merge(node: &NodeMeta, wanted: WantedNodeMeta<'_>, last_applied: Option<&NodeMeta>) -> NodeChange {
    let nothing = NodeMeta::default();
    let last = last_applied.unwrap_or(&nothing);
    let mut labels = wanted.template.labels.clone();
    labels.extend(wanted.own_labels.iter().map(|(key, value)| (key.clone(), value.clone())));
    NodeChange {
        labels: merge_map(&node.labels, &labels, &last.labels),
        annotations: merge_map(&node.annotations, &wanted.template.annotations, &last.annotations),
        taints: merge_taints(&node.taints, &wanted.template.taints, &last.taints),
        last_applied: (!wanted.template.wants_the_same_as(last)).then(|| wanted.template.clone()),
        takes_finalizer: false,
        capacity_note: None,
    }
}

fn merge_map(
    node: &BTreeMap<String, String>,
    wanted: &BTreeMap<String, String>,
    last: &BTreeMap<String, String>,
) -> BTreeMap<String, Option<String>> {
    let to_remove = last.keys().filter(|key| !wanted.contains_key(*key) && node.contains_key(*key));
    let to_set = wanted.iter().filter(|(key, value)| node.get(*key) != Some(value));
    to_remove
        .map(|key| (key.clone(), None))
        .chain(to_set.map(|(key, value)| (key.clone(), Some(value.clone()))))
        .collect()
}

fn merge_taints(node: &[TaintFact], wanted: &[TaintFact], last: &[TaintFact]) -> Option<Vec<TaintFact>> {
    let mut missing = by_identity(wanted);
    let last = by_identity(last);
    let mut merged = Vec::with_capacity(node.len());
    for taint in node {
        match missing.remove(&taint.identity()) {
            Some(value) if value != taint.value => {
                // With another value it is another taint, whose time has not been taken yet.
                merged.push(TaintFact { value: value.to_owned(), time_added: None, ..taint.clone() });
            }
            None if last.contains_key(&taint.identity()) => {}
            Some(_) | None => merged.push(taint.clone()),
        }
    }
    merged.extend(missing.into_iter().map(|((key, effect), value)| TaintFact {
        key: key.to_owned(),
        value: value.to_owned(),
        effect: effect.to_owned(),
        time_added: None,
    }));
    (merged != node).then_some(merged)
}

/// Value by identity; of repetitions the last counts.
fn by_identity(taints: &[TaintFact]) -> BTreeMap<(&str, &str), &str> {
    taints.iter().map(|taint| (taint.identity(), taint.value.as_str())).collect()
}

#[cfg(test)]
mod tests;
