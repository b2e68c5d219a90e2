//! The template from which a set creates its Machines.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::lenient;
use crate::machine::MachineSpec;
pub use crate::machine::{NodeTemplate, TemplateMetadata};

/// What a set makes its Machines from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineTemplate {
    /// Labels, annotations and finalizers of the Machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMetadata>,
    /// Spec of the Machines.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub spec: MachineSpec,
}
