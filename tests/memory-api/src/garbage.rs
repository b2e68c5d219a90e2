//! The garbage collector of kube-controller-manager, one round at a time.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::ApiServer;
use crate::deletion::{DeleteOptions, FOREGROUND, ORPHAN, Propagation};
use crate::kinds;
use crate::object::Key;
use crate::store::{Part, Store, finalizers, is_deleting};

const ACTOR: &str = "garbage-collector";

/// The kinds that own one another here, owners first.
const KINDS: [&str; 3] = ["machinedeployments", "machinesets", "machines"];

impl ApiServer {
    /// Lets dependents go whose owners are gone, frees those that are to stay, and lets owners go that waited for
    /// either. True when there was anything to do.
    pub fn collect_garbage(&self) -> bool {
        let now = (self.clock)();
        let mut store = self.lock(ACTOR);
        let before = store.version();
        for plural in KINDS {
            for owner in objects(&store, plural).iter().filter(|owner| is_deleting(owner)) {
                if finalizers(owner).contains(&ORPHAN) {
                    orphan(&mut store, plural, owner);
                } else if finalizers(owner).contains(&FOREGROUND) {
                    let held = remove_dependents(&mut store, owner, now);
                    if !held {
                        release(&mut store, plural, owner, FOREGROUND);
                    }
                }
            }
        }
        let there: BTreeSet<String> = KINDS
            .iter()
            .flat_map(|plural| objects(&store, plural))
            .filter_map(|object| object["metadata"]["uid"].as_str().map(str::to_owned))
            .collect();
        for plural in KINDS {
            for object in objects(&store, plural) {
                let references = references(&object);
                let is_solid =
                    |reference: &&Value| reference["uid"].as_str().is_some_and(|uid| there.contains(uid));
                let solid: Vec<&Value> = references.iter().filter(is_solid).collect();
                if solid.len() == references.len() {
                    continue;
                }
                if solid.is_empty() && !is_deleting(&object) {
                    let options = DeleteOptions {
                        propagation: Some(Propagation::Background),
                        ..DeleteOptions::default()
                    };
                    // Of this moment, so nothing can have changed.
                    let _ = store.delete(kinds::of(plural), &key(plural, &object), &options, now);
                } else if !solid.is_empty() {
                    write(&mut store, plural, &object, &json!({ "ownerReferences": solid }));
                }
            }
        }
        store.version() > before
    }
}

/// Takes the owner's name off all that it owns, and lets it go.
fn orphan(store: &mut Store, plural: &'static str, owner: &Value) {
    for (of, dependent) in dependents(store, owner) {
        let others: Vec<Value> = references(&dependent)
            .into_iter()
            .filter(|reference| reference["uid"] != owner["metadata"]["uid"])
            .collect();
        let others = if others.is_empty() { Value::Null } else { json!(others) };
        write(store, of, &dependent, &json!({ "ownerReferences": others }));
    }
    release(store, plural, owner, ORPHAN);
}

/// True while one is there that holds its owner.
fn remove_dependents(store: &mut Store, owner: &Value, now: jiff::Timestamp) -> bool {
    for (of, dependent) in dependents(store, owner) {
        if !is_deleting(&dependent) {
            let has_own = !dependents(store, &dependent).is_empty();
            let propagation = Some(if has_own { Propagation::Foreground } else { Propagation::Background });
            let options = DeleteOptions { propagation, ..DeleteOptions::default() };
            let _ = store.delete(kinds::of(of), &key(of, &dependent), &options, now);
        }
    }
    let holds = |reference: &Value| {
        reference["uid"] == owner["metadata"]["uid"] && reference["blockOwnerDeletion"] == true
    };
    dependents(store, owner).iter().any(|(_, dependent)| references(dependent).iter().any(holds))
}

fn release(store: &mut Store, plural: &'static str, owner: &Value, finalizer: &str) {
    let others: Vec<&str> = finalizers(owner).into_iter().filter(|name| *name != finalizer).collect();
    let others = if others.is_empty() { Value::Null } else { json!(others) };
    write(store, plural, owner, &json!({ "finalizers": others }));
}

fn write(store: &mut Store, plural: &'static str, object: &Value, meta: &Value) {
    let patch = json!({ "metadata": meta });
    // Of this moment, so nothing can have changed.
    let _ = store.patch(kinds::of(plural), key(plural, object), &patch, Part::Main);
}

fn dependents(store: &Store, owner: &Value) -> Vec<(&'static str, Value)> {
    let uid = &owner["metadata"]["uid"];
    let is_its = |object: &Value| references(object).iter().any(|reference| reference["uid"] == *uid);
    KINDS
        .iter()
        .flat_map(|plural| objects(store, plural).into_iter().map(|object| (*plural, object)))
        .filter(|(_, object)| is_its(object))
        .collect()
}

fn objects(store: &Store, plural: &str) -> Vec<Value> {
    store.all(kinds::of(plural), "").map(|object| Value::clone(object)).collect()
}

fn references(object: &Value) -> Vec<Value> {
    object["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default()
}

fn key(plural: &'static str, object: &Value) -> Key {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
    (plural, text("namespace"), text("name"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Wire;

    fn owned(name: &str, plural: &str, owner: Option<&Value>) -> Value {
        let references: Vec<Value> = owner
            .map(|owner| {
                json!({
                    "apiVersion": "machine.sapcloud.io/v1alpha1", "kind": owner["kind"], "name": owner["metadata"]["name"],
                    "uid": owner["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true,
                })
            })
            .into_iter()
            .collect();
        let held = (plural == "machines").then(|| vec!["x/y"]);
        json!({
            "metadata": { "name": name, "namespace": "n", "ownerReferences": references, "finalizers": held }, "spec": {},
        })
    }

    /// A deployment with a set with a Machine, which a finalizer holds.
    fn family() -> ApiServer {
        let server = ApiServer::new(Wire::new(), || jiff::Timestamp::UNIX_EPOCH);
        let mut owner = None;
        for (name, plural) in [("d", "machinedeployments"), ("s", "machinesets"), ("m", "machines")] {
            owner = Some(server.create(plural, &owned(name, plural, owner.as_ref())).unwrap());
        }
        assert!(!server.collect_garbage(), "nothing is to be done while all owners are there");
        server
    }

    fn rounds(server: &ApiServer) {
        while server.collect_garbage() {}
    }

    fn there(server: &ApiServer) -> String {
        let all = [("machinedeployments", "n/d"), ("machinesets", "n/s"), ("machines", "n/m")];
        let paths = all.iter().filter_map(|(plural, path)| {
            let object = server.find(plural, path)?;
            let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            let is_owned = !references(&object).is_empty();
            Some(format!(
                "{name}{}{}",
                if is_owned { "" } else { " free" },
                if is_deleting(&object) { " going" } else { "" }
            ))
        });
        paths.collect::<Vec<_>>().join(", ")
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_gone_owner_owned_goes_after_it() {
        let server = family();
        server.delete("machinedeployments", "n/d").unwrap();
        assert_eq!(there(&server), "s, m");
        rounds(&server);
        assert_eq!(there(&server), "m going", "its finalizer holds it");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_deleted_in_the_foreground_goes_before_its_owner() {
        let server = family();
        server.delete_with("machinedeployments", "n/d", Propagation::Foreground).unwrap();
        rounds(&server);
        assert_eq!(there(&server), "d free going, s going, m going");
        server.edit("machines", "n/m", &json!({ "metadata": { "finalizers": null } })).unwrap();
        rounds(&server);
        assert_eq!(there(&server), "");
    }

    #[tokio::test(start_paused = true)]
    async fn orphans_stay_and_are_free() {
        let server = family();
        server.delete_with("machinedeployments", "n/d", Propagation::Orphan).unwrap();
        assert_eq!(there(&server), "d free going, s, m");
        rounds(&server);
        assert_eq!(there(&server), "s free, m");
    }
}
