//! Labels, and selectors of them.

use std::collections::HashMap;

use super::{Outcome, Refusal};

pub(crate) type Labels = HashMap<String, String>;

/// Refuses labels that the API refuses.
pub(crate) fn check(labels: &Labels) -> Outcome<()> {
    for (key, value) in labels {
        let (domain, name) =
            key.split_once('/').map_or((None, key.as_str()), |(domain, name)| (Some(domain), name));
        let is_domain = domain.is_none_or(|domain| !domain.is_empty() && domain.split('.').all(is_name));
        if !is_domain || !is_name(name) {
            return Err(Refusal::invalid("labels", format!("invalid label key '{key}'")));
        }
        if !value.is_empty() && !is_name(value) {
            return Err(Refusal::invalid("labels", format!("invalid label value '{value}'")));
        }
    }
    Ok(())
}

fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    is_edge(bytes.first())
        && is_edge(bytes.last())
        && bytes.len() <= 63
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

/// A selector: conditions that must all hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selector(Vec<Condition>);

#[derive(Clone, Debug)]
enum Condition {
    Is(String, String),
    IsNot(String, String),
    Has(String),
    HasNot(String),
}

impl Selector {
    pub(crate) fn parse(text: &str) -> Outcome<Self> {
        let mut conditions = Vec::new();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let pair = |(key, value): (&str, &str)| (key.trim().to_owned(), value.trim().to_owned());
            let condition = if let Some(found) = part.split_once("!=") {
                let (key, value) = pair(found);
                Condition::IsNot(key, value)
            } else if let Some(found) = part.split_once("==").or_else(|| part.split_once('=')) {
                let (key, value) = pair(found);
                Condition::Is(key, value)
            } else if let Some(key) = part.strip_prefix('!') {
                Condition::HasNot(key.to_owned())
            } else {
                Condition::Has(part.to_owned())
            };
            let (key, value) = match &condition {
                Condition::Is(key, value) | Condition::IsNot(key, value) => (key, value.as_str()),
                Condition::Has(key) | Condition::HasNot(key) => (key, ""),
            };
            check(&Labels::from([(key.clone(), value.to_owned())])).map_err(|_| {
                Refusal::invalid("label_selector", format!("invalid label selector '{part}'"))
            })?;
            conditions.push(condition);
        }
        Ok(Self(conditions))
    }

    pub(crate) fn fits(&self, labels: &Labels) -> bool {
        self.0.iter().all(|condition| match condition {
            Condition::Is(key, value) => labels.get(key) == Some(value),
            Condition::IsNot(key, value) => labels.get(key) != Some(value),
            Condition::Has(key) => labels.contains_key(key),
            Condition::HasNot(key) => !labels.contains_key(key),
        })
    }
}
