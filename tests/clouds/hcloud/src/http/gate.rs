//! Tokens and the rate limit.

use super::Request;
use crate::project::{Outcome, Project, Refusal};

/// Decides whether a request may pass. An unknown token uses up nothing.
pub(crate) fn admit(project: &mut Project, request: &Request) -> Outcome<()> {
    let token = request.token.as_deref();
    let is_read_only = token == Some(project.options.read_only_token.as_str());
    if token != Some(project.options.token.as_str()) && !is_read_only {
        return Err(Refusal::new(401, "unauthorized", "unable to authenticate"));
    }
    if !project.take_request() {
        return Err(Refusal::new(429, "rate_limit_exceeded", "rate limit exceeded"));
    }
    if is_read_only && request.method != "GET" {
        return Err(Refusal::new(403, "token_readonly", "token is only allowed to perform GET requests"));
    }
    Ok(())
}
