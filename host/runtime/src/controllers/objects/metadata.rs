//! Merge patches of metadata, with their preconditions.

use kube::core::ObjectMeta;
use serde_json::{Map, Value, json};

/// The `metadata` of a merge patch. Always for one incarnation of the object: a later one of the same name is a conflict.
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

    /// With a field.
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

    /// The patch.
    pub(crate) fn patch(self) -> Value {
        json!({ "metadata": self.0 })
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
