//! Answers and their headers.

use bytes::Bytes;
use hcloud::models;
use serde::Serialize;
use serde_json::{Value, json};

use crate::project::Refusal;

/// An answer of the API.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Bytes,
    /// Requests of an hour, those that are left, and the seconds until all are there again.
    pub(crate) left: Option<(u32, u32, u32)>,
}

impl Answer {
    pub(crate) fn of(status: u16, body: &impl Serialize) -> Self {
        let mut body = serde_json::to_value(body).unwrap_or_default();
        complete(&mut body);
        Self { status, body: body.to_string().into(), left: None }
    }

    pub(crate) fn empty() -> Self {
        Self { status: 204, body: Bytes::new(), left: None }
    }
}

/// Changes a value where the API is newer or stricter than the crate's types. Hetzner's own clients need both: whole
/// numbers have no fraction, since the client for Go reads the size of a disk as an integer, and the locations of a
/// server type say whether it can be had there.
fn complete(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(complete),
        Value::Object(fields) => {
            if fields.contains_key("cpu_type")
                && let Some(locations) = fields.get_mut("locations").and_then(Value::as_array_mut)
            {
                for location in locations {
                    let is_there = location["deprecation"].is_null();
                    location["available"] = Value::from(is_there);
                    location["recommended"] = Value::from(is_there);
                }
            }
            fields.values_mut().for_each(complete);
        }
        Value::Number(number) => {
            #[expect(clippy::cast_possible_truncation, reason = "sizes of disks and memory, and coordinates")]
            if let Some(float) = number.as_f64().filter(|float| number.is_f64() && float.fract() == 0.0) {
                *value = Value::from(float as i64);
            }
        }
        _ => {}
    }
}

pub(crate) fn refused(refusal: Refusal) -> Answer {
    let details = (!refusal.fields.is_empty()).then(|| {
        let messages = [refusal.message.clone()];
        let fields: Vec<_> =
            refusal.fields.iter().map(|field| json!({ "name": field, "messages": messages })).collect();
        Some(json!({ "fields": fields }))
    });
    let error =
        models::ErrorResponseError { code: refusal.code.to_owned(), details, message: refusal.message };
    Answer::of(refusal.status, &models::ErrorResponse { error: Box::new(error) })
}
