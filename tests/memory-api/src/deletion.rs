//! How objects go: at once, after a grace period, when their finalizers are off, with or without what they own.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::kinds::Kind;
use crate::object::Key;
use crate::refusal::Refusal;
use crate::store::{
    Outcome, Store, count_generation, fields, finalizers, is_deleting, named, set, whole_second,
};

/// The finalizer of an owner whose dependents stay.
pub const ORPHAN: &str = "orphan";

/// The finalizer of an owner that goes after its dependents.
pub const FOREGROUND: &str = "foregroundDeletion";

/// The options of a deletion.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
    pub(crate) grace: Option<i64>,
    /// The propagation to the object's dependents; `None` if the request names none.
    pub(crate) propagation: Option<Propagation>,
}

/// The treatment of an object's dependents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// It goes after the object.
    Background,
    /// It goes before the object.
    Foreground,
    Orphan,
}

impl DeleteOptions {
    /// The body of a request.
    pub(crate) fn read(options: &Value) -> Self {
        let text = |field: &str| options["preconditions"][field].as_str().map(str::to_owned);
        let propagation = match options["propagationPolicy"].as_str() {
            Some("Background") => Some(Propagation::Background),
            Some("Foreground") => Some(Propagation::Foreground),
            Some("Orphan") => Some(Propagation::Orphan),
            Some(_) | None => None,
        };
        Self {
            uid: text("uid"),
            resource_version: text("resourceVersion"),
            grace: options["gracePeriodSeconds"].as_i64(),
            propagation,
        }
    }
}

impl Store {
    pub(crate) fn delete(
        &mut self,
        kind: &'static Kind,
        key: &Key,
        options: &DeleteOptions,
        now: Timestamp,
    ) -> Outcome {
        let old = self.get(key)?;
        for (field, asked) in [("uid", &options.uid), ("resourceVersion", &options.resource_version)] {
            if asked.as_ref().is_some_and(|asked| old["metadata"][field] != asked.as_str()) {
                return Err(Refusal::conflict(&named(key)));
            }
        }
        let grace = if kind.plural == "pods" { grace(&old, options.grace) } else { 0 };
        let held_by = held_by(&old, options.propagation);
        if grace == 0 && held_by.is_empty() {
            return Ok(self.remove(kind, key, Value::clone(&old)));
        }
        let asked_before =
            old["metadata"]["deletionGracePeriodSeconds"].as_i64().filter(|_| is_deleting(&old));
        let is_asked_again = asked_before.is_some_and(|before| before <= grace);
        if is_asked_again && held_by == finalizers(&old) {
            return Ok(old);
        }
        let mut object = Value::clone(&old);
        set(&mut object["metadata"], "finalizers", json!(held_by));
        let meta = fields(&mut object["metadata"]);
        if held_by.is_empty() {
            meta.remove("finalizers");
        }
        if !is_asked_again {
            let end = now.checked_add(SignedDuration::from_secs(grace)).unwrap_or(now);
            meta.insert("deletionTimestamp".into(), json!(whole_second(end)));
            meta.insert("deletionGracePeriodSeconds".into(), json!(grace));
            count_generation(meta);
        }
        Ok(self.put(kind, key.clone(), Some(old), object))
    }
}

/// The finalizers that hold an object once its deletion was asked for so. Where nothing is said, those that it has
/// decide.
fn held_by(object: &Value, asked: Option<Propagation>) -> Vec<&str> {
    let is_of_the_collector = |name: &&str| matches!(*name, ORPHAN | FOREGROUND);
    let own = finalizers(object);
    let own_wish = own.iter().copied().find(is_of_the_collector);
    let wish = match asked {
        Some(Propagation::Background) => None,
        Some(Propagation::Foreground) => Some(FOREGROUND),
        Some(Propagation::Orphan) => Some(ORPHAN),
        None => own_wish,
    };
    if own_wish == wish {
        return own;
    }
    own.iter().copied().filter(|name| !is_of_the_collector(name)).chain(wish).collect()
}

/// The grace period of a pod that is deleted: what was asked for, or what the pod says; none where no kubelet has it.
fn grace(pod: &Value, asked: Option<i64>) -> i64 {
    let has_ended = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    if pod["spec"]["nodeName"].as_str().unwrap_or_default().is_empty() || has_ended {
        return 0;
    }
    asked.or_else(|| pod["spec"]["terminationGracePeriodSeconds"].as_i64()).unwrap_or(30).max(0)
}
