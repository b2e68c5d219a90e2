//! Asks a credential service, unless what it gave before is still good.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use jiff::Timestamp;
use tokio::time::{Instant, timeout_at};
use tracing::{debug, warn};

use super::cache::{Got, Missing};
use super::credential::{Credential, Found};
use super::lease::Lease;
use super::{NoKeys, Question};
use crate::egress::connection::deliver::{Times, body_failure, deliver};
use crate::egress::failure::{AuthReason, Failure, Reason};
use crate::egress::listen::Asked;
use crate::egress::message::outgoing::Outgoing;
use crate::egress::message::synthetic::Synthetic;
use crate::egress::metrics::KeysFrom;
use crate::egress::session::Call;
use crate::egress::throttle::{CloudAccount, Who};
use crate::grants::EgressDecision;

/// An answer with keys or a token has a few KiB.
const ANSWER_LIMIT_BYTES: usize = 64 * 1024;

/// What is asked of a credential service.
pub(super) struct Inquiry {
    pub(super) outgoing: Outgoing,
    pub(super) who: Who,
    /// Why it is refused when the egress rules do not allow the service.
    pub(super) not_granted: AuthReason,
    /// The field of the grants that names the service.
    pub(super) field: &'static str,
}

/// An answer that says "success".
pub(super) struct Heard {
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) now: Timestamp,
}

impl Call {
    /// What is kept for this question, or what `fetch` gets.
    pub(super) async fn kept_or<F: Future<Output = Result<Lease<Credential>, NoKeys>>>(
        &self,
        question: Question,
        who: Who,
        fetch: impl FnOnce() -> F,
    ) -> Result<Found, NoKeys> {
        let clock = || (self.egress.settings.clock)();
        let shared = || async { fetch().await.map_err(Arc::new) };
        let got = self.egress.auth.kept.get(&question, clock, self.deadline, shared).await;
        let (lease, got) = got.map_err(|missing| {
            self.metrics.keys(KeysFrom::Nowhere);
            match missing {
                Missing::Deadline => NoKeys::Failure(Failure::ResponseTimeout),
                Missing::Failed(shared) => match &*shared {
                    NoKeys::Answer(answer) => NoKeys::Answer(answer.clone()),
                    NoKeys::Held(answer) => NoKeys::Held(answer.clone()),
                    NoKeys::Failure(failure) => NoKeys::Failure(failure.again()),
                },
            }
        })?;
        self.metrics.keys(match got {
            Got::Kept => KeysFrom::Cache,
            Got::Fetched => KeysFrom::Service,
        });
        Ok(Found::kept(question, lease, who))
    }

    /// Asks the service, under the plugin's grants and pace; `read` tells what of its answer is believed.
    pub(super) async fn ask<E: fmt::Display>(
        &self,
        inquiry: Inquiry,
        read: impl FnOnce(&Heard) -> Result<Lease<Credential>, E>,
    ) -> Result<Lease<Credential>, NoKeys> {
        let Inquiry { outgoing, who, not_granted, field } = inquiry;
        let EgressDecision::Allowed(rule) =
            self.grants.allows_whole(&outgoing.target, &outgoing.headers, &outgoing.body)
        else {
            return Err(Failure::Refused(Reason::Auth(not_granted)).into());
        };
        let client = self.egress.pool.client(&self.plugin, &self.grants, rule.addresses())?;
        let host = outgoing.target.host().clone();
        let account = CloudAccount::new(who, &outgoing.target);
        self.turn(&account, &host).await.map_err(NoKeys::Held)?;
        let sent_at = Instant::now();
        self.metrics.sent(outgoing.body.len());
        let times = Times::new(None, &self.egress.settings, self.deadline);
        let response = deliver(&client, &outgoing, times).await?;
        let now = (self.egress.settings.clock)();
        let asked = Asked {
            egress: Arc::clone(&self.egress),
            metrics: self.metrics.clone(),
            account,
            sent_at,
            kept: None,
        };
        let mut listener = asked.listen(response.status(), response.headers(), now);
        let (status, headers) = (response.status(), response.headers().clone());
        let body = self.whole(response).await?;
        self.metrics.received(body.len());
        if let Some(listener) = &mut listener {
            listener.hear(&body);
        }
        if !status.is_success() {
            warn!(plugin = %self.plugin, %host, %status, "the credential service gave nothing");
            return Err(NoKeys::Answer(Synthetic::of_credential_service(status, &headers, body)));
        }
        let read = read(&Heard { headers, body, now });
        read.inspect(|_| debug!(plugin = %self.plugin, %host, "got a credential for a while")).map_err(|error| {
            warn!(plugin = %self.plugin, %host, %error, "the credential service's answer cannot be used");
            let text = format!("the credential service {host} answered with status {status}, but {error}: check {field} in the plugin's grants and what answers there");
            NoKeys::Answer(Synthetic::without_credentials(StatusCode::BAD_GATEWAY, text))
        })
    }

    async fn whole(&self, response: Response<Incoming>) -> Result<Bytes, Failure> {
        let limited = Limited::new(response.into_body(), ANSWER_LIMIT_BYTES);
        match timeout_at(self.deadline, limited.collect()).await {
            Ok(Ok(collected)) => Ok(collected.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                Err(Failure::ResponseSize { limit_bytes: ANSWER_LIMIT_BYTES as u64 })
            }
            Ok(Err(error)) => Err(error.downcast_ref().map_or(Failure::Incomplete, body_failure)),
            Err(_) => Err(Failure::ResponseTimeout),
        }
    }
}
