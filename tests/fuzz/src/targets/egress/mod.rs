//! Requests of components: secrets travel only where they may.
//!
//! | module | input |
//! | --- | --- |
//! | `url` | URLs of requests: the host sends exactly what it has checked |
//! | `scrubber` | answers with a value that a cloud spells in any way |
//! | `token` | answers of token services |
//! | `pace` | answers of clouds about pace, clocks and keys |

pub(super) mod pace;
pub(super) mod scrubber;
pub(super) mod token;
pub(super) mod url;

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request};
use machinist_core::driver::SecretValues;
use machinist_plugin_host::Grants;
use machinist_plugin_host::testing::fuzz::sent;
use machinist_plugin_host::testing::{PlaceholderEncoding, Vault};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::mutate::Grammar;
use crate::target::{Shape, Target, Verdict, promise};

pub(super) const TARGET: Target = Target {
    name: "egress",
    about: "requests with placeholders: a secret is the whole of a granted place, towards a granted host",
    grammar: Grammar::Json,
    samples,
    words: &[
        TOKEN, USER_DATA, "authorization", "Bearer ", "x-api-key", "content-type", "application/json",
        "application/x-www-form-urlencoded", "multipart/form-data", "UserData", "userData", "vm", "&", "=",
        ";", "UserData=", "https://api.example.com/v1/vms", "https://other.example.com/", "connection",
        "transfer-encoding", "x-http-method-override", "forwarded",
    ],
    share: 60,
    check,
};

/// Stand for placeholders in the input.
const TOKEN: &str = "%TOKEN%";
const USER_DATA: &str = "%USERDATA%";
const VALUE: &str = "canary-Zx9-0123456789";
const SCRIPT: &str = "#cloud-config canary \"quoted\" & more";
const GRANTS: &str = r#"
egress:
- { host: api.example.com, scheme: https, paths: [/] }
- { host: other.example.com, scheme: https }
secrets:
- { key: token, places: [{ header: authorization, prefix: "Bearer " }, { header: x-api-key }], hosts: [api.example.com] }
- { key: userData, places: [{ json: /vm/userData }, { form: UserData }], hosts: [api.example.com] }
"#;

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawRequest {
    method: String,
    url: String,
    headers: Vec<(String, String)>,
    body: String,
}

fn samples() -> Vec<Vec<u8>> {
    let url = "https://api.example.com/v1/vms?x=1";
    let bearer = json!(["authorization", format!("Bearer {TOKEN}")]);
    let body = json!({ "vm": { "name": "a", "userData": USER_DATA } }).to_string();
    let requests = [
        json!({ "method": "GET", "url": url, "headers": [bearer] }),
        json!({ "method": "POST", "url": url, "headers": [["content-type", "application/json"], bearer], "body": body }),
        json!({ "method": "POST", "url": url, "body": format!("Action=RunInstances&UserData={USER_DATA}&Version=1"),
            "headers": [["content-type", "application/x-www-form-urlencoded; charset=utf-8"], ["x-api-key", TOKEN]] }),
        json!({ "method": "PUT", "url": "https://other.example.com/", "headers": [["accept", "*/*"]], "body": "{}" }),
    ];
    requests.iter().map(|request| request.to_string().into_bytes()).collect()
}

fn check(input: &[u8]) -> Verdict {
    let Ok(raw) = serde_json::from_slice::<RawRequest>(input) else { return Ok(Shape::of("no request")) };
    let grants = Arc::new(Grants::parse(GRANTS).map_err(|error| error.to_string())?);
    let values = [("token".to_owned(), VALUE.as_bytes().to_vec())].into();
    let user_data = Some(SCRIPT.as_bytes().to_vec());
    let vault =
        Vault::new(SecretValues { values, user_data, ..SecretValues::default() }, Arc::clone(&grants));
    let placeholder = |id: Option<_>, encodings: &[PlaceholderEncoding]| {
        let id = id.ok_or("no secret")?;
        vault.placeholder(id, encodings).map_err(|refusal| refusal.to_string())
    };
    let token = placeholder(vault.open("token"), &[])?;
    let is_form = raw.headers.iter().any(|(_, value)| value.contains("form"));
    let encodings = if is_form {
        [PlaceholderEncoding::Base64, PlaceholderEncoding::Form]
    } else {
        [PlaceholderEncoding::Base64, PlaceholderEncoding::Plain]
    };
    let user_data = placeholder(vault.user_data(), &encodings)?;
    let filled = |text: &str| text.replace(TOKEN, &token).replace(USER_DATA, &user_data);
    let mut request = Request::builder().method(raw.method.as_str()).uri(filled(&raw.url));
    for (name, value) in &raw.headers {
        let name = HeaderName::from_bytes(name.as_bytes());
        let value = HeaderValue::from_bytes(filled(value).as_bytes());
        if let (Ok(name), Ok(value)) = (name, value) {
            request = request.header(name, value);
        }
    }
    let Ok(request) = request.body(Bytes::from(filled(&raw.body))) else {
        return Ok(Shape::of("no request"));
    };
    match sent(request, &grants, &vault) {
        Err(failure) => Ok(Shape::of(&failure.to_string())),
        Ok(request) => {
            holds(&request)?;
            Ok(Shape::of(&format!("{:?}", request.headers().keys().collect::<Vec<_>>())))
        }
    }
}

/// Each value that is in the request is the whole of a granted place.
fn holds(request: &Request<Bytes>) -> Result<(), String> {
    let is_canary = |text: &[u8]| {
        let text = String::from_utf8_lossy(text);
        text.matches(VALUE).count() + text.matches(&STANDARD.encode(SCRIPT)[..40]).count()
    };
    let host = request.uri().host().unwrap_or_default();
    promise(is_canary(request.uri().to_string().as_bytes()) == 0, || "a secret is in the URL".to_owned())?;
    let mut secrets = 0;
    for (name, value) in request.headers() {
        promise(is_canary(name.as_str().as_bytes()) == 0, || "a secret is the name of a header".to_owned())?;
        let found = is_canary(value.as_bytes());
        let is_whole = match name.as_str() {
            "authorization" => value.as_bytes() == format!("Bearer {VALUE}").as_bytes(),
            "x-api-key" => value.as_bytes() == VALUE.as_bytes(),
            _ => false,
        };
        promise(found == 0 || is_whole, || format!("a secret is in header {name}: {value:?}"))?;
        secrets += found;
    }
    let body = request.body();
    let found = is_canary(body);
    let places = in_json(body) + in_form(body);
    promise(found == 0 || places >= found, || format!("a secret is in {:?}", String::from_utf8_lossy(body)))?;
    promise(secrets + found == 0 || host == "api.example.com", || format!("a secret is sent to {host}"))
}

fn in_json(body: &[u8]) -> usize {
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    usize::from(value.pointer("/vm/userData").is_some_and(|text| *text == STANDARD.encode(SCRIPT)))
}

fn in_form(body: &[u8]) -> usize {
    let fields = ::url::form_urlencoded::parse(body).filter(|(name, _)| name == "UserData");
    fields.filter(|(_, value)| *value == STANDARD.encode(SCRIPT)).count()
}
