//! The kind `MachinistIdentity`: credentials of a cloud that several namespaces may use.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kind::kind;
use crate::lenient;

/// Credentials of a cloud that machines of several namespaces may use.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MachinistIdentity {
    /// Name, labels, annotations and other metadata of the object.
    #[serde(deserialize_with = "lenient::or_empty")]
    #[schemars(skip)]
    pub metadata: ObjectMeta,
    /// The credentials, and who may use them.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub spec: MachinistIdentitySpec,
}

kind!(MachinistIdentity, of: crate::infrastructure, scope: ClusterResourceScope, plural: "machinistidentities", fields: [
    "metadata" => metadata, "spec" => spec,
]);

/// The credentials, and who may use them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MachinistIdentitySpec {
    /// Secret with the credentials.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub secret_ref: IdentitySecret,
    /// Namespaces whose machines may use the credentials. Absent: none. Empty: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_namespaces: Option<AllowedNamespaces>,
}

/// Reference to a Secret of any namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["name", "namespace"]))]
pub struct IdentitySecret {
    /// Name of the Secret.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub name: String,
    /// Namespace of the Secret.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub namespace: String,
}

/// Namespaces, by name or by label. One that either selects is selected.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AllowedNamespaces {
    /// Names of namespaces.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "Vec::is_empty")]
    pub list: Vec<String>,
    /// Labels of namespaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
}

impl AllowedNamespaces {
    /// Returns whether a namespace of this name and these labels is selected. A selector that cannot be understood
    /// selects none.
    pub fn allow(&self, name: &str, labels: &BTreeMap<String, String>) -> bool {
        let is_open = self.list.is_empty() && self.selector.is_none();
        is_open
            || self.list.iter().any(|allowed| allowed == name)
            || self.selector.as_ref().is_some_and(|selector| selects(selector, labels))
    }
}

/// An empty selector selects everything, as everywhere in Kubernetes.
fn selects(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> bool {
    let has = |key: &str, value: &str| labels.get(key).is_some_and(|found| found == value);
    let equal = selector.match_labels.iter().flatten().all(|(key, value)| has(key, value));
    equal
        && selector.match_expressions.iter().flatten().all(|term| {
            let is_one_of = term.values.iter().flatten().any(|value| has(&term.key, value));
            match term.operator.as_str() {
                "In" => is_one_of,
                "NotIn" => !is_one_of,
                "Exists" => labels.contains_key(&term.key),
                "DoesNotExist" => !labels.contains_key(&term.key),
                _ => false,
            }
        })
}

/// Reference to credentials.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["kind", "name"]))]
pub struct IdentityReference {
    /// Secret, of the same namespace, or MachinistIdentity.
    #[serde(deserialize_with = "lenient::or_empty")]
    #[schemars(extend("enum" = ["Secret", "MachinistIdentity"]))]
    pub kind: String,
    /// Name of the Secret or of the MachinistIdentity.
    #[serde(deserialize_with = "lenient::or_empty")]
    #[schemars(extend("minLength" = 1, "maxLength" = 253))]
    pub name: String,
}

impl fmt::Display for IdentityReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind, self.name)
    }
}

impl IdentityReference {
    /// Parses the text of a reference, as an annotation has it.
    pub fn parse(text: &str) -> Option<Self> {
        let (kind, name) = text.split_once('/')?;
        Some(Self { kind: kind.to_owned(), name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_reads_back_from_an_annotation() {
        let reference =
            IdentityReference { kind: "MachinistIdentity".to_owned(), name: "account".to_owned() };
        assert_eq!(IdentityReference::parse(&reference.to_string()), Some(reference));
        assert_eq!(IdentityReference::parse("account"), None);
    }
}
