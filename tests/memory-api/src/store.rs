//! The objects, their versions, and the rules by which they change.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::history::History;
use crate::kinds::Kind;
use crate::merge::merge;
use crate::refusal::Refusal;

pub(crate) type Answer = Result<Value, Refusal>;

/// Resource, namespace and name.
pub(crate) type Key = (&'static str, String, String);

/// What of an object a write changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// All but the status, where that is written apart.
    Main,
    /// Nothing but the status.
    Status,
}

/// All objects of a server.
#[derive(Default)]
pub(crate) struct Store {
    objects: BTreeMap<Key, Value>,
    version: u64,
    made: u64,
    pub(crate) history: History,
    /// `status.machinist` is dropped, as under CRDs that do not have it.
    pub(crate) prunes_own_status: bool,
}

impl Store {
    /// The version of the last change.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    pub(crate) fn get(&self, key: &Key) -> Answer {
        self.objects.get(key).cloned().ok_or_else(|| Refusal::not_found(&named(key)))
    }

    /// All objects of a kind, in one namespace or (empty) in all.
    pub(crate) fn all(&self, kind: &Kind, namespace: &str) -> Vec<Value> {
        let is_wanted = |key: &Key| key.0 == kind.plural && (namespace.is_empty() || key.1 == namespace);
        self.objects.iter().filter(|(key, _)| is_wanted(key)).map(|(_, object)| object.clone()).collect()
    }

    pub(crate) fn create(&mut self, kind: &'static Kind, key: Key, object: &Value, now: Timestamp) -> Answer {
        if self.objects.contains_key(&key) {
            return Err(Refusal::already_exists(&named(&key)));
        }
        self.made += 1;
        // Null is nothing.
        let mut object = merged(object);
        object["apiVersion"] = json!(kind.api_version());
        object["kind"] = json!(kind.name);
        let meta = fields(&mut object["metadata"]);
        meta.remove("deletionTimestamp");
        meta.insert("uid".into(), json!(format!("00000000-0000-4000-8000-{:012x}", self.made)));
        meta.insert("creationTimestamp".into(), json!(whole_second(now)));
        if !key.1.is_empty() {
            meta.insert("namespace".into(), json!(key.1));
        }
        if kind.is_custom {
            meta.insert("generation".into(), json!(1));
            fields(&mut object).remove("status");
        }
        self.tidy(kind, &mut object);
        Ok(self.put(kind, key, None, object))
    }

    pub(crate) fn patch(&mut self, kind: &'static Kind, key: Key, patch: &Value, part: Part) -> Answer {
        let mut object = self.get(&key)?;
        merge(&mut object, patch);
        self.update(kind, key, object, part)
    }

    pub(crate) fn replace(&mut self, kind: &'static Kind, key: Key, object: Value, part: Part) -> Answer {
        if object["metadata"]["resourceVersion"].as_str().unwrap_or_default().is_empty() {
            return Err(Refusal::invalid("metadata.resourceVersion: must be specified for an update"));
        }
        self.update(kind, key, object, part)
    }

    pub(crate) fn delete(
        &mut self,
        kind: &'static Kind,
        key: Key,
        preconditions: &Value,
        now: Timestamp,
    ) -> Answer {
        let old = self.get(&key)?;
        for field in ["uid", "resourceVersion"] {
            if preconditions[field].is_string() && preconditions[field] != old["metadata"][field] {
                return Err(Refusal::conflict(&named(&key)));
            }
        }
        if !has_finalizers(&old) {
            return Ok(self.remove(kind, &key, old));
        }
        if is_deleting(&old) {
            return Ok(old);
        }
        let mut object = old.clone();
        let meta = fields(&mut object["metadata"]);
        meta.insert("deletionTimestamp".into(), json!(whole_second(now)));
        meta.insert("deletionGracePeriodSeconds".into(), json!(0));
        count_generation(meta);
        Ok(self.put(kind, key, Some(old), object))
    }

    fn update(&mut self, kind: &'static Kind, key: Key, mut object: Value, part: Part) -> Answer {
        let old = self.get(&key)?;
        for field in ["uid", "resourceVersion"] {
            let asked = &object["metadata"][field];
            if asked.is_string() && *asked != old["metadata"][field] {
                return Err(Refusal::conflict(&named(&key)));
            }
        }
        if part == Part::Status {
            let status = object["status"].take();
            object = old.clone();
            set(&mut object, "status", status);
        } else if kind.has_status {
            set(&mut object, "status", old["status"].clone());
        }
        self.keep_what_is_the_servers(kind, &mut object, &old);
        let new_finalizers = finalizers(&object);
        if is_deleting(&old) && new_finalizers.iter().any(|name| !finalizers(&old).contains(name)) {
            return Err(Refusal::invalid("metadata.finalizers: Forbidden: the object is being deleted"));
        }
        self.tidy(kind, &mut object);
        if object == old {
            return Ok(old);
        }
        if kind.is_custom && wishes(&object) != wishes(&old) {
            count_generation(fields(&mut object["metadata"]));
        }
        if is_deleting(&object) && !has_finalizers(&object) {
            return Ok(self.remove(kind, &key, object));
        }
        Ok(self.put(kind, key, Some(old), object))
    }

    fn keep_what_is_the_servers(&self, kind: &Kind, object: &mut Value, old: &Value) {
        set(object, "apiVersion", json!(kind.api_version()));
        set(object, "kind", json!(kind.name));
        for field in [
            "name",
            "namespace",
            "uid",
            "creationTimestamp",
            "deletionTimestamp",
            "generation",
            "deletionGracePeriodSeconds",
            "resourceVersion",
        ] {
            set(&mut object["metadata"], field, old["metadata"][field].clone());
        }
    }

    /// What a server does to every object that it takes.
    fn tidy(&self, kind: &Kind, object: &mut Value) {
        let meta = fields(&mut object["metadata"]);
        for field in ["finalizers", "labels", "annotations"] {
            let is_empty = |value: &Value| {
                value.as_array().is_some_and(Vec::is_empty) || value.as_object().is_some_and(Map::is_empty)
            };
            if meta.get(field).is_some_and(is_empty) {
                meta.remove(field);
            }
        }
        if kind.plural == "secrets" {
            let plain = fields(object).remove("stringData").unwrap_or_default();
            for (name, value) in plain.as_object().into_iter().flatten() {
                object["data"][name] = json!(crate::encode(value.as_str().unwrap_or_default().as_bytes()));
            }
        }
        if self.prunes_own_status
            && kind.group == "machine.sapcloud.io"
            && let Some(status) = object.get_mut("status").and_then(Value::as_object_mut)
        {
            status.remove("machinist");
        }
    }

    fn put(&mut self, kind: &'static Kind, key: Key, old: Option<Value>, mut object: Value) -> Value {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.objects.insert(key, object.clone());
        self.history.add(kind, self.version, old, Some(object.clone()));
        object
    }

    fn remove(&mut self, kind: &'static Kind, key: &Key, mut object: Value) -> Value {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.objects.remove(key);
        self.history.add(kind, self.version, Some(object.clone()), None);
        object
    }
}

fn named((plural, _, name): &Key) -> String {
    format!("{plural} {name:?}")
}

fn fields(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = json!({});
    }
    value.as_object_mut().unwrap()
}

fn set(object: &mut Value, field: &str, value: Value) {
    if value.is_null() {
        fields(object).remove(field);
    } else {
        fields(object).insert(field.to_owned(), value);
    }
}

fn finalizers(object: &Value) -> Vec<&str> {
    object["metadata"]["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn has_finalizers(object: &Value) -> bool {
    !finalizers(object).is_empty()
}

fn is_deleting(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

fn count_generation(meta: &mut Map<String, Value>) {
    if let Some(generation) = meta.get("generation").and_then(Value::as_i64) {
        meta.insert("generation".into(), json!(generation + 1));
    }
}

/// Everything but metadata and status.
fn wishes(object: &Value) -> Value {
    let mut object = object.clone();
    let all = fields(&mut object);
    all.remove("metadata");
    all.remove("status");
    object
}

fn merged(object: &Value) -> Value {
    let mut made = json!({});
    merge(&mut made, object);
    made
}

fn whole_second(at: Timestamp) -> String {
    Timestamp::from_second(at.as_second()).unwrap().to_string()
}
