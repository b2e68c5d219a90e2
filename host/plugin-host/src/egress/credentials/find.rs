//! Finds the credential of a request.

use std::sync::Arc;

use http::StatusCode;
use jiff::Timestamp;
use tokio::time::timeout_at;
use tracing::warn;
use wasmtime_wasi_http::RequestOptions;
use zeroize::Zeroizing;

use super::{CredentialCache, CredentialError, CredentialKey};
use crate::auth::{
    AuthGrant, Credential, CredentialSource, FileExchange, Holder, Lease, Mark, SchemeError, SecretReader,
    SecretTls, TokenService, token_file,
};
use crate::egress::failure::{Failure, Reason};
use crate::egress::message::synthetic::Synthetic;
use crate::egress::metrics::KeysFrom;
use crate::egress::session::Call;
use crate::egress::throttle::Who;

impl Call {
    /// Returns the credential. The vault hides it from the component before anything is sent.
    pub(in crate::egress) async fn find_credential(
        &self,
        mark: &Mark,
        grant: &AuthGrant,
        options: Option<RequestOptions>,
    ) -> Result<FoundCredential, CredentialError> {
        let secret = |key: &str| self.vault.credential(key);
        let tls = grant.tls(SecretReader(&secret)).map_err(|error| self.refused(error))?;
        let source = grant.source(mark, SecretReader(&secret), &self.plugin);
        let source = source.map_err(|error| self.refused(error))?;
        let service = match source {
            CredentialSource::Secret(credential, holder) => {
                let found = FoundCredential { from: From::Secret(credential), holder, tls };
                return Ok(self.hidden(found));
            }
            CredentialSource::Service(service) => service,
            CredentialSource::File(exchange) => self.read_file(exchange).await?,
        };
        self.of_service(grant.scheme(), &*service, tls, options).await.map(|found| self.hidden(found))
    }

    async fn of_service(
        &self,
        scheme: &'static str,
        service: &dyn TokenService,
        tls: Option<SecretTls>,
        options: Option<RequestOptions>,
    ) -> Result<FoundCredential, CredentialError> {
        let key = CredentialKey::new(&self.plugin, scheme, service, tls.as_ref());
        let holder = service.holder();
        let lease = self.cached_or(&key, || self.ask_all(service, &holder, (tls.as_ref(), options))).await?;
        Ok(FoundCredential { from: From::Service(CachedCredential { key, lease }), holder, tls })
    }

    /// Asks the service, and those that exchange its answer for another credential.
    async fn ask_all(
        &self,
        service: &dyn TokenService,
        holder: &Holder,
        terms: (Option<&SecretTls>, Option<RequestOptions>),
    ) -> Result<Lease<Credential>, CredentialError> {
        let mut lease = self.ask(service, holder.clone(), terms).await?;
        let mut next = service.next(&lease);
        while let Some(service) = next {
            self.vault.hide(lease.value.hidden(), Some(lease.expires()));
            lease = self.ask(&*service, holder.clone(), terms).await?;
            next = service.next(&lease);
        }
        Ok(lease)
    }

    async fn read_file(&self, exchange: FileExchange) -> Result<Box<dyn TokenService>, CredentialError> {
        let FileExchange { key, path, folders, service } = exchange;
        let reading = tokio::task::spawn_blocking(move || token_file::read(&path, &folders));
        // A file on a dead network mount does not hold the call.
        let token = match timeout_at(self.deadline, reading).await {
            Ok(Ok(Ok(token))) => Ok(token),
            Ok(Ok(Err(error))) => {
                warn!(plugin = %self.plugin, key, %error, "the token file of a Secret cannot be used");
                Err(without_credentials(format!("the path in the Secret's key {key} {error}")))
            }
            Ok(Err(_)) => Err(Failure::Protocol.into()),
            Err(_) => Err(Failure::ResponseTimeout.into()),
        };
        let token: Zeroizing<String> = token.inspect_err(|_| self.metrics.keys(KeysFrom::Nowhere))?;
        self.vault.hide([token.as_bytes()], None);
        Ok(service(token))
    }

    fn hidden(&self, found: FoundCredential) -> FoundCredential {
        self.vault.hide(found.credential().hidden(), found.ends());
        found
    }

    pub(super) fn refused(&self, error: SchemeError) -> CredentialError {
        match error {
            SchemeError::Refused(reason) => reason.into(),
            SchemeError::Target => Failure::Refused(Reason::Target).into(),
            SchemeError::Unusable { message, error } => {
                warn!(plugin = %self.plugin, %error, "{message}");
                without_credentials(error)
            }
        }
    }
}

fn without_credentials(text: String) -> CredentialError {
    CredentialError::Answer(Synthetic::without_credentials(StatusCode::UNAUTHORIZED, text))
}

/// The credential of one request.
pub(in crate::egress) struct FoundCredential {
    from: From,
    holder: Holder,
    tls: Option<SecretTls>,
}

enum From {
    Secret(Credential),
    Service(CachedCredential),
}

impl FoundCredential {
    pub(in crate::egress) fn credential(&self) -> &Credential {
        match &self.from {
            From::Secret(credential) => credential,
            From::Service(cached) => &cached.lease.value,
        }
    }

    /// Returns the TLS that the Secret asks for.
    pub(in crate::egress) fn tls(&self) -> Option<&SecretTls> {
        self.tls.as_ref()
    }

    /// Returns the time at which the cloud stops accepting it, if it is known.
    fn ends(&self) -> Option<Timestamp> {
        match &self.from {
            From::Secret(_) => None,
            From::Service(cached) => Some(cached.lease.expires()),
        }
    }

    /// The cloud counts the requests of this one together.
    pub(in crate::egress) fn who(&self) -> Who {
        Who::Holder(self.holder.clone())
    }

    /// Returns the credential to forget if the cloud refuses it.
    pub(in crate::egress) fn cached(&self) -> Option<CachedCredential> {
        match &self.from {
            From::Secret(_) => None,
            From::Service(cached) => Some(cached.clone()),
        }
    }
}

#[derive(Clone)]
pub(in crate::egress) struct CachedCredential {
    key: CredentialKey,
    lease: Arc<Lease<Credential>>,
}

impl CachedCredential {
    /// Makes the next request ask for another one.
    pub(in crate::egress) fn forget(&self, cache: &CredentialCache) {
        cache.0.forget(&self.key, &self.lease);
    }
}
