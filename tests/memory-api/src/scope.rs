//! Which objects a listing or watch is about.

use serde_json::Value;

use crate::kinds::Kind;
use crate::refusal::Refusal;

/// Kind, namespace and selectors.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    pub(crate) kind: &'static Kind,
    pub(crate) namespace: String,
    labels: Vec<Term>,
    fields: Vec<Term>,
}

/// One condition of a selector.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Term {
    Is(String, String),
    IsNot(String, String),
    Exists(String),
    Absent(String),
    OneOf(String, Vec<String>),
}

impl Scope {
    pub(crate) fn new(
        kind: &'static Kind,
        namespace: &str,
        labels: &str,
        fields: &str,
    ) -> Result<Self, Refusal> {
        let labels = parse(labels);
        let fields = parse(fields);
        for field in &fields {
            let (Term::Is(name, _) | Term::IsNot(name, _)) = field else {
                return Err(Refusal::bad_request("invalid field selector"));
            };
            if !is_selectable(kind, name) {
                return Err(Refusal::bad_request(format!("field label not supported: {name}")));
            }
        }
        Ok(Self { kind, namespace: namespace.to_owned(), labels, fields })
    }

    /// The Node whose pods these are, where that is what the scope is about.
    pub(crate) fn node_of_pods(&self) -> Option<&str> {
        match self.fields.as_slice() {
            [Term::Is(name, node)] if self.kind.plural == "pods" && name == "spec.nodeName" => Some(node),
            _ => None,
        }
    }

    pub(crate) fn takes(&self, object: &Value) -> bool {
        let meta = &object["metadata"];
        let is_there = self.namespace.is_empty() || meta["namespace"] == self.namespace.as_str();
        is_there
            && self.labels.iter().all(|term| term.holds(|name| meta["labels"][name].as_str()))
            && self.fields.iter().all(|term| {
                term.holds(|name| {
                    let field = name.split('.').try_fold(object, |object, part| object.get(part));
                    Some(field.and_then(Value::as_str).unwrap_or_default())
                })
            })
    }
}

impl Term {
    fn holds<'a>(&self, value: impl Fn(&str) -> Option<&'a str>) -> bool {
        match self {
            Self::Is(name, wanted) => value(name) == Some(wanted),
            Self::IsNot(name, unwanted) => value(name) != Some(unwanted),
            Self::Exists(name) => value(name).is_some(),
            Self::Absent(name) => value(name).is_none(),
            Self::OneOf(name, wanted) => {
                value(name).is_some_and(|value| wanted.iter().any(|one| one == value))
            }
        }
    }
}

fn parse(selector: &str) -> Vec<Term> {
    pieces(selector).into_iter().filter(|piece| !piece.is_empty()).map(term).collect()
}

fn term(piece: &str) -> Term {
    let pair = |name: &str, value: &str| (name.trim().to_owned(), value.trim().to_owned());
    if let Some((name, values)) = piece.split_once(" in (") {
        let values = values.trim_end_matches(')').split(',').map(|value| value.trim().to_owned()).collect();
        return Term::OneOf(name.trim().to_owned(), values);
    }
    if let Some((name, value)) = piece.split_once("!=") {
        let (name, value) = pair(name, value);
        return Term::IsNot(name, value);
    }
    if let Some((name, value)) = piece.split_once("==").or_else(|| piece.split_once('=')) {
        let (name, value) = pair(name, value);
        return Term::Is(name, value);
    }
    match piece.trim().strip_prefix('!') {
        Some(name) => Term::Absent(name.to_owned()),
        None => Term::Exists(piece.trim().to_owned()),
    }
}

/// Cut at the commas that are in no parentheses.
fn pieces(selector: &str) -> Vec<&str> {
    let (mut pieces, mut start, mut depth) = (Vec::new(), 0, 0_u32);
    for (at, letter) in selector.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                pieces.push(&selector[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    pieces.push(&selector[start..]);
    pieces
}

fn is_selectable(kind: &Kind, field: &str) -> bool {
    match field {
        "metadata.name" | "metadata.namespace" => true,
        "spec.nodeName" | "status.phase" | "spec.restartPolicy" => kind.plural == "pods",
        "type" => kind.plural == "secrets",
        "spec.unschedulable" => kind.plural == "nodes",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::kinds;

    fn takes(labels: &str, fields: &str) -> bool {
        let pod = json!({
            "metadata": { "name": "p", "namespace": "n", "labels": { "app": "a", "tier": "x" } },
            "spec": { "nodeName": "one" },
        });
        Scope::new(kinds::of("pods"), "n", labels, fields).unwrap().takes(&pod)
    }

    #[test]
    fn labels_are_compared_in_all_the_ways_that_a_selector_has() {
        for selector in ["app=a", "app==a,tier", "app!=b", "!other", "app in (b, a),tier=x", "other!=a"] {
            assert!(takes(selector, ""), "{selector}");
        }
        for selector in ["app=b", "other", "!app", "app in (b,c)", "app!=a"] {
            assert!(!takes(selector, ""), "{selector}");
        }
    }

    #[test]
    fn pods_are_found_by_their_node_and_other_fields_are_refused() {
        assert!(takes("", "spec.nodeName=one"));
        assert!(!takes("", "spec.nodeName=two"));
        assert!(Scope::new(kinds::of("pods"), "", "", "spec.other=x").is_err());
        assert!(Scope::new(kinds::of("nodes"), "", "", "spec.nodeName=x").is_err());
    }
}
