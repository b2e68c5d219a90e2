//! One script of requests for an API server in memory and for a real one. `conformance.txt` has the answers of both,
//! and each is compared with it.
//!
//! | module | what it does |
//! | --- | --- |
//! | `script` | the requests of the script, by subject |
//! | `owners` | the questions about owned and scaled objects |

mod owners;
mod script;

use std::collections::BTreeMap;

use http::{Method, Request};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use serde_json::Value;

/// Returns the answers that both kinds of servers give.
pub const EXPECTED: &str = include_str!("../../conformance.txt");

/// The namespace in which the script works; it must be there.
pub const NAMESPACE: &str = "conformance";

/// A server that takes longer for one answer gives none.
const ANSWER: std::time::Duration = std::time::Duration::from_secs(15);

/// Asks the server all questions of the script. One line for each answer.
pub async fn transcript(client: &Client) -> Result<String, kube::Error> {
    let mut asker = Asker { client: client.clone(), lines: String::new(), known: BTreeMap::new() };
    script::objects(&mut asker).await?;
    script::preconditions(&mut asker).await?;
    script::deletions(&mut asker).await?;
    script::selectors(&mut asker).await?;
    script::watches(&mut asker).await?;
    script::pods(&mut asker).await?;
    script::evictions(&mut asker).await?;
    script::others(&mut asker).await?;
    owners::scales(&mut asker).await?;
    owners::owners(&mut asker).await?;
    owners::deletions(&mut asker).await?;
    Ok(asker.lines)
}

/// Asks, and writes down what was answered.
pub(super) struct Asker {
    client: Client,
    lines: String,
    /// `{NAME}` in a path or body is replaced by this.
    known: BTreeMap<String, String>,
}

impl Asker {
    /// A part of the script begins.
    pub(super) fn part(&mut self, name: &str) {
        self.lines.push_str(&format!("# {name}\n"));
    }

    /// The value at this place of an answer is `{name}` from now on.
    pub(super) fn remember(&mut self, name: &str, answer: &Value, pointer: &str) {
        let text = answer.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        self.known.insert(name.to_owned(), text.to_owned());
    }

    /// One request. `shown` are the places of the answer that are written down.
    pub(super) async fn ask(
        &mut self,
        method: Method,
        path: &str,
        body: Option<Value>,
        shown: &[&str],
    ) -> Result<Value, kube::Error> {
        let media = match method {
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        };
        let (code, text) = self.send(&method, path, body, media).await?;
        let answer: Value = serde_json::from_str(&text).unwrap_or_default();
        let seen: Vec<String> = shown
            .iter()
            .filter_map(|pointer| answer.pointer(pointer).map(|value| format!("{pointer}={value}")))
            .collect();
        let short = path.rsplit_once("/conformance/").map_or(path, |(_, rest)| rest);
        self.lines.push_str(format!("{method} {short} -> {code} {}", seen.join(" ")).trim_end());
        self.lines.push('\n');
        Ok(answer)
    }

    /// A watch until the server ends it. Kinds and names of its events are written down; bookmarks come when a server
    /// likes.
    pub(super) async fn watch(&mut self, path: &str) -> Result<(), kube::Error> {
        let (code, text) = self.send(&Method::GET, path, None, "application/json").await?;
        let events = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let lines_of_events: Vec<String> = events
            .filter(|event| event["type"] != "BOOKMARK")
            .map(|event| {
                let object = &event["object"];
                let name = object["metadata"]["name"].as_str().or(object["reason"].as_str());
                format!("{} {}", event["type"].as_str().unwrap_or_default(), name.unwrap_or_default())
            })
            .collect();
        let short = path.rsplit_once("/conformance/").map_or(path, |(_, rest)| rest);
        self.lines.push_str(&format!("WATCH {short} -> {code} {}\n", lines_of_events.join(", ")));
        Ok(())
    }

    async fn send(
        &self,
        method: &Method,
        path: &str,
        body: Option<Value>,
        media: &str,
    ) -> Result<(u16, String), kube::Error> {
        let body = body.map(|body| self.filled_in(&body.to_string(), str::to_owned)).unwrap_or_default();
        let request =
            Request::builder()
                .method(method)
                .uri(self.filled_in(path, |value| {
                    url::form_urlencoded::byte_serialize(value.as_bytes()).collect()
                }))
                .header("content-type", media)
                .header("accept", "application/json")
                .body(Body::from(body.into_bytes()))
                .map_err(kube::Error::HttpError)?;
        let answer = async {
            let response = self.client.send(request).await?;
            let code = response.status().as_u16();
            let bytes = response.into_body().collect().await?.to_bytes();
            Ok((code, String::from_utf8_lossy(&bytes).into_owned()))
        };
        let in_time = tokio::time::timeout(ANSWER, answer).await;
        in_time.unwrap_or_else(|_| Ok((0, "{\"reason\":\"no answer in time\"}".to_owned())))
    }

    fn filled_in(&self, text: &str, written: impl Fn(&str) -> String) -> String {
        self.known.iter().fold(text.to_owned(), |text, (name, value)| {
            text.replace(&format!("{{{name}}}"), &written(value))
        })
    }
}
