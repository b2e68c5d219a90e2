//! JSON merge patches, as RFC 7386 has them, and strategic ones for the lists that they are used for here.

use serde_json::{Map, Value};

pub(crate) fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(object) = target else { return };
    for (field, value) in fields {
        if value.is_null() {
            object.remove(field);
        } else {
            merge(object.entry(field.clone()).or_insert(Value::Null), value);
        }
    }
}

/// Applies a patch by which lists of finalizers and of conditions are added to: the first by value, the second by type.
/// All other lists are replaced, as the API server does with a Node's taints.
pub(crate) fn merge_strategically(target: &mut Value, patch: &Value) {
    let is_known = |old: &Value, new: &Value| match new.get("type") {
        Some(kind) => old.get("type") == Some(kind),
        None => old == new,
    };
    let mut lists = Vec::new();
    for path in ["/metadata/finalizers", "/status/conditions"] {
        let Some(added) = patch.pointer(path).and_then(Value::as_array) else { continue };
        let mut all = target.pointer(path).and_then(Value::as_array).cloned().unwrap_or_default();
        for new in added {
            match all.iter_mut().find(|old| is_known(old, new)) {
                Some(old) => merge(old, new),
                None => all.push(new.clone()),
            }
        }
        lists.push((path, Value::Array(all)));
    }
    merge(target, patch);
    for (path, all) in lists {
        if let Some(list) = target.pointer_mut(path) {
            *list = all;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_examples_of_the_standard_hold() {
        for (target, patch, expected) in [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
            (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
            (json!(["a"]), json!({"a": "b"}), json!({"a": "b"})),
            (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
        ] {
            let mut merged = target;
            merge(&mut merged, &patch);
            assert_eq!(merged, expected, "{patch}");
        }
    }

    #[test]
    fn finalizers_and_conditions_are_added_to_and_taints_are_replaced() {
        let mut node = json!({
            "metadata": { "finalizers": ["a"], "labels": { "x": "1", "y": "1" } },
            "spec": { "taints": [{ "key": "t" }] },
            "status": { "conditions": [{ "type": "Ready", "status": "True", "reason": "R" }, { "type": "Disk" }] },
        });
        let patch = json!({
            "metadata": { "finalizers": ["a", "b"], "labels": { "x": null } },
            "spec": { "taints": [{ "key": "u" }] },
            "status": { "conditions": [{ "type": "Going", "status": "True" }, { "type": "Ready", "status": "False" }] },
        });
        merge_strategically(&mut node, &patch);
        let expected = json!({
            "metadata": { "finalizers": ["a", "b"], "labels": { "y": "1" } },
            "spec": { "taints": [{ "key": "u" }] },
            "status": { "conditions": [
                { "type": "Ready", "status": "False", "reason": "R" }, { "type": "Disk" },
                { "type": "Going", "status": "True" },
            ] },
        });
        assert_eq!(node, expected);
        let mut bare = json!({ "metadata": { "name": "n" } });
        merge_strategically(&mut bare, &json!({ "metadata": { "finalizers": ["b"] } }));
        assert_eq!(bare, json!({ "metadata": { "name": "n", "finalizers": ["b"] } }));
    }
}
