//! Finds the keys for a request of a call: in its Secret, in the cache, or at the credential service.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use tokio::time::{Instant, timeout_at};
use tracing::{debug, warn};
use zeroize::Zeroizing;

use super::cache::{Got, Missing};
use super::source::{Source, WebIdentity};
use super::sts::{self, SessionKeys};
use super::{Found, KeptKeys, Mark, NoKeys, Question, token_file};
use crate::egress::deliver::{Times, body_failure, deliver};
use crate::egress::failure::{AuthReason, Failure, Reason};
use crate::egress::listen::Asked;
use crate::egress::metrics::KeysFrom;
use crate::egress::session::Call;
use crate::egress::synthetic::Synthetic;
use crate::egress::throttle::{Account, Who};
use crate::grants::{AuthGrant, RequestTarget, Verdict};

/// The answer with keys has 2 KiB.
const ANSWER_LIMIT_BYTES: usize = 64 * 1024;

impl Call {
    /// The keys to sign with. What they are is hidden from the component before anything is sent.
    pub(in crate::egress) async fn find_keys(&self, mark: &Mark, grant: &AuthGrant) -> Result<Found, NoKeys> {
        let refused = |reason| Failure::Refused(Reason::Auth(reason));
        let found = match Source::of(&self.vault, grant).map_err(refused)? {
            Source::Static(keys) => Found::Static(keys),
            Source::WebIdentity(web) => self.session_keys(mark, web).await.inspect_err(|_| {
                self.metrics.keys(KeysFrom::Nowhere);
            })?,
        };
        self.vault.hide(found.keys().hidden());
        Ok(found)
    }

    async fn session_keys(&self, mark: &Mark, web: WebIdentity<'_>) -> Result<Found, NoKeys> {
        let target = web.grant.sts().target(&mark.region).map_err(|_| Failure::Refused(Reason::Target))?;
        let token = self.token(&web).await?;
        self.vault.hide([token.as_bytes()]);
        let question = Question {
            plugin: self.plugin.clone(),
            role_arn: web.role_arn.clone(),
            sts: format!("{}://{}{}", target.scheme().name(), target.authority(), target.path()),
            token_file: PathBuf::from(&web.token_file),
            token_digest: Question::digest(&token),
        };
        let clock = || (self.egress.settings.clock)();
        let fetch = || async {
            let asked = self.ask_for_keys(mark, target, &web.role_arn, &token).await;
            asked.map_err(Arc::new)
        };
        let kept = self.egress.auth.sessions.keys(&question, clock, self.deadline, fetch).await;
        let (keys, got) = kept.map_err(|missing| match missing {
            Missing::Deadline => NoKeys::Failure(Failure::ResponseTimeout),
            Missing::Failed(shared) => match &*shared {
                NoKeys::Answer(answer) => NoKeys::Answer(answer.clone()),
                NoKeys::Held(answer) => NoKeys::Held(answer.clone()),
                NoKeys::Failure(failure) => NoKeys::Failure(failure.again()),
            },
        })?;
        self.metrics.keys(match got {
            Got::Kept => KeysFrom::Cache,
            Got::Fetched => KeysFrom::Service,
        });
        let kept = KeptKeys { question, access_key_id: keys.keys.access_key_id().to_owned() };
        Ok(Found::Session { role_arn: web.role_arn, keys, kept })
    }

    async fn token(&self, web: &WebIdentity<'_>) -> Result<Zeroizing<String>, NoKeys> {
        let (path, folders) = (web.token_file.clone(), web.grant.token_files().to_vec());
        let reading = tokio::task::spawn_blocking(move || token_file::read(&path, &folders));
        // A file on a dead network mount does not hold the call.
        let read = timeout_at(self.deadline, reading).await.map_err(|_| Failure::ResponseTimeout)?;
        let read = read.map_err(|_| Failure::Protocol)?;
        read.map_err(|error| {
            let key = web.grant.token_file_key();
            warn!(plugin = %self.plugin, key, %error, "the token file of a Secret cannot be used");
            let text = format!("the path in the Secret's key {key} {error}");
            NoKeys::Answer(Synthetic::without_credentials(StatusCode::UNAUTHORIZED, text))
        })
    }

    async fn ask_for_keys(
        &self,
        mark: &Mark,
        target: RequestTarget,
        role_arn: &str,
        token: &str,
    ) -> Result<SessionKeys, NoKeys> {
        let Verdict::Allowed(rule) = self.grants.allows(&target) else {
            return Err(Failure::Refused(Reason::Auth(AuthReason::Sts)).into());
        };
        let client = self.egress.pool.client(&self.plugin, &self.grants, rule.addresses())?;
        let account = Account::new(Who::Signer(mark.scheme, role_arn.to_owned()), &target);
        let host = target.host().clone();
        self.turn(&account, &host).await.map_err(NoKeys::Held)?;
        let sent_at = Instant::now();
        let outgoing = sts::request(target, &self.plugin, role_arn, token);
        self.metrics.sent(outgoing.body.len());
        let response =
            deliver(&client, &outgoing, Times::new(None, &self.egress.settings, self.deadline)).await?;
        let now = (self.egress.settings.clock)();
        let asked = Asked {
            egress: Arc::clone(&self.egress),
            metrics: self.metrics.clone(),
            account,
            sent_at,
            kept_keys: None,
        };
        let mut listener = asked.listen(response.status(), response.headers(), now);
        let (status, headers) = (response.status(), response.headers().clone());
        let body = self.whole(response).await?;
        self.metrics.received(body.len());
        if let Some(listener) = &mut listener {
            listener.hear(&body);
        }
        if !status.is_success() {
            warn!(plugin = %self.plugin, %host, %status, "the credential service gave no keys");
            return Err(NoKeys::Answer(Synthetic::of_credential_service(status, &headers, body)));
        }
        sts::session_keys(&body, now).inspect(|_| debug!(plugin = %self.plugin, %host, "got keys for a session")).map_err(|error| {
            warn!(plugin = %self.plugin, %host, %error, "the credential service's answer cannot be used");
            let text = format!("the credential service {host} answered with status {status}, but {error}: check sts in the plugin's grants and what answers there");
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
