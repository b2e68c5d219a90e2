//! The objects, their versions, and the rules by which they change.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::budgets::Budgets;
use crate::history::History;
use crate::kinds::{EVENTS_LIVE_FOR, Kind};
use crate::merge::{merge, merge_strategically};
use crate::object::{Key, Object, Shared};
use crate::refusal::Refusal;
use crate::{Change, Observer};

/// The object as it is after a request.
pub(crate) type Outcome = Result<Shared, Refusal>;

/// The part of an object that a write changes.
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
    objects: BTreeMap<Key, Shared>,
    /// Pods by Node: every drain asks for those of one.
    pods_by_node: BTreeMap<String, BTreeSet<Key>>,
    budgets: Budgets,
    version: u64,
    made: u64,
    pub(crate) history: History,
    /// `status.machinist` is dropped, as under CRDs that do not have it.
    pub(crate) prunes_own_status: bool,
    pub(crate) actor: String,
    pub(crate) is_evicting: bool,
    pub(crate) observer: Option<Arc<Observer>>,
    events: VecDeque<(Timestamp, Key)>,
    /// Part of every uid: two servers with different numbers give no uid twice.
    pub(crate) uid_space: u16,
}

impl Store {
    /// The version of the last change.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    pub(crate) fn get(&self, key: &Key) -> Outcome {
        self.objects.get(key).cloned().ok_or_else(|| Refusal::not_found(&named(key)))
    }

    /// All objects of a kind, in one namespace or (empty) in all.
    pub(crate) fn all<'a>(
        &'a self,
        kind: &Kind,
        namespace: &'a str,
    ) -> impl Iterator<Item = &'a Shared> + use<'a> {
        let plural = kind.plural;
        let first: Key = (plural, namespace.to_owned(), String::new());
        let is_wanted = move |key: &Key| key.0 == plural && (namespace.is_empty() || key.1 == namespace);
        self.objects.range(first..).take_while(move |(key, _)| is_wanted(key)).map(|(_, object)| object)
    }

    /// The pods of a Node, in all namespaces.
    pub(crate) fn pods_of<'a>(&'a self, node: &str) -> impl Iterator<Item = &'a Shared> + use<'a> {
        let keys = self.pods_by_node.get(node).into_iter().flatten();
        keys.filter_map(|key| self.objects.get(key))
    }

    /// The budgets whose selector may take this pod, in order.
    pub(crate) fn budgets_near<'a>(&'a self, pod: &Value) -> impl Iterator<Item = &'a Shared> + use<'a> {
        self.budgets.near(pod).into_iter().filter_map(|key| self.objects.get(key))
    }

    /// As `all`, as it was when the version was the last one.
    pub(crate) fn all_at(&self, kind: &'static Kind, namespace: &str, version: u64) -> Vec<Shared> {
        self.as_it_was(self.all(kind, namespace), kind, namespace, version)
    }

    /// As `pods_of`, as it was when the version was the last one. Later changes are included whatever their Node; the
    /// scope of the request filters them.
    pub(crate) fn pods_of_at(&self, node: &str, namespace: &str, version: u64) -> Vec<Shared> {
        self.as_it_was(self.pods_of(node), crate::kinds::of("pods"), namespace, version)
    }

    /// Takes back what has changed since.
    fn as_it_was<'a>(
        &self,
        objects: impl Iterator<Item = &'a Shared>,
        kind: &'static Kind,
        namespace: &str,
        version: u64,
    ) -> Vec<Shared> {
        let place = |object: &Value| {
            let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
            (text("namespace"), text("name"))
        };
        let mut objects: BTreeMap<_, _> = objects.map(|object| (place(object), object.clone())).collect();
        for (old, new) in self.history.before(kind, version) {
            let Some(at) = new.or(old).map(|object| place(object)) else { continue };
            if !namespace.is_empty() && at.0 != namespace {
                continue;
            }
            match old {
                Some(old) => objects.insert(at, old.clone()),
                None => objects.remove(&at),
            };
        }
        objects.into_values().collect()
    }

    pub(crate) fn create(
        &mut self,
        kind: &'static Kind,
        key: Key,
        object: &Value,
        now: Timestamp,
    ) -> Outcome {
        let mut key = key;
        if key.2.is_empty() {
            let prefix = object["metadata"]["generateName"].as_str().unwrap_or_default();
            if prefix.is_empty() {
                return Err(Refusal::invalid(
                    "metadata.name: Required value: name or generateName is required",
                ));
            }
            key.2 = format!("{prefix}{:05x}", self.made + 1);
        }
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
        meta.insert("name".into(), json!(key.2));
        let uid = format!("00000000-0000-4{:03x}-8000-{:012x}", self.uid_space, self.made);
        meta.insert("uid".into(), json!(uid));
        meta.insert("creationTimestamp".into(), json!(whole_second(now)));
        if !key.1.is_empty() {
            meta.insert("namespace".into(), json!(key.1));
        }
        if kind.is_custom || kind.plural == "poddisruptionbudgets" {
            meta.insert("generation".into(), json!(1));
            fields(&mut object).remove("status");
        }
        if kind.plural == "pods" && object["status"]["phase"].is_null() {
            object["status"]["phase"] = json!("Pending");
        }
        self.tidy(kind, &mut object);
        self.forget_events(now);
        if kind.plural == "events" {
            self.events.push_back((now, key.clone()));
        }
        Ok(self.put(kind, key, None, object))
    }

    /// Objects with a limited lifetime. Events are deleted silently: their watchers get the deletion, as everywhere.
    fn forget_events(&mut self, now: Timestamp) {
        while let Some((made, _)) = self.events.front()
            && now.duration_since(*made) > EVENTS_LIVE_FOR
        {
            let Some((_, key)) = self.events.pop_front() else { break };
            if let Some(event) = self.objects.get(&key).cloned() {
                self.remove(crate::kinds::of("events"), &key, Value::clone(&event));
            }
        }
    }

    pub(crate) fn patch(&mut self, kind: &'static Kind, key: Key, patch: &Value, part: Part) -> Outcome {
        let mut object = Value::clone(&*self.get(&key)?);
        merge(&mut object, patch);
        self.update(kind, key, object, part)
    }

    pub(crate) fn patch_strategically(
        &mut self,
        kind: &'static Kind,
        key: Key,
        patch: &Value,
        part: Part,
    ) -> Outcome {
        let mut object = Value::clone(&*self.get(&key)?);
        merge_strategically(&mut object, patch);
        self.update(kind, key, object, part)
    }

    pub(crate) fn replace(&mut self, kind: &'static Kind, key: Key, object: Value, part: Part) -> Outcome {
        if kind.is_custom && object["metadata"]["resourceVersion"].as_str().unwrap_or_default().is_empty() {
            return Err(Refusal::invalid("metadata.resourceVersion: must be specified for an update"));
        }
        self.update(kind, key, object, part)
    }

    pub(crate) fn update(&mut self, kind: &'static Kind, key: Key, mut object: Value, part: Part) -> Outcome {
        let old = self.get(&key)?;
        let is_other = |field: &str| {
            let asked = object["metadata"][field].as_str().unwrap_or_default();
            !asked.is_empty() && old["metadata"][field] != asked
        };
        if is_other("resourceVersion") {
            return Err(Refusal::conflict(&named(&key)));
        }
        // All metadata of a write to a custom resource's status is dropped but the version, before anyone compares it.
        if is_other("uid") && !(kind.is_custom && part == Part::Status) {
            return Err(Refusal::immutable("metadata.uid"));
        }
        if part == Part::Status {
            let status = object["status"].take();
            object = Value::clone(&old);
            set(&mut object, "status", status);
        } else if kind.has_status {
            set(&mut object, "status", old["status"].clone());
        }
        self.keep_what_is_the_servers(kind, &mut object, &old);
        let new_finalizers = finalizers(&object);
        if is_deleting(&old) && new_finalizers.iter().any(|name| !finalizers(&old).contains(name)) {
            return Err(Refusal::invalid(
                "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted",
            ));
        }
        if controllers(&object) > 1 {
            return Err(Refusal::invalid(
                "metadata.ownerReferences: Invalid value: only one reference can have Controller set to true",
            ));
        }
        self.tidy(kind, &mut object);
        if *old == object {
            return Ok(old);
        }
        if wishes(&object) != wishes(&old) {
            count_generation(fields(&mut object["metadata"]));
        }
        let is_due = object["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0) == 0;
        if is_deleting(&object) && is_due && !has_finalizers(&object) {
            return Ok(self.remove(kind, &key, object));
        }
        Ok(self.put(kind, key, Some(old), object))
    }

    fn keep_what_is_the_servers(&self, kind: &Kind, object: &mut Value, old: &Value) {
        set(object, "apiVersion", json!(kind.api_version()));
        set(object, "kind", json!(kind.name));
        for field in [
            "name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "generation",
            "deletionGracePeriodSeconds", "resourceVersion",
        ] {
            set(&mut object["metadata"], field, old["metadata"][field].clone());
        }
    }

    /// The changes of a server to every object that it accepts.
    fn tidy(&self, kind: &Kind, object: &mut Value) {
        let meta = fields(&mut object["metadata"]);
        for field in ["finalizers", "labels", "annotations", "ownerReferences"] {
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

    pub(crate) fn put(
        &mut self,
        kind: &'static Kind,
        key: Key,
        old: Option<Shared>,
        mut object: Value,
    ) -> Shared {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let object = Object::shared(object);
        self.index(&key, old.as_deref(), Some(&object));
        self.objects.insert(key, object.clone());
        self.observe(kind, old.as_deref(), Some(&object));
        self.history.add(kind, self.version, old, Some(object.clone()));
        object
    }

    pub(crate) fn remove(&mut self, kind: &'static Kind, key: &Key, mut object: Value) -> Shared {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let object = Object::shared(object);
        let old = self.objects.remove(key);
        self.index(key, old.as_deref(), None);
        self.observe(kind, old.as_deref(), None);
        self.history.add(kind, self.version, old.or_else(|| Some(object.clone())), None);
        object
    }

    fn index(&mut self, key: &Key, old: Option<&Object>, new: Option<&Object>) {
        if key.0 == "poddisruptionbudgets" {
            self.budgets.change(key, old.map(|old| &**old), new.map(|new| &**new));
        }
        if key.0 != "pods" {
            return;
        }
        let node = |pod: Option<&Object>| {
            pod.and_then(|pod| pod["spec"]["nodeName"].as_str()).unwrap_or_default().to_owned()
        };
        let (before, after) = (node(old), node(new));
        if old.is_some() && (new.is_none() || before != after) {
            let mut pods = self.pods_by_node.remove(&before).unwrap_or_default();
            pods.remove(key);
            if !pods.is_empty() {
                self.pods_by_node.insert(before, pods);
            }
        }
        if new.is_some() {
            self.pods_by_node.entry(after).or_default().insert(key.clone());
        }
    }

    fn observe(&self, kind: &'static Kind, old: Option<&Object>, new: Option<&Object>) {
        if let Some(observer) = &self.observer {
            let (old, new) = (old.map(|object| &**object), new.map(|object| &**object));
            let (actor, is_eviction) = (self.actor.as_str(), self.is_evicting);
            observer(&Change { actor, is_eviction, plural: kind.plural, old, new });
        }
    }
}

pub(crate) fn named((plural, _, name): &Key) -> String {
    format!("{plural} {name:?}")
}

pub(crate) fn fields(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = json!({});
    }
    value.as_object_mut().unwrap()
}

pub(crate) fn set(object: &mut Value, field: &str, value: Value) {
    if value.is_null() {
        fields(object).remove(field);
    } else {
        fields(object).insert(field.to_owned(), value);
    }
}

pub(crate) fn finalizers(object: &Value) -> Vec<&str> {
    object["metadata"]["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn controllers(object: &Value) -> usize {
    let owners = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    owners.filter(|owner| owner["controller"] == true).count()
}

fn has_finalizers(object: &Value) -> bool {
    !finalizers(object).is_empty()
}

pub(crate) fn is_deleting(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

pub(crate) fn count_generation(meta: &mut Map<String, Value>) {
    if let Some(generation) = meta.get("generation").and_then(Value::as_i64) {
        meta.insert("generation".into(), json!(generation + 1));
    }
}

/// Everything but metadata and status.
fn wishes(object: &Value) -> impl PartialEq + use<'_> {
    let fields = object.as_object().into_iter().flatten();
    fields
        .filter(|(name, _)| !matches!(name.as_str(), "metadata" | "status"))
        .map(|(_, value)| value)
        .collect::<Vec<&Value>>()
}

fn merged(object: &Value) -> Value {
    let mut made = json!({});
    merge(&mut made, object);
    made
}

pub(crate) fn whole_second(at: Timestamp) -> String {
    Timestamp::from_second(at.as_second()).unwrap().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deletion::DeleteOptions;
    use crate::kinds;
    use crate::scope::Scope;

    #[test]
    fn the_pods_of_a_node_as_they_were_are_those_that_a_look_at_all_pods_finds() {
        let mut store = Store::default();
        let (pods, now) = (kinds::of("pods"), Timestamp::UNIX_EPOCH);
        let key = |name: &str| ("pods", "n".to_owned(), name.to_owned());
        let pod = |name: &str, node: Option<&str>| json!({ "metadata": { "name": name, "namespace": "n" }, "spec": { "nodeName": node } });
        for (name, node) in
            [("stays", Some("one")), ("goes", Some("one")), ("binds", None), ("other", Some("two"))]
        {
            store.create(pods, key(name), &pod(name, node), now).unwrap();
        }
        let versions: Vec<u64> = (0..4)
            .map(|step| {
                let before = store.version();
                match step {
                    0 => drop(store.create(pods, key("comes"), &pod("comes", Some("one")), now).unwrap()),
                    1 => drop(store.patch(
                        pods,
                        key("binds"),
                        &json!({ "spec": { "nodeName": "one" } }),
                        Part::Main,
                    )),
                    2 => {
                        let at_once = DeleteOptions { grace: Some(0), ..DeleteOptions::default() };
                        drop(store.delete(pods, &key("goes"), &at_once, now).unwrap());
                    }
                    _ => {}
                }
                before
            })
            .collect();
        let scope = Scope::new(pods, "", "", "spec.nodeName=one").unwrap();
        let names = |all: Vec<Shared>| -> Vec<String> {
            let its = all.iter().filter(|pod| scope.takes(pod));
            its.map(|pod| pod["metadata"]["name"].as_str().unwrap().to_owned()).collect()
        };
        let counts = versions.into_iter().map(|version| {
            let found = names(store.pods_of_at("one", "", version));
            assert_eq!(found, names(store.all_at(pods, "", version)));
            found.len()
        });
        assert_eq!(counts.collect::<Vec<_>>(), [2, 3, 4, 3]);
    }
}
