//! Logins of registries in Docker configurations.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use machinist_artifacts::{Logins, Reference};
use serde_json::{Value, json};

use crate::mutate::Grammar;
use crate::target::{Shape, Target, Verdict, promise};

pub(crate) const TARGET: Target = Target {
    name: "logins",
    about: "docker's configuration: a login is found for its own registry only, and is in no message",
    grammar: Grammar::Json,
    samples,
    words: &[
        "auths", "auth", "username", "password", "identitytoken", "credHelpers", "credsStore",
        "registry.example", "https://", "/v1/", "docker.io", "index.docker.io", CANARY,
    ],
    share: 20,
    check,
};

const CANARY: &str = "canary-password";

fn samples() -> Vec<Vec<u8>> {
    let auth = STANDARD.encode(format!("robot:{CANARY}"));
    let configurations = [
        json!({ "auths": { "registry.example": { "auth": auth }, "https://other.example/v1/": { "username": "a", "password": CANARY } } }),
        json!({ "auths": { "registry.example/team": { "identitytoken": CANARY } }, "credsStore": "secretservice" }),
        json!({ "auths": { "registry.example": null }, "credHelpers": { "registry.example": "ecr-login" } }),
    ];
    configurations.iter().map(|configuration| configuration.to_string().into_bytes()).collect()
}

fn check(input: &[u8]) -> Verdict {
    let logins = match Logins::parse(input) {
        Ok(logins) => logins,
        Err(error) => {
            let message = error.to_string();
            let registries = serde_json::from_slice::<Value>(input).unwrap_or_default()["auths"].to_string();
            // The name of a registry may be in the message, and nothing else of it.
            let is_name = registries.matches(CANARY).count() > 0 && message.contains(CANARY);
            promise(!message.contains(CANARY) || is_name, || format!("a password is told: {message}"))?;
            return Ok(Shape::of(&message));
        }
    };
    let shown = format!("{logins:?}");
    let mut shape = Shape::of(&shown);
    for artifact in
        ["registry.example/team/aws:1", "docker.io/acme/aws:1", "attacker.example/registry.example/a:1"]
    {
        let reference: Reference = artifact.parse().map_err(|_| "no reference")?;
        let found = (logins.find(&reference).is_some(), logins.helper(&reference).is_some());
        let registry = &reference.registry;
        let is_written =
            String::from_utf8_lossy(input).contains(registry.as_str()) || registry.contains("docker");
        promise(!found.0 || is_written || input.contains(&b'\\'), || {
            format!("a login is shown to {registry}")
        })?;
        shape = shape.and(Shape::of(&format!("{found:?}")));
    }
    Ok(shape)
}
