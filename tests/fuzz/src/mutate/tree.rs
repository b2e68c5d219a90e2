//! Changes of JSON and YAML that keep the grammar.

use serde_json::{Map, Value};

use super::{Grammar, unusual, words};
use crate::rng::Rng;

/// `None`: the base is not in the grammar.
pub(super) fn mutated(
    grammar: Grammar,
    base: &[u8],
    other: &[u8],
    dictionary: &[&str],
    rng: &mut Rng,
) -> Option<Vec<u8>> {
    let mut tree = parsed(grammar, base)?;
    let place = rng.below(nodes(&tree));
    let at = nth(&mut tree, place)?;
    match rng.below(8) {
        0 | 1 => *at = unusual::value(dictionary, rng),
        2 => *at = taken(grammar, other, rng)?,
        3 | 4 => inside(at, dictionary, rng),
        5 => remove(at, rng),
        6 => repeat(at, rng),
        _ => add(at, grammar, other, dictionary, rng),
    }
    written(grammar, &tree, rng)
}

fn parsed(grammar: Grammar, text: &[u8]) -> Option<Value> {
    match grammar {
        Grammar::Yaml => serde_yaml_ng::from_slice(text).ok(),
        _ => serde_json::from_slice(text).ok(),
    }
}

fn written(grammar: Grammar, tree: &Value, rng: &mut Rng) -> Option<Vec<u8>> {
    match grammar {
        Grammar::Yaml if !rng.once_in(3) => serde_yaml_ng::to_string(tree).ok().map(String::into_bytes),
        _ => serde_json::to_vec(tree).ok(),
    }
}

/// A part of another sample.
fn taken(grammar: Grammar, other: &[u8], rng: &mut Rng) -> Option<Value> {
    let mut tree = parsed(grammar, other)?;
    let place = rng.below(nodes(&tree));
    nth(&mut tree, place).map(std::mem::take)
}

/// Changes a leaf within its type; leaves the rest.
fn inside(at: &mut Value, dictionary: &[&str], rng: &mut Rng) {
    match at {
        Value::String(text) => {
            let changed = words::mutated(text.as_bytes(), text.as_bytes(), dictionary, rng);
            *text = String::from_utf8_lossy(&changed).into_owned();
        }
        Value::Number(number) => {
            let near = number.as_i64().unwrap_or_default();
            let off = i64::try_from(rng.below(5)).unwrap_or_default() - 2;
            *at = Value::from(near.saturating_mul(if rng.once_in(4) { -1 } else { 1 }).saturating_add(off));
        }
        Value::Bool(flag) => *flag = !*flag,
        Value::Null => *at = unusual::value(dictionary, rng),
        Value::Array(items) => {
            let (from, to) = (rng.below(items.len()), rng.below(items.len()));
            if !items.is_empty() {
                items.swap(from, to);
            }
        }
        Value::Object(fields) => exchange(fields, rng),
    }
}

/// Two fields get each other's values.
fn exchange(fields: &mut Map<String, Value>, rng: &mut Rng) {
    let names: Vec<String> = fields.keys().cloned().collect();
    let (Some(one), Some(two)) = (rng.pick(&names), rng.pick(&names)) else { return };
    let first = fields.get_mut(one).map(std::mem::take).unwrap_or_default();
    let second = fields.insert(two.clone(), first).unwrap_or_default();
    if one != two {
        fields.insert(one.clone(), second);
    }
}

fn remove(at: &mut Value, rng: &mut Rng) {
    match at {
        Value::Array(items) if !items.is_empty() => {
            items.remove(rng.below(items.len()));
        }
        Value::Object(fields) if !fields.is_empty() => {
            let name = fields.keys().nth(rng.below(fields.len())).cloned().unwrap_or_default();
            fields.remove(&name);
        }
        other => *other = Value::Null,
    }
}

fn repeat(at: &mut Value, rng: &mut Rng) {
    let times = 1 + rng.length(200);
    match at {
        Value::Array(items) => {
            if let Some(item) = rng.pick(items).cloned() {
                items.extend(std::iter::repeat_n(item, times));
            }
        }
        Value::Object(fields) => {
            let value = fields.values().nth(rng.below(fields.len())).cloned().unwrap_or_default();
            fields.extend((0..times).map(|number| (format!("k{number}"), value.clone())));
        }
        Value::String(text) => *text = text.repeat(times.min(100_000 / text.len().max(1))),
        scalar => *scalar = Value::Array(vec![scalar.clone(); times]),
    }
}

fn add(at: &mut Value, grammar: Grammar, other: &[u8], dictionary: &[&str], rng: &mut Rng) {
    let value = if rng.once_in(2) { taken(grammar, other, rng) } else { None };
    let value = value.unwrap_or_else(|| unusual::value(dictionary, rng));
    match at {
        Value::Array(items) => items.insert(rng.below(items.len() + 1), value),
        Value::Object(fields) => {
            let name = unusual::text(dictionary, rng);
            fields.insert(name, value);
        }
        scalar => *scalar = value,
    }
}

fn nodes(tree: &Value) -> usize {
    1 + match tree {
        Value::Array(items) => items.iter().map(nodes).sum(),
        Value::Object(fields) => fields.values().map(nodes).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0_usize,
    }
}

/// The value with this number, counted from the root.
fn nth(tree: &mut Value, number: usize) -> Option<&mut Value> {
    if number == 0 {
        return Some(tree);
    }
    let children: &mut dyn Iterator<Item = &mut Value> = match tree {
        Value::Array(items) => &mut items.iter_mut(),
        Value::Object(fields) => &mut fields.values_mut(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
    };
    let mut left = number - 1;
    for child in children {
        let inside = nodes(child);
        if left < inside {
            return nth(child, left);
        }
        left -= inside;
    }
    None
}
