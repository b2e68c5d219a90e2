//! Tokens in files that a token service exchanges: external accounts of Google, and clients of Azure.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::StatusCode;
use machinist_core::driver::SecretValues;
use serde_json::{Value, json};
use wasmtime_wasi_http::Error as WasiError;

use super::auth::values;
use super::tokens::marked;
use crate::server::{Seen, Server, ok};
use crate::{Answer, Duration, Host, Names};

const TOKEN: &str = "eyJhbGciOi.the-token-of-the-file.signature";
const AUDIENCE: &str = "//iam.googleapis.com/projects/7/locations/global/workloadIdentityPools/p/providers/x";
const ACCOUNT: &str = "machines@shop.iam.gserviceaccount.com";

/// A host whose clock says noon, a folder with a token, a cloud, and a token service.
struct Files {
    folder: tempfile::TempDir,
    host: Host,
    cloud: Server,
    service: Server,
}

impl Files {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("token"), format!("{TOKEN}\n")).unwrap();
        let host = Host::with(&Names::default(), |settings| {
            settings.clock = Arc::new(|| "2026-03-01T12:00:00Z".parse().unwrap());
        });
        let count = AtomicUsize::new(0);
        let service = Server::http(move |seen| {
            let token = format!("token-0123456789-{}", count.fetch_add(1, Ordering::SeqCst));
            if seen.uri.path().contains(":generateAccessToken") {
                let end = "2026-03-01T13:00:00Z";
                return ok(json!({ "accessToken": token, "expireTime": end }).to_string());
            }
            ok(json!({ "access_token": token, "token_type": "Bearer", "expires_in": 3600 }).to_string())
        })
        .await;
        Self { folder, host, cloud: Server::http(|_| ok("fine")).await, service }
    }

    fn path(&self) -> String {
        self.folder.path().join("token").to_str().unwrap().to_owned()
    }

    async fn send(&self, auth: &str, secret: SecretValues, mark: &str) -> Result<Answer, WasiError> {
        let grants = format!(
            "egress: [{{ host: 127.0.0.1, scheme: http, ports: [{}, {}], addresses: loopback }}]\nauth: [{{ {auth} }}]\n",
            self.cloud.port, self.service.port
        );
        let call = self.host.call_with(&grants, secret, Duration::from_secs(20));
        call.send(marked(&self.cloud, mark), None).await
    }

    /// The grant of external accounts.
    fn google(&self, more: &str) -> String {
        format!(
            "scheme: jwt-bearer, scopes: ['https://*'], workload-identity: {{ token-files: ['{}'], \
             sts: '{}', impersonation: '{}'{more} }}",
            self.folder.path().display(),
            self.service.url("/v1/token"),
            self.service.url("/accounts/"),
        )
    }

    /// A document as Google gives it.
    fn account(&self, change: impl FnOnce(&mut Value)) -> SecretValues {
        let mut document = json!({
            "type": "external_account",
            "audience": AUDIENCE,
            "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
            "token_url": self.service.url("/v1/token"),
            "credential_source": { "file": self.path(), "format": { "type": "text" } },
            "universe_domain": "googleapis.com",
        });
        change(&mut document);
        values(&[("serviceAccountJSON", &document.to_string())])
    }

    fn impersonated(&self, account: &str) -> SecretValues {
        let url = self.service.url(&format!("/accounts/{account}:generateAccessToken"));
        self.account(|document| document["service_account_impersonation_url"] = json!(url))
    }
}

fn form(seen: &Seen) -> Vec<(String, String)> {
    url::form_urlencoded::parse(&seen.body)
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect()
}

fn value(form: &[(String, String)], name: &str) -> String {
    form.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone()).unwrap_or_default()
}

fn authorization(seen: &Seen) -> &str {
    seen.headers["authorization"].to_str().unwrap()
}

const MARK: &str = "jwt-bearer; scope=https://www.example.com/compute";
const ALLOWED: &str = ", audiences: ['//iam.googleapis.com/projects/7/*'], service-accounts: ['*@shop.iam.gserviceaccount.com']";

#[tokio::test]
async fn an_external_account_shows_the_token_of_its_file_and_gets_another() {
    let files = Files::new().await;
    let answer = files.send(&files.google(ALLOWED), files.account(|_| {}), MARK).await.unwrap();
    assert_eq!(answer.text(), "fine");
    assert_eq!(authorization(&files.cloud.seen()[0]), "Bearer token-0123456789-0");
    let asked = files.service.seen();
    assert_eq!(asked.len(), 1);
    assert_eq!(
        form(&asked[0]),
        [
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            ("requested_token_type", "urn:ietf:params:oauth:token-type:access_token"),
            ("subject_token_type", "urn:ietf:params:oauth:token-type:jwt"),
            ("subject_token", TOKEN),
            ("audience", AUDIENCE),
            ("scope", "https://www.example.com/compute"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
    );
}

#[tokio::test]
async fn its_token_may_stand_for_a_service_account_that_the_grants_name() {
    let files = Files::new().await;
    for _ in 0..2 {
        let answer = files.send(&files.google(ALLOWED), files.impersonated(ACCOUNT), MARK).await.unwrap();
        assert_eq!(answer.text(), "fine");
    }
    let asked = files.service.seen();
    assert_eq!(asked.len(), 2, "the second request uses the same token");
    assert_eq!(value(&form(&asked[0]), "scope"), "https://www.googleapis.com/auth/cloud-platform");
    assert_eq!(asked[1].uri.path(), format!("/accounts/{ACCOUNT}:generateAccessToken"));
    assert_eq!(authorization(&asked[1]), "Bearer token-0123456789-0");
    let body: Value = serde_json::from_slice(&asked[1].body).unwrap();
    assert_eq!(body, json!({ "scope": ["https://www.example.com/compute"], "lifetime": "3600s" }));
    assert_eq!(authorization(&files.cloud.seen()[1]), "Bearer token-0123456789-1");
}

#[tokio::test]
async fn a_secret_steers_the_token_nowhere_else() {
    let files = Files::new().await;
    // The host's own token: only what the grants name may see it.
    for (auth, secret, reason) in [
        ("scheme: jwt-bearer, scopes: ['https://*']".to_owned(), files.account(|_| {}), "auth-web-identity"),
        (
            files.google(", audiences: ['//iam.googleapis.com/projects/8/*']"),
            files.account(|_| {}),
            "auth-role",
        ),
        (files.google(", audiences: ['*']"), files.impersonated(ACCOUNT), "auth-role"),
        (files.google(ALLOWED), files.impersonated("admin@other.iam.gserviceaccount.com"), "auth-role"),
    ] {
        let error = files.send(&auth, secret, MARK).await.unwrap_err();
        assert!(matches!(error, WasiError::HttpRequestDenied), "{error:?}");
        assert_eq!(files.host.reasons().pop(), Some(reason), "{auth}");
    }
    let set = |pointer: &'static str, value: &'static str| {
        files.account(move |document| *document.pointer_mut(pointer).unwrap() = json!(value))
    };
    for (secret, said) in [
        (set("/token_url", "https://evil.test/v1/token"), "another token_url"),
        (set("/subject_token_type", "urn:ietf:params:oauth:token-type:saml2"), "subject_token_type"),
        (set("/credential_source", "x"), "credential_source.file"),
        (set("/credential_source/file", "/etc/passwd"), "leads outside"),
        (files.impersonated("a/../../evil"), "impersonation"),
        (files.impersonated("a?x="), "impersonation"),
        (files.impersonated(""), "impersonation"),
    ] {
        let answer = files.send(&files.google(ALLOWED), secret, MARK).await.unwrap();
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
        assert!(answer.text().contains(said), "{}", answer.text());
        assert!(!answer.text().contains("evil"), "{}", answer.text());
    }
    assert_eq!((files.service.seen().len(), files.cloud.seen().len()), (0, 0));
}

#[tokio::test]
async fn a_service_that_refuses_to_impersonate_is_named() {
    let files = Files::new().await;
    let refused = Server::http(|seen| {
        if seen.uri.path().contains(":generateAccessToken") {
            let mut answer = ok("{\"error\":{\"code\":403,\"message\":\"no permission\"}}");
            *answer.status_mut() = StatusCode::FORBIDDEN;
            return answer;
        }
        ok("{\"access_token\":\"first-token-0123456789\",\"expires_in\":3600}")
    })
    .await;
    let files = Files { service: refused, ..files };
    let answer = files.send(&files.google(ALLOWED), files.impersonated(ACCOUNT), MARK).await.unwrap();
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
    assert_eq!(answer.headers["machinist-auth"], "failed");
    assert!(answer.text().contains("no permission"), "{}", answer.text());
}

/// The grant of a client of Azure.
fn azure(files: &Files, more: &str) -> String {
    let url = files.service.url("/{tenantID}/oauth2/v2.0/token");
    format!("scheme: oauth2-client-credentials, token-url: '{url}', client-auth: form{more}")
}

#[tokio::test]
async fn a_client_shows_the_token_of_a_file() {
    let files = Files::new().await;
    let path = files.path();
    let secret = values(&[
        ("tenantID", "the-tenant"),
        ("clientID", "the-client"),
        ("workloadIdentityTokenFile", &path),
    ]);
    let granted =
        format!(", federation: {{ token-files: ['{}'], clients: ['the-*'] }}", files.folder.path().display());
    let mark = "oauth2-client-credentials";
    let answer = files.send(&azure(&files, &granted), secret.clone(), mark).await.unwrap();
    assert_eq!(answer.text(), "fine");
    let asked = files.service.seen().remove(0);
    assert_eq!(asked.uri.path(), "/the-tenant/oauth2/v2.0/token");
    assert_eq!(
        form(&asked),
        [
            ("grant_type", "client_credentials"),
            ("client_id", "the-client"),
            ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
            ("client_assertion", TOKEN),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
    );
    for (more, reason) in
        [(String::new(), "auth-web-identity"), (granted.replace("the-*", "another"), "auth-role")]
    {
        let error = files.send(&azure(&files, &more), secret.clone(), mark).await.unwrap_err();
        assert!(matches!(error, WasiError::HttpRequestDenied), "{error:?}");
        assert_eq!(files.host.reasons().pop(), Some(reason));
    }
}

#[tokio::test]
async fn a_client_proves_itself_by_its_certificate() {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

    let files = Files::new().await;
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = rcgen::CertificateParams::new(["app".to_owned()]).unwrap().self_signed(&key).unwrap();
    let pem = format!("{}{}", key.serialize_pem(), certificate.pem());
    let secret = values(&[("tenantID", "t"), ("clientID", "the-client"), ("clientCertificate", &pem)]);
    let mark = "oauth2-client-credentials";
    assert_eq!(files.send(&azure(&files, ""), secret, mark).await.unwrap().text(), "fine");
    let form = form(&files.service.seen()[0]);
    let assertion = value(&form, "client_assertion");
    let (signed, signature) = assertion.rsplit_once('.').unwrap();
    let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
    let public = rcgen::PublicKeyData::der_bytes(&key);
    UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, public).verify(signed.as_bytes(), &signature).unwrap();
    let (header, claims) = signed.split_once('.').unwrap();
    let read =
        |part: &str| -> Value { serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap() };
    let (header, claims) = (read(header), read(claims));
    let of = |algorithm| URL_SAFE_NO_PAD.encode(ring::digest::digest(algorithm, certificate.der()));
    assert_eq!(header["x5t"], of(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY));
    assert_eq!(header["x5t#S256"], of(&ring::digest::SHA256));
    assert_eq!((&claims["iss"], &claims["sub"]), (&json!("the-client"), &json!("the-client")));
    assert_eq!(claims["aud"], json!(files.service.url("/t/oauth2/v2.0/token")));
    let noon = 1_772_366_400;
    assert_eq!((&claims["nbf"], &claims["exp"]), (&json!(noon), &json!(noon + 600)));
    let broken = values(&[("tenantID", "t"), ("clientID", "c"), ("clientCertificate", &key.serialize_pem())]);
    let answer = files.send(&azure(&files, ""), broken, mark).await.unwrap();
    assert!(answer.text().contains("put certificate and private key into one value"), "{}", answer.text());
}
