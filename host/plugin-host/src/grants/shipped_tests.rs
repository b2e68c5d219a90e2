//! Grants that are shipped allow what the recorded drivers do, and nothing that none of them does: each method, path,
//! action and place is taken away in turn, and some request of a recording, or of the driver's own tests, is refused.

use std::path::PathBuf;

use serde::Deserialize;
use serde_yaml_ng::Value;

use super::*;
use crate::auth::Mark;
use crate::target::{Host, METHODS};

#[derive(Deserialize)]
struct Recording {
    http: Vec<Recorded>,
}

#[derive(Deserialize)]
struct Recorded {
    method: String,
    url: String,
    headers: Vec<(String, String)>,
    body: Body,
}

#[derive(Deserialize)]
struct Body {
    text: String,
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../plugins")
}

fn recorded(plugin: &str) -> Vec<Recorded> {
    let folder = std::fs::read_dir(root().join(plugin).join("recordings")).unwrap();
    let mut files: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "json"));
    files.sort();
    let read =
        |file: &PathBuf| serde_json::from_str::<Recording>(&std::fs::read_to_string(file).unwrap()).unwrap();
    files.iter().flat_map(|file| read(file).http).collect()
}

fn request(method: &str, url: &str, body: &str) -> Recorded {
    let kind = if body.starts_with('{') { "application/json" } else { "application/x-www-form-urlencoded" };
    let headers = vec![("content-type".to_owned(), kind.to_owned())];
    Recorded { method: method.to_owned(), url: url.to_owned(), headers, body: Body { text: body.to_owned() } }
}

/// Whether the request is sent with its secrets.
fn is_sent(grants: &Grants, asked: &Recorded) -> bool {
    let target = RequestTarget::parse(&asked.method.parse().unwrap(), &asked.url).unwrap();
    let own = ["host", "machinist-auth"];
    let headers: HeaderMap = asked
        .headers
        .iter()
        .filter(|(name, _)| !own.contains(&name.as_str()))
        .map(|(name, value)| (name.parse::<HeaderName>().unwrap(), value.parse().unwrap()))
        .collect();
    let allowed = matches!(
        grants.allows_whole(&target, &headers, asked.body.text.as_bytes()),
        EgressDecision::Allowed(_)
    );
    let mark = asked.headers.iter().find(|(name, _)| name == "machinist-auth");
    let is_signed = mark.is_none_or(|(_, mark)| {
        let mark = Mark::parse(mark).unwrap();
        mark.grant(grants.auth(), target.host(), &HeaderMap::new()).is_ok()
    });
    allowed && is_signed && is_filled(grants, &headers, target.host(), &asked.body.text)
}

/// Whether each placeholder is all of a place, behind the prefix.
fn is_filled(grants: &Grants, headers: &HeaderMap, host: &Host, body: &str) -> bool {
    let granted = |place: &dyn Fn(&RequestPlace) -> bool, value: &str| {
        let (before, _) = value.split_once(PLACEHOLDER_PREFIX).unwrap();
        let all = grants.secrets().iter().filter(|grant| grant.reaches(host)).flat_map(SecretGrant::places);
        all.into_iter().any(|granted| place(granted.place()) && granted.prefix() == before)
    };
    let in_headers = headers.iter().all(|(name, value)| {
        let value = value.to_str().unwrap();
        !value.contains(PLACEHOLDER_PREFIX)
            || granted(&|place| matches!(place, RequestPlace::Header(header) if header == name), value)
    });
    let in_json = |value: &serde_json::Value| {
        value.as_object().unwrap().iter().all(|(key, value)| {
            let pointer = JsonPointer::parse(&format!("/{key}"));
            let text = value.as_str().unwrap_or_default();
            !text.contains(PLACEHOLDER_PREFIX)
                || granted(
                    &|place| matches!(place, RequestPlace::Json(json) if Some(json) == pointer.as_ref()),
                    text,
                )
        })
    };
    let in_body = match serde_json::from_str::<serde_json::Value>(body) {
        Ok(value) => in_json(&value),
        Err(_) => form::fields(body.as_bytes(), b"&").all(|(name, value)| {
            !value.contains(PLACEHOLDER_PREFIX)
                || granted(&|place| matches!(place, RequestPlace::Form(field) if *field == name), &value)
        }),
    };
    in_headers && in_body
}

/// All documents that have one entry less, or one name of a host, method, path, action or place less. With what is
/// missing.
fn lessened(document: &Value) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    let mut steps: Vec<Vec<Value>> = vec![Vec::new()];
    while let Some(step) = steps.pop() {
        match at(document, &step) {
            Value::Mapping(entries) => {
                // Without these a rule is wider, not narrower.
                let widening = ["scheme", "ports", "addresses", "providers", "web-identity", "services"];
                let inner =
                    entries.keys().filter(|key| !widening.contains(&key.as_str().unwrap_or_default()));
                steps.extend(inner.map(|key| [step.clone(), vec![key.clone()]].concat()));
            }
            Value::Sequence(items) => {
                for index in 0..items.len() {
                    let inner = [step.clone(), vec![Value::from(index)]].concat();
                    let mut less = document.clone();
                    let Value::Sequence(list) = at_mut(&mut less, &step) else { panic!("the same") };
                    let gone = list.remove(index);
                    // An empty list is refused: what it was for is not there at all.
                    if list.is_empty() {
                        list.push(impossible(&gone));
                    }
                    all.push((format!("{inner:?}: {gone:?}"), less));
                    steps.push(inner);
                }
            }
            Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Null | Value::Tagged(_) => {}
        }
    }
    all
}

/// Returns a value of the same form that no request needs.
fn impossible(like: &Value) -> Value {
    let text = match like {
        Value::Mapping(entries) if entries.contains_key("exact") => "{ exact: /nowhere }",
        Value::Mapping(entries) if entries.contains_key("host") => "{ host: nowhere.example }",
        Value::Mapping(entries) if entries.contains_key("scheme") => {
            "{ scheme: aws-sigv4, services: [none] }"
        }
        Value::Mapping(entries) if entries.contains_key("key") => {
            "{ key: none, places: [{ header: x-none }] }"
        }
        Value::Mapping(_) => "{ header: x-none }",
        Value::String(text) if text.starts_with('/') => "/nowhere",
        Value::String(text) if text.contains('.') => "nowhere.example",
        Value::String(text) if METHODS.iter().any(|method| method.as_str() == text) => "PATCH",
        _ => "xx-nowhere-1",
    };
    serde_yaml_ng::from_str(text).unwrap()
}

fn at<'a>(document: &'a Value, steps: &[Value]) -> &'a Value {
    steps.iter().fold(document, |value, step| match step {
        Value::Number(index) => &value[usize::try_from(index.as_u64().unwrap()).unwrap()],
        key => &value[key],
    })
}

fn at_mut<'a>(document: &'a mut Value, steps: &[Value]) -> &'a mut Value {
    steps.iter().fold(document, |value, step| match step {
        Value::Number(index) => &mut value[usize::try_from(index.as_u64().unwrap()).unwrap()],
        key => &mut value[key],
    })
}

/// Everything that is asked is sent, and with anything less something is not.
#[track_caller]
fn are_least(text: &str, asked: &[Recorded]) {
    let grants = Grants::parse(text).unwrap();
    for request in asked {
        assert!(is_sent(&grants, request), "{} {} {}", request.method, request.url, request.body.text);
    }
    let all = lessened(&serde_yaml_ng::from_str(text).unwrap());
    assert!(all.len() > 5, "{all:?}");
    for (missing, less) in all {
        let text = serde_yaml_ng::to_string(&less).unwrap();
        let grants = Grants::parse(&text).unwrap_or_else(|error| panic!("{missing}: {error}\n{text}"));
        assert!(!asked.iter().all(|request| is_sent(&grants, request)), "nobody needs {missing}");
    }
}

#[test]
fn the_shipped_grants_for_ec2_are_minimal() {
    let text = std::fs::read_to_string(root().join("aws/grants.yaml")).unwrap();
    let text = format!("regions: [eu-west-1]\n{text}");
    let mut asked = recorded("aws");
    asked.push(request(
        "POST",
        "https://ec2.eu-west-1.amazonaws.com/",
        "Action=DescribeInstanceTypes&Version=2016-11-15&InstanceType.1=m5.large",
    ));
    // Of the driver's own tests (`prefixes_are_assigned_by_card_and_device_and_never_taken_away`), and of the host's
    // for web identity.
    asked.push(request(
        "POST",
        "https://ec2.eu-west-1.amazonaws.com/",
        "Action=AssignIpv6Addresses&Version=2016-11-15&NetworkInterfaceId=eni-1&Ipv6PrefixCount=2",
    ));
    asked.push(request(
        "POST",
        "https://sts.eu-west-1.amazonaws.com/",
        "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn&RoleSessionName=x&WebIdentityToken=y",
    ));
    are_least(&text, &asked);
}

#[test]
fn the_shipped_grants_for_the_simulated_cloud_are_minimal() {
    let text = std::fs::read_to_string(root().join("sim/grants.yaml")).unwrap();
    let mut asked = recorded("sim");
    let port = RequestTarget::parse(&Method::GET, &asked[0].url).unwrap().port();
    // The volumes of a VM, which the driver's own tests make and look for.
    let url = |path: &str| format!("http://127.0.0.1:{port}{path}");
    asked.push(request("GET", &url("/v1/volumes?tag=cluster:c&tag=machine-uid:u&limit=200"), ""));
    asked.push(request("DELETE", &url("/v1/volumes/vol-1"), ""));
    // The types of VMs, for the resources of Nodes.
    asked.push(request("GET", &url("/v1/regions"), ""));
    are_least(&text.replace("PORT", &port.to_string()), &asked);
}

#[test]
fn no_place_of_user_data_that_is_shipped_has_a_prefix() {
    let plugins = ["aws/grants.yaml", "sim/grants.yaml"].map(|file| root().join(file));
    let others = ["go", "js", "python"]
        .map(|language| root().join(format!("../sdk/{language}/examples/driver-sim/grants.yaml")));
    for file in plugins.iter().chain(&others) {
        let text = std::fs::read_to_string(file).unwrap().replace("PORT", "8080");
        let grants = Grants::parse(&format!("regions: [eu-west-1]\n{text}")).unwrap();
        let mut of_user_data =
            grants.secrets().iter().filter(|grant| *grant.key() == SecretKey::UserData).peekable();
        assert!(of_user_data.peek().is_some(), "{}", file.display());
        assert!(
            of_user_data.flat_map(SecretGrant::places).all(|place| place.prefix().is_empty()),
            "{}",
            file.display()
        );
    }
}
