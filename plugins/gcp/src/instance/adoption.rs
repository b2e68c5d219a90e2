//! The operator's choice of instances of another program that a cluster adopts.
//!
//! The plugin's settings, which only operators write, contain it: `{"adopt": {"CLUSTER": ["TAG", "TAG"]}}`, with the
//! mark of the cluster (the host's `--cluster-id`) and the two network tags that machine-controller-manager set on its
//! instances.

use std::collections::BTreeMap;

use machinist_sdk::driver::{Code, Failure, quoted_up_to as quoted};
use serde_json::Value;

use crate::gce::answer::Instance;
use crate::names::{CLUSTER_TAG, ROLE_TAG};

/// The two network tags that machine-controller-manager set on each instance of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TagPair {
    pub(crate) cluster: String,
    pub(crate) role: String,
}

impl TagPair {
    /// True if the instance has both tags.
    pub(crate) fn are_on(&self, instance: &Instance) -> bool {
        instance.tags.contains(&self.cluster) && instance.tags.contains(&self.role)
    }
}

/// Returns the tags by which this cluster adopts. `None`: it adopts nothing. The error says what to write.
pub(crate) fn of(settings: &str, cluster: &str) -> Result<Option<TagPair>, Failure> {
    let value: Value =
        serde_json::from_str(settings).map_err(|_| invalid("the plugin's settings are not JSON"))?;
    let clusters = match value.get("adopt") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Object(clusters)) => clusters,
        Some(_) => return Err(invalid("adopt in the plugin's settings must be an object")),
    };
    let mut all = BTreeMap::new();
    for (name, tags) in clusters {
        let tags = tags_of(name, tags)?;
        if let Some(other) = all.insert(tags.cluster.clone(), name) {
            return Err(invalid(&format!(
                "adopt in the plugin's settings gives the tag {:?} to two clusters, {:?} and {:?}",
                quoted(&tags.cluster, 80),
                quoted(other, 80),
                quoted(name, 80)
            )));
        }
    }
    clusters.get(cluster).map(|tags| tags_of(cluster, tags)).transpose()
}

fn tags_of(cluster: &str, tags: &Value) -> Result<TagPair, Failure> {
    let texts: Vec<&str> = tags.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let named = |part: &str| {
        let has_name = |tag: &&&str| tag.split_once(part).is_some_and(|(_, rest)| !rest.trim().is_empty());
        texts.iter().find(has_name).map(|tag| (*tag).to_owned())
    };
    match (named(CLUSTER_TAG), named(ROLE_TAG), texts.len()) {
        (Some(cluster), Some(role), 2) => Ok(TagPair { cluster, role }),
        _ => Err(invalid(&format!(
            "adopt in the plugin's settings needs two network tags for cluster {:?}",
            quoted(cluster, 80)
        ))),
    }
}

/// Returns the setting with which this cluster adopts. It contains no tags of a class: the class's author could name
/// another cluster's tags, and an operator would copy them.
pub(crate) fn advice(cluster: &str) -> String {
    let cluster = Value::from(quoted(cluster, 80));
    format!(r#"{{"adopt": {{{cluster}: ["{CLUSTER_TAG}NAME", "{ROLE_TAG}ROLE"]}}}}"#)
}

fn invalid(what: &str) -> Failure {
    Failure::new(Code::FailedPrecondition, format!("{what}: write {}", advice("CLUSTER-ID")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(cluster: &str, role: &str) -> TagPair {
        TagPair { cluster: cluster.to_owned(), role: role.to_owned() }
    }

    #[test]
    fn a_cluster_adopts_by_the_two_tags_that_its_operator_names() {
        let settings = r#"{"adopt": {
            "c1": ["kubernetes-io-role-node", "kubernetes-io-cluster-shoot--a--b"],
            "c2": ["kubernetes-io-cluster-two", "kubernetes-io-role-node"]
        }}"#;
        let one = tags("kubernetes-io-cluster-shoot--a--b", "kubernetes-io-role-node");
        assert_eq!(of(settings, "c1").unwrap(), Some(one));
        assert_eq!(of(settings, "c3").unwrap(), None);
        assert_eq!(of("{}", "c1").unwrap(), None);
        let taken = of(&advice("c1"), "c1").unwrap();
        assert_eq!(taken, Some(tags("kubernetes-io-cluster-NAME", "kubernetes-io-role-ROLE")));
    }

    #[test]
    fn attack_tags_that_many_clusters_have_adopt_nothing() {
        for invalid in [
            "adopt",
            r#"{"adopt": true}"#,
            r#"{"adopt": {"c1": []}}"#,
            r#"{"adopt": {"c1": ["node", "kubernetes-io-role-node"]}}"#,
            r#"{"adopt": {"c1": ["kubernetes-io-cluster-", "kubernetes-io-role-node"]}}"#,
            r#"{"adopt": {"c1": ["kubernetes-io-cluster-one"]}}"#,
            r#"{"adopt": {"c1": ["kubernetes-io-cluster-one", "kubernetes-io-role-node", "x"]}}"#,
            r#"{"adopt": {"c1": ["kubernetes-io-cluster-one", "kubernetes-io-role-a"],
                          "c2": ["kubernetes-io-cluster-one", "kubernetes-io-role-b"]}}"#,
        ] {
            let error = of(invalid, "c1").unwrap_err();
            assert_eq!((error.code, error.terminal), (Code::FailedPrecondition, false), "{invalid}");
            assert!(error.message.contains("write {\"adopt\""), "{invalid}: {}", error.message);
        }
    }
}
