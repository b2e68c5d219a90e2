//! The cloud's controls below `/test`, for tests in other languages and for the conformance kit.

use hcloud::models;
use serde::Deserialize;
use serde_json::json;

use crate::faults::{Effect, Rule};
use crate::http::{Answer, Request, refused};
use crate::project::labels::Labels;
use crate::project::servers::{Power, Server};
use crate::project::{CLUSTER_LABEL, Outcome, Project, Refusal, UID_LABEL};

/// The path of all controls.
pub(crate) const PREFIX: &str = "/test/";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Planted {
    name: String,
    #[serde(default)]
    labels: Labels,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fault {
    /// The number of the request that it applies to, from 1; absent: every request.
    nth: Option<u64>,
    effect: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Full {
    location: String,
    #[serde(default)]
    late: bool,
}

/// Does the work of a request below `/test`.
pub(crate) fn control(project: &mut Project, rules: &mut Vec<Rule>, request: &Request) -> Answer {
    project.complete_due();
    let path = request.path.strip_prefix(PREFIX).unwrap_or_default();
    let done = match (request.method.as_str(), path) {
        ("GET", "servers") => Ok(found(project, request)),
        ("POST", "servers") => read::<Planted>(request).map(|asked| {
            let id = project.plant(&asked.name, asked.labels);
            Answer::of(201, &json!({ "server": id }))
        }),
        ("GET", "leftovers") => Ok(leftovers(project)),
        ("POST", "faults") => read::<Fault>(request).and_then(|asked| {
            let rule = Rule::new(effect(&asked.effect)?);
            rules.push(asked.nth.map_or_else(|| rule.clone(), |nth| rule.clone().nth(nth)));
            Ok(Answer::empty())
        }),
        ("DELETE", "faults") => {
            rules.clear();
            Ok(Answer::empty())
        }
        ("POST", "full") => read::<Full>(request).map(|asked| {
            let catalog = &mut project.catalog;
            let full = if asked.late { &mut catalog.cannot_start } else { &mut catalog.full };
            full.insert(asked.location);
            Answer::empty()
        }),
        ("DELETE", "full") => {
            project.catalog.full.clear();
            project.catalog.cannot_start.clear();
            Ok(Answer::empty())
        }
        _ => Err(Refusal::new(404, "not_found", "there is no such control")),
    };
    done.unwrap_or_else(refused)
}

fn read<'a, T: Deserialize<'a>>(request: &'a Request) -> Outcome<T> {
    serde_json::from_slice(&request.body).map_err(|error| Refusal::new(400, "json_error", error.to_string()))
}

fn effect(name: &str) -> Outcome<Effect> {
    Ok(match name {
        "lost-request" => Effect::LostRequest,
        "lost-answer" => Effect::LostAnswer,
        "half-answer" => Effect::HalfAnswer,
        "cut-json" => Effect::CutJson,
        "error" => Effect::Error { status: 500, code: "server_error", is_after_work: false },
        "error-after-work" => Effect::Error { status: 500, code: "server_error", is_after_work: true },
        "conflict" => Effect::Error { status: 409, code: "conflict", is_after_work: false },
        "throttle" => Effect::Error { status: 429, code: "rate_limit_exceeded", is_after_work: false },
        "html" => Effect::Html { status: 502, is_after_work: false },
        "html-after-work" => Effect::Html { status: 200, is_after_work: true },
        _ => return Err(Refusal::invalid("effect", format!("there is no effect '{name}'"))),
    })
}

/// The servers of one Machine: without those that are being deleted.
fn found(project: &Project, request: &Request) -> Answer {
    let is_it = |server: &&Server| {
        server.label(CLUSTER_LABEL) == request.one("cluster")
            && server.label(UID_LABEL) == request.one("uid")
            && server.power != Power::Deleting
    };
    let found = project.servers.values().filter(is_it);
    Answer::of(200, &found.map(|server| json!({ "server": server.id })).collect::<Vec<_>>())
}

/// Everything that exists, the most servers that each uid had at one time, and the actions that failed.
fn leftovers(project: &Project) -> Answer {
    let servers: Vec<&str> = project.servers.values().map(|server| server.name.as_str()).collect();
    let addresses: Vec<_> = project
        .floating_ips
        .values()
        .map(|address| json!({ "name": address.name, "server": address.server }))
        .collect();
    let failed =
        project.actions.values().filter(|action| action.status() == models::action::Status::Error).count();
    let most = &project.most_at_once;
    Answer::of(200, &json!({ "servers": servers, "floating_ips": addresses, "most": most, "failed": failed }))
}
