//! The requests of each scheme to its token service, and the rules of each scheme.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use machinist_core::driver::SecretValues;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair,
    RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey,
};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject;
use serde_json::{Value, json};
use wasmtime_wasi_http::Error as WasiError;

use super::auth::values;
use super::tokens::{CLIENT_SECRET, RSA_KEY, Scheme, TokenFixture, good_service, marked, service_account};
use crate::Answer;
use crate::server::{Seen, Server, ok};

const P256_KEY: &str = include_str!("../keys/p256.pem");

/// The request to the service, and the answer to the driver.
async fn asked(
    scheme: Scheme,
    auth: impl Fn(u16) -> String,
    secret: SecretValues,
    mark: &str,
) -> (TokenFixture, Result<Answer, WasiError>, Vec<Seen>) {
    let (world, cloud, service) =
        (TokenFixture::new(), Server::http(|_| ok("")).await, good_service(scheme).await);
    let grants =
        TokenFixture::grants(&cloud, &service, &format!("scheme: {}, {}", scheme.name(), auth(service.port)));
    let call = world.host.call_with(&grants, secret, Duration::from_secs(20));
    let answer = call.send(marked(&cloud, mark), None).await;
    (world, answer, service.seen())
}

fn form(seen: &Seen) -> Vec<(String, String)> {
    url::form_urlencoded::parse(&seen.body)
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect()
}

fn pair(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

#[tokio::test]
async fn a_client_shows_its_secret_in_the_form_or_as_basic() {
    let scheme = Scheme::ClientCredentials;
    let url = |more: &'static str| move |port| format!("token-url: 'http://127.0.0.1:{port}/token'{more}");
    let (_, answer, seen) = asked(scheme, url(", client-auth: form"), scheme.secret(), scheme.name()).await;
    assert_eq!((answer.unwrap().status.as_u16(), seen[0].uri.path()), (200, "/token"));
    let expected = [
        pair("grant_type", "client_credentials"),
        pair("client_id", "the-client"),
        pair("client_secret", CLIENT_SECRET),
    ];
    assert_eq!(form(&seen[0]), expected);
    assert_eq!(seen[0].headers["content-type"], "application/x-www-form-urlencoded");
    assert!(!seen[0].headers.contains_key("authorization"));
    let mark = "oauth2-client-credentials; scope=a:b https://c.example.com/.default";
    let (_, answer, seen) =
        asked(scheme, url(", scopes: ['a:*', 'https://c.example.com/*']"), scheme.secret(), mark).await;
    assert_eq!(answer.unwrap().status, 200);
    let expected =
        [pair("grant_type", "client_credentials"), pair("scope", "a:b https://c.example.com/.default")];
    assert_eq!(form(&seen[0]), expected);
    let basic =
        base64::engine::general_purpose::STANDARD.encode("the-client:client%7Esecret%2F0123456789%2B");
    assert_eq!(seen[0].headers["authorization"], format!("Basic {basic}"));
}

#[tokio::test]
async fn a_tenant_of_the_secret_is_in_the_url_and_leads_nowhere_else() {
    let scheme = Scheme::ClientCredentials;
    let auth = |port| format!("token-url: 'http://127.0.0.1:{port}/{{tenantID}}/oauth2/v2.0/token'");
    for (tenant, path) in [
        ("72f988bf-86f1", Some("/72f988bf-86f1/oauth2/v2.0/token")),
        ("contoso.example.com\n", Some("/contoso.example.com/oauth2/v2.0/token")),
        ("..", None),
        ("a/../../evil", None),
        ("a?x=", None),
        ("a%2fb", None),
        ("@evil.test", None),
        ("", None),
    ] {
        let mut secret = scheme.secret();
        secret.values.insert("tenantID".to_owned(), tenant.as_bytes().to_vec());
        let (world, answer, seen) = asked(scheme, auth, secret, scheme.name()).await;
        assert_eq!(seen.first().map(|seen| seen.uri.path()), path, "{tenant:?}");
        if path.is_none() {
            assert!(matches!(answer, Err(WasiError::HttpRequestDenied)), "{tenant:?}");
            assert_eq!(world.host.reasons(), ["auth-keys"], "{tenant:?}");
        }
    }
}

#[tokio::test]
async fn of_two_keys_of_a_tenant_the_first_that_exists_counts() {
    let scheme = Scheme::ClientCredentials;
    let auth =
        |port| format!("token-url: 'http://127.0.0.1:{port}/{{tenantID|azureTenantId}}/oauth2/v2.0/token'");
    let [older, newer, bad] =
        [("azureTenantId", "older"), ("tenantID", "newer"), ("tenantID", "../x")].map(|pair| [pair]);
    for (pairs, path) in [
        (older.to_vec(), Some("/older/oauth2/v2.0/token")),
        ([older, newer].concat(), Some("/newer/oauth2/v2.0/token")),
        ([older, bad].concat(), None),
        (Vec::new(), None),
    ] {
        let mut secret = scheme.secret();
        secret.values.extend(values(&pairs).values);
        let (world, _, seen) = asked(scheme, auth, secret, scheme.name()).await;
        assert_eq!(seen.first().map(|seen| seen.uri.path()), path, "{pairs:?}");
        if path.is_none() {
            assert_eq!(world.host.reasons(), ["auth-keys"], "{pairs:?}");
        }
    }
}

#[tokio::test]
async fn a_scope_that_is_not_granted_is_refused() {
    for (scheme, granted, mark) in [
        (Scheme::ClientCredentials, "", "oauth2-client-credentials; scope=a"),
        (Scheme::ClientCredentials, ", scopes: [a]", "oauth2-client-credentials; scope=a b"),
        (
            Scheme::JwtBearer,
            ", scopes: ['https://a.example.com/*']",
            "jwt-bearer; scope=https://b.example.com/",
        ),
    ] {
        let auth = |port| format!("token-url: 'http://127.0.0.1:{port}/'{granted}");
        let (world, answer, seen) = asked(scheme, auth, scheme.secret(), mark).await;
        assert!(matches!(answer, Err(WasiError::HttpRequestDenied)), "{answer:?}");
        assert_eq!((world.host.reasons(), seen.len()), (vec!["auth-scope"], 0), "{mark}");
    }
}

/// Returns header and claims of an assertion with a valid signature.
fn verified(seen: &Seen, is_valid: impl Fn(&[u8], &[u8]) -> bool) -> (Value, Value) {
    let form = form(seen);
    assert_eq!(form[0], pair("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"));
    let (signed, signature) = form[1].1.rsplit_once('.').unwrap();
    assert_eq!(form[1].0, "assertion");
    assert!(is_valid(signed.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap()));
    let (header, claims) = signed.split_once('.').unwrap();
    let read = |part: &str| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap();
    (read(header), read(claims))
}

#[tokio::test]
async fn a_service_account_signs_with_rs256() {
    let scheme = Scheme::JwtBearer;
    let auth = |port| format!("token-url: 'http://127.0.0.1:{port}/token', scopes: ['https://*']");
    let mark = "jwt-bearer; scope=https://www.example.com/auth/compute";
    let (_, answer, seen) = asked(scheme, auth, scheme.secret(), mark).await;
    assert_eq!(answer.unwrap().status, 200);
    let der = PrivatePkcs8KeyDer::from_pem_slice(RSA_KEY.as_bytes()).unwrap();
    let key = RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()).unwrap();
    let (header, claims) = verified(&seen[0], |signed, signature| {
        UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.public().as_ref())
            .verify(signed, signature)
            .is_ok()
    });
    assert_eq!(header, json!({ "alg": "RS256", "typ": "JWT", "kid": "key-1" }));
    let expected = json!({
        "iss": "machinist@project.iam.example.com",
        "aud": format!("http://{}/token", seen[0].headers["host"].to_str().unwrap()),
        "iat": 1_772_366_400,
        "exp": 1_772_370_000,
        "scope": "https://www.example.com/auth/compute",
    });
    assert_eq!(claims, expected);
}

#[tokio::test]
async fn a_key_in_pem_signs_with_es256() {
    let auth = |port| {
        format!(
            "token-url: 'http://127.0.0.1:{port}/token', audience: 'https://aud.example.com', \
             keys: {{ private-key: [key], issuer: [issuer], key-id: [id] }}"
        )
    };
    let secret = values(&[("key", P256_KEY), ("issuer", "the-issuer\n"), ("id", "")]);
    let (_, answer, seen) = asked(Scheme::JwtBearer, auth, secret, "jwt-bearer").await;
    assert_eq!(answer.unwrap().status, 200);
    let der = PrivatePkcs8KeyDer::from_pem_slice(P256_KEY.as_bytes()).unwrap();
    let random = ring::rand::SystemRandom::new();
    let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der.secret_pkcs8_der(), &random);
    let key = key.unwrap();
    let (header, claims) = verified(&seen[0], |signed, signature| {
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key.public_key().as_ref())
            .verify(signed, signature)
            .is_ok()
    });
    assert_eq!(header, json!({ "alg": "ES256", "typ": "JWT" }));
    assert_eq!(
        (&claims["iss"], &claims["sub"], &claims["aud"]),
        (&json!("the-issuer"), &json!("the-issuer"), &json!("https://aud.example.com"))
    );
    assert_eq!(claims["jti"].as_str().unwrap().len(), 32);
    assert_eq!(claims.get("scope"), None);
}

#[tokio::test]
async fn a_key_that_cannot_sign_says_what_to_do_and_shows_nothing() {
    let cut: String = RSA_KEY.chars().take(400).collect();
    let secret_line = RSA_KEY.lines().nth(3).unwrap();
    for (account, advice) in [
        ("{}".to_owned(), "as it was downloaded"),
        ("not JSON, but secret-text".to_owned(), "as it was downloaded"),
        (service_account("secret-text"), "no private key in PEM"),
        (service_account(&cut), "no private key in PEM"),
        (service_account("-----BEGIN PRIVATE KEY-----\naGVsbG8=\n-----END PRIVATE KEY-----\n"), "PKCS#8"),
    ] {
        let auth = |port| format!("token-url: 'http://127.0.0.1:{port}/token'");
        let secret = values(&[("serviceAccountJSON", &account)]);
        let (_, answer, seen) = asked(Scheme::JwtBearer, auth, secret, "jwt-bearer").await;
        let answer = answer.unwrap();
        let text = answer.text();
        assert_eq!((answer.status.as_u16(), seen.len()), (401, 0), "{text}");
        assert_eq!(answer.headers["machinist-auth"], "failed");
        assert!(text.contains(advice), "{text}");
        assert!(!text.contains("secret-text") && !text.contains(secret_line), "{text}");
    }
}

async fn login(pairs: &[(&str, &str)]) -> Result<Value, Vec<&'static str>> {
    let auth = |port| format!("url: 'http://127.0.0.1:{port}/identity'");
    let (world, answer, seen) = asked(Scheme::Keystone, auth, values(pairs), "keystone").await;
    if seen.is_empty() {
        assert!(matches!(answer, Err(WasiError::HttpRequestDenied)), "{answer:?}");
        return Err(world.host.reasons());
    }
    assert_eq!(seen[0].uri.to_string(), "/identity/v3/auth/tokens?nocatalog");
    Ok(serde_json::from_slice(&seen[0].body).unwrap())
}

#[tokio::test]
async fn keystone_is_asked_with_what_the_secret_has() {
    let password = json!({ "name": "u", "password": "p\"w", "domain": { "name": "d" } });
    let identity = json!({ "methods": ["password"], "password": { "user": password } });
    let user = [("username", "u"), ("password", "p\"w\n"), ("domainName", "d")];
    let project = json!({ "project": { "name": "t", "domain": { "name": "d" } } });
    let by_name = login(&[&user[..], &[("tenantName", "t")]].concat()).await;
    assert_eq!(by_name, Ok(json!({ "auth": { "identity": identity, "scope": project } })));
    let by_id = login(&[&user[..], &[("tenantID", "1"), ("tenantName", "t")]].concat()).await;
    let project = json!({ "project": { "id": "1" } });
    assert_eq!(by_id, Ok(json!({ "auth": { "identity": identity, "scope": project } })));
    let credential = |credential: Value| {
        let identity = json!({ "methods": ["application_credential"], "application_credential": credential });
        Ok(json!({ "auth": { "identity": identity } }))
    };
    let pairs = [("applicationCredentialID", "i"), ("applicationCredentialSecret", "s")];
    let by_credential = login(&[&user[..], &pairs].concat()).await;
    assert_eq!(by_credential, credential(json!({ "id": "i", "secret": "s" })));
    let by_its_name = login(&[
        ("username", "u"),
        ("userDomainID", "x"),
        ("applicationCredentialName", "n"),
        ("applicationCredentialSecret", "s"),
    ]);
    let user_of = json!({ "name": "u", "domain": { "id": "x" } });
    assert_eq!(by_its_name.await, credential(json!({ "name": "n", "secret": "s", "user": user_of })));
    for incomplete in [
        &user[..],
        &[("username", "u"), ("password", "p"), ("tenantID", "1")],
        &[("applicationCredentialSecret", "s")],
        &[("applicationCredentialID", "i"), ("applicationCredentialSecret", " ")],
    ] {
        assert_eq!(login(incomplete).await, Err(vec!["auth-keys"]), "{incomplete:?}");
    }
}

#[tokio::test]
async fn the_users_own_domain_precedes_that_of_the_project() {
    let user = [("username", "u"), ("password", "p"), ("domainID", "d"), ("tenantName", "t")];
    for (own, expected) in [
        (vec![], json!({ "id": "d" })),
        (vec![("domainName", "by name")], json!({ "id": "d" })),
        (vec![("userDomainName", "other")], json!({ "name": "other" })),
        (vec![("userDomainID", "o"), ("userDomainName", "other")], json!({ "id": "o" })),
        (vec![("userDomainID", " "), ("userDomainName", "")], json!({ "id": "d" })),
    ] {
        let body = login(&[&user[..], &own].concat()).await.unwrap();
        assert_eq!(body["auth"]["identity"]["password"]["user"]["domain"], expected, "{own:?}");
        assert_eq!(body["auth"]["scope"]["project"]["domain"], json!({ "id": "d" }), "{own:?}");
    }
}

#[tokio::test]
async fn the_secret_may_name_keystone_within_the_egress_rules() {
    let (world, cloud, service) =
        (TokenFixture::new(), Server::http(|_| ok("")).await, good_service(Scheme::Keystone).await);
    let grants = TokenFixture::grants(&cloud, &service, "scheme: keystone");
    for (url, expected) in [
        (service.url("/v3/"), Ok("/v3/auth/tokens?nocatalog")),
        (service.url(""), Ok("/v3/auth/tokens?nocatalog")),
        ("http://169.254.169.254/v3".to_owned(), Err("auth-token-url")),
        ("http://evil.test/v3".to_owned(), Err("auth-token-url")),
        ("file:///etc/passwd".to_owned(), Err("auth-keys")),
        ("http://user@127.0.0.1/v3".to_owned(), Err("auth-keys")),
    ] {
        let mut secret = Scheme::Keystone.secret();
        secret.values.insert("authURL".to_owned(), url.clone().into_bytes());
        // Another password, so that nothing is kept.
        secret.values.insert("password".to_owned(), format!("password of {url}").into_bytes());
        let call = world.host.call_with(&grants, secret, Duration::from_secs(20));
        let answer = call.send(marked(&cloud, "keystone"), None).await;
        match expected {
            Ok(path) => {
                assert_eq!(answer.unwrap().status, 200);
                assert_eq!(service.seen().pop().unwrap().uri.to_string(), path);
            }
            Err(reason) => {
                assert!(matches!(answer, Err(WasiError::HttpRequestDenied)), "{url}");
                assert_eq!(world.host.reasons().pop(), Some(reason), "{url}");
            }
        }
    }
}
