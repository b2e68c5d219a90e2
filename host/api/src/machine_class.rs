//! The kind `MachineClass`: what machines of one sort have in common. Its fields are at the top level, there is no
//! `spec`.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::kind::kind;
use crate::lenient;
use crate::own_status::OwnStatus;

/// Configuration that Machines of one kind share: their driver, its parameters and their credentials.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["providerSpec"]))]
pub struct MachineClass {
    /// Name, namespace, labels, annotations and other metadata of the object.
    #[serde(deserialize_with = "lenient::or_empty")]
    #[schemars(skip)]
    pub metadata: ObjectMeta,
    /// Properties of a Node of this class. Cluster-autoscaler reads them to scale up from zero.
    pub node_template: Option<ClassNodeTemplate>,
    /// Secret with the user data, and often the credentials.
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub secret_ref: Option<SecretReference>,
    /// Secret with the credentials. Its keys override those of secretRef.
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub credentials_secret_ref: Option<SecretReference>,
    /// Name of the provider; it selects the driver.
    #[serde(deserialize_with = "lenient::text")]
    pub provider: Option<String>,
    /// Parameters for the driver. Opaque to all others.
    #[schemars(schema_with = "raw_object")]
    pub provider_spec: Option<Value>,
    /// Observed state of the class.
    pub status: Option<MachineClassStatus>,
}

kind!(MachineClass, plural: "machineclasses", fields: [
    "metadata" => metadata,
    "nodeTemplate" => node_template if Option::is_some,
    "secretRef" => secret_ref if Option::is_some,
    "credentialsSecretRef" => credentials_secret_ref if Option::is_some,
    "provider" => provider if Option::is_some,
    "providerSpec" => provider_spec if Option::is_some,
    "status" => status if Option::is_some,
]);

/// Properties of a Node of a class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend(
    "required" = ["capacity", "instanceType", "region", "zone"],
    "x-kubernetes-preserve-unknown-fields" = true
))]
pub struct ClassNodeTemplate {
    /// Resources of the Node: at least cpu, gpu and memory.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "quantities")]
    pub capacity: BTreeMap<String, Quantity>,
    /// Extended resources that the controller adds to the capacity of existing Nodes.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "quantities")]
    pub virtual_capacity: BTreeMap<String, Quantity>,
    /// Instance type of the VM, as the cloud names it.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub instance_type: Option<String>,
    /// Region of the Node.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Zone of the Node.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// Processor architecture of the Node.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
    /// Fields of other programs.
    #[serde(flatten)]
    #[schemars(skip)]
    pub others: Map<String, Value>,
}

/// Reference to a Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SecretReference {
    /// Name of the Secret.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Namespace of the Secret.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// Observed state of a class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineClassStatus {
    /// Status that Machinist writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machinist: Option<OwnStatus>,
}

impl MachineClass {
    /// The references to Secrets in the order in which their data are merged: keys of a later one win.
    pub fn secret_references(&self) -> impl Iterator<Item = &SecretReference> {
        self.secret_ref.iter().chain(&self.credentials_secret_ref)
    }

    /// The text of the annotation that pins a version of the driver.
    pub fn driver_digest(&self) -> Option<&str> {
        let annotations = self.metadata.annotations.as_ref()?;
        annotations.get(crate::names::annotations::DRIVER_DIGEST).map(String::as_str)
    }
}

pub(crate) fn raw_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}

/// A resource list. Quantities are checked where they are used.
pub(crate) fn quantities(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "additionalProperties": { "x-kubernetes-int-or-string": true } })
}
