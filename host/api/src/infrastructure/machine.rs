//! The kind `MachinistMachine`: one VM of a Machine of Cluster API.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::infrastructure::cluster::MachinistCluster;
use crate::infrastructure::identity::IdentityReference;
use crate::infrastructure::names::annotations;
use crate::kind::kind;
use crate::lenient;
use crate::machine_class::raw_object;

/// One VM of a Machine of Cluster API.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MachinistMachine {
    /// Name, namespace, labels, annotations and other metadata of the object.
    #[serde(deserialize_with = "lenient::or_empty")]
    #[schemars(skip)]
    pub metadata: ObjectMeta,
    /// Desired state of the VM.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub spec: MachinistMachineSpec,
    /// Observed state of the VM.
    pub status: Option<MachinistMachineStatus>,
}

kind!(MachinistMachine, of: crate::infrastructure, plural: "machinistmachines", fields: [
    "metadata" => metadata, "spec" => spec, "status" => status if Option::is_some,
]);

/// Desired state of a VM: a provider with its parameters, or a class that has both.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MachinistMachineSpec {
    /// Name of the provider; it selects the driver.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minLength" = 1, "maxLength" = 63))]
    pub provider: Option<String>,
    /// Parameters for the driver, as a MachineClass has them. Opaque to all others.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "raw_object")]
    pub provider_spec: Option<Value>,
    /// MachineClass of the same namespace that has provider and providerSpec, in place of these fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class_ref: Option<InfrastructureClass>,
    /// Credentials of the cloud. Absent: those of the MachinistCluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity_ref: Option<IdentityReference>,
    /// The cloud's ID of the VM, as the Node has it. Empty until the VM is created; set by the controller.
    #[serde(
        rename = "providerID",
        deserialize_with = "lenient::text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("minLength" = 1, "maxLength" = 512))]
    pub provider_id: Option<String>,
}

/// Reference to a MachineClass of the same namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["name"]))]
pub struct InfrastructureClass {
    /// Name of the MachineClass.
    #[serde(deserialize_with = "lenient::or_empty")]
    #[schemars(extend("minLength" = 1, "maxLength" = 253))]
    pub name: String,
}

/// Observed state of a VM.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MachinistMachineStatus {
    /// Whether the VM was provided. Once true, it stays so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initialization: Option<Initialization>,
    /// Addresses of the VM.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("maxItems" = 256))]
    pub addresses: Vec<MachineAddress>,
    /// Failure domain of the VM.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minLength" = 1, "maxLength" = 256))]
    pub failure_domain: Option<String>,
    /// Whether the cloud may take the VM away at any time.
    #[serde(deserialize_with = "lenient::boolean", skip_serializing_if = "Option::is_none")]
    pub interruptible: Option<bool>,
    /// Conditions of the VM: Ready and Paused.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

/// The first provision of an object's infrastructure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("minProperties" = 1))]
pub struct Initialization {
    /// Whether the infrastructure was provided. Once true, it stays so.
    #[serde(deserialize_with = "lenient::boolean", skip_serializing_if = "Option::is_none")]
    pub provisioned: Option<bool>,
}

/// An address of a VM.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["type", "address"]))]
pub struct MachineAddress {
    /// Hostname, ExternalIP, InternalIP, ExternalDNS or InternalDNS.
    #[serde(rename = "type", deserialize_with = "lenient::or_empty")]
    #[schemars(extend("enum" = ["Hostname", "ExternalIP", "InternalIP", "ExternalDNS", "InternalDNS"]))]
    pub kind: String,
    /// The address.
    #[serde(deserialize_with = "lenient::or_empty")]
    #[schemars(extend("minLength" = 1, "maxLength" = 256))]
    pub address: String,
}

impl MachinistMachine {
    /// The cloud's id of the VM; an empty one is none.
    pub fn provider_id(&self) -> Option<&str> {
        self.spec.provider_id.as_deref().filter(|id| !id.is_empty())
    }

    /// The reference to its credentials: its own, else the one that was noted with its key, else that of its cluster.
    ///
    /// A VM stays in the account that has created it, whatever its cluster names later.
    pub fn identity(&self, cluster: Option<&MachinistCluster>) -> Option<IdentityReference> {
        let noted = || {
            let text = self.metadata.annotations.as_ref()?.get(annotations::IDENTITY)?;
            IdentityReference::parse(text)
        };
        let of_cluster = || cluster?.spec.identity_ref.clone();
        self.spec.identity_ref.clone().or_else(noted).or_else(of_cluster)
    }

    /// Whether its VM was once provided, as its status says.
    pub fn is_provisioned(&self) -> bool {
        let initialization = self.status.as_ref().and_then(|status| status.initialization.as_ref());
        initialization.and_then(|initialization| initialization.provisioned) == Some(true)
    }
}
