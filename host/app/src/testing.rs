//! Helpers for the tests of several commands.

use serde_json::Value;

/// Returns an object with the fields of another one, at every depth.
pub(crate) fn merged(mut into: Value, from: &Value) -> Value {
    match (&mut into, from) {
        (Value::Object(fields), Value::Object(from)) => {
            for (key, value) in from {
                let before = fields.remove(key).unwrap_or(Value::Null);
                fields.insert(key.clone(), merged(before, value));
            }
        }
        (into, from) => *into = from.clone(),
    }
    into
}
