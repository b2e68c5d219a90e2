//! One request of a driver, and what its answer means.

use jiff::SignedDuration;
use machinist_core::driver::error::{Code, DriverError};
use serde::de::DeserializeOwned;
use serde_json::Value;
use simcloud::{Answer, Delivery, Method, Request, VmPage};

use super::SimCloud;

impl SimCloud {
    /// Asks, and waits for as long as the answer takes.
    pub(crate) async fn ask<T: DeserializeOwned>(&self, request: Request) -> Result<T, DriverError> {
        let unclear = unclear(&request, "an answer that is none");
        self.answer(request).await?.json().map_err(|_| unclear)
    }

    /// Asks for a page of VMs, which is never written as text: in a cluster of thousands that would be most of the
    /// work.
    pub(crate) async fn ask_page(&self, request: Request) -> Result<VmPage, DriverError> {
        let unclear = unclear(&request, "no page");
        self.answer(request.for_values()).await?.page.ok_or(unclear)
    }

    async fn answer(&self, request: Request) -> Result<Answer, DriverError> {
        let is_change = request.method != Method::Get;
        let no_answer = unclear(&request, "no whole answer");
        let no_cause = unclear(&request, "a page of a proxy");
        let answer = self.handle(&request.with_token("sim-token"));
        tokio::time::sleep(answer.delay).await;
        match answer.delivery {
            Delivery::Whole => {}
            Delivery::Truncated { .. } | Delivery::Never => return Err(no_answer),
        }
        if answer.status < 300 {
            return Ok(answer);
        }
        let body: Value = answer.json().map_err(|_| no_cause)?;
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

/// Nobody knows what came of it.
fn unclear(request: &Request, what: &str) -> DriverError {
    DriverError {
        may_have_happened: request.method != Method::Get,
        ..DriverError::new(Code::Unavailable, format!("the cloud gave {what}"))
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
