use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

/// Metadata from words: `l:key=value` is a label, `a:key=value` an annotation, `t:key=value:effect` a taint.
fn meta(text: &str) -> NodeMeta {
    let mut meta = NodeMeta::default();
    for word in text.split_whitespace() {
        let (kind, rest) = word.split_once(':').unwrap();
        let (key, value) = rest.split_once('=').unwrap();
        match kind {
            "l" => drop(meta.labels.insert(key.into(), value.into())),
            "a" => drop(meta.annotations.insert(key.into(), value.into())),
            _ => {
                let (value, effect) = value.split_once(':').unwrap();
                let (key, value, effect) = (key.into(), value.into(), effect.into());
                meta.taints.push(TaintFact { key, value, effect, time_added: None });
            }
        }
    }
    meta
}

fn show(change: &NodeChange) -> String {
    let map = |kind: &str, map: &BTreeMap<String, Option<String>>| {
        let show = |(key, value): (&String, &Option<String>)| match value {
            Some(value) => format!("{kind}:{key}={value} "),
            None => format!("-{kind}:{key} "),
        };
        map.iter().map(show).collect::<String>()
    };
    let mut text = map("l", &change.labels) + &map("a", &change.annotations);
    if let Some(taints) = &change.taints {
        let taints: Vec<String> =
            taints.iter().map(|taint| format!("{}={}:{}", taint.key, taint.value, taint.effect)).collect();
        text += &format!("taints[{}] ", taints.join(" "));
    }
    if change.last_applied.is_some() {
        text += "and remembers";
    }
    text.trim_end().to_owned()
}

fn own() -> BTreeMap<String, String> {
    BTreeMap::from([("machine-name".to_owned(), "m".to_owned())])
}

fn merged(node: &NodeMeta, template: &NodeMeta, last: Option<&NodeMeta>) -> NodeChange {
    merge(node, WantedNodeMeta { template, own_labels: &own() }, last)
}

/// The Node has the controller's own label already.
fn check(node: &str, template: &str, last: Option<&str>, expected: &Expect) {
    let node = meta(&format!("l:machine-name=m {node}"));
    let last = last.map(meta);
    expected.assert_eq(&show(&merged(&node, &meta(template), last.as_ref())));
}

#[test]
fn a_node_that_is_as_wanted_is_not_written() {
    check("", "", None, &expect![""]);
    check("", "", Some(""), &expect![""]);
    check(
        "l:a=1 a:b=2 t:c=3:NoSchedule",
        "l:a=1 a:b=2 t:c=3:NoSchedule",
        Some("l:a=1 a:b=2 t:c=3:NoSchedule"),
        &expect![""],
    );
}

#[test]
fn what_is_wanted_is_set_and_remembered() {
    check(
        "",
        "l:a=1 a:b=2 t:c=3:NoSchedule",
        None,
        &expect!["l:a=1 a:b=2 taints[c=3:NoSchedule] and remembers"],
    );
    check("l:a=1", "l:a=1", None, &expect!["and remembers"]);
}

#[test]
fn what_somebody_changed_is_set_right_again() {
    check("l:a=other", "l:a=1", Some("l:a=1"), &expect!["l:a=1"]);
    check(
        "t:c=other:NoSchedule",
        "t:c=3:NoSchedule",
        Some("t:c=3:NoSchedule"),
        &expect!["taints[c=3:NoSchedule]"],
    );
    check("", "l:a=1 a:b=2", Some("l:a=1 a:b=2"), &expect!["l:a=1 a:b=2"]);
}

#[test]
fn what_is_no_longer_wanted_is_removed() {
    check(
        "l:a=1 a:b=2 t:c=3:NoSchedule",
        "",
        Some("l:a=1 a:b=2 t:c=3:NoSchedule"),
        &expect!["-l:a -a:b taints[] and remembers"],
    );
    check("", "", Some("l:a=1"), &expect!["and remembers"]);
}

#[test]
fn what_others_put_on_the_node_stays() {
    check("l:x=1 a:y=2 t:z=3:NoExecute", "l:a=1", Some("l:a=1"), &expect!["l:a=1"]);
    check(
        "t:z=3:NoExecute t:c=1:NoSchedule",
        "",
        Some("t:c=1:NoSchedule"),
        &expect!["taints[z=3:NoExecute] and remembers"],
    );
}

#[test]
fn without_a_memory_nothing_is_removed() {
    check("l:x=1 t:z=3:NoExecute", "l:a=1", None, &expect!["l:a=1 and remembers"]);
}

#[test]
fn the_same_key_with_another_effect_is_another_taint() {
    check(
        "t:c=1:NoSchedule",
        "t:c=2:NoExecute",
        Some("t:c=1:NoSchedule"),
        &expect!["taints[c=2:NoExecute] and remembers"],
    );
    check(
        "t:c=1:NoSchedule",
        "t:c=2:NoExecute",
        None,
        &expect!["taints[c=1:NoSchedule c=2:NoExecute] and remembers"],
    );
}

#[test]
fn a_template_that_repeats_a_taint_is_applied_once() {
    check("t:c=2:NoSchedule", "t:c=1:NoSchedule t:c=2:NoSchedule", Some("t:c=2:NoSchedule"), &expect![""]);
}

#[test]
fn the_controllers_own_label_is_kept_against_node_and_template() {
    let last = meta("l:machine-name=theirs");
    let node = meta("l:machine-name=theirs");
    assert_eq!(show(&merged(&node, &meta(""), Some(&last))), "l:machine-name=m and remembers");
    assert_eq!(show(&merged(&node, &last, Some(&last))), "l:machine-name=m");
    assert_eq!(show(&merged(&meta(""), &meta(""), None)), "l:machine-name=m");
}

#[test]
fn a_taints_time_is_carried_along_and_is_no_difference() {
    let mut node = meta("l:machine-name=m t:c=1:NoExecute t:d=1:NoExecute");
    node.taints[0].time_added = Some(Timestamp::UNIX_EPOCH);
    let template = meta("t:c=1:NoExecute");
    assert!(merged(&node, &template, Some(&template)).is_empty());
    let taints = merged(&node, &template, Some(&meta("t:c=1:NoExecute t:d=1:NoExecute"))).taints.unwrap();
    assert_eq!(taints, node.taints[..1]);
}

#[test]
fn a_taint_that_gets_another_value_loses_its_time() {
    let mut node = meta("l:machine-name=m t:c=other:NoExecute");
    node.taints[0].time_added = Some(Timestamp::UNIX_EPOCH);
    let template = meta("t:c=1:NoExecute");
    assert_eq!(merged(&node, &template, Some(&template)).taints, Some(template.taints));
}

fn any_meta() -> impl Strategy<Value = NodeMeta> {
    let map = || proptest::collection::btree_map("[a-d]", "[12]", 0..4);
    let taint = ("[a-c]", "[12]", "No(Schedule|Execute)");
    let taints = proptest::collection::vec(taint, 0..5).prop_map(|taints| {
        let mut distinct = BTreeMap::new();
        for (key, value, effect) in taints {
            distinct
                .insert((key.clone(), effect.clone()), TaintFact { key, value, effect, time_added: None });
        }
        distinct.into_values().rev().collect()
    });
    (map(), map(), taints).prop_map(|(labels, annotations, taints)| NodeMeta { labels, annotations, taints })
}

fn apply(node: &mut NodeMeta, change: &NodeChange) {
    let edit = |map: &mut BTreeMap<String, String>, change: &BTreeMap<String, Option<String>>| {
        for (key, value) in change {
            match value {
                Some(value) => drop(map.insert(key.clone(), value.clone())),
                None => drop(map.remove(key)),
            }
        }
    };
    edit(&mut node.labels, &change.labels);
    edit(&mut node.annotations, &change.annotations);
    if let Some(taints) = &change.taints {
        node.taints.clone_from(taints);
    }
}

proptest! {
    #[test]
    fn a_change_that_was_applied_leads_to_an_empty_one_and_spares_what_is_others(
        before in any_meta(), template in any_meta(), last in proptest::option::of(any_meta()),
    ) {
        let change = merged(&before, &template, last.as_ref());
        let mut node = before.clone();
        apply(&mut node, &change);
        let remembered = change.last_applied.clone().or(last.clone());
        prop_assert!(merged(&node, &template, remembered.as_ref()).is_empty());

        for (key, value) in &template.labels {
            prop_assert_eq!(node.labels.get(key), Some(value));
        }
        let last = last.unwrap_or_default();
        for (key, value) in &before.annotations {
            let is_others = !template.annotations.contains_key(key) && !last.annotations.contains_key(key);
            if is_others {
                prop_assert_eq!(node.annotations.get(key), Some(value));
            }
        }
        for taint in &before.taints {
            let is_in = |meta: &NodeMeta| meta.taints.iter().any(|other| other.identity() == taint.identity());
            if !is_in(&template) && !is_in(&last) {
                prop_assert!(node.taints.contains(taint));
            }
            if !is_in(&template) && is_in(&last) {
                prop_assert!(!is_in(&node));
            }
        }
        // An empty change is no write: what is not in it was right before.
        prop_assert!(change.labels.iter().all(|(key, value)| before.labels.get(key) != value.as_ref()));
    }
}
