//! Calls of the services without the proxy: tests prepare and inspect the cloud with them.

use anyhow::{Context, ensure};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::process::Facts;

/// A user of the cloud. It logs in when it has to.
#[derive(Debug)]
pub struct Client {
    http: reqwest::Client,
    facts: Facts,
    user: &'static str,
    project: &'static str,
    token: Mutex<Option<String>>,
}

/// An answer with any status.
#[derive(Clone, Debug)]
pub struct Answered {
    pub status: u16,
    pub text: String,
}

impl Answered {
    /// Returns the JSON of a success.
    fn success(&self, path: &str) -> anyhow::Result<Value> {
        let Self { status, text } = self;
        ensure!((200..300).contains(status), "{path}: {status} {text}");
        Ok(serde_json::from_str(text).unwrap_or(Value::Null))
    }
}

impl Client {
    pub(crate) fn new(
        http: reqwest::Client,
        facts: Facts,
        user: &'static str,
        project: &'static str,
    ) -> Self {
        Self { http, facts, user, project, token: Mutex::new(None) }
    }

    /// Calls a service by the name of its program, such as `nova`. Fails unless the answer is a success.
    pub async fn call(
        &self,
        method: Method,
        service: &str,
        path: &str,
        body: Option<Value>,
    ) -> anyhow::Result<Value> {
        let text = body.map(|body| body.to_string()).unwrap_or_default();
        self.send(method, service, path, text).await?.success(path)
    }

    pub async fn get(&self, service: &str, path: &str) -> anyhow::Result<Value> {
        self.call(Method::GET, service, path, None).await
    }

    /// As [`Self::get`] of Nova, in one of its microversions.
    pub async fn get_of_nova(&self, microversion: &str, path: &str) -> anyhow::Result<Value> {
        let answered = self.send_in(Method::GET, "nova", path, String::new(), Some(microversion)).await?;
        answered.success(path)
    }

    /// Sends any request, and logs in once more if the token has expired.
    pub async fn send(
        &self,
        method: Method,
        service: &str,
        path: &str,
        body: String,
    ) -> anyhow::Result<Answered> {
        self.send_in(method, service, path, body, None).await
    }

    async fn send_in(
        &self,
        method: Method,
        service: &str,
        path: &str,
        body: String,
        microversion: Option<&str>,
    ) -> anyhow::Result<Answered> {
        let base =
            self.facts.services.get(service).with_context(|| format!("there is no service {service}"))?;
        let mut answered = Answered { status: 0, text: String::new() };
        for _ in 0..2 {
            let token = self.token().await?;
            let mut request = self
                .http
                .request(method.clone(), format!("{base}{path}"))
                .header("x-auth-token", token)
                .header("content-type", "application/json")
                .body(body.clone());
            if let Some(microversion) = microversion {
                request = request.header("x-openstack-nova-api-version", microversion);
            }
            let answer = request.send().await.with_context(|| format!("{service} does not answer"))?;
            answered =
                Answered { status: answer.status().as_u16(), text: answer.text().await.unwrap_or_default() };
            if answered.status != 401 {
                break;
            }
            *self.token.lock().await = None;
        }
        Ok(answered)
    }

    /// Returns a valid token.
    pub async fn token(&self) -> anyhow::Result<String> {
        let mut kept = self.token.lock().await;
        if let Some(token) = &*kept {
            return Ok(token.clone());
        }
        let domain = json!({ "id": "default" });
        let login = json!({ "auth": {
            "identity": { "methods": ["password"], "password": { "user": {
                "name": self.user, "password": self.facts.password, "domain": domain } } },
            "scope": { "project": { "name": self.project, "domain": domain } },
        } });
        let base = self.facts.services.get("keystone").context("there is no Keystone")?;
        let request = self.http.post(format!("{base}/v3/auth/tokens?nocatalog")).json(&login);
        let answer = request.send().await.context("Keystone does not answer")?;
        let token = answer.headers().get("x-subject-token").and_then(|token| token.to_str().ok());
        let token = token.context("Keystone gave no token")?.to_owned();
        *kept = Some(token.clone());
        Ok(token)
    }
}
