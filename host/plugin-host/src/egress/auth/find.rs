//! Finds what a request of a call is authenticated with: in its Secret, among what is kept, or at a credential service.

use http::header::AUTHORIZATION;
use http::{HeaderValue, StatusCode};
use tokio::time::timeout_at;
use tracing::warn;
use zeroize::Zeroizing;

use super::access_token::access_token;
use super::client_credentials::Client;
use super::credential::{Credential, CredentialHeader, Found};
use super::fetch::Inquiry;
use super::jwt_bearer::Issuer;
use super::keystone::{Login, subject_token};
use super::source::{Source, WebIdentity};
use super::{Mark, NoKeys, Question, digest, secret, sts, token_file};
use crate::egress::failure::{AuthReason, Failure, Reason};
use crate::egress::message::synthetic::Synthetic;
use crate::egress::metrics::KeysFrom;
use crate::egress::session::Call;
use crate::egress::throttle::Who;
use crate::grants::{
    AuthGrant, AuthScheme, AuthWay, AuthWish, BasicGrant, BearerGrant, ClientCredentialsGrant,
    JwtBearerGrant, KeystoneGrant, RequestTarget, SigV4Grant,
};

impl Call {
    /// What to authenticate with. It is hidden from the component before anything is sent.
    pub(in crate::egress) async fn find_keys(&self, mark: &Mark, grant: &AuthGrant) -> Result<Found, NoKeys> {
        let found = match (grant.way(), &mark.0) {
            (AuthWay::AwsSigV4(grant), AuthWish::AwsSigV4 { region, .. }) => {
                self.signing_keys(grant, region).await?
            }
            (AuthWay::Bearer(grant), AuthWish::Bearer) => self.bearer(grant).map_err(refused)?,
            (AuthWay::Basic(grant), AuthWish::Basic) => self.basic(grant).map_err(refused)?,
            (AuthWay::ClientCredentials(grant), AuthWish::ClientCredentials { scopes }) => {
                self.client_token(grant, scopes).await?
            }
            (AuthWay::JwtBearer(grant), AuthWish::JwtBearer { scopes }) => {
                self.assertion_token(grant, scopes).await?
            }
            (AuthWay::Keystone(grant), AuthWish::Keystone) => self.project_token(grant).await?,
            // The grant was found by the mark, so it is of the same scheme.
            (_, _) => return Err(refused(AuthReason::Scheme)),
        };
        self.vault.hide(found.credential().hidden(), found.ends());
        Ok(found)
    }

    async fn signing_keys(&self, grant: &SigV4Grant, region: &str) -> Result<Found, NoKeys> {
        match Source::of(&self.vault, grant).map_err(refused)? {
            Source::Static(keys) => {
                let hidden: Vec<&[u8]> = keys.hidden().collect();
                let who = Who::Holder(digest(&hidden));
                Ok(Found::in_secret(Credential::Keys(keys), who))
            }
            Source::WebIdentity(web) => self.session_keys(&web, region).await,
        }
    }

    async fn session_keys(&self, web: &WebIdentity<'_>, region: &str) -> Result<Found, NoKeys> {
        let target = web.grant.sts().target(region).map_err(|_| Failure::Refused(Reason::Target))?;
        let token = self.token(web).await.inspect_err(|_| self.metrics.keys(KeysFrom::Nowhere))?;
        self.vault.hide([token.as_bytes()], None);
        let service = url(&target);
        let parts = [&web.role_arn, &service, &web.token_file, &*token];
        let parts = parts.map(|part: &String| part.as_bytes());
        let question = Question::new(&self.plugin, AuthScheme::AwsSigV4, &parts);
        let who = Who::Role(web.role_arn.clone());
        self.kept_or(question, who.clone(), || async {
            let outgoing = sts::request(target, &self.plugin, &web.role_arn, &token);
            let inquiry = Inquiry { outgoing, who, not_granted: AuthReason::Sts, field: "sts" };
            self.ask(inquiry, |heard| {
                sts::session_keys(&heard.body, heard.now).map(|keys| keys.map(Credential::Keys))
            })
            .await
        })
        .await
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

    fn bearer(&self, grant: &BearerGrant) -> Result<Found, AuthReason> {
        let token = secret::one(&self.vault, grant.token_keys())?;
        let who = Who::Holder(digest(&[token.as_bytes()]));
        let header = CredentialHeader::new(grant.header().clone(), grant.prefix(), &token);
        Ok(Found::in_secret(Credential::Header(header.ok_or(AuthReason::Keys)?), who))
    }

    fn basic(&self, grant: &BasicGrant) -> Result<Found, AuthReason> {
        let name = secret::one(&self.vault, grant.username_keys())?;
        let password = secret::one(&self.vault, grant.password_keys())?;
        let header = CredentialHeader::basic(&name, &password).ok_or(AuthReason::Keys)?;
        let who = Who::Holder(digest(&[name.as_bytes(), password.as_bytes()]));
        Ok(Found::in_secret(Credential::Header(header), who))
    }

    async fn client_token(&self, grant: &ClientCredentialsGrant, scopes: &[String]) -> Result<Found, NoKeys> {
        const SCHEME: AuthScheme = AuthScheme::ClientCredentials;
        let client = Client::of(&self.vault, grant, scopes).map_err(refused)?;
        let service = url(&client.target);
        let parts =
            [&service, &*client.id, &*client.secret, &client.scope].map(|part: &String| part.as_bytes());
        let question = Question::new(&self.plugin, SCHEME, &parts);
        let who = Who::Holder(digest(&[service.as_bytes(), client.id.as_bytes(), client.secret.as_bytes()]));
        self.kept_or(question, who.clone(), || async {
            let outgoing = client.request().ok_or(refused(AuthReason::Keys))?;
            let authorization = outgoing.headers.get(AUTHORIZATION).map(HeaderValue::as_bytes);
            self.vault.hide(authorization.and_then(|value| value.strip_prefix(b"Basic ")), None);
            let inquiry = Inquiry { outgoing, who, not_granted: AuthReason::TokenUrl, field: "token-url" };
            self.ask(inquiry, |heard| access_token(&heard.body, heard.now)).await
        })
        .await
    }

    async fn assertion_token(&self, grant: &JwtBearerGrant, scopes: &[String]) -> Result<Found, NoKeys> {
        const SCHEME: AuthScheme = AuthScheme::JwtBearer;
        let issuer = Issuer::of(&self.vault, grant, scopes).map_err(refused)?;
        let [key, name, key_id] = issuer.identity();
        let service = url(&issuer.target);
        let parts =
            [service.as_bytes(), issuer.audience.as_bytes(), issuer.scope.as_bytes(), key, name, key_id];
        let question = Question::new(&self.plugin, SCHEME, &parts);
        let who = Who::Holder(digest(&[key, name]));
        self.kept_or(question, who.clone(), || async {
            let now = (self.egress.settings.clock)();
            let assertion = issuer.assertion(now, rand::random()).map_err(|error| {
                warn!(plugin = %self.plugin, %error, "no assertion can be made with a Secret");
                let text = error.to_string();
                NoKeys::Answer(Synthetic::without_credentials(StatusCode::UNAUTHORIZED, text))
            })?;
            self.vault.hide([assertion.as_bytes()], None);
            let outgoing = issuer.request(&assertion);
            let inquiry = Inquiry { outgoing, who, not_granted: AuthReason::TokenUrl, field: "token-url" };
            self.ask(inquiry, |heard| access_token(&heard.body, heard.now)).await
        })
        .await
    }

    async fn project_token(&self, grant: &KeystoneGrant) -> Result<Found, NoKeys> {
        const SCHEME: AuthScheme = AuthScheme::Keystone;
        let login = Login::of(&self.vault, grant).map_err(refused)?;
        let service = url(&login.target);
        let parts = [service.as_bytes(), login.body.as_bytes()];
        let question = Question::new(&self.plugin, SCHEME, &parts);
        let who = Who::Holder(digest(&parts));
        self.kept_or(question, who.clone(), || async {
            let inquiry =
                Inquiry { outgoing: login.request(), who, not_granted: AuthReason::TokenUrl, field: "url" };
            self.ask(inquiry, |heard| subject_token(&heard.headers, &heard.body, heard.now)).await
        })
        .await
    }
}

fn refused(reason: AuthReason) -> NoKeys {
    Failure::Refused(Reason::Auth(reason)).into()
}

/// Names the service in a question.
fn url(target: &RequestTarget) -> String {
    format!("{}://{}{}", target.scheme().name(), target.authority(), target.path())
}
