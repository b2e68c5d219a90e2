//! Templates of deployments and sets: whether they make the same Machines, and how they are shown.

use machinist_api::names::labels::TEMPLATE_HASH;
use machinist_api::template::MachineTemplate;
use machinist_runtime::template_fact;
use serde_json::Value;

/// Machines of one are good for the other.
pub(crate) fn is_same(one: &MachineTemplate, other: &MachineTemplate) -> bool {
    template_fact(one).makes_the_same_as(&template_fact(other), TEMPLATE_HASH)
}

/// As it is shown: without the label of its hash, which sets have and deployments do not.
pub(crate) fn text(template: &MachineTemplate) -> Value {
    let mut value = serde_json::to_value(template).unwrap_or_default();
    if let Some(labels) = value.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
        labels.remove(TEMPLATE_HASH);
        if labels.is_empty()
            && let Some(metadata) = value.pointer_mut("/metadata").and_then(Value::as_object_mut)
        {
            metadata.remove("labels");
        }
    }
    value
}
