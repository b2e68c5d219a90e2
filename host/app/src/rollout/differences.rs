//! Where two objects differ. Pure.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// A field that is not the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Difference {
    pub(super) field: String,
    pub(super) was: Option<String>,
    pub(super) is: Option<String>,
}

/// All of them, by field.
pub(super) fn differences(was: &Value, is: &Value) -> Vec<Difference> {
    let (was, is) = (fields(was), fields(is));
    let mut all: Vec<&String> = was.keys().chain(is.keys()).collect();
    all.sort();
    all.dedup();
    let differ = all.into_iter().filter(|field| was.get(*field) != is.get(*field));
    differ
        .map(|field| Difference {
            field: field.clone(),
            was: was.get(field).cloned(),
            is: is.get(field).cloned(),
        })
        .collect()
}

/// Each that has a value, by its path.
fn fields(value: &Value) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::new();
    collect(String::new(), value, &mut fields);
    fields
}

fn collect(path: String, value: &Value, fields: &mut BTreeMap<String, String>) {
    match value {
        Value::Null => {}
        Value::Object(inner) => {
            for (key, value) in inner {
                // Names of labels and the like have dots of their own.
                let step = match (path.is_empty(), key.contains(['.', '/'])) {
                    (_, true) => format!("{path}[{key}]"),
                    (true, false) => key.clone(),
                    (false, false) => format!("{path}.{key}"),
                };
                collect(step, value, fields);
            }
        }
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                collect(format!("{path}[{number}]"), item, fields);
            }
        }
        Value::String(text) => drop(fields.insert(path, text.clone())),
        Value::Bool(_) | Value::Number(_) => drop(fields.insert(path, value.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_that_differ_are_named_with_both_values() {
        let was = json!({ "a": { "b": 1, "x/y": "z" }, "list": [{ "k": "v" }], "same": true, "none": null });
        let is = json!({ "a": { "b": 2 }, "list": [{ "k": "w" }, "more"], "same": true });
        let shown: Vec<String> = differences(&was, &is)
            .into_iter()
            .map(|one| {
                format!("{} {:?} {:?}", one.field, one.was.unwrap_or_default(), one.is.unwrap_or_default())
            })
            .collect();
        assert_eq!(
            shown,
            [r#"a.b "1" "2""#, r#"a[x/y] "z" """#, r#"list[0].k "v" "w""#, r#"list[1] "" "more""#,]
        );
        assert!(differences(&was, &was).is_empty());
    }
}
