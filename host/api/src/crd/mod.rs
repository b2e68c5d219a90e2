//! The CustomResourceDefinitions, from the types of this crate.
//!
//! The schemas of machine-controller-manager's kinds give each field a type, and neither defaults nor enumerations:
//! they accept every object that its own definitions accept. `rules` refuses objects that its controllers refuse. The
//! kinds of [`crate::infrastructure`] have no such past: their schemas have the limits of Cluster API's contract.

pub(crate) mod rules;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_core::Resource;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::{Machine, MachineClass, MachineDeployment, MachineSet};
use rules::Rule;

/// Why the definitions could not be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A type's schema is not what an API server takes.
    #[error("failed to make the definition of {kind}")]
    Definition {
        kind: String,
        #[source]
        source: serde_json::Error,
    },
    /// A rule is for a field that does not exist.
    #[error("failed to find {at} of {kind}, where a rule is to stand")]
    NoSuchField {
        kind: String,
        /// The path of the field.
        at: String,
    },
    /// It cannot be written as YAML.
    #[error("failed to write the definition of {kind} as YAML")]
    Yaml {
        kind: String,
        #[source]
        source: serde_yaml_ng::Error,
    },
}

/// A file with a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name, without a folder.
    pub name: String,
    /// Its content, in YAML.
    pub yaml: String,
}

/// Returns one file for each definition.
pub fn files(definitions: &[CustomResourceDefinition]) -> Result<Vec<File>, Error> {
    definitions.iter().map(file).collect()
}

/// Returns the definitions of machine-controller-manager's kinds.
pub fn definitions() -> Result<Vec<CustomResourceDefinition>, Error> {
    Ok(vec![
        definition::<Machine>(&MACHINE)?,
        definition::<MachineClass>(&MACHINE_CLASS)?,
        definition::<MachineDeployment>(&MACHINE_DEPLOYMENT)?,
        definition::<MachineSet>(&MACHINE_SET)?,
    ])
}

/// The parts of a kind's definition beside its schema.
pub(crate) struct Surface {
    pub(crate) short_name: &'static str,
    pub(crate) categories: &'static [&'static str],
    /// Labels of the definition.
    pub(crate) labels: &'static [(&'static str, &'static str)],
    pub(crate) columns: &'static [Column],
    pub(crate) is_namespaced: bool,
    pub(crate) has_status: bool,
    pub(crate) is_scalable: bool,
    pub(crate) rules: fn() -> Vec<Rule>,
    /// Fields that may hold null, as paths from the root.
    pub(crate) nullable: &'static [&'static str],
}

impl Surface {
    /// A namespaced kind with a status, and nothing else beside its schema.
    pub(crate) const PLAIN: Self = Self {
        short_name: "",
        categories: &[],
        labels: &[],
        columns: &[],
        is_namespaced: true,
        has_status: true,
        is_scalable: false,
        rules: Vec::new,
        nullable: &[],
    };
}

/// A column that `kubectl get` prints.
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) path: &'static str,
    pub(crate) priority: i32,
    pub(crate) description: &'static str,
}

pub(crate) const fn column(
    name: &'static str,
    kind: &'static str,
    path: &'static str,
    description: &'static str,
) -> Column {
    Column { name, kind, path, priority: 0, description }
}

pub(crate) const AGE: Column =
    column("Age", "date", ".metadata.creationTimestamp", "Time since the object was created.");
const DESIRED: Column = column("Desired", "integer", ".spec.replicas", "Desired number of Machines.");
const READY: Column = column("Ready", "integer", ".status.readyReplicas", "Machines with a healthy Node.");

const MACHINE: Surface = Surface {
    short_name: "mc",
    columns: &[
        column("Status", "string", ".status.currentStatus.phase", "Phase of the Machine."),
        AGE,
        column("Node", "string", ".metadata.labels.node", "Name of the Machine's Node."),
        Column {
            name: "ProviderID",
            kind: "string",
            path: ".spec.providerID",
            priority: 1,
            description: "The cloud's ID of the VM.",
        },
    ],
    rules: rules::of_machine,
    nullable: &["status.currentStatus.preserveExpiryTime"],
    ..Surface::PLAIN
};

const MACHINE_CLASS: Surface = Surface {
    short_name: "mcc",
    rules: rules::of_machine_class,
    nullable: &["nodeTemplate.architecture"],
    ..Surface::PLAIN
};

const MACHINE_SET: Surface = Surface {
    short_name: "mcs",
    columns: &[DESIRED, column("Current", "integer", ".status.replicas", "Existing Machines."), READY, AGE],
    is_scalable: true,
    rules: rules::of_machine_set,
    ..Surface::PLAIN
};

const MACHINE_DEPLOYMENT: Surface = Surface {
    short_name: "mcd",
    columns: &[
        READY,
        DESIRED,
        column("Up-to-date", "integer", ".status.updatedReplicas", "Machines of the current template."),
        column(
            "Available",
            "integer",
            ".status.availableReplicas",
            "Machines in phase Running or Available.",
        ),
        AGE,
    ],
    is_scalable: true,
    rules: rules::of_machine_deployment,
    ..Surface::PLAIN
};

pub(crate) fn definition<K>(surface: &Surface) -> Result<CustomResourceDefinition, Error>
where
    K: Resource<DynamicType = ()> + JsonSchema,
{
    let kind = K::kind(&()).into_owned();
    let (group, plural) = (K::group(&()), K::plural(&()));
    let mut schema = schema::<K>(surface.nullable);
    show_labels(&mut schema);
    restrict(&mut schema, surface).map_err(|at| Error::NoSuchField { kind: kind.clone(), at })?;
    let mut version = json!({
        "name": K::version(&()),
        "served": true,
        "storage": true,
        "schema": { "openAPIV3Schema": schema },
    });
    if surface.has_status {
        version["subresources"] = json!({ "status": {} });
    }
    if surface.is_scalable {
        version["subresources"]["scale"] =
            json!({ "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas" });
    }
    if !surface.columns.is_empty() {
        version["additionalPrinterColumns"] = surface.columns.iter().map(column_json).collect();
    }
    let mut definition = json!({
        "metadata": { "name": format!("{plural}.{group}") },
        "spec": {
            "group": group,
            "names": {
                "kind": kind,
                "listKind": format!("{kind}List"),
                "plural": plural,
                "singular": kind.to_lowercase(),
                "shortNames": [surface.short_name],
            },
            "scope": if surface.is_namespaced { "Namespaced" } else { "Cluster" },
            "versions": [version],
        },
    });
    if !surface.categories.is_empty() {
        definition["spec"]["names"]["categories"] = json!(surface.categories);
    }
    if !surface.labels.is_empty() {
        definition["metadata"]["labels"] = surface.labels.iter().copied().map(json_entry).collect();
    }
    serde_json::from_value(definition).map_err(|source| Error::Definition { kind, source })
}

fn json_entry((key, value): (&str, &str)) -> (String, Value) {
    (key.to_owned(), value.into())
}

fn column_json(column: &Column) -> Value {
    let mut json = json!({
        "name": column.name,
        "type": column.kind,
        "jsonPath": column.path,
        "description": column.description,
    });
    if column.priority != 0 {
        json["priority"] = column.priority.into();
    }
    json
}

/// The schema of a kind, in the structural form that an API server wants.
fn schema<K: JsonSchema>(nullable: &[&str]) -> Value {
    let settings = SchemaSettings::openapi3().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut root = settings.into_generator().into_root_schema_for::<K>().to_value();
    simplify(&mut root);
    for path in nullable {
        if let Some(field) = property_mut(&mut root, path) {
            field["nullable"] = true.into();
        }
    }
    if let Some(properties) = root.get_mut("properties").and_then(Value::as_object_mut) {
        let text = |description: &str| json!({ "type": "string", "description": description });
        properties.insert("apiVersion".to_owned(), text("Group and version of the kind."));
        properties.insert("kind".to_owned(), text("Name of the kind."));
        properties.insert("metadata".to_owned(), json!({ "type": "object" }));
    }
    root
}

/// More labels than anybody selects by, and the length of a label's value: an API server takes a rule about labels only
/// where it can tell what the rule may cost.
const SELECTED_LABELS: u32 = 100;
const LABEL_CHARS: u32 = 63;

/// Lets rules see the labels by which owners find what they make. A template's metadata is opaque beside these.
fn show_labels(schema: &mut Value) {
    if let Some(metadata) = property_mut(schema, "spec.template.metadata") {
        let text = json!({ "type": "string" });
        metadata["properties"] = json!({
            "labels": {
                "type": "object",
                "additionalProperties": text,
                "description": "Labels of the Machines. The selector must match them.",
            },
        });
    }
    if let Some(labels) = property_mut(schema, "spec.selector.matchLabels") {
        labels["maxProperties"] = SELECTED_LABELS.into();
        labels["additionalProperties"]["maxLength"] = LABEL_CHARS.into();
    }
}

/// Puts the kind's rules into its schema, or tells the place that there is not.
fn restrict(schema: &mut Value, surface: &Surface) -> Result<(), String> {
    for rule in (surface.rules)() {
        let Some(Value::Object(field)) = property_mut(schema, &rule.at) else { return Err(rule.at) };
        let rules = field.entry("x-kubernetes-validations").or_insert_with(|| json!([]));
        if let Value::Array(rules) = rules {
            rules.push(rule.json());
        }
    }
    Ok(())
}

/// Removes from a schema, at all depths, what Rust's types say and the API does not: titles, defaults, bounds, formats
/// that Kubernetes has not, and that a field which may be absent may also be null.
fn simplify(schema: &mut Value) {
    let Some(schema) = schema.as_object_mut() else { return };
    unwrap_optional(schema);
    for keyword in ["title", "default", "nullable", "minimum", "maximum"] {
        schema.remove(keyword);
    }
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(simplify);
    }
    for keyword in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get_mut(keyword) {
            simplify(inner);
        }
    }
    // A struct that keeps unknown fields says so by this in Rust, and by an extension in Kubernetes.
    if schema.contains_key("properties") {
        schema.remove("additionalProperties");
    }
}

/// An optional value is generated as "this or null", in one of three forms. Takes the "this".
fn unwrap_optional(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = schema.get("type") {
        let main = types.iter().find(|name| *name != "null").cloned();
        schema.insert("type".to_owned(), main.unwrap_or(Value::Null));
    }
    for keyword in ["anyOf", "oneOf", "allOf"] {
        let Some(Value::Array(choices)) = schema.remove(keyword) else { continue };
        let main =
            choices.into_iter().find(|choice| choice["type"] != "null" && choice["enum"] != json!([null]));
        let Some(Value::Object(main)) = main else { continue };
        for (key, value) in main {
            schema.entry(key).or_insert(value);
        }
        unwrap_optional(schema);
    }
}

fn property_mut<'a>(schema: &'a mut Value, path: &str) -> Option<&'a mut Value> {
    if path.is_empty() {
        return Some(schema);
    }
    path.split('.').try_fold(schema, |schema, name| match name {
        "[]" if schema["type"] == "array" => schema.get_mut("items"),
        "[]" => schema.get_mut("additionalProperties"),
        name => schema.get_mut("properties")?.get_mut(name),
    })
}

const HEADER: &str = "# Code generated from host/api by `cargo xtask generate`. DO NOT EDIT.\n";

fn file(definition: &CustomResourceDefinition) -> Result<File, Error> {
    let names = &definition.spec.names;
    let (kind, name) = (names.kind.clone(), format!("{}_{}.yaml", definition.spec.group, names.plural));
    let yaml = serde_yaml_ng::to_string(definition).map_err(|source| Error::Yaml { kind, source })?;
    Ok(File { name, yaml: format!("{HEADER}{yaml}") })
}
