//! Some requests to one repository with one login.

use std::future::Future;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use reqwest::header::{ACCEPT, CONTENT_TYPE, LOCATION, WWW_AUTHENTICATE};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde::Deserialize;
use tokio::sync::Mutex;
use tokio::time::timeout;
use url::Url;

use super::challenge::{self, Challenge};
use super::clients::Clients;
use super::hop::{self, MOST_REDIRECTS, RedirectError};
use super::{Error, Limits};
use crate::digest::ContentDigest;
use crate::login::{Credentials, LoginProof};
use crate::manifest::{self, Blob, Document};
use crate::reference::{Reference, Version};

/// The access that a token has to allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Pull,
    Push,
}

pub(super) struct Session<'a> {
    clients: &'a Clients,
    /// The registry itself: the only server that sees the login, beside its token service.
    home: Url,
    pub(super) registry: String,
    repository: String,
    credentials: Option<Credentials>,
    scope: Scope,
    pub(super) limits: &'a Limits,
    proof: Mutex<Proof>,
}

/// The authorization of each request.
#[derive(Clone, PartialEq, Eq)]
enum Proof {
    Nothing,
    Login,
    Token(String),
}

#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

/// Of what a registry says about an error.
const MOST_TEXT_BYTES: u64 = 2_000;
const MOST_TEXT_CHARS: usize = 300;
/// The longest names of hosts.
const MOST_HOST_CHARS: usize = 253;

impl<'a> Session<'a> {
    pub(super) fn new(
        clients: &'a Clients,
        reference: &Reference,
        credentials: Option<Credentials>,
        scope: Scope,
        limits: &'a Limits,
    ) -> Result<Self, Error> {
        let (registry, repository) = (reference.host().to_owned(), reference.repository.clone());
        let scheme = if reference.is_on_loopback() { "http" } else { "https" };
        let prohibited = |why| Error::Prohibited { registry: registry.clone(), why };
        let home = Url::parse(&format!("{scheme}://{registry}/"));
        let home = home.map_err(|_| prohibited("its name is no valid address"))?;
        // As the parser reads it, whatever notation the reference has.
        if scheme == "https" && hop::is_on_loopback(&home) {
            return Err(prohibited("a registry on this machine is called localhost, 127.0.0.1 or [::1]"));
        }
        let proof = Mutex::new(Proof::Nothing);
        Ok(Self { clients, home, registry, repository, credentials, scope, limits, proof })
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("{}v2/{}/{path}", self.home, self.repository)
    }

    pub(super) fn address(&self, url: &str, what: &str) -> Result<Url, Error> {
        Url::parse(url).map_err(|_| self.protocol_error(what, "its name is no valid address"))
    }

    /// A manifest with its digest and its bytes.
    pub(super) async fn manifest(
        &self,
        reference: &Reference,
    ) -> Result<(ContentDigest, Bytes, Document), Error> {
        let (digest, bytes, kind) = self.document(reference).await?;
        let document = manifest::read(&bytes, &kind)
            .map_err(|source| Error::Manifest { reference: reference.to_string(), source })?;
        Ok((digest, bytes, document))
    }

    /// A manifest's bytes with their digest and media type.
    pub(super) async fn document(
        &self,
        reference: &Reference,
    ) -> Result<(ContentDigest, Bytes, String), Error> {
        let (version, what) = match &reference.version {
            Version::Tag(tag) => (tag.clone(), format!("manifest {}:{tag}", reference.repository)),
            Version::Digest(digest) => {
                (digest.to_string(), format!("manifest {}@{digest}", reference.repository))
            }
        };
        let url = self.address(&self.url(&format!("manifests/{version}")), &what)?;
        let limit = self.limits.question;
        let work = async {
            let dress = |request: RequestBuilder| request.header(ACCEPT, manifest::ACCEPTED);
            let response = self.ask(&what, &Method::GET, &url, dress).await?;
            let kind = text_of(&response, CONTENT_TYPE.as_str());
            let claimed = text_of(&response, "docker-content-digest").parse().ok();
            Ok((self.read(&what, response, self.limits.document_bytes).await?, kind, claimed))
        };
        let (bytes, kind, claimed): (Bytes, String, Option<ContentDigest>) =
            self.within(limit, &what, work).await?;
        let found = ContentDigest::of(&bytes);
        // One that names another digest than that of its own answer lies about one of them.
        for expected in [reference.digest(), claimed].into_iter().flatten() {
            if expected != found {
                return Err(Error::Digest { registry: self.registry.clone(), what, expected, found });
            }
        }
        Ok((found, bytes, kind))
    }

    /// The bytes of a blob.
    pub(super) async fn blob(&self, blob: &Blob, most: u64, limit: Duration) -> Result<Bytes, Error> {
        let what = format!("blob {}@{}", self.repository, blob.digest);
        let registry = || self.registry.clone();
        if blob.size_bytes > most {
            return Err(Error::TooLarge { registry: registry(), what, most });
        }
        let url = self.address(&self.url(&format!("blobs/{}", blob.digest)), &what)?;
        let work = async {
            let response = self.ask(&what, &Method::GET, &url, |request| request).await?;
            self.read(&what, response, most).await
        };
        let bytes = self.within(limit, &what, work).await?;
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if size != blob.size_bytes {
            return Err(Error::Size { registry: registry(), what, expected: blob.size_bytes, found: size });
        }
        let found = ContentDigest::of(&bytes);
        if found != blob.digest {
            return Err(Error::Digest { registry: registry(), what, expected: blob.digest, found });
        }
        Ok(bytes)
    }

    /// A good answer; anything else is an error. Shows who we are when the registry asks for that; a server to which it
    /// redirects sees no login and gets no answer to a challenge.
    pub(super) async fn ask(
        &self,
        what: &str,
        method: &Method,
        url: &Url,
        dress: impl Fn(RequestBuilder) -> RequestBuilder,
    ) -> Result<Response, Error> {
        let refused =
            |source| Error::Redirect { registry: self.registry.clone(), what: what.to_owned(), source };
        let (mut at, mut is_away, mut redirects, mut has_proven) = (url.clone(), false, 0, false);
        loop {
            let request = self.clients.request(method.clone(), &at);
            let request = dress(request.map_err(|why| match redirects {
                0 => self.prohibited(why),
                _ => refused(RedirectError::Prohibited(why)),
            })?);
            let proof = if is_away { Proof::Nothing } else { self.proof.lock().await.clone() };
            let response = self.send(what, self.signed(request, &proof)).await?;
            if let Some(location) = redirect(method, &response) {
                redirects += 1;
                if redirects > MOST_REDIRECTS {
                    return Err(refused(RedirectError::TooMany));
                }
                at = hop::next(&at, location.as_deref()).map_err(refused)?;
                // A request that was redirected to another host once never carries the login again.
                is_away = is_away || at.origin() != self.home.origin();
                continue;
            }
            let is_asked = response.status() == StatusCode::UNAUTHORIZED;
            if is_asked && is_away {
                return Err(refused(RedirectError::Login));
            }
            if !is_asked || has_proven {
                return self.good(what, response).await;
            }
            let next = self.prove(&text_of(&response, WWW_AUTHENTICATE.as_str())).await?;
            if next == proof {
                return Err(self.unauthorised());
            }
            *self.proof.lock().await = next;
            has_proven = true;
        }
    }

    fn signed(&self, request: RequestBuilder, proof: &Proof) -> RequestBuilder {
        match (proof, &self.credentials) {
            (Proof::Token(token), _) => request.bearer_auth(token),
            (Proof::Login, Some(Credentials { user, proof: LoginProof::Password(password) })) => {
                request.basic_auth(user, Some(password))
            }
            // It goes to the token service alone.
            (Proof::Login, Some(Credentials { proof: LoginProof::IdentityToken(_), .. })) => request,
            (Proof::Login, None) | (Proof::Nothing, _) => request,
        }
    }

    async fn prove(&self, asked: &str) -> Result<Proof, Error> {
        let challenge_error = |detail: &str| self.challenge(detail.to_owned());
        match challenge::read(asked) {
            None => Err(challenge_error("it is neither Basic nor Bearer with a realm")),
            Some(Challenge::Basic) if !self.has_password() => Err(self.unauthorised()),
            Some(Challenge::Basic) => Ok(Proof::Login),
            Some(Challenge::Bearer { realm, service }) => {
                let mut url = Url::parse(&realm).map_err(|_| challenge_error("its realm is no address"))?;
                if !hop::may_give_tokens(&self.home, &url) {
                    return Err(self.foreign(&url));
                }
                let actions = match self.scope {
                    Scope::Pull => "pull",
                    Scope::Push => "pull,push",
                };
                let scope = format!("repository:{}:{actions}", self.repository);
                if let Some(Credentials { proof: LoginProof::IdentityToken(token), .. }) = &self.credentials {
                    let request = self.exchange(&url, token, &scope, service.as_deref())?;
                    return self.token(request).await;
                }
                url.query_pairs_mut().append_pair("scope", &scope);
                if let Some(service) = service {
                    url.query_pairs_mut().append_pair("service", &service);
                }
                let request = self.clients.request(Method::GET, &url).map_err(challenge_error)?;
                self.token(self.signed(request, &Proof::Login)).await
            }
        }
    }

    /// The realm is not the registry's: neither the login nor a token from there is given to the other.
    fn foreign(&self, realm: &Url) -> Error {
        let host: String = realm.host_str().unwrap_or("nowhere").chars().take(MOST_HOST_CHARS).collect();
        let port = realm.port().map(|port| format!(":{port}")).unwrap_or_default();
        let scheme = if realm.scheme() == "https" { "" } else { " without TLS" };
        self.challenge(format!(
            "tokens would come from {host}{port}{scheme}, which is not in the registry's domain, so the login stays here"
        ))
    }

    fn challenge(&self, detail: String) -> Error {
        Error::Challenge { registry: self.registry.clone(), detail }
    }

    fn prohibited(&self, why: &'static str) -> Error {
        Error::Prohibited { registry: self.registry.clone(), why }
    }

    /// Asks the token service for a token in exchange for the one of the login.
    fn exchange(
        &self,
        realm: &Url,
        token: &str,
        scope: &str,
        service: Option<&str>,
    ) -> Result<RequestBuilder, Error> {
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        form.append_pair("grant_type", "refresh_token")
            .append_pair("client_id", "machinist")
            .append_pair("scope", scope)
            .append_pair("refresh_token", token);
        if let Some(service) = service {
            form.append_pair("service", service);
        }
        let request = self.clients.request(Method::POST, realm);
        let request = request.map_err(|why| self.challenge(why.to_owned()))?;
        Ok(request.header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(form.finish()))
    }

    fn has_password(&self) -> bool {
        matches!(&self.credentials, Some(Credentials { proof: LoginProof::Password(_), .. }))
    }

    async fn token(&self, request: RequestBuilder) -> Result<Proof, Error> {
        let what = "a token";
        let work = async {
            let response = self.send(what, request).await?;
            let response = self.good(what, response).await?;
            self.read(what, response, self.limits.document_bytes).await
        };
        let bytes = self.within(self.limits.question, what, work).await?;
        token_in(&bytes)
            .map(Proof::Token)
            .ok_or_else(|| self.challenge("the answer of its realm has no token".to_owned()))
    }

    pub(super) async fn send(&self, what: &str, request: RequestBuilder) -> Result<Response, Error> {
        let answer = timeout(self.limits.silence, request.send()).await.map_err(|_| self.silent(what))?;
        answer.map_err(|error| self.unreachable(error))
    }

    async fn good(&self, what: &str, response: Response) -> Result<Response, Error> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        if status == StatusCode::UNAUTHORIZED || status == StatusCode::FORBIDDEN {
            return Err(self.unauthorised());
        }
        let registry = self.registry.clone();
        if status == StatusCode::NOT_FOUND {
            return Err(Error::Absent { registry, what: what.to_owned() });
        }
        // The text is for people only: as much as arrives within the limit.
        let body = self.read(what, response, MOST_TEXT_BYTES).await.unwrap_or_default();
        let text = String::from_utf8_lossy(&body);
        let text: String = text.chars().filter(|c| !c.is_control()).take(MOST_TEXT_CHARS).collect();
        Err(Error::Answer { registry, what: what.to_owned(), status: status.as_u16(), text })
    }

    /// The body, up to a limit.
    async fn read(&self, what: &str, mut response: Response, most: u64) -> Result<Bytes, Error> {
        let mut body = BytesMut::new();
        loop {
            let chunk =
                timeout(self.limits.silence, response.chunk()).await.map_err(|_| self.silent(what))?;
            let Some(chunk) = chunk.map_err(|error| self.unreachable(error))? else {
                return Ok(body.freeze());
            };
            let size = u64::try_from(body.len().saturating_add(chunk.len())).unwrap_or(u64::MAX);
            if size > most {
                return Err(Error::TooLarge { registry: self.registry.clone(), what: what.to_owned(), most });
            }
            body.extend_from_slice(&chunk);
        }
    }

    /// However steadily it drips.
    pub(super) async fn within<T>(
        &self,
        limit: Duration,
        what: &str,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        timeout(limit, work).await.unwrap_or_else(|_| Err(self.slow(what, limit)))
    }

    fn silent(&self, what: &str) -> Error {
        self.slow(what, self.limits.silence)
    }

    fn slow(&self, what: &str, within: Duration) -> Error {
        Error::Slow { registry: self.registry.clone(), what: what.to_owned(), within }
    }

    fn unreachable(&self, error: reqwest::Error) -> Error {
        // Addresses of storage behind a redirect carry keys.
        Error::Unreachable { registry: self.registry.clone(), source: error.without_url() }
    }

    fn unauthorised(&self) -> Error {
        Error::Unauthorised {
            registry: self.registry.clone(),
            repository: self.repository.clone(),
            has_login: self.credentials.is_some(),
        }
    }

    pub(super) fn protocol_error(&self, what: &str, detail: &'static str) -> Error {
        Error::Protocol { registry: self.registry.clone(), what: what.to_owned(), detail }
    }
}

/// The token in the answer of a token service.
pub(super) fn token_in(answer: &[u8]) -> Option<String> {
    let token: Token = serde_json::from_slice(answer).ok()?;
    token.token.or(token.access_token)
}

/// Where the answer sends a request that only reads; the inner nothing is a redirect to nowhere.
fn redirect(method: &Method, response: &Response) -> Option<Option<String>> {
    let reads = *method == Method::GET || *method == Method::HEAD;
    let leads = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    (reads && leads).then(|| {
        let location = response.headers().get(LOCATION);
        location.and_then(|location| location.to_str().ok()).map(str::to_owned)
    })
}

fn text_of(response: &Response, header: &str) -> String {
    let value = response.headers().get(header).and_then(|value| value.to_str().ok());
    value.unwrap_or_default().to_owned()
}
