//! The kinds of requests, by which faults choose and journals count.

use http::Method;

/// Names the kind of a request: `create`, `start`, `stop`, `restart`, `delete`, `wait`, `get`, `list`, `profile`,
/// `resources`, else `other`.
pub(crate) fn action(method: &Method, path: &str, body: &[u8]) -> &'static str {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    match (method.as_str(), parts.as_slice()) {
        ("POST", ["1.0", "instances"]) => "create",
        ("GET", ["1.0", "instances"]) => "list",
        ("GET", ["1.0", "instances", _]) => "get",
        ("DELETE", ["1.0", "instances", _]) => "delete",
        ("PUT", ["1.0", "instances", _, "state"]) => state_action(body),
        ("GET", ["1.0", "operations", _, "wait"]) => "wait",
        ("GET", ["1.0", "profiles", _]) => "profile",
        ("GET", ["1.0", "resources"]) => "resources",
        _ => "other",
    }
}

fn state_action(body: &[u8]) -> &'static str {
    let value: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    match value.get("action").and_then(serde_json::Value::as_str) {
        Some("start") => "start",
        Some("stop") => "stop",
        Some("restart") => "restart",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_its_kind() {
        let name = |method: Method, path: &str, body: &str| action(&method, path, body.as_bytes());
        assert_eq!(name(Method::POST, "/1.0/instances", "{}"), "create");
        assert_eq!(name(Method::GET, "/1.0/instances", ""), "list");
        assert_eq!(name(Method::GET, "/1.0/instances/a", ""), "get");
        assert_eq!(name(Method::PUT, "/1.0/instances/a/state", "{\"action\": \"stop\"}"), "stop");
        assert_eq!(name(Method::PUT, "/1.0/instances/a/state", "{"), "other");
        assert_eq!(name(Method::GET, "/1.0/operations/1/wait", ""), "wait");
        assert_eq!(name(Method::GET, "/1.0", ""), "other");
    }
}
