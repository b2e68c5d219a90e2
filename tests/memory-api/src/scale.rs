//! The subresource by which anybody scales without knowing the kind.

use serde_json::{Value, json};

use crate::kinds::Kind;
use crate::merge::merge;
use crate::object::Key;
use crate::object::{Object, Shared};
use crate::refusal::Refusal;
use crate::store::{Outcome, Part, Store};

/// An object as its number of replicas.
fn shown(object: &Value) -> Value {
    let meta = &object["metadata"];
    json!({
        "apiVersion": "autoscaling/v1", "kind": "Scale",
        "metadata": {
            "name": meta["name"], "namespace": meta["namespace"], "uid": meta["uid"],
            "resourceVersion": meta["resourceVersion"], "creationTimestamp": meta["creationTimestamp"],
        },
        "spec": { "replicas": object["spec"]["replicas"] },
        "status": { "replicas": object["status"]["replicas"].as_i64().unwrap_or_default() },
    })
}

fn answer(object: &Shared) -> Shared {
    Object::shared(shown(object))
}

impl Store {
    pub(crate) fn scale_of(&self, key: &Key) -> Outcome {
        let object = self.get(key)?;
        if object["spec"]["replicas"].is_null() {
            return Err(Refusal::internal(
                "Internal error occurred: the spec replicas field \".spec.replicas\" does not exist",
            ));
        }
        Ok(answer(&object))
    }

    /// Another Scale in the place of the one that is there.
    pub(crate) fn replace_scale(&mut self, kind: &'static Kind, key: Key, scale: &Value) -> Outcome {
        let mut object = Value::clone(&*self.get(&key)?);
        object["spec"]["replicas"] = json!(scale["spec"]["replicas"].as_i64().unwrap_or_default());
        for field in ["uid", "resourceVersion"] {
            let asked = &scale["metadata"][field];
            if asked.is_string() {
                object["metadata"][field] = asked.clone();
            }
        }
        self.update(kind, key, object, Part::Main).map(|object| answer(&object))
    }

    /// The one that is there with this merge patch.
    pub(crate) fn patch_scale(&mut self, kind: &'static Kind, key: Key, patch: &Value) -> Outcome {
        let mut scale = Value::clone(&*self.scale_of(&key)?);
        merge(&mut scale, patch);
        self.replace_scale(kind, key, &scale)
    }
}
