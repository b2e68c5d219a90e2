//! The driver's description of itself.

use serde_json::Value;

use super::checks;
use crate::case::{Case, Outcome, must};

checks! {
    "describe/schema" Shared offline schema "the class schema, where there is one, is JSON Schema of an object";
    "describe/window" Shared offline window "reads lag behind a create for ten minutes at most";
    "describe/name" Shared offline name "the driver's name is a word";
}

async fn schema(case: Case) -> Outcome {
    let Some(schema) = &case.bench.about.class_schema else { return Ok(()) };
    must(is_of_object(schema), || {
        "class-schema is not the JSON Schema of a providerSpec: it has to be a JSON object with \"type\": \"object\"".to_owned()
    })
}

/// `"type": "object"`, or a list of types with it.
fn is_of_object(schema: &str) -> bool {
    let Ok(Value::Object(schema)) = serde_json::from_str(schema) else { return false };
    match schema.get("type") {
        Some(Value::String(one)) => one == "object",
        Some(Value::Array(several)) => several.iter().any(|one| one == "object"),
        Some(_) | None => false,
    }
}

async fn window(case: Case) -> Outcome {
    let window = case.bench.about.consistency_window;
    must(window.as_secs() <= 600, || {
        format!(
            "consistency-window-ms is {} s: for so long a machine whose VM vanishes would be waited for",
            window.as_secs()
        )
    })
}

async fn name(case: Case) -> Outcome {
    let name = &case.bench.about.name;
    let is_word = !name.is_empty()
        && name.len() <= 63
        && name.chars().all(|char| char.is_ascii_alphanumeric() || "-_.".contains(char));
    must(is_word, || format!("the name {name:?} is none that a metric or a ConfigMap could carry"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_schema_is_of_an_object() {
        for schema in [r#"{"type":"object"}"#, r#"{"type":["object","null"],"properties":{}}"#] {
            assert!(is_of_object(schema), "{schema}");
        }
        for schema in [
            "", "{]", "{}", "[]", r#""object""#, r#"{"type":"array"}"#, r#"{"type":["null"]}"#,
            r#"{"type":1}"#,
        ] {
            assert!(!is_of_object(schema), "{schema}");
        }
    }
}
