//! Partial answers: the parameter `fields`, such as `nextPageToken,items/*/instances(name,tags/items)`.

use serde_json::{Map, Value};

use super::Api;

/// Names of fields, each with a mask of its value; an empty one means all of it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Mask(Vec<(String, Mask)>);

pub(super) fn parse(text: &str) -> Result<Mask, String> {
    let mut rest = text;
    let mask = list(&mut rest)?;
    if rest.is_empty() { Ok(mask) } else { Err(format!("Invalid field selection {text}")) }
}

fn list(rest: &mut &str) -> Result<Mask, String> {
    let mut fields = Vec::new();
    loop {
        fields.push(field(rest)?);
        match rest.strip_prefix(',') {
            Some(more) => *rest = more,
            None => return Ok(Mask(fields)),
        }
    }
}

fn field(rest: &mut &str) -> Result<(String, Mask), String> {
    let end = rest.find([',', '/', '(', ')']).unwrap_or(rest.len());
    let (name, after) = rest.split_at(end);
    if name.is_empty()
        || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'*' || byte == b'-')
    {
        return Err(format!("Invalid field selection {name}"));
    }
    *rest = after;
    let inner = if let Some(more) = rest.strip_prefix('/') {
        *rest = more;
        Mask(vec![field(rest)?])
    } else if let Some(more) = rest.strip_prefix('(') {
        *rest = more;
        let inner = list(rest)?;
        *rest = rest.strip_prefix(')').ok_or_else(|| "Invalid field selection: ) is missing".to_owned())?;
        inner
    } else {
        Mask::default()
    };
    Ok((name.to_owned(), inner))
}

/// Fails for a field that the schema lacks.
pub(super) fn check(api: &Api, schema: &Value, mask: &Mask) -> Result<(), String> {
    let schema = api.resolved(schema);
    if schema["type"] == "array" {
        return check(api, &schema["items"], mask);
    }
    for (name, inner) in &mask.0 {
        let property = match &schema["properties"][name.as_str()] {
            Value::Null if schema["additionalProperties"].is_object() => &schema["additionalProperties"],
            Value::Null if name == "*" && inner.0.is_empty() => continue,
            Value::Null => return Err(format!("Invalid field selection {name}")),
            property => property,
        };
        check(api, property, inner)?;
    }
    Ok(())
}

pub(super) fn apply(mask: &Mask, value: &Value) -> Value {
    if mask.0.is_empty() {
        return value.clone();
    }
    match value {
        Value::Array(entries) => Value::Array(entries.iter().map(|entry| apply(mask, entry)).collect()),
        Value::Object(fields) => {
            let mut kept = Map::new();
            for (name, field) in fields {
                for (wanted, inner) in &mask.0 {
                    if wanted != name && wanted != "*" {
                        continue;
                    }
                    let part = apply(inner, field);
                    match (kept.get_mut(name), part) {
                        (Some(Value::Object(known)), Value::Object(more)) => known.extend(more),
                        (_, part) => {
                            kept.insert(name.clone(), part);
                        }
                    }
                }
            }
            Value::Object(kept)
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_mask_keeps_what_it_names() {
        let value = json!({
            "nextPageToken": "a",
            "kind": "k",
            "items": { "zones/a": { "instances": [{ "name": "x", "id": "1", "tags": { "items": [], "fingerprint": "f" } }] } },
        });
        let mask = parse("nextPageToken,items/*/instances(name,tags/items)").unwrap();
        let expected = json!({
            "nextPageToken": "a",
            "items": { "zones/a": { "instances": [{ "name": "x", "tags": { "items": [] } }] } },
        });
        assert_eq!(apply(&mask, &value), expected);
    }

    #[test]
    fn a_mask_with_an_unknown_field_or_without_an_end_is_refused() {
        let api = Api::get();
        let schema = json!({ "$ref": "InstanceAggregatedList" });
        for bad in ["items/*/instances(name", "items//x", "items/*/instances(nome)", "nope", "", "a)"] {
            let refused = parse(bad).and_then(|mask| check(api, &schema, &mask));
            assert!(refused.is_err(), "{bad}");
        }
        check(api, &schema, &parse("items/*/instances(name,status),items/*/warning/code").unwrap()).unwrap();
    }
}
