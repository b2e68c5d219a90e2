//! Asks a token service, unless its last credential is still good.

use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use tokio::time::{Instant, timeout_at};
use tracing::{debug, warn};
use wasmtime_wasi_http::RequestOptions;

use super::cache::{Got, Missing};
use super::{CredentialError, CredentialKey};
use crate::auth::{Credential, Holder, Lease, SchemeError, SecretTls, ServiceAnswer, TokenService};
use crate::egress::connection::deliver::{Times, body_failure, deliver};
use crate::egress::failure::Failure;
use crate::egress::listen::Asked;
use crate::egress::message::outgoing::Outgoing;
use crate::egress::message::synthetic::Synthetic;
use crate::egress::metrics::KeysFrom;
use crate::egress::session::Call;
use crate::egress::throttle::{CloudAccount, Who};
use crate::grants::EgressDecision;

/// An answer with keys or a token has a few KiB.
const ANSWER_LIMIT_BYTES: usize = 64 * 1024;

impl Call {
    /// Returns the credential of this key from the cache, or the one that `fetch` gets.
    pub(super) async fn cached_or<F: Future<Output = Result<Lease<Credential>, CredentialError>>>(
        &self,
        key: &CredentialKey,
        fetch: impl FnOnce() -> F,
    ) -> Result<Arc<Lease<Credential>>, CredentialError> {
        let clock = || (self.egress.settings.clock)();
        let shared = || async { fetch().await.map_err(Arc::new) };
        let got = self.egress.credentials.0.get(key, clock, self.deadline, shared).await;
        let (lease, got) = got.map_err(|missing| {
            self.metrics.keys(KeysFrom::Nowhere);
            match missing {
                Missing::Deadline => Failure::ResponseTimeout.into(),
                Missing::Failed(shared) => shared.again(),
            }
        })?;
        self.metrics.keys(match got {
            Got::Kept => KeysFrom::Cache,
            Got::Fetched => KeysFrom::Service,
        });
        Ok(lease)
    }

    /// Asks the service, under the plugin's grants and pace, and within the time-outs of the request that needs the
    /// credential.
    pub(super) async fn ask(
        &self,
        service: &dyn TokenService,
        holder: Holder,
        (tls, options): (Option<&SecretTls>, Option<RequestOptions>),
    ) -> Result<Lease<Credential>, CredentialError> {
        let outgoing = self.outgoing(service).map_err(|error| self.refused(error))?;
        let EgressDecision::Allowed(rule) =
            self.grants.allows_whole(&outgoing.target, &outgoing.headers, &outgoing.body)
        else {
            return Err(service.not_granted().into());
        };
        let client = self.egress.pool.client(&self.plugin, &self.grants, rule.addresses(), tls)?;
        let host = outgoing.target.host().clone();
        let account = CloudAccount::new(Who::Holder(holder), &outgoing.target);
        self.turn(&account, &host).await.map_err(CredentialError::Throttled)?;
        let sent_at = Instant::now();
        self.metrics.sent(outgoing.body.len());
        let times = Times::new(options, &self.egress.settings, self.deadline);
        let response = deliver(&client, &outgoing, times).await?;
        let now = (self.egress.settings.clock)();
        let asked = Asked {
            egress: Arc::clone(&self.egress),
            metrics: self.metrics.clone(),
            account,
            sent_at,
            cached: None,
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
            let answer = Synthetic::of_credential_service(status, &headers, body);
            return Err(CredentialError::Answer(answer));
        }
        let read = service.read(&ServiceAnswer { headers, body, now });
        read.inspect(|_| debug!(plugin = %self.plugin, %host, "got a credential for a while")).map_err(|error| {
            warn!(plugin = %self.plugin, %host, %error, "the credential service's answer cannot be used");
            let field = service.field();
            let text = format!("the credential service {host} answered with status {status}, but {error}: check {field} in the plugin's grants and what answers there");
            CredentialError::Answer(Synthetic::without_credentials(StatusCode::BAD_GATEWAY, text))
        })
    }

    fn outgoing(&self, service: &dyn TokenService) -> Result<Outgoing, SchemeError> {
        let request = service.request((self.egress.settings.clock)(), rand::random())?;
        self.vault.hide(request.hidden.iter().map(|value| value.as_slice()), None);
        Ok(Outgoing { target: service.target().clone(), headers: request.headers, body: request.body })
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
