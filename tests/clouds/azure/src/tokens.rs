//! Microsoft Entra's token endpoint: client secret, certificate, token of another issuer.

use std::collections::BTreeMap;

use serde_json::json;

use crate::cloud::Cloud;
use crate::options::Client;
use crate::wire::{Request, Response};

const ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// The audience of Azure Resource Manager, in all its forms.
const SCOPES: [&str; 3] = [
    "https://management.azure.com/.default",
    "https://management.core.windows.net/.default",
    "https://management.core.windows.net//.default",
];

/// Answers requests to the token service; `None` for others.
pub(crate) fn answer(
    cloud: &mut Cloud,
    request: &Request,
    segments: &[String],
    now_ms: u64,
) -> Option<Response> {
    let paths: Vec<&str> = segments.iter().map(String::as_str).collect();
    match (request.method.as_str(), paths.as_slice()) {
        ("POST", [tenant, "oauth2", "v2.0", "token"]) => {
            *cloud.counts.entry("token".to_owned()).or_default() += 1;
            Some(token(cloud, request, tenant, now_ms))
        }
        ("GET", [tenant, "v2.0", ".well-known", "openid-configuration"]) => Some(discovery(request, tenant)),
        _ => None,
    }
}

fn discovery(request: &Request, tenant: &str) -> Response {
    let host = request.header_value("host").unwrap_or("login.microsoftonline.com");
    let base = format!("https://{host}/{tenant}");
    Response::json(
        200,
        &json!({
            "issuer": format!("{base}/v2.0"),
            "authorization_endpoint": format!("{base}/oauth2/v2.0/authorize"),
            "token_endpoint": format!("{base}/oauth2/v2.0/token"),
            "device_authorization_endpoint": format!("{base}/oauth2/v2.0/devicecode"),
            "tenant_region_scope": "EU",
        }),
    )
}

fn token(cloud: &mut Cloud, request: &Request, tenant: &str, now_ms: u64) -> Response {
    let form: BTreeMap<String, String> = form_urlencoded::parse(&request.body).into_owned().collect();
    let field = |name: &str| form.get(name).map(String::as_str).unwrap_or_default();
    if !tenant.eq_ignore_ascii_case(&cloud.options.tenant) {
        let message = format!(
            "AADSTS90002: Tenant '{tenant}' not found. Check to make sure you have the correct tenant ID."
        );
        return refused(400, "invalid_request", &message);
    }
    if field("grant_type") != "client_credentials" {
        return refused(
            400,
            "unsupported_grant_type",
            "AADSTS70003: The app requested an unsupported grant type.",
        );
    }
    if !SCOPES.contains(&field("scope")) {
        let message = format!(
            "AADSTS70011: The provided value for the input parameter 'scope' is not valid: {}.",
            field("scope")
        );
        return refused(400, "invalid_scope", &message);
    }
    let id = field("client_id");
    let Some(client) = cloud.options.clients.iter().find(|client| client.id == id).cloned() else {
        let message = format!(
            "AADSTS700016: Application with identifier '{id}' was not found in the directory 'tests'."
        );
        return refused(400, "unauthorized_client", &message);
    };
    let shown = match (form.get("client_secret"), form.get("client_assertion")) {
        (Some(secret), None) => by_secret(&client, secret),
        (None, Some(assertion)) if field("client_assertion_type") == ASSERTION => {
            let host = request.header_value("host").unwrap_or("login.microsoftonline.com");
            let audience = format!("{host}/{tenant}/oauth2/v2.0/token");
            by_assertion(&client, assertion, &audience, now_ms)
        }
        _ => Err(refused(
            401,
            "invalid_client",
            "AADSTS7000218: The request body must contain the following parameter: 'client_assertion' or 'client_secret'.",
        )),
    };
    match shown {
        Ok(()) => {
            let seconds = cloud.options.token_lifetime_s;
            let token = cloud.tokens.issue(now_ms + seconds * 1_000);
            let body = json!({
                "token_type": "Bearer", "expires_in": seconds, "ext_expires_in": seconds, "access_token": token,
            });
            Response::json(200, &body)
        }
        Err(refused) => refused,
    }
}

fn by_secret(client: &Client, secret: &str) -> Result<(), Response> {
    if client.secret.as_deref() != Some(secret) {
        let message = "AADSTS7000215: Invalid client secret provided. Ensure the secret being sent in the request is the client secret value, not the client secret ID.";
        return Err(refused(401, "invalid_client", message));
    }
    if client.is_expired {
        let message = "AADSTS7000222: The provided client secret keys for app are expired.";
        return Err(refused(401, "invalid_client", message));
    }
    Ok(())
}

/// An assertion that names a certificate is signed by it; another one is a token of an issuer that the application
/// trusts.
fn by_assertion(client: &Client, assertion: &str, audience: &str, now_ms: u64) -> Result<(), Response> {
    #[cfg(feature = "tls")]
    if let Some(judged) = crate::certificates::judged(client, assertion, audience, now_ms) {
        return judged.map_err(|(code, text)| refused(401, "invalid_client", &format!("{code}: {text}")));
    }
    let _ = (audience, now_ms);
    if client.federated.contains(assertion) {
        return Ok(());
    }
    let message = "AADSTS70021: No matching federated identity record found for presented assertion.";
    Err(refused(401, "invalid_client", message))
}

fn refused(status: u16, error: &str, message: &str) -> Response {
    let text = format!("{message} Trace ID: tests Correlation ID: tests Timestamp: 2026-01-01 00:00:00Z");
    Response::json(status, &json!({ "error": error, "error_description": text, "error_codes": [0] }))
}
