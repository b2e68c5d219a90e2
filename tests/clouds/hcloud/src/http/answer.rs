//! Answers and their headers.

use bytes::Bytes;
use hcloud::models;
use serde::Serialize;
use serde_json::json;

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
        let body = serde_json::to_vec(body).unwrap_or_default().into();
        Self { status, body, left: None }
    }

    pub(crate) fn empty() -> Self {
        Self { status: 204, body: Bytes::new(), left: None }
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
