//! Tokens for assertions, for tokens of an identity provider, and for impersonated service accounts.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gcp::identity::TOKEN_URL;
use gcp::test_key::TestAccount;
use gcp::wire::{Answer, Request};
use gcp::{Cloud, Config};
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject;
use serde_json::{Value, json};

const NOW_S: i64 = 1_800_000_000;
const SCOPE: &str = "https://www.googleapis.com/auth/compute";
const POOL: &str =
    "//iam.googleapis.com/projects/7/locations/global/workloadIdentityPools/lab/providers/cluster";

fn assertion(account: &TestAccount, header: &Value, claims: &Value) -> String {
    let der = PrivatePkcs8KeyDer::from_pem_slice(account.private_key.as_bytes()).unwrap();
    let key = RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()).unwrap();
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", part(header), part(claims));
    let mut signature = vec![0; key.public().modulus_len()];
    key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature).unwrap();
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

fn form(path: &str, fields: &[(&str, &str)]) -> Request {
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.extend_pairs(fields);
    Request { body: form.finish().into_bytes(), ..Request::new("POST", path) }
}

fn ask(cloud: &mut Cloud, request: &Request) -> Answer {
    cloud.handle(request, u64::try_from(NOW_S).unwrap() * 1000)
}

fn claims(account: &TestAccount) -> Value {
    json!({ "iss": account.email, "scope": SCOPE, "aud": TOKEN_URL, "iat": NOW_S, "exp": NOW_S + 3600 })
}

fn exchange(cloud: &mut Cloud, assertion: &str) -> Answer {
    let grant = "urn:ietf:params:oauth:grant-type:jwt-bearer";
    ask(cloud, &form("/token", &[("grant_type", grant), ("assertion", assertion)]))
}

#[test]
fn an_assertion_is_checked_in_all_its_parts() {
    let mut cloud = Cloud::new(Config::default());
    let account = TestAccount::make("machinist-lab").unwrap();
    let stranger = TestAccount::make("machinist-lab").unwrap();
    cloud.identity.add_account(&account.email, &account.public_key);
    let header = json!({ "alg": "RS256", "typ": "JWT", "kid": "key-1" });
    let good = assertion(&account, &header, &claims(&account));
    let answer = exchange(&mut cloud, &good);
    assert_eq!(answer.status, 200);
    let token = answer.value()["access_token"].as_str().unwrap().to_owned();
    let target = "/compute/v1/projects/machinist-lab/zones/europe-west1-b";
    assert_eq!(ask(&mut cloud, &Request::new("GET", target).with_token(&token)).status, 200);

    let changed = |name: &str, value: Value| {
        let mut claims = claims(&account);
        claims[name] = value;
        assertion(&account, &header, &claims)
    };
    let tampered = good.replacen('.', ".e30", 1);
    for (bad, words) in [
        (assertion(&stranger, &header, &claims(&account)), "Signature"),
        (changed("aud", json!("https://elsewhere.example/token")), "audience"),
        (changed("exp", json!(NOW_S + 7200)), "short-lived"),
        (changed("iat", json!(NOW_S + 900)), "short-lived"),
        (changed("iss", json!("nobody@x")), "account not found"),
        (changed("scope", json!("")), "scope"),
        (assertion(&account, &json!({ "alg": "none" }), &claims(&account)), "RS256"),
        (tampered, "JWT"),
        ("nonsense".to_owned(), "JWT"),
    ] {
        let answer = exchange(&mut cloud, &bad);
        assert_eq!(answer.status, 400, "{words}");
        let description = answer.value()["error_description"].as_str().unwrap().to_owned();
        assert!(description.contains(words), "{description}");
    }
    let other = ask(&mut cloud, &form("/token", &[("grant_type", "password")]));
    assert_eq!((other.status, other.value()["error"].as_str()), (400, Some("unsupported_grant_type")));
    assert_eq!(cloud.identity.exchanges, 1);
}

#[test]
fn an_external_account_gets_a_token_and_may_impersonate_its_service_accounts() {
    let mut cloud = Cloud::new(Config::default());
    cloud.identity.add_pool(POOL, "the-token-of-the-file", &["machines@lab.iam.gserviceaccount.com"]);
    let sts = |cloud: &mut Cloud, changes: &[(&str, &str)]| {
        let mut fields = std::collections::BTreeMap::from([
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            ("requested_token_type", "urn:ietf:params:oauth:token-type:access_token"),
            ("subject_token_type", "urn:ietf:params:oauth:token-type:jwt"),
            ("subject_token", "the-token-of-the-file"),
            ("audience", POOL),
            ("scope", "https://www.googleapis.com/auth/cloud-platform"),
        ]);
        fields.extend(changes.iter().copied());
        ask(cloud, &form("/v1/token", &fields.into_iter().collect::<Vec<_>>()))
    };
    let answer = sts(&mut cloud, &[]);
    assert_eq!(answer.status, 200);
    let token = answer.value()["access_token"].as_str().unwrap().to_owned();
    for (name, value, error) in [
        ("subject_token", "another", "invalid_grant"),
        ("audience", "//iam.googleapis.com/other", "invalid_target"),
        ("grant_type", "password", "invalid_request"),
        ("subject_token_type", "urn:ietf:params:oauth:token-type:saml2", "invalid_request"),
    ] {
        let answer = sts(&mut cloud, &[(name, value)]);
        assert_eq!(
            (answer.status, answer.value()["error"].as_str().unwrap().to_owned()),
            (400, error.to_owned())
        );
    }
    let impersonate = |cloud: &mut Cloud, email: &str, token: &str| {
        let path = format!("/v1/projects/-/serviceAccounts/{email}:generateAccessToken");
        let body = json!({ "scope": [SCOPE], "lifetime": "3600s" });
        ask(cloud, &Request::new("POST", &path).with_token(token).json(&body))
    };
    let answer = impersonate(&mut cloud, "machines@lab.iam.gserviceaccount.com", &token);
    assert_eq!(answer.status, 200);
    let own = answer.value()["accessToken"].as_str().unwrap().to_owned();
    let target = "/compute/v1/projects/machinist-lab/zones/europe-west1-b";
    assert_eq!(ask(&mut cloud, &Request::new("GET", target).with_token(&own)).status, 200);
    assert_eq!(impersonate(&mut cloud, "admin@lab.iam.gserviceaccount.com", &token).status, 403);
    assert_eq!(impersonate(&mut cloud, "machines@lab.iam.gserviceaccount.com", "forged").status, 401);
}
