//! Compares JSON with a schema of the discovery document.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock};

use regex::Regex;
use serde_json::Value;

use super::Api;

/// The author of the JSON.
#[derive(Clone, Copy, Debug)]
pub enum Direction<'a> {
    /// A client, for this method: no field of the server, all fields that the method requires.
    Request(&'a str),
    Answer,
}

/// A value that does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The path of the value.
    pub at: String,
    /// The text as Google writes it.
    pub text: String,
}

/// Checks a parameter of path or query, which is a text.
pub(super) fn parameter(name: &str, text: &str, schema: &Value) -> Result<(), Problem> {
    let problem = |what: String| Problem {
        at: name.to_owned(),
        text: format!("Invalid value for field '{name}': '{text}'. {what}"),
    };
    match schema["type"].as_str() {
        Some("integer") => {
            let number: i64 = text.parse().map_err(|_| problem("Must be a whole number".to_owned()))?;
            let limit = |name: &str| schema[name].as_str().and_then(|limit| limit.parse::<i64>().ok());
            if limit("minimum").is_some_and(|least| number < least)
                || limit("maximum").is_some_and(|most| number > most)
            {
                return Err(problem("Out of range".to_owned()));
            }
        }
        Some("boolean") if !matches!(text, "true" | "false") => {
            return Err(problem("Must be true or false".to_owned()));
        }
        _ => {}
    }
    match schema["pattern"].as_str() {
        Some(pattern) if !full_match(pattern, text) => {
            Err(problem(format!("Must be a match of regex '{pattern}'")))
        }
        _ => Ok(()),
    }
}

/// Adds each problem of a value.
pub(super) fn value(
    api: &Api,
    schema: &Value,
    given: &Value,
    at: &str,
    direction: Direction<'_>,
    problems: &mut Vec<Problem>,
) {
    let schema = api.resolved(schema);
    let mut problem = |text: String| problems.push(Problem { at: at.to_owned(), text });
    let wrong = |wanted: &str| format!("Invalid value at '{at}' ({wanted}), {}", shown(given));
    match schema["type"].as_str().unwrap_or("any") {
        "object" => match given {
            Value::Object(fields) => object(api, schema, fields, at, direction, problems),
            _ => problem(wrong("object")),
        },
        "array" => match given {
            Value::Array(entries) => {
                // The pattern of a list is that of its entries.
                let pattern = schema["pattern"].as_str();
                for (index, entry) in entries.iter().enumerate() {
                    let path = format!("{at}[{index}]");
                    value(api, &schema["items"], entry, &path, direction, problems);
                    let text = entry.as_str().unwrap_or_default();
                    if let Some(pattern) = pattern.filter(|pattern| !full_match(pattern, text)) {
                        let text = format!(
                            "Invalid value for field '{path}': '{text}'. Must be a match of regex '{pattern}'"
                        );
                        problems.push(Problem { at: path, text });
                    }
                }
            }
            _ => problem(wrong("array")),
        },
        "boolean" if !given.is_boolean() => problem(wrong("TYPE_BOOL")),
        "integer" if given.as_i64().and_then(|number| i32::try_from(number).ok()).is_none() => {
            problem(wrong("TYPE_INT32"));
        }
        "number" if !given.is_number() => problem(wrong("TYPE_DOUBLE")),
        "string" => {
            if let Some(text) = text(schema, given, at) {
                problem(text);
            }
        }
        _ => {}
    }
}

fn text(schema: &Value, given: &Value, at: &str) -> Option<String> {
    let format = schema["format"].as_str().unwrap_or_default();
    let is_number = matches!(format, "int64" | "uint64");
    let text = match given {
        Value::String(text) => text.clone(),
        Value::Number(number) if is_number => number.to_string(),
        other => return Some(format!("Invalid value at '{at}' (TYPE_STRING), {}", shown(other))),
    };
    if is_number && text.parse::<i128>().is_err() {
        return Some(format!("Invalid value at '{at}' (TYPE_INT64), \"{text}\""));
    }
    let enums = schema["enum"].as_array();
    if enums.is_some_and(|known| !known.iter().any(|known| known.as_str() == Some(text.as_str()))) {
        return Some(format!(
            "Invalid value for field '{at}': '{text}'. The value is not one of the enum's."
        ));
    }
    let pattern = schema["pattern"].as_str()?;
    (!full_match(pattern, &text))
        .then(|| format!("Invalid value for field '{at}': '{text}'. Must be a match of regex '{pattern}'"))
}

fn object(
    api: &Api,
    schema: &Value,
    fields: &serde_json::Map<String, Value>,
    at: &str,
    direction: Direction<'_>,
    problems: &mut Vec<Problem>,
) {
    let known = &schema["properties"];
    let additional = &schema["additionalProperties"];
    for (name, field) in fields {
        let path = format!("{at}.{name}");
        let property = match &known[name.as_str()] {
            Value::Null if additional.is_object() => additional,
            Value::Null => {
                let text = format!(
                    "Invalid JSON payload received. Unknown name \"{name}\" at '{at}': Cannot find field."
                );
                problems.push(Problem { at: path, text });
                continue;
            }
            property => property,
        };
        if matches!(direction, Direction::Request(_)) && property["readOnly"] == true {
            let text = format!("Invalid value for field '{path}': the field is output only.");
            problems.push(Problem { at: path, text });
            continue;
        }
        value(api, property, field, &path, direction, problems);
    }
    let Direction::Request(method) = direction else { return };
    for (name, property) in known.as_object().into_iter().flatten() {
        let required = property["annotations"]["required"].as_array();
        let is_required = required.is_some_and(|methods| methods.iter().any(|known| known == method));
        if is_required && !fields.contains_key(name) {
            let path = format!("{at}.{name}");
            let text = format!("Invalid value for field '{path}': ''. Required field is missing.");
            problems.push(Problem { at: path, text });
        }
    }
}

/// Whether all of a text matches a pattern of the document.
pub(crate) fn full_match(pattern: &str, text: &str) -> bool {
    static KNOWN: OnceLock<Mutex<HashMap<String, Regex>>> = OnceLock::new();
    let known = KNOWN.get_or_init(Mutex::default);
    let mut known = known.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(regex) = known.get(pattern) {
        return regex.is_match(text);
    }
    let Ok(regex) = Regex::new(&format!("^(?:{pattern})$")) else { return false };
    let is_match = regex.is_match(text);
    known.insert(pattern.to_owned(), regex);
    is_match
}

fn shown(value: &Value) -> String {
    match value {
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        other => other.to_string().chars().take(80).collect(),
    }
}
