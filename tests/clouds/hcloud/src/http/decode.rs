//! Bodies by the API's types.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::project::{Outcome, Refusal};

/// Fields in which the API accepts an id or a name, and the crate's types have a text only.
const ID_OR_NAME: [&str; 3] = ["server_type", "image", "location"];

/// Reads a body. A field that the type does not have is missing from the value that is written again, and refused.
pub(super) fn body<T: DeserializeOwned + Serialize>(bytes: &[u8]) -> Outcome<T> {
    let malformed = |error: serde_json::Error| Refusal::new(400, "json_error", error.to_string());
    let mut given: Value = serde_json::from_slice(bytes).map_err(malformed)?;
    texts(&mut given);
    let read: T = serde_json::from_value(given.clone()).map_err(|error| unfit(&error))?;
    let written = serde_json::to_value(&read).map_err(malformed)?;
    match unknown(&given, &written) {
        Some(field) => Err(Refusal::invalid(&field, format!("unknown field '{field}'"))),
        None => Ok(read),
    }
}

fn unfit(error: &serde_json::Error) -> Refusal {
    Refusal::invalid("body", error.to_string())
}

/// Writes ids as texts where both are allowed.
fn texts(body: &mut Value) {
    let text = |value: &mut Value| {
        if value.is_i64() {
            *value = Value::from(value.to_string());
        }
    };
    let Some(body) = body.as_object_mut() else { return };
    for field in ID_OR_NAME {
        body.get_mut(field).map(text);
    }
    if let Some(keys) = body.get_mut("ssh_keys").and_then(Value::as_array_mut) {
        keys.iter_mut().for_each(text);
    }
}

/// Returns the path of a field that is given and not written again.
fn unknown(given: &Value, written: &Value) -> Option<String> {
    match (given, written) {
        (Value::Object(given), Value::Object(written)) => given.iter().find_map(|(key, value)| {
            let Some(known) = written.get(key) else { return (!value.is_null()).then(|| key.clone()) };
            unknown(value, known).map(|inner| format!("{key}.{inner}"))
        }),
        (Value::Array(given), Value::Array(written)) => {
            given.iter().zip(written).find_map(|(given, written)| unknown(given, written))
        }
        _ => None,
    }
}
