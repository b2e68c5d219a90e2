//! Google's discovery document of Compute Engine, as far as the tests need it.
//!
//! | module | what it does |
//! | --- | --- |
//! | `check` | compares JSON with a schema |
//! | `mask` | partial answers: `fields=` |

mod check;
mod mask;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::Value;

pub(crate) use check::full_match;
pub use check::{Direction, Problem};

const DATA: &str = include_str!("../../data/compute.v1.json");

/// The schemas and methods of the document.
#[derive(Debug, Deserialize)]
pub struct Api {
    /// The package that has the document.
    pub package: String,
    /// The digest of the whole document.
    pub sha256: String,
    /// The revision of the document.
    pub revision: String,
    parameters: Vec<String>,
    methods: BTreeMap<String, Method>,
    schemas: BTreeMap<String, Value>,
}

/// A method of the API.
#[derive(Debug, Deserialize)]
pub struct Method {
    /// The method of HTTP.
    pub method: String,
    /// A template such as `projects/{project}/zones/{zone}/instances`.
    pub path: String,
    parameters: BTreeMap<String, Value>,
    request: Option<String>,
    response: Option<String>,
}

/// A request that fits a method.
#[derive(Debug)]
pub struct Call<'a> {
    /// Resource and method: `instances.insert`.
    pub id: &'a str,
    pub method: &'a Method,
    /// Parameters of path and query.
    pub parameters: BTreeMap<String, String>,
}

/// Why a request fits no method.
#[derive(Debug, PartialEq, Eq)]
pub enum NoCall {
    /// No template has this path.
    NoPath,
    /// A parameter of path or query does not fit.
    Parameter(Problem),
}

impl Api {
    /// Returns the document of this crate.
    pub fn get() -> &'static Self {
        static API: OnceLock<Api> = OnceLock::new();
        API.get_or_init(|| serde_json::from_str(DATA).expect("data/compute.v1.json is made by bin/extract"))
    }

    /// Finds the method of a request. `path` is relative to `compute/v1/`.
    pub fn route(&self, method: &str, path: &str, query: &[(String, String)]) -> Result<Call<'_>, NoCall> {
        let found = self.methods.iter().find_map(|(id, known)| {
            let parameters = (known.method == method).then(|| matched(&known.path, path)).flatten()?;
            Some((id, known, parameters))
        });
        let Some((id, method, mut parameters)) = found else { return Err(NoCall::NoPath) };
        for (name, value) in query {
            if !method.parameters.contains_key(name) && !self.parameters.contains(name) {
                return Err(NoCall::Parameter(Problem {
                    at: name.clone(),
                    text: format!(
                        "Invalid JSON payload received. Unknown name \"{name}\": Cannot bind query parameter."
                    ),
                }));
            }
            parameters.insert(name.clone(), value.clone());
        }
        for (name, schema) in &method.parameters {
            match parameters.get(name) {
                Some(value) => check::parameter(name, value, schema).map_err(NoCall::Parameter)?,
                None if schema["required"] == true => {
                    return Err(NoCall::Parameter(Problem {
                        at: name.clone(),
                        text: format!("Required parameter is missing: {name}"),
                    }));
                }
                None => {}
            }
        }
        Ok(Call { id, method, parameters })
    }

    /// Compares the body of a request with the method's schema.
    pub fn check_request(&self, call: &Call<'_>, body: &Value) -> Vec<Problem> {
        match &call.method.request {
            Some(schema) => self.check(schema, body, Direction::Request(&format!("compute.{}", call.id))),
            None if body.is_null() => Vec::new(),
            None => vec![Problem { at: String::new(), text: "this method takes no body".to_owned() }],
        }
    }

    /// Compares the body of an answer with the method's schema.
    pub fn check_answer(&self, call: &Call<'_>, body: &Value) -> Vec<Problem> {
        let schema = call.method.response.as_deref().unwrap_or("Operation");
        self.check(schema, body, Direction::Answer)
    }

    /// Compares a value with a schema.
    pub fn check(&self, schema: &str, value: &Value, direction: Direction<'_>) -> Vec<Problem> {
        let mut problems = Vec::new();
        let root = serde_json::json!({ "$ref": schema });
        check::value(self, &root, value, "resource", direction, &mut problems);
        problems
    }

    /// Reduces an answer to the fields of a mask. The error names a field that the answer can never have.
    pub fn masked(&self, call: &Call<'_>, answer: &Value, mask: &str) -> Result<Value, String> {
        let mask = mask::parse(mask)?;
        let schema = serde_json::json!({ "$ref": call.method.response.as_deref().unwrap_or("Operation") });
        mask::check(self, &schema, &mask)?;
        Ok(mask::apply(&mask, answer))
    }

    fn resolved<'a>(&'a self, schema: &'a Value) -> &'a Value {
        match schema["$ref"].as_str() {
            Some(name) => &self.schemas[name],
            None => schema,
        }
    }
}

fn matched(template: &str, path: &str) -> Option<BTreeMap<String, String>> {
    let (template, path): (Vec<&str>, Vec<&str>) = (template.split('/').collect(), path.split('/').collect());
    if template.len() != path.len() {
        return None;
    }
    let mut parameters = BTreeMap::new();
    for (part, given) in template.iter().zip(&path) {
        match part.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            Some(name) if !given.is_empty() => {
                parameters.insert(name.to_owned(), (*given).to_owned());
            }
            Some(_) => return None,
            None if part == given => {}
            None => return None,
        }
    }
    Some(parameters)
}
