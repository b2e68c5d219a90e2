//! Which budgets may be about a pod, without looking at all of them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::object::Key;

/// One label that a budget asks for, in its namespace.
type Place = (String, Option<(String, String)>);

/// Budgets by the first label that they ask for; those that ask for none by their namespace alone.
#[derive(Debug, Default)]
pub(crate) struct Budgets(BTreeMap<Place, BTreeSet<Key>>);

impl Budgets {
    pub(crate) fn change(&mut self, key: &Key, old: Option<&Value>, new: Option<&Value>) {
        if let Some(place) = old.map(place)
            && let Some(keys) = self.0.get_mut(&place)
        {
            keys.remove(key);
            if keys.is_empty() {
                self.0.remove(&place);
            }
        }
        if let Some(new) = new {
            self.0.entry(place(new)).or_default().insert(key.clone());
        }
    }

    /// In order of their names. Each of them may still turn out not to select the pod.
    pub(crate) fn near(&self, pod: &Value) -> BTreeSet<&Key> {
        let namespace = namespace(pod);
        let labels = pod["metadata"]["labels"].as_object().into_iter().flatten();
        let places = labels.map(|(name, value)| Some((name.clone(), text(value)))).chain([None]);
        places.filter_map(|label| self.0.get(&(namespace.clone(), label))).flatten().collect()
    }
}

fn place(budget: &Value) -> Place {
    let labels = budget["spec"]["selector"]["matchLabels"].as_object();
    let first = labels.and_then(|labels| labels.iter().next());
    (namespace(budget), first.map(|(name, value)| (name.clone(), text(value))))
}

fn namespace(object: &Value) -> String {
    text(&object["metadata"]["namespace"])
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn budget(namespace: &str, selector: &Value) -> Value {
        json!({ "metadata": { "namespace": namespace }, "spec": { "selector": selector } })
    }

    /// Names of the budgets near a pod with label `app: a` in namespace `one`.
    fn near(budgets: &Budgets) -> Vec<&str> {
        let pod = json!({ "metadata": { "namespace": "one", "labels": { "app": "a", "tier": "b" } } });
        budgets.near(&pod).into_iter().map(|(_, _, name)| name.as_str()).collect()
    }

    #[test]
    fn budgets_are_found_by_a_label_or_because_they_ask_for_none() {
        let mut budgets = Budgets::default();
        let mut add = |name: &str, namespace: &str, selector: Value| {
            let key = ("poddisruptionbudgets", namespace.to_owned(), name.to_owned());
            budgets.change(&key, None, Some(&budget(namespace, &selector)));
        };
        add("its", "one", json!({ "matchLabels": { "app": "a" } }));
        add("of-another-app", "one", json!({ "matchLabels": { "app": "b" } }));
        add("all", "one", json!({}));
        add("by-expression", "one", json!({ "matchExpressions": [{ "key": "app", "operator": "Exists" }] }));
        add("elsewhere", "two", json!({ "matchLabels": { "app": "a" } }));
        assert_eq!(near(&budgets), ["all", "by-expression", "its"]);
    }

    #[test]
    fn a_budget_that_changes_or_goes_is_found_where_it_is() {
        let mut budgets = Budgets::default();
        let key = ("poddisruptionbudgets", "one".to_owned(), "b".to_owned());
        let [a, b] = ["a", "b"].map(|app| budget("one", &json!({ "matchLabels": { "app": app } })));
        budgets.change(&key, None, Some(&b));
        assert!(near(&budgets).is_empty());
        budgets.change(&key, Some(&b), Some(&a));
        assert_eq!(near(&budgets), ["b"]);
        budgets.change(&key, Some(&a), None);
        assert!(near(&budgets).is_empty() && budgets.0.is_empty());
    }
}
