//! The operator's choice of VMs of another program that a cluster adopts.
//!
//! The plugin's settings, which only operators write, contain it: `{"adopt": {"CLUSTER": ["KEY", "KEY"]}}`, with the
//! mark of the cluster (the host's `--cluster-id`) and the keys of the two tags that machine-controller-manager set on
//! its resources.

use std::collections::BTreeMap;

use machinist_sdk::driver::{Code, Failure, quoted_up_to as quoted};
use serde_json::Value;

use crate::tags::{CLUSTER_KEY, ROLE_KEY, TagKeys};

/// Returns the keys by which this cluster adopts. `None`: it adopts nothing. The error says what to write.
pub(crate) fn of(settings: &str, cluster: &str) -> Result<Option<TagKeys>, Failure> {
    let value: Value =
        serde_json::from_str(settings).map_err(|_| invalid("the plugin's settings are not JSON"))?;
    let clusters = match value.get("adopt") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Object(clusters)) => clusters,
        Some(_) => return Err(invalid("adopt in the plugin's settings must be an object")),
    };
    let mut all = BTreeMap::new();
    for (name, keys) in clusters {
        let keys = keys_of(name, keys)?;
        if let Some(other) = all.insert(keys.cluster.clone(), name) {
            return Err(invalid(&format!(
                "adopt in the plugin's settings gives the tag {:?} to two clusters, {:?} and {:?}",
                quoted(&keys.cluster, 80),
                quoted(other, 80),
                quoted(name, 80)
            )));
        }
    }
    clusters.get(cluster).map(|keys| keys_of(cluster, keys)).transpose()
}

fn keys_of(cluster: &str, keys: &Value) -> Result<TagKeys, Failure> {
    let texts: Vec<&str> = keys.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let named = |prefix: &str| {
        let key =
            texts.iter().find(|key| key.strip_prefix(prefix).is_some_and(|rest| !rest.trim().is_empty()));
        key.map(|key| (*key).to_owned())
    };
    match (named(CLUSTER_KEY), named(ROLE_KEY), texts.len()) {
        (Some(cluster), Some(role), 2) => Ok(TagKeys { cluster, role }),
        _ => Err(invalid(&format!(
            "adopt in the plugin's settings needs two tag keys for cluster {:?}",
            quoted(cluster, 80)
        ))),
    }
}

/// Returns the setting with which this cluster adopts. It contains no keys of a class: the class's author could name
/// another cluster's keys, and an operator would copy them.
pub(crate) fn advice(cluster: &str) -> String {
    let cluster = Value::from(quoted(cluster, 80));
    format!(r#"{{"adopt": {{{cluster}: ["{CLUSTER_KEY}NAME", "{ROLE_KEY}ROLE"]}}}}"#)
}

fn invalid(what: &str) -> Failure {
    Failure::new(Code::FailedPrecondition, format!("{what}: write {}", advice("CLUSTER-ID")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(cluster: &str, role: &str) -> TagKeys {
        TagKeys { cluster: cluster.to_owned(), role: role.to_owned() }
    }

    #[test]
    fn a_cluster_adopts_by_the_two_keys_that_its_operator_names_and_no_other_cluster_does() {
        let settings = r#"{"endpoint": null, "adopt": {
            "c1": ["kubernetes.io-role-node", "kubernetes.io-cluster-one"],
            "c2": ["kubernetes.io-cluster-two", "kubernetes.io-role-node"]
        }}"#;
        let one = keys("kubernetes.io-cluster-one", "kubernetes.io-role-node");
        assert_eq!(of(settings, "c1").unwrap(), Some(one));
        let two = keys("kubernetes.io-cluster-two", "kubernetes.io-role-node");
        assert_eq!(of(settings, "c2").unwrap(), Some(two));
        assert_eq!(of(settings, "c3").unwrap(), None);
        for nothing in ["{}", r#"{"adopt": null}"#, r#"{"adopt": {}}"#] {
            assert_eq!(of(nothing, "c1").unwrap(), None, "{nothing}");
        }
    }

    #[test]
    fn what_the_advice_shows_is_what_the_settings_take() {
        let taken = of(&advice("c1"), "c1").unwrap();
        assert_eq!(taken, Some(keys("kubernetes.io-cluster-NAME", "kubernetes.io-role-ROLE")));
    }

    #[test]
    fn attack_keys_that_many_clusters_have_adopt_nothing() {
        for invalid in [
            r#"{"adopt": true}"#,
            r#"{"adopt": {"c1": true}}"#,
            r#"{"adopt": {"c1": []}}"#,
            r#"{"adopt": {"c1": ["Name", "kubernetes.io-role-node"]}}"#,
            r#"{"adopt": {"c1": ["kubernetes.io-cluster-", "kubernetes.io-role-node"]}}"#,
            r#"{"adopt": {"c1": ["kubernetes.io-cluster-one"]}}"#,
            r#"{"adopt": {"c1": ["kubernetes.io-cluster-one", "kubernetes.io-role- "]}}"#,
            r#"{"adopt": {"c1": ["kubernetes.io-cluster-one", "kubernetes.io-cluster-two"]}}"#,
            r#"{"adopt": {"c1": ["kubernetes.io-cluster-one", "kubernetes.io-role-node", "Name"]}}"#,
            // One cluster's VMs in two clusters: each would delete the other's.
            r#"{"adopt": {"c1": ["kubernetes.io-cluster-one", "kubernetes.io-role-a"],
                          "c2": ["kubernetes.io-cluster-one", "kubernetes.io-role-b"]}}"#,
            "adopt",
        ] {
            let error = of(invalid, "c1").unwrap_err();
            assert_eq!((error.code, error.terminal), (Code::FailedPrecondition, false), "{invalid}");
            assert!(error.message.contains("write {\"adopt\""), "{invalid}: {}", error.message);
        }
    }
}
