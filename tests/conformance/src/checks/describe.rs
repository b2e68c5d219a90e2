//! Who the driver says it is.

use super::{Check, check};
use crate::case::{Case, Outcome, must};

pub(super) fn checks() -> Vec<Check> {
    vec![
        check!(
            "describe",
            "schema",
            Shared,
            false,
            schema,
            "the class schema, where there is one, is a JSON object"
        ),
        check!(
            "describe",
            "window",
            Shared,
            false,
            window,
            "reads lag behind a create for ten minutes at most"
        ),
        check!("describe", "name", Shared, false, name, "the driver's name is a word"),
    ]
}

async fn schema(case: Case) -> Outcome {
    let Some(schema) = &case.bench.about.class_schema else { return Ok(()) };
    let is_schema = serde_json::from_str(schema).is_ok_and(|schema: serde_json::Value| schema.is_object());
    must(is_schema, || "class-schema is not a JSON Schema: it has to be one JSON object".to_owned())
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
