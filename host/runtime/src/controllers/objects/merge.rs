//! What a JSON merge patch must say so that one value becomes another.

use serde_json::{Map, Value};

/// The patch that turns `from` into `to`; `None` when they are equal. Fields that are null count as absent, as merge patches
/// cannot tell the two apart.
pub(crate) fn difference(from: &Value, to: &Value) -> Option<Value> {
    let (Value::Object(from), Value::Object(to)) = (from, to) else {
        return (from != to).then(|| to.clone());
    };
    let mut patch = Map::new();
    for (field, wanted) in to.iter().filter(|(_, wanted)| !wanted.is_null()) {
        match from.get(field) {
            Some(has) => drop(difference(has, wanted).map(|change| patch.insert(field.clone(), change))),
            None => drop(patch.insert(field.clone(), wanted.clone())),
        }
    }
    let is_left_over =
        |(field, has): &(&String, &Value)| !has.is_null() && to.get(*field).is_none_or(Value::is_null);
    for (field, _) in from.iter().filter(is_left_over) {
        patch.insert(field.clone(), Value::Null);
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unwanted_fields_are_removed_and_lists_are_written_whole() {
        let from =
            json!({ "labels": { "a": "1", "b": "2" }, "taints": [1, 2], "gone": null, "same": { "x": 1 } });
        let to = json!({ "labels": { "a": "1", "c": "3" }, "taints": [2], "same": { "x": 1 }, "none": null });
        let patch = json!({ "labels": { "b": null, "c": "3" }, "taints": [2] });
        assert_eq!(difference(&from, &to), Some(patch));
        assert_eq!(difference(&to, &to), None);
    }

    #[test]
    fn an_absent_value_and_a_whole_one() {
        assert_eq!(difference(&Value::Null, &json!({ "a": 1 })), Some(json!({ "a": 1 })));
        assert_eq!(difference(&json!({ "a": 1 }), &Value::Null), Some(Value::Null));
    }
}
