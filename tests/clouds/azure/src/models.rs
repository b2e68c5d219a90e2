//! Checks bodies against Microsoft's models in `models/models.json`. `models/generate.mjs` makes it of the clients that
//! Microsoft publishes.

use std::sync::LazyLock;

use serde_json::{Map, Value};

/// The models, as generated.
static MODELS: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../models/models.json")).expect("the generated models are JSON")
});

/// An operation of the API, as Microsoft describes it.
#[derive(Clone, Debug)]
pub(crate) struct PublishedOperation {
    pub(crate) name: String,
    pub(crate) api_version: String,
    /// Names of the query's parameters.
    pub(crate) query: Vec<String>,
    pub(crate) headers: Vec<String>,
    /// The model of the body.
    pub(crate) body: Option<String>,
    /// The family of the models.
    pub(crate) family: &'static str,
    /// The values of the path's parameters, in order.
    pub(crate) arguments: Vec<String>,
}

/// Finds the operation of a method and a path.
pub(crate) fn operation(method: &str, segments: &[String]) -> Option<PublishedOperation> {
    for family in ["compute", "network"] {
        for described in MODELS[family]["operations"].as_array().into_iter().flatten() {
            if described["method"] != method {
                continue;
            }
            let Some(arguments) = matched(described["path"].as_str().unwrap_or_default(), segments) else {
                continue;
            };
            let texts = |value: &Value| -> Vec<String> {
                value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
            };
            let query = described["query"].as_object();
            return Some(PublishedOperation {
                name: described["name"].as_str().unwrap_or_default().to_owned(),
                api_version: described["query"]["api-version"].as_str().unwrap_or_default().to_owned(),
                query: query.map(|query| query.keys().cloned().collect()).unwrap_or_default(),
                headers: texts(&described["headers"]),
                body: described["body"].as_str().map(str::to_owned),
                family,
                arguments,
            });
        }
    }
    None
}

fn matched(template: &str, segments: &[String]) -> Option<Vec<String>> {
    let parts: Vec<&str> = template.trim_matches('/').split('/').collect();
    if parts.len() != segments.len() {
        return None;
    }
    let mut arguments = Vec::new();
    for (part, segment) in parts.iter().zip(segments) {
        if part.starts_with('{') {
            arguments.push(segment.clone());
        } else if !part.eq_ignore_ascii_case(segment) {
            return None;
        }
    }
    Some(arguments)
}

/// Returns what is wrong with the body of a request: unknown and read-only properties, wrong types and values, missing
/// ones.
pub fn problems(family: &str, model: &str, body: &Value) -> Vec<String> {
    check(family, model, body, Direction::Request)
}

/// Returns what is wrong with the body of an answer.
pub(crate) fn problems_of_answer(family: &str, model: &str, body: &Value) -> Vec<String> {
    check(family, model, body, Direction::Answer)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Request,
    Answer,
}

fn check(family: &str, model: &str, body: &Value, direction: Direction) -> Vec<String> {
    let mut walk = Walk { family, direction, problems: Vec::new() };
    walk.model(model, body, "");
    walk.problems
}

struct Walk<'a> {
    family: &'a str,
    direction: Direction,
    problems: Vec<String>,
}

impl Walk<'_> {
    fn model(&mut self, name: &str, value: &Value, at: &str) {
        match MODELS[self.family]["models"][name]["properties"].as_object() {
            Some(properties) => self.object(properties, name, value, at),
            None => self.problems.push(format!("{at}: there is no model {name}")),
        }
    }

    fn object(&mut self, properties: &Map<String, Value>, model: &str, value: &Value, at: &str) {
        let Some(fields) = value.as_object() else {
            self.problems.push(format!("'{at}' must be an object of type '{model}'"));
            return;
        };
        for (name, field) in fields {
            let path = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
            match properties.get(name) {
                None => self.problems.push(format!(
                    "Could not find member '{name}' on object of type '{model}'. Path '{path}'."
                )),
                Some(shape) => self.shape(shape, model, field, &path),
            }
        }
        for (name, shape) in properties {
            let is_required = shape["required"] == true && shape["readOnly"] != true;
            if is_required && !fields.contains_key(name) && self.direction == Direction::Request {
                self.problems.push(format!("Required parameter '{at}.{name}' is missing (null)."));
            }
        }
    }

    fn shape(&mut self, shape: &Value, model: &str, value: &Value, at: &str) {
        if shape["readOnly"] == true && self.direction == Direction::Request {
            self.problems.push(format!("The property '{at}' is read-only."));
            return;
        }
        let kind = shape["type"].as_str().unwrap_or_default();
        let is_of_kind = match kind {
            "Object" => {
                if let Some(properties) = shape["properties"].as_object() {
                    self.object(properties, model, value, at);
                }
                true
            }
            "Model" if shape["readOnly"] == true => value.is_object(),
            "Model" => {
                self.model(shape["model"].as_str().unwrap_or_default(), value, at);
                true
            }
            "Reference" => {
                value.as_object().is_some_and(|fields| fields.keys().all(|name| name == "id"))
                    && value["id"].is_string()
            }
            "Sequence" => match value.as_array() {
                Some(entries) if shape["readOnly"] != true => {
                    for (index, entry) in entries.iter().enumerate() {
                        self.shape(&shape["element"], model, entry, &format!("{at}[{index}]"));
                    }
                    true
                }
                other => other.is_some(),
            },
            "Dictionary" => match value.as_object() {
                Some(entries) => {
                    for (name, entry) in entries {
                        self.shape(&shape["element"], model, entry, &format!("{at}['{name}']"));
                    }
                    true
                }
                None => false,
            },
            "String" => value.as_str().is_some_and(|text| {
                self.value(shape, text, at);
                true
            }),
            "Boolean" => value.is_boolean(),
            "Number" => value.is_number(),
            "DateTime" | "Uuid" | "ByteArray" => value.is_string(),
            _ => true,
        };
        if !is_of_kind {
            self.problems.push(format!("The value of '{at}' is not of type {kind}."));
        }
    }

    fn value(&mut self, shape: &Value, text: &str, at: &str) {
        let Some(values) = shape["values"].as_array() else { return };
        if !values.iter().filter_map(Value::as_str).any(|known| known == text) {
            self.problems.push(format!("The value '{text}' of parameter '{at}' is not allowed."));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_wrong_body_is_found_out() {
        let table = [
            (json!({ "location": "a", "colour": 1 }), "Could not find member 'colour'"),
            (json!({ "location": "a", "properties": { "vmId": "x" } }), "'properties.vmId' is read-only"),
            (json!({ "location": "a", "zones": "1" }), "'zones' is not of type Sequence"),
            (json!({ "tags": {} }), "'.location' is missing"),
            (json!({ "location": "a", "properties": { "priority": "Cheap" } }), "'Cheap'"),
            (
                json!({ "location": "a", "properties": { "storageProfile": { "osDisk": { "createOption": "FromImage", "caching": "" } } } }),
                "The value '' of parameter 'properties.storageProfile.osDisk.caching'",
            ),
            (json!({ "location": "a", "tags": { "k": 1 } }), "tags['k']"),
        ];
        for (body, expected) in table {
            let found = problems("compute", "VirtualMachine", &body).join("; ");
            assert!(found.contains(expected), "{body}: {found}");
        }
        let fine = json!({ "location": "a", "properties": { "hardwareProfile": { "vmSize": "x" } } });
        assert_eq!(problems("compute", "VirtualMachine", &fine), Vec::<String>::new());
        let nic = json!({ "properties": { "networkSecurityGroup": { "id": "x", "more": 1 } } });
        assert_eq!(problems("network", "NetworkInterface", &nic).len(), 1);
    }

    #[test]
    fn an_operation_is_found_by_its_path_in_any_case() {
        let segments: Vec<String> =
            "subscriptions/s/RESOURCEGROUPS/g/providers/Microsoft.compute/virtualmachines/v"
                .split('/')
                .map(str::to_owned)
                .collect();
        let found = operation("PUT", &segments).unwrap();
        assert_eq!(
            (found.name.as_str(), found.arguments),
            ("virtualMachines.createOrUpdate", vec!["s".into(), "g".into(), "v".into()])
        );
        assert!(operation("POST", &segments).is_none());
    }
}
