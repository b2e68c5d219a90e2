//! For `tests/fuzz`: what is pure of the egress, in the order in which a session does it.

use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::BodyExt;
use jiff::Timestamp;

use super::failure::{Failure, Reason};
use super::message::outgoing::{Outgoing, without_connection_headers};
use super::message::substitute::substitute;
use super::throttle::{clock_skew_seconds, codes, retry_after};
use crate::grants::{EgressDecision, Grants};
use crate::target::RequestTarget;
use crate::vault::Vault;

/// Returns the request that is sent for one without a mark.
pub(crate) fn sent(
    request: Request<Bytes>,
    grants: &Grants,
    vault: &Vault,
) -> Result<Request<Bytes>, Failure> {
    let (parts, body) = request.into_parts();
    let target =
        RequestTarget::new(&parts.method, &parts.uri).map_err(|_| Failure::Refused(Reason::Target))?;
    let judged = |decision| match decision {
        EgressDecision::Allowed(_) => Ok(()),
        EgressDecision::Denied(denial) => Err(Failure::Refused(Reason::Grant(denial))),
    };
    judged(grants.allows(&target))?;
    let outgoing = Outgoing { target, headers: without_connection_headers(parts.headers), body };
    judged(grants.allows_whole(&outgoing.target, &outgoing.headers, &outgoing.body))?;
    let filled = substitute(outgoing, grants, vault).map_err(Failure::Refused)?;
    let body = filled.outgoing.body.clone();
    Ok(filled.outgoing.request()?.map(|full| {
        drop(full.boxed());
        body
    }))
}

/// How an answer that complains is understood.
pub(crate) fn cloud_says(headers: &HeaderMap, body: &[u8], now: Timestamp) -> String {
    let (wait, skew) = (retry_after(headers, now), clock_skew_seconds(headers, now));
    format!("{wait:?} {skew:?} {:?}", codes(body))
}
