//! moto without the proxy: what a person with an account of their own does, and what tests look at.

use std::time::Duration;

use anyhow::{Context, ensure};

use crate::form::Form;

/// A call takes no longer.
const LIMIT: Duration = Duration::from_secs(60);
/// The version of the API.
pub(crate) const EC2_VERSION: &str = "2016-11-15";
const IAM_VERSION: &str = "2010-05-08";

/// Calls moto. It does not verify signatures, but takes service and region from where they stand.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    url: String,
    region: String,
    http: reqwest::Client,
}

impl Client {
    pub(crate) fn new(url: &str, region: &str) -> anyhow::Result<Self> {
        // Fails if somebody installed one before, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // Moto closes each connection after one answer, and this client is used by several runtimes.
        let http = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).timeout(LIMIT).build()?;
        Ok(Self { url: url.to_owned(), region: region.to_owned(), http })
    }

    pub(crate) fn region(&self) -> &str {
        &self.region
    }

    /// An EC2 call of the default region.
    pub(crate) async fn ec2(&self, action: &str, parameters: &[(&str, &str)]) -> anyhow::Result<String> {
        let (status, text) = self.ask(&self.region, action, parameters).await?;
        ensure!(status == 200, "moto refused {action} with {status}: {text}");
        Ok(text)
    }

    /// An EC2 call with whatever comes of it: the status, and the text.
    pub(crate) async fn ask(
        &self,
        region: &str,
        action: &str,
        parameters: &[(&str, &str)],
    ) -> anyhow::Result<(u16, String)> {
        self.call("ec2", region, EC2_VERSION, action, parameters).await
    }

    pub(crate) async fn iam(&self, action: &str, parameters: &[(&str, &str)]) -> anyhow::Result<String> {
        let (status, text) = self.call("iam", "us-east-1", IAM_VERSION, action, parameters).await?;
        ensure!(status == 200, "moto refused {action} with {status}: {text}");
        Ok(text)
    }

    async fn call(
        &self,
        service: &str,
        region: &str,
        version: &str,
        action: &str,
        parameters: &[(&str, &str)],
    ) -> anyhow::Result<(u16, String)> {
        let mut form = Form::default();
        form.push("Action", action);
        form.push("Version", version);
        for (name, value) in parameters {
            form.push(name, value);
        }
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential=tests/20260101/{region}/{service}/aws4_request, SignedHeaders=host, Signature=none"
        );
        let request = self
            .http
            .post(format!("{}/", self.url))
            .header("authorization", authorization)
            .header("content-type", "application/x-www-form-urlencoded; charset=utf-8")
            .body(form.encoded());
        let answer = request.send().await.with_context(|| format!("failed to call {action} of moto"))?;
        let status = answer.status().as_u16();
        let text =
            answer.text().await.with_context(|| format!("failed to read moto's answer to {action}"))?;
        Ok((status, text))
    }

    /// Passes a request on as it came.
    pub(crate) async fn forward(
        &self,
        head: &http::request::Parts,
        body: Vec<u8>,
    ) -> anyhow::Result<(u16, http::HeaderMap, Vec<u8>)> {
        let target = head.uri.path_and_query().map_or("/", |target| target.as_str());
        let mut request = self.http.request(head.method.clone(), format!("{}{target}", self.url));
        for (name, value) in &head.headers {
            // The length is set again: the body may be another.
            if name != http::header::CONTENT_LENGTH && name != http::header::CONNECTION {
                request = request.header(name, value);
            }
        }
        let answer = request.body(body).send().await.context("failed to reach moto")?;
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        Ok((status, headers, answer.bytes().await.context("failed to read moto's answer")?.to_vec()))
    }
}
