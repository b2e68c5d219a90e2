//! Extracts what this crate needs from Google's discovery document of Compute Engine.
//!
//! ```sh
//! pip download --no-deps google-api-python-client==2.202.0
//! unzip google_api_python_client-2.202.0-py3-none-any.whl 'googleapiclient/discovery_cache/documents/compute.v1.json'
//! cargo run -p gcp --bin extract -- googleapiclient/discovery_cache/documents/compute.v1.json
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::Context;
use clap::Parser;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// The package that has the document.
const PACKAGE: &str = "google-api-python-client 2.202.0";

/// The methods that the cloud of the tests serves.
const METHODS: [(&str, &[&str]); 6] = [
    ("instances", &["aggregatedList", "delete", "get", "insert", "list", "reset", "setLabels", "stop"]),
    ("disks", &["aggregatedList", "delete", "get", "list"]),
    ("zoneOperations", &["get", "list", "wait"]),
    ("machineTypes", &["get", "list"]),
    ("zones", &["get", "list"]),
    ("images", &["get"]),
];

/// The parts of a schema that decide whether a value fits.
const KEPT: [&str; 14] = [
    "$ref", "additionalProperties", "annotations", "default", "enum", "format", "items", "location",
    "maximum", "minimum", "pattern", "properties", "repeated", "type",
];

#[derive(Parser)]
/// Extract the used schemas of compute.v1.json into data/compute.v1.json
struct Extract {
    /// The discovery document
    document: PathBuf,
}

fn main() -> anyhow::Result<()> {
    let options = Extract::parse();
    let bytes = std::fs::read(&options.document)
        .with_context(|| format!("failed to read {}", options.document.display()))?;
    let document: Value = serde_json::from_slice(&bytes).context("the document is not JSON")?;
    let digest: String = Sha256::digest(&bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    });
    let text = extract(&document, &digest)?;
    let target = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("data/compute.v1.json");
    std::fs::write(&target, text).with_context(|| format!("failed to write {}", target.display()))
}

fn extract(document: &Value, digest: &str) -> anyhow::Result<String> {
    let mut methods = BTreeMap::new();
    let mut wanted = BTreeSet::new();
    for (resource, names) in METHODS {
        for name in names {
            let method = &document["resources"][resource]["methods"][name];
            anyhow::ensure!(method.is_object(), "the document has no method {resource}.{name}");
            let parameters = method["parameters"].as_object().cloned().unwrap_or_default();
            let parameters: Map<String, Value> =
                parameters.iter().map(|(key, value)| (key.clone(), kept(value))).collect();
            methods.insert(
                format!("{resource}.{name}"),
                json!({
                    "method": method["httpMethod"],
                    "path": method["path"],
                    "parameters": parameters,
                    "request": method["request"]["$ref"],
                    "response": method["response"]["$ref"],
                }),
            );
            wanted.extend(
                ["request", "response"]
                    .iter()
                    .filter_map(|part| Some(method[part]["$ref"].as_str()?.to_owned())),
            );
        }
    }
    let mut schemas = BTreeMap::new();
    while let Some(name) = wanted.pop_first() {
        let schema = kept(&document["schemas"][&name]);
        references(&schema, &mut wanted);
        schemas.insert(name, schema);
        wanted.retain(|name| !schemas.contains_key(name));
    }
    let global = document["parameters"].as_object().context("the document has no parameters")?;
    let global: Vec<&String> = global.keys().collect();
    let mut text = String::from("{\n");
    let head =
        [("package", json!(PACKAGE)), ("sha256", json!(digest)), ("revision", document["revision"].clone())];
    for (name, value) in head {
        let _ = writeln!(text, "\"{name}\": {value},");
    }
    let _ = writeln!(text, "\"parameters\": {},", json!(global));
    for (name, entries, end) in [("methods", methods, ","), ("schemas", schemas, "")] {
        let _ = writeln!(text, "\"{name}\": {{");
        let lines: Vec<String> = entries.iter().map(|(key, value)| format!("\"{key}\": {value}")).collect();
        let _ = writeln!(text, "{}\n}}{end}", lines.join(",\n"));
    }
    text.push_str("}\n");
    Ok(text)
}

/// Drops texts. A field whose description says that only the server writes it counts as read-only.
fn kept(schema: &Value) -> Value {
    let Some(fields) = schema.as_object() else { return schema.clone() };
    let mut result = Map::new();
    for name in KEPT {
        let Some(value) = fields.get(name) else { continue };
        let value = match name {
            "properties" => {
                let properties = value.as_object().into_iter().flatten();
                Value::Object(properties.map(|(key, value)| (key.clone(), kept(value))).collect())
            }
            "items" | "additionalProperties" => kept(value),
            _ => value.clone(),
        };
        result.insert(name.to_owned(), value);
    }
    let described = fields.get("description").and_then(Value::as_str).unwrap_or_default();
    let is_output = described.contains("[Output Only]") || described.contains("[Output only]");
    if is_output || fields.get("readOnly") == Some(&Value::Bool(true)) {
        result.insert("readOnly".to_owned(), Value::Bool(true));
    }
    if fields.get("required") == Some(&Value::Bool(true)) {
        result.insert("required".to_owned(), Value::Bool(true));
    }
    Value::Object(result)
}

fn references(schema: &Value, found: &mut BTreeSet<String>) {
    match schema {
        Value::Object(fields) => {
            if let Some(name) = fields.get("$ref").and_then(Value::as_str) {
                found.insert(name.to_owned());
            }
            fields.values().for_each(|value| references(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}
