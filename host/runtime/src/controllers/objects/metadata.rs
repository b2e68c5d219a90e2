//! Metadata of objects, and merge patches: of metadata with their preconditions, and between two values.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::core::ObjectMeta;
use machinist_api::names;
use serde::Serialize;
use serde_json::{Map, Value, json};

pub(crate) fn annotation<'a>(meta: &'a ObjectMeta, name: &str) -> Option<&'a str> {
    meta.annotations.as_ref()?.get(name).map(String::as_str)
}

pub(crate) fn label<'a>(meta: &'a ObjectMeta, name: &str) -> Option<&'a str> {
    meta.labels.as_ref()?.get(name).map(String::as_str)
}

/// The owner that controls an object.
pub(crate) fn controller(meta: &ObjectMeta) -> Option<&OwnerReference> {
    meta.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))
}

/// True if the object with the metadata `owner` controls this one.
pub(crate) fn is_controlled_by(meta: &ObjectMeta, owner: &ObjectMeta) -> bool {
    controller(meta).is_some_and(|controller| Some(&controller.uid) == owner.uid.as_ref())
}

/// A reference to the controller of another object.
pub(crate) fn controller_reference(kind: &str, meta: &ObjectMeta) -> OwnerReference {
    OwnerReference {
        api_version: names::API_VERSION.to_owned(),
        kind: kind.to_owned(),
        name: meta.name.clone().unwrap_or_default(),
        uid: meta.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// The `metadata` of a merge patch, always for one incarnation of the object: a later one of the same name is a
/// conflict.
pub(crate) struct Metadata(Map<String, Value>);

impl Metadata {
    /// For the object with this metadata, in whatever version.
    pub(crate) fn of(meta: &ObjectMeta) -> Self {
        Self(Map::from_iter([("uid".to_owned(), json!(meta.uid))]))
    }

    /// Only on the version that was seen. Needed where a list is written, since it is written whole.
    pub(crate) fn in_version(self, meta: &ObjectMeta) -> Self {
        self.with("resourceVersion", json!(meta.resource_version))
    }

    pub(crate) fn with(mut self, field: &str, value: Value) -> Self {
        self.0.insert(field.to_owned(), value);
        self
    }

    /// With a field, unless there is nothing to say.
    pub(crate) fn with_some(self, field: &str, value: Option<Value>) -> Self {
        match value {
            Some(value) => self.with(field, value),
            None => self,
        }
    }

    pub(crate) fn patch(self) -> Value {
        json!({ "metadata": self.0 })
    }

    /// With these labels and annotations, where there are any.
    pub(crate) fn with_change(self, labels: &impl Serialize, annotations: &impl Serialize) -> Self {
        let some = |fields: Value| Some(fields).filter(|fields| fields != &json!({}));
        self.with_some("labels", some(json!(labels))).with_some("annotations", some(json!(annotations)))
    }

    /// The patch, with a `spec`.
    pub(crate) fn patch_with_spec(self, spec: &Value) -> Value {
        self.patch_with("spec", spec)
    }

    /// The patch, with another field of the object.
    pub(crate) fn patch_with(self, field: &str, value: &Value) -> Value {
        json!({ "metadata": self.0, field: value })
    }
}

/// Returns the patch that turns `from` into `to`; `None` if they are equal. Null fields count as absent, since merge
/// patches cannot tell the two apart.
pub(crate) fn difference(from: &Value, to: &Value) -> Option<Value> {
    let (Value::Object(from), Value::Object(to)) = (from, to) else {
        return (from != to).then(|| to.clone());
    };
    let mut patch = Map::new();
    for (field, wanted) in to.iter().filter(|(_, wanted)| !wanted.is_null()) {
        match from.get(field) {
            Some(has) => drop(difference(has, wanted).map(|change| patch.insert(field.clone(), change))),
            None => drop(patch.insert(field.clone(), wanted.clone())),
        }
    }
    let is_left_over =
        |(field, has): &(&String, &Value)| !has.is_null() && to.get(*field).is_none_or(Value::is_null);
    for (field, _) in from.iter().filter(is_left_over) {
        patch.insert(field.clone(), Value::Null);
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unwanted_fields_are_removed_and_lists_are_written_whole() {
        let from =
            json!({ "labels": { "a": "1", "b": "2" }, "taints": [1, 2], "gone": null, "same": { "x": 1 } });
        let to = json!({ "labels": { "a": "1", "c": "3" }, "taints": [2], "same": { "x": 1 }, "none": null });
        let patch = json!({ "labels": { "b": null, "c": "3" }, "taints": [2] });
        assert_eq!(difference(&from, &to), Some(patch));
        assert_eq!(difference(&to, &to), None);
    }

    #[test]
    fn an_absent_value_and_a_whole_one() {
        assert_eq!(difference(&Value::Null, &json!({ "a": 1 })), Some(json!({ "a": 1 })));
        assert_eq!(difference(&json!({ "a": 1 }), &Value::Null), Some(Value::Null));
    }
}
