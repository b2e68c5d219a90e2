//! One version of one object, and its place.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

/// A version of an object. It never changes, so its text is written once, however many listings and watches show it.
#[derive(Debug)]
pub(crate) struct Object {
    value: Value,
    text: OnceLock<String>,
}

/// Resource, namespace and name.
pub(crate) type Key = (&'static str, String, String);

/// Shared by store, history and watches.
pub(crate) type Shared = Arc<Object>;

impl Object {
    pub(crate) fn shared(value: Value) -> Shared {
        Arc::new(Self { value, text: OnceLock::new() })
    }

    pub(crate) fn text(&self) -> &str {
        self.text.get_or_init(|| self.value.to_string())
    }
}

impl Deref for Object {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.value
    }
}

impl PartialEq<Value> for Object {
    fn eq(&self, other: &Value) -> bool {
        self.value == *other
    }
}
