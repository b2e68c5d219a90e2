//! Listings: filters, pages, and the zones of an aggregated one.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};

use super::{Cloud, Key, Outcome, ROOT};
use crate::discovery::{Call, full_match};
use crate::wire::ApiError;

/// The default of `maxResults`, and its maximum.
const MOST_RESULTS: usize = 500;

impl Cloud {
    pub(super) fn list(&self, call: &Call<'_>) -> Outcome {
        let (resource, method) = call.id.split_once('.').unwrap_or_default();
        let all: BTreeMap<Key, Value> = match resource {
            "disks" => self.disks.clone(),
            "zoneOperations" => self
                .operations
                .iter()
                .map(|(key, operation)| (key.clone(), operation.resource(self)))
                .collect(),
            _ => {
                let shown = self.instances.iter().filter(|(_, instance)| self.is_shown(instance));
                shown.map(|(key, instance)| (key.clone(), instance.resource.clone())).collect()
            }
        };
        let filter = Filter::parse(call.parameters.get("filter").map(String::as_str).unwrap_or_default())?;
        let zone = call.parameters.get("zone");
        let most = match call.parameters.get("maxResults").map(|text| text.parse::<usize>()) {
            None => MOST_RESULTS,
            Some(Ok(most)) if most <= MOST_RESULTS => most.max(1),
            Some(_) => {
                return Err(ApiError::invalid(
                    "Invalid value for field 'maxResults': must be between 0 and 500.",
                ));
            }
        };
        let after = call
            .parameters
            .get("pageToken")
            .filter(|token| !token.is_empty())
            .map(|token| place(token))
            .transpose()?;
        let mut fitting = all
            .into_iter()
            .filter(|(key, value)| zone.is_none_or(|zone| *zone == key.0) && filter.fits(value))
            .filter(|(key, _)| after.as_ref().is_none_or(|after| key > after));
        let page: Vec<(Key, Value)> = fitting.by_ref().take(most).collect();
        let next = page.last().filter(|_| fitting.next().is_some()).map(|(key, _)| token(key));
        let kind = match resource {
            "disks" => "disk",
            "zoneOperations" => "operation",
            _ => "instance",
        };
        let mut answer = if method == "aggregatedList" {
            json!({
                "kind": format!("compute#{kind}AggregatedList"),
                "id": format!("projects/{}/aggregated/{resource}", self.config.project),
                "selfLink": format!("{ROOT}projects/{}/aggregated/{resource}", self.config.project),
                "items": self.by_zone(resource, page),
            })
        } else {
            let zone = zone.cloned().unwrap_or_default();
            json!({
                "kind": format!("compute#{kind}List"),
                "id": format!("projects/{}/zones/{zone}/{resource}", self.config.project),
                "selfLink": format!("{ROOT}projects/{}/zones/{zone}/{resource}", self.config.project),
                "items": page.into_iter().map(|(_, value)| value).collect::<Vec<_>>(),
            })
        };
        if let Some(next) = next {
            answer["nextPageToken"] = json!(next);
        }
        Ok(answer)
    }

    /// Each zone has its entries, or a warning that it has none.
    fn by_zone(&self, resource: &str, page: Vec<(Key, Value)>) -> Value {
        let mut scopes = Map::new();
        for zone in &self.config.zones {
            let warning = json!({
                "code": "NO_RESULTS_ON_PAGE",
                "message": format!("There are no results for scope 'zones/{zone}' on this page."),
                "data": [{ "key": "scope", "value": format!("zones/{zone}") }],
            });
            scopes.insert(format!("zones/{zone}"), json!({ "warning": warning }));
        }
        for ((zone, _), value) in page {
            let scope = &mut scopes[&format!("zones/{zone}")];
            if scope[resource].is_null() {
                *scope = json!({ resource: [] });
            }
            if let Some(entries) = scope[resource].as_array_mut() {
                entries.push(value);
            }
        }
        Value::Object(scopes)
    }
}

fn token(key: &Key) -> String {
    URL_SAFE_NO_PAD.encode(format!("after/{}/{}", key.0, key.1))
}

fn place(token: &str) -> Result<Key, ApiError> {
    let read = || {
        let text = String::from_utf8(URL_SAFE_NO_PAD.decode(token).ok()?).ok()?;
        let (zone, name) = text.strip_prefix("after/")?.split_once('/')?;
        Some((zone.to_owned(), name.to_owned()))
    };
    read().ok_or_else(|| {
        ApiError::invalid(format!(
            "Invalid value for field 'pageToken': '{token}'. The page token is not valid."
        ))
    })
}

/// Conditions that all must hold.
#[derive(Debug, Default, PartialEq, Eq)]
struct Filter(Vec<(Vec<String>, Comparison, String)>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Equal,
    Different,
    /// `eq`: a regular expression.
    Matches,
    /// `:*`: the field is there.
    Exists,
}

impl Filter {
    fn parse(text: &str) -> Result<Self, ApiError> {
        let invalid = || {
            ApiError::invalid(format!(
                "Invalid value for field 'filter': '{text}'. Invalid list filter expression."
            ))
        };
        let mut conditions = Vec::new();
        let mut rest = text.trim();
        while !rest.is_empty() {
            rest = rest.strip_prefix("AND ").unwrap_or(rest).trim_start();
            let condition = if let Some(inner) = rest.strip_prefix('(') {
                let end = closing(inner).ok_or_else(invalid)?;
                rest = inner[end + 1..].trim_start();
                &inner[..end]
            } else {
                let end = rest.find(" AND ").unwrap_or(rest.len());
                let condition = &rest[..end];
                rest = rest[end..].trim_start();
                condition
            };
            conditions.push(Self::condition(condition.trim()).ok_or_else(invalid)?);
        }
        Ok(Self(conditions))
    }

    fn condition(text: &str) -> Option<(Vec<String>, Comparison, String)> {
        let end = text.find(|char: char| !(char.is_ascii_alphanumeric() || "._-".contains(char)))?;
        let (field, rest) = text.split_at(end);
        let rest = rest.trim_start();
        let (comparison, value) = if let Some(value) = rest.strip_prefix("!=") {
            (Comparison::Different, value)
        } else if let Some(value) = rest.strip_prefix('=') {
            (Comparison::Equal, value)
        } else if rest == ":*" {
            (Comparison::Exists, "*")
        } else {
            (Comparison::Matches, rest.strip_prefix("eq ")?)
        };
        let value = value.trim();
        let quoted =
            value.strip_prefix('"').map(|rest| rest.strip_suffix('"').filter(|inner| !inner.contains('"')));
        let value = match quoted {
            Some(inner) => inner?,
            None if value.is_empty() || value.contains(['"', ' ', '(', ')']) => return None,
            None => value,
        };
        if field.is_empty() {
            return None;
        }
        Some((field.split('.').map(str::to_owned).collect(), comparison, value.to_owned()))
    }

    fn fits(&self, value: &Value) -> bool {
        self.0.iter().all(|(path, comparison, wanted)| {
            let found = path.iter().fold(value, |value, name| &value[name.as_str()]);
            let text = match found {
                Value::String(text) => Some(text.clone()),
                Value::Bool(_) | Value::Number(_) => Some(found.to_string()),
                Value::Null | Value::Array(_) | Value::Object(_) => None,
            };
            match comparison {
                Comparison::Equal => text.as_ref() == Some(wanted),
                Comparison::Different => text.as_ref() != Some(wanted),
                Comparison::Matches => text.is_some_and(|text| full_match(wanted, &text)),
                Comparison::Exists => !found.is_null(),
            }
        })
    }
}

/// The end of a parenthesis, outside of quotes.
fn closing(text: &str) -> Option<usize> {
    let mut is_quoted = false;
    text.char_indices().find_map(|(at, char)| {
        is_quoted ^= char == '"';
        (char == ')' && !is_quoted).then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_and_compared() {
        let value =
            json!({ "labels": { "a": "1" }, "status": "DONE", "targetLink": "https://x/instances/vm-1" });
        for (filter, fits) in [
            ("", true),
            ("labels.a=1", true),
            ("labels.a=\"2\"", false),
            ("(labels.a=1) (status!=DONE)", false),
            ("labels.a=1 AND status=DONE", true),
            ("(targetLink eq \".*/instances/vm-1\") (status eq DONE)", true),
            ("targetLink eq \".*/instances/vm\"", false),
            ("labels.b:*", false),
            ("labels.a:*", true),
        ] {
            assert_eq!(Filter::parse(filter).unwrap().fits(&value), fits, "{filter}");
        }
        for bad in ["labels.a", "a=(", "(a=1", "=1", "a=\"x", "a=b c"] {
            assert!(Filter::parse(bad).is_err(), "{bad}");
        }
    }
}
