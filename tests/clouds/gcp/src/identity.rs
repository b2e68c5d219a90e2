//! Tokens: for assertions of service accounts (RFC 7523), for tokens of an identity provider (RFC 8693), and for the
//! impersonation of a service account.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use serde_json::{Value, json};

use crate::wire::{Answer, Request};

/// The audience of an assertion.
pub const TOKEN_URL: &str = "https://oauth2.googleapis.com/token";
/// The scopes with which all methods work that this cloud serves.
const SCOPES: [&str; 2] =
    ["https://www.googleapis.com/auth/compute", "https://www.googleapis.com/auth/cloud-platform"];
const CLOUD_PLATFORM: &str = SCOPES[1];
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
/// The clock of an assertion may be wrong by so much.
const SKEW_S: i64 = 300;
const LIFE_S: i64 = 3600;

#[derive(Clone, Debug)]
struct Token {
    identity: String,
    scope: String,
    ends_s: i64,
}

/// An external account: a pool, and the token that its provider issued.
#[derive(Clone, Debug)]
struct Pool {
    subject_token: String,
    /// Service accounts that it may impersonate.
    accounts: Vec<String>,
}

/// Accounts and pools that may get a token, and the tokens that were issued.
#[derive(Clone, Debug, Default)]
pub struct Identity {
    /// RSA public keys (PKCS #1, DER) by the e-mail of the service account.
    keys: BTreeMap<String, Vec<u8>>,
    pools: BTreeMap<String, Pool>,
    tokens: BTreeMap<String, Token>,
    issued: u64,
    /// How many tokens the token services issued.
    pub exchanges: u64,
}

/// Why a bearer token does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoToken {
    Invalid,
    Scope,
}

impl Identity {
    /// Registers a service account with its public key.
    pub fn add_account(&mut self, email: &str, public_key: &[u8]) {
        self.keys.insert(email.to_owned(), public_key.to_vec());
    }

    /// Registers a pool: who shows this token may impersonate these service accounts.
    pub fn add_pool(&mut self, audience: &str, subject_token: &str, accounts: &[&str]) {
        let accounts = accounts.iter().map(|account| (*account).to_owned()).collect();
        self.pools.insert(audience.to_owned(), Pool { subject_token: subject_token.to_owned(), accounts });
    }

    /// Issues a token without an exchange, as for a person with another login.
    pub fn issue(&mut self, identity: &str, scope: &str, now_s: i64) -> String {
        self.issued += 1;
        let token = format!("ya29.{:08}-{}", self.issued, identity.len());
        let kept = Token { identity: identity.to_owned(), scope: scope.to_owned(), ends_s: now_s + LIFE_S };
        self.tokens.insert(token.clone(), kept);
        token
    }

    pub fn revoke_all(&mut self) {
        self.tokens.clear();
    }

    pub(crate) fn check(&self, token: Option<&str>, now_s: i64) -> Result<&str, NoToken> {
        let token = token.and_then(|token| self.tokens.get(token)).filter(|token| token.ends_s > now_s);
        let token = token.ok_or(NoToken::Invalid)?;
        let fits = token.scope.split(' ').any(|scope| SCOPES.contains(&scope));
        if fits { Ok(&token.identity) } else { Err(NoToken::Scope) }
    }

    /// Answers requests to the token services; `None` for other paths.
    pub(crate) fn handle(&mut self, request: &Request, now_s: i64) -> Option<Answer> {
        if request.method != "POST" {
            return None;
        }
        let form: BTreeMap<String, String> = form_urlencoded::parse(&request.body).into_owned().collect();
        let answer = match request.path() {
            "/token" => self.assertion(&form, now_s),
            "/v1/token" => self.exchange(&form, now_s),
            path => {
                let email = path
                    .strip_prefix("/v1/projects/-/serviceAccounts/")?
                    .strip_suffix(":generateAccessToken")?;
                return Some(self.impersonate(&email.replace("%40", "@"), request, now_s));
            }
        };
        Some(answer.unwrap_or_else(|(error, description)| {
            Answer::json(400, &json!({ "error": error, "error_description": description }))
        }))
    }

    fn assertion(
        &mut self,
        form: &BTreeMap<String, String>,
        now_s: i64,
    ) -> Result<Answer, (&'static str, String)> {
        let field = |name: &str| form.get(name).map(String::as_str).unwrap_or_default();
        if field("grant_type") != JWT_BEARER {
            return Err(("unsupported_grant_type", format!("Invalid grant_type: {}", field("grant_type"))));
        }
        let grant = |what: &str| ("invalid_grant", what.to_owned());
        let (signed, signature) = field("assertion").rsplit_once('.').ok_or_else(|| grant("Invalid JWT"))?;
        let (header, claims) = signed.split_once('.').ok_or_else(|| grant("Invalid JWT"))?;
        let read = |part: &str| -> Option<Value> {
            serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
        };
        let header = read(header).ok_or_else(|| grant("Invalid JWT"))?;
        let claims = read(claims).ok_or_else(|| grant("Invalid JWT"))?;
        if header["alg"] != "RS256" {
            return Err(grant("Invalid JWT: alg must be RS256"));
        }
        let email = claims["iss"].as_str().unwrap_or_default();
        let key = self.keys.get(email).ok_or_else(|| grant("Invalid grant: account not found"))?;
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| grant("Invalid JWT Signature."))?;
        UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key)
            .verify(signed.as_bytes(), &signature)
            .map_err(|_| grant("Invalid JWT Signature."))?;
        if claims["aud"] != TOKEN_URL {
            return Err(grant(
                "Invalid JWT: Failed audience check. The right audience is https://oauth2.googleapis.com/token",
            ));
        }
        let number = |name: &str| claims[name].as_i64().unwrap_or_default();
        let (issued, ends) = (number("iat"), number("exp"));
        if ends - issued > LIFE_S || issued > now_s + SKEW_S || ends < now_s - SKEW_S {
            return Err(grant(
                "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check your \
                 iat and exp values in the JWT claim.",
            ));
        }
        let scope = claims["scope"].as_str().unwrap_or_default().to_owned();
        if scope.is_empty() {
            return Err(("invalid_scope", "Invalid OAuth scope or ID token audience provided.".to_owned()));
        }
        let email = email.to_owned();
        self.exchanges += 1;
        let token = self.issue(&email, &scope, now_s);
        Ok(Answer::json(
            200,
            &json!({ "access_token": token, "expires_in": LIFE_S - 1, "token_type": "Bearer" }),
        ))
    }

    fn exchange(
        &mut self,
        form: &BTreeMap<String, String>,
        now_s: i64,
    ) -> Result<Answer, (&'static str, String)> {
        let field = |name: &str| form.get(name).map(String::as_str).unwrap_or_default();
        for (name, wanted) in [
            ("grant_type", EXCHANGE),
            ("requested_token_type", "urn:ietf:params:oauth:token-type:access_token"),
            ("subject_token_type", "urn:ietf:params:oauth:token-type:jwt"),
        ] {
            if field(name) != wanted {
                return Err(("invalid_request", format!("Invalid {name}: {}", field(name))));
            }
        }
        let audience = field("audience").to_owned();
        let pool = self.pools.get(&audience).ok_or_else(|| {
            (
                "invalid_target",
                "The target service indicated by the \"audience\" parameters is invalid.".to_owned(),
            )
        })?;
        if pool.subject_token != field("subject_token") {
            return Err(("invalid_grant", "The subject token is not valid.".to_owned()));
        }
        let scope = field("scope").to_owned();
        self.exchanges += 1;
        let token = self.issue(&audience, &scope, now_s);
        Ok(Answer::json(
            200,
            &json!({
                "access_token": token, "expires_in": LIFE_S, "token_type": "Bearer",
                "issued_token_type": "urn:ietf:params:oauth:token-type:access_token",
            }),
        ))
    }

    fn impersonate(&mut self, email: &str, request: &Request, now_s: i64) -> Answer {
        let refused = |status: u16, message: &str| {
            Answer::json(
                status,
                &json!({ "error": { "code": status, "message": message, "status": "PERMISSION_DENIED" } }),
            )
        };
        let token = request.token.as_deref().and_then(|token| self.tokens.get(token));
        let Some(token) = token.filter(|token| {
            token.ends_s > now_s && token.scope.split(' ').any(|scope| scope == CLOUD_PLATFORM)
        }) else {
            return refused(401, "Request had invalid authentication credentials.");
        };
        let may = self
            .pools
            .get(&token.identity)
            .is_some_and(|pool| pool.accounts.iter().any(|known| known == email));
        if !may {
            return refused(
                403,
                "Permission 'iam.serviceAccounts.getAccessToken' denied on resource (or it may not exist).",
            );
        }
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let scopes: Vec<&str> =
            body["scope"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if scopes.is_empty() {
            return refused(400, "scope is required");
        }
        self.exchanges += 1;
        let token = self.issue(email, &scopes.join(" "), now_s);
        let ends = jiff::Timestamp::from_second(now_s + LIFE_S).unwrap_or_default();
        Answer::json(200, &json!({ "accessToken": token, "expireTime": ends.to_string() }))
    }
}
