//! One request of a driver, and what its answer means.

use jiff::SignedDuration;
use machinist_core::driver_error::{Code, DriverError};
use serde::de::DeserializeOwned;
use serde_json::Value;
use simcloud::{Delivery, Method, Request};

use super::SimCloud;

impl SimCloud {
    /// Asks, and waits for as long as the answer takes.
    pub(super) async fn ask<T: DeserializeOwned>(&self, request: Request) -> Result<T, DriverError> {
        let is_change = request.method != Method::Get;
        let answer = self.handle(&request.with_token("sim-token"));
        tokio::time::sleep(answer.delay).await;
        let unclear = |what: &str| DriverError {
            may_have_happened: is_change,
            ..DriverError::new(Code::Unavailable, format!("the cloud gave {what}"))
        };
        match answer.delivery {
            Delivery::Whole => {}
            Delivery::Truncated { .. } | Delivery::Never => return Err(unclear("no whole answer")),
        }
        if answer.status < 300 {
            return answer.json().map_err(|_| unclear("an answer that is none"));
        }
        let body: Value = answer.json().map_err(|_| unclear("a page of a proxy"))?;
        let cloud_code = body["code"].as_str().unwrap_or_default();
        let (code, may_have_happened) = meaning(cloud_code);
        let retry_after = answer.header("retry-after").and_then(|seconds| seconds.parse().ok());
        Err(DriverError {
            cloud_code: Some(cloud_code.to_owned()),
            retry_after: retry_after.map(SignedDuration::from_secs),
            may_have_happened: may_have_happened && is_change,
            terminal: matches!(cloud_code, "invalid_parameter" | "image_not_found" | "idempotency_gone"),
            ..DriverError::new(code, body["message"].as_str().unwrap_or_default())
        })
    }
}

fn meaning(cloud_code: &str) -> (Code, bool) {
    match cloud_code {
        "invalid_parameter" | "image_not_found" => (Code::InvalidArgument, false),
        "unauthorized" => (Code::Unauthenticated, false),
        "forbidden" => (Code::PermissionDenied, false),
        "quota_exceeded" | "capacity_exhausted" => (Code::ResourceExhausted, false),
        "not_found" => (Code::NotFound, false),
        "conflict" | "idempotency_mismatch" => (Code::Aborted, false),
        "idempotency_gone" => (Code::FailedPrecondition, false),
        "throttled" => (Code::Unavailable, false),
        "internal" | "unavailable" => (Code::Unavailable, true),
        _ => (Code::Unknown, true),
    }
}
