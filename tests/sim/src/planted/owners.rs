//! Bugs in what is done to sets and their Machines.

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use kube::client::Body;
use machinist_api::infrastructure::names::annotations as infrastructure;
use machinist_api::names::{annotations, labels};
use serde_json::{Value, json};
use tower::{BoxError, Service};

use super::{Planted, patched};

/// The answer of a server.
pub(super) type Reply = Response<UnsyncBoxBody<Bytes, BoxError>>;

/// The request as the bug makes it. May send others before.
pub(super) async fn bent<S>(
    way: &mut S,
    request: Request<Body>,
    bug: Planted,
) -> Result<Request<Body>, BoxError>
where
    S: Service<Request<Body>, Response = Reply, Error = BoxError>,
{
    let path = request.uri().path().to_owned();
    let method = request.method().clone();
    let is_of_sets = path.contains("/machinesets/") && !path.ends_with("/status");
    match bug {
        Planted::MakesAgain if method == Method::POST && path.ends_with("/machines") => {
            let (head, body) = request.into_parts();
            let bytes = body.collect().await?.to_bytes();
            let mut other: Value = serde_json::from_slice(&bytes)?;
            let name = other["metadata"]["name"].as_str().unwrap_or_default();
            other["metadata"]["name"] = json!(format!("{name}-again"));
            let again = asked(Method::POST, &head.uri.to_string(), &other)?;
            way.call(again).await?;
            Ok(Request::from_parts(head, Body::from(bytes.to_vec())))
        }
        Planted::WritesOthersNodes | Planted::GivesUpForNames
            if method == Method::PATCH && path.contains("/machines/") && path.ends_with("/status") =>
        {
            named(way, request, bug).await
        }
        Planted::AsksOverAndOver if method == Method::DELETE && path.contains("/machines/") => {
            for _ in 0..45 {
                way.call(asked(Method::DELETE, &path, &Value::Null)?).await?;
            }
            Ok(request)
        }
        Planted::HandsDownTexts if method == Method::POST && path.ends_with("/machines") => {
            let (head, body) = request.into_parts();
            let mut machine: Value = serde_json::from_slice(&body.collect().await?.to_bytes())?;
            machine["spec"]["creationTimeout"] = json!("20min");
            Ok(Request::from_parts(head, Body::from(serde_json::to_vec(&machine)?)))
        }
        Planted::RaisesTooFar if is_of_sets && method == Method::PATCH => {
            let now = got(way, &path).await?["spec"]["replicas"].as_i64().unwrap_or_default();
            patched(request, |patch| {
                if let Some(replicas) = patch["spec"]["replicas"].as_i64().filter(|replicas| *replicas > now)
                {
                    patch["spec"]["replicas"] = json!(replicas + 1);
                }
            })
            .await
        }
        Planted::EmptiesSets if is_of_sets && method == Method::PATCH => {
            let now = got(way, &path).await?["spec"]["replicas"].as_i64().unwrap_or_default();
            patched(request, |patch| {
                if patch["spec"]["replicas"].as_i64().is_some_and(|replicas| replicas < now) {
                    patch["spec"]["replicas"] = json!(0);
                }
            })
            .await
        }
        Planted::ForgetsOrdinals if is_of_sets => {
            patched(request, |patch| {
                remove(&mut patch["metadata"]["annotations"], annotations::CLOSED_ORDINAL);
            })
            .await
        }
        Planted::StaysFrozen if is_of_sets => {
            patched(request, |patch| {
                if patch["metadata"]["labels"].get(labels::FREEZE).is_some_and(Value::is_null) {
                    remove(&mut patch["metadata"]["labels"], labels::FREEZE);
                }
            })
            .await
        }
        Planted::ReleasesSets if is_of_sets && method == Method::DELETE => {
            let free = json!({ "metadata": { "finalizers": null } });
            way.call(asked(Method::PATCH, &path, &free)?).await?;
            Ok(request)
        }
        Planted::ChoosesOthers if method == Method::DELETE && path.contains("/machines/") => {
            let (mut head, body) = request.into_parts();
            let Some((all, name)) = path.rsplit_once('/') else {
                return Ok(Request::from_parts(head, body));
            };
            let listed = got(way, all).await?;
            match another(&listed, name) {
                Some(other) => {
                    head.uri = format!("{all}/{other}").parse()?;
                    Ok(Request::from_parts(head, Body::empty()))
                }
                None => Ok(Request::from_parts(head, body)),
            }
        }
        _ => Ok(request),
    }
}

/// A host fails a Machine for the name of its Node, and something else goes with that.
async fn named<S>(way: &mut S, request: Request<Body>, bug: Planted) -> Result<Request<Body>, BoxError>
where
    S: Service<Request<Body>, Response = Reply, Error = BoxError>,
{
    let path = request.uri().path().to_owned();
    let (head, body) = request.into_parts();
    let bytes = body.collect().await?.to_bytes();
    let sent = Request::from_parts(head, Body::from(bytes.to_vec()));
    let Some((all, name)) = path.trim_end_matches("/status").rsplit_once('/') else { return Ok(sent) };
    if !String::from_utf8_lossy(&bytes).contains("VM using old node obj") {
        return Ok(sent);
    }
    if bug == Planted::WritesOthersNodes {
        let label = json!({ "metadata": { "labels": { "example.com/own": "true" } } });
        way.call(asked(Method::PATCH, &format!("/api/v1/nodes/{name}"), &label)?).await?;
        return Ok(sent);
    }
    let mut patch: Value = serde_json::from_slice(&bytes)?;
    remove(&mut patch, "metadata");
    let Some(other) = sibling(&got(way, all).await?, name) else { return Ok(sent) };
    way.call(sent).await?;
    asked(Method::PATCH, &format!("{all}/{other}/status"), &patch)
}

/// The answer as the bug lets it be seen.
pub(super) fn seen(reply: Reply, bug: Planted) -> Reply {
    let seen: &'static [(&str, &str)] = match bug {
        Planted::OverlooksFreeze => &[("\"freeze\":\"True\"", "\"freeze\":\"no\"")],
        Planted::OverlooksBudgets => &[(annotations::DISRUPTION_BUDGET, "example.com/budget")],
        Planted::OverlooksPauses => {
            &[("\"paused\":true", "\"paused\":false"), (infrastructure::PAUSED, "example.com/paused")]
        }
        _ => return reply,
    };
    reply.map(|body| {
        let frames = body.map_frame(move |frame| {
            frame.map_data(|data| {
                let text = String::from_utf8_lossy(&data).into_owned();
                let text = seen.iter().fold(text, |text, (said, instead)| text.replace(said, instead));
                Bytes::from(text.into_bytes())
            })
        });
        frames.boxed_unsync()
    })
}

/// Another Machine of the same set that has not failed.
fn sibling(listed: &Value, name: &str) -> Option<String> {
    let machines = || listed["items"].as_array().into_iter().flatten();
    let this = machines().find(|machine| machine["metadata"]["name"] == name)?;
    let is_such = |machine: &&Value| {
        machine["metadata"]["ownerReferences"] == this["metadata"]["ownerReferences"]
            && machine["metadata"]["name"] != name
            && machine["metadata"]["deletionTimestamp"].is_null()
            && machine["status"]["currentStatus"]["phase"] != "Failed"
    };
    machines().find(is_such).and_then(|machine| machine["metadata"]["name"].as_str().map(str::to_owned))
}

/// A Machine of the same set that nobody has chosen, where this one was.
fn another(listed: &Value, name: &str) -> Option<String> {
    let is_marked = |machine: &Value| {
        machine["metadata"]["annotations"][annotations::PRIORITY] == annotations::FIRST_PRIORITY
    };
    let machines = || listed["items"].as_array().into_iter().flatten();
    let chosen =
        machines().find(|machine| machine["metadata"]["name"] == name).filter(|one| is_marked(one))?;
    let is_such = |machine: &&Value| {
        machine["metadata"]["ownerReferences"] == chosen["metadata"]["ownerReferences"]
            && !is_marked(machine)
            && machine["metadata"]["deletionTimestamp"].is_null()
            && machine["status"]["currentStatus"]["phase"] == "Running"
    };
    machines().find(is_such).and_then(|machine| machine["metadata"]["name"].as_str().map(str::to_owned))
}

fn remove(map: &mut Value, key: &str) {
    if let Some(map) = map.as_object_mut() {
        map.remove(key);
    }
}

pub(super) fn asked(method: Method, path: &str, body: &Value) -> Result<Request<Body>, BoxError> {
    let media = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    let bytes = if body.is_null() { Vec::new() } else { serde_json::to_vec(body)? };
    Ok(Request::builder().method(method).uri(path).header("content-type", media).body(Body::from(bytes))?)
}

pub(super) async fn got<S>(way: &mut S, path: &str) -> Result<Value, BoxError>
where
    S: Service<Request<Body>, Response = Reply, Error = BoxError>,
{
    let reply = way.call(asked(Method::GET, path, &Value::Null)?).await?;
    let bytes = reply.into_body().collect().await?.to_bytes();
    Ok(serde_json::from_slice(&bytes).unwrap_or_default())
}
