//! Differences between two values or texts, place by place.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::recording::recorder::body::Body;

/// How much of a text is shown.
const SHOWN_CHARACTERS: usize = 160;
/// How much of what is the same is shown before what is not.
const SAME_CHARACTERS: usize = 20;

/// One place that differs. `None`: the value is absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Where, such as `body.vm.name`.
    pub place: String,
    pub before: Option<String>,
    pub after: Option<String>,
}

/// All places in which two values differ.
pub(crate) fn of_values(place: &str, before: &Value, after: &Value) -> Vec<Change> {
    let mut changes = Vec::new();
    compare(place, Some(before), Some(after), &mut changes);
    changes
}

fn compare(place: &str, before: Option<&Value>, after: Option<&Value>, changes: &mut Vec<Change>) {
    match (before, after) {
        (Some(before), Some(after)) if before == after => {}
        (Some(Value::Object(before)), Some(Value::Object(after))) => {
            let new = after.keys().filter(|key| !before.contains_key(*key));
            for key in before.keys().chain(new) {
                compare(&format!("{place}.{key}"), before.get(key), after.get(key), changes);
            }
        }
        (Some(Value::Array(before)), Some(Value::Array(after))) => {
            for index in 0..before.len().max(after.len()) {
                compare(&format!("{place}[{index}]"), before.get(index), after.get(index), changes);
            }
        }
        (before, after) => {
            let text = |value: Option<&Value>| value.map(Value::to_string);
            changes.push(Change::of(place, text(before), text(after)));
        }
    }
}

/// All places in which two lists of names and values differ, whatever their order.
pub(crate) fn of_pairs(place: &str, before: &[(String, String)], after: &[(String, String)]) -> Vec<Change> {
    let grouped = |pairs: &[(String, String)]| {
        pairs.iter().fold(BTreeMap::<String, Vec<String>>::new(), |mut all, (name, value)| {
            all.entry(name.clone()).or_default().push(value.clone());
            all
        })
    };
    let (before, after) = (grouped(before), grouped(after));
    let names: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let text = |values: Option<&Vec<String>>| values.map(|values| values.join(", "));
    names
        .into_iter()
        .filter(|name| before.get(*name) != after.get(*name))
        .map(|name| Change::of(&format!("{place} {name}"), text(before.get(name)), text(after.get(name))))
        .collect()
}

/// In what two bodies differ; by their fields where both are JSON or forms.
pub(crate) fn of_bodies(before: Option<&Body>, after: Option<&Body>) -> Vec<Change> {
    let (Some(before), Some(after)) = (before, after) else { return Vec::new() };
    if before == after {
        return Vec::new();
    }
    let text = |body: &Body| match body {
        Body::Text(text) => text.clone(),
        Body::Base64(text) => format!("base64 {text}"),
        Body::Unread => "unread".to_owned(),
        Body::LeftOut(bytes) => format!("{bytes} bytes"),
    };
    let (before, after) = (text(before), text(after));
    let json = |text: &str| {
        serde_json::from_str::<Value>(text).ok().filter(|value| value.is_object() || value.is_array())
    };
    if let (Some(before), Some(after)) = (json(&before), json(&after)) {
        let changes = of_values("body", &before, &after);
        if !changes.is_empty() {
            return changes;
        }
    }
    if let (Some(before), Some(after)) = (form(&before), form(&after)) {
        let changes = of_pairs("body", &before, &after);
        if !changes.is_empty() {
            return changes;
        }
    }
    vec![Change::of("body", Some(before), Some(after))]
}

/// The pairs of a form; `None` where it is none.
fn form(text: &str) -> Option<Vec<(String, String)>> {
    let is_form = !text.is_empty()
        && text.split('&').all(|pair| pair.contains('='))
        && !text.contains(['\n', ' ', '{']);
    is_form.then(|| url::form_urlencoded::parse(text.as_bytes()).into_owned().collect())
}

impl Change {
    /// Long texts are cut to what is around their first difference.
    pub(crate) fn of(place: &str, before: Option<String>, after: Option<String>) -> Self {
        let same = match (&before, &after) {
            (Some(before), Some(after)) => {
                before.chars().zip(after.chars()).take_while(|(one, other)| one == other).count()
            }
            (None, _) | (_, None) => 0,
        };
        let cut = |text: String| cut(&text, same);
        Self { place: place.to_owned(), before: before.map(cut), after: after.map(cut) }
    }
}

fn cut(text: &str, same: usize) -> String {
    let length = text.chars().count();
    if length <= SHOWN_CHARACTERS {
        return text.to_owned();
    }
    let from = same.saturating_sub(SAME_CHARACTERS).min(length - SHOWN_CHARACTERS);
    let shown: String = text.chars().skip(from).take(SHOWN_CHARACTERS).collect();
    let (head, tail) =
        (if from > 0 { "…" } else { "" }, if from + SHOWN_CHARACTERS < length { "…" } else { "" });
    format!("{head}{shown}{tail}")
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = |text: &Option<String>| text.clone().unwrap_or_else(|| "absent".to_owned());
        write!(f, "{}: {} -> {}", self.place, shown(&self.before), shown(&self.after))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(changes: &[Change]) -> Vec<String> {
        changes.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn bodies_are_compared_by_their_fields() {
        let text = |text: &str| Body::Text(text.to_owned());
        let changes = |before: &str, after: &str| texts(&of_bodies(Some(&text(before)), Some(&text(after))));
        assert_eq!(
            changes(r#"{"a":1,"b":{"c":[1,2]},"d":0}"#, r#"{"a":1,"b":{"c":[1,3,4]}}"#),
            ["body.b.c[1]: 2 -> 3", "body.b.c[2]: absent -> 4", "body.d: 0 -> absent"]
        );
        assert_eq!(
            changes("Action=Run&Max=1", "Action=Run&Max=2&Tag=x%20y"),
            ["body Max: 1 -> 2", "body Tag: absent -> x y"]
        );
        assert_eq!(
            changes("{\"a\":1}", "{\"a\": 1}"),
            ["body: {\"a\":1} -> {\"a\": 1}"],
            "not a byte may differ"
        );
        assert!(changes("same", "same").is_empty());
        assert!(of_bodies(None, Some(&text("unknown before"))).is_empty());
    }

    #[test]
    fn a_long_text_is_shown_where_it_differs() {
        let (before, after) = (format!("{}1{}", "é".repeat(500), "z".repeat(500)), "é".repeat(501));
        let change = Change::of("text", Some(before), Some(after));
        assert!(
            change.before.as_ref().is_some_and(|text| text.contains("é1z") && text.chars().count() < 170),
            "{change}"
        );
    }
}
