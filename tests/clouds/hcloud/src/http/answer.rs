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
        whole_numbers(&mut body);
        Self { status, body: body.to_string().into(), left: None }
    }

    pub(crate) fn empty() -> Self {
        Self { status: 204, body: Bytes::new(), left: None }
    }
}

/// Writes whole numbers without a fraction, as the API does: the crate has a floating-point number for the size of a
/// disk, and Hetzner's client for Go an integer.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(whole_numbers),
        Value::Object(fields) => fields.values_mut().for_each(whole_numbers),
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
