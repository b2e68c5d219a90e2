//! A part of a JSON document under a key of the Secret, for documents of which the driver needs one field and no more,
//! such as the project in Google's key file.

use std::fmt;

use serde_json::Value;
use zeroize::Zeroizing;

use super::JsonPointer;
use crate::target::Error;

/// Separates a key from the pointer into its document. No key of a Secret has this character.
pub(super) const SEPARATOR: char = '#';
/// The field of a service account by which the host signs.
const PRIVATE_KEY: &str = "/private_key";

/// Names a part as grants and drivers write it: `KEY#POINTER`, with a JSON pointer (RFC 6901).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretPart {
    key: String,
    pointer: JsonPointer,
}

/// The value of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PartValue {
    /// The document has no such field, or the value of the key is no JSON.
    Absent,
    /// A string, or a number or a boolean as JSON writes it.
    Text(Zeroizing<String>),
    /// An object, an array or null: a part of the document that is more than one value is never shown.
    Refused,
}

impl SecretPart {
    /// Parses the texts before and behind the separator. A pointer to the whole document is refused: only a key that is
    /// named alone reveals all of its value.
    pub(super) fn parse(key: &str, pointer: &str, at: &str) -> Result<Self, Error> {
        if key.is_empty() {
            return Err(Error::invalid(at, "names no key of the Secret: write KEY#/FIELD"));
        }
        if pointer.is_empty() {
            let problem =
                format!("{key}# is the whole document: write {key} if the driver may see all of it");
            return Err(Error::invalid(at, problem));
        }
        let pointer = JsonPointer::parse(pointer).ok_or_else(|| {
            Error::invalid(at, format!("{pointer:?} is no JSON pointer: write {key}#/FIELD"))
        })?;
        Ok(Self { key: key.to_owned(), pointer })
    }

    /// Returns the key of the Secret that has the document.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// Returns the value in this document.
    pub(crate) fn value(&self, document: &[u8]) -> PartValue {
        let Ok(document) = serde_json::from_slice::<Value>(document) else { return PartValue::Absent };
        match document.pointer(&self.pointer.to_string()) {
            None => PartValue::Absent,
            Some(Value::String(text)) => PartValue::Text(Zeroizing::new(text.clone())),
            Some(Value::Number(number)) => PartValue::Text(Zeroizing::new(number.to_string())),
            Some(Value::Bool(is_true)) => PartValue::Text(Zeroizing::new(is_true.to_string())),
            Some(Value::Null | Value::Array(_) | Value::Object(_)) => PartValue::Refused,
        }
    }

    /// Whether it is the private key in a document that the host signs with under `key`.
    pub(super) fn is_private_key_of(&self, key: &str) -> bool {
        self.key == key && self.pointer.to_string() == PRIVATE_KEY
    }
}

impl fmt::Display for SecretPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{SEPARATOR}{}", self.key, self.pointer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = r#"{ "project_id": "p-1", "port": 8080, "is_on": true, "none": null, "a/b": { "c": "d" },
        "list": ["x", "y"], "": "empty" }"#;

    fn value(pointer: &str, document: &str) -> PartValue {
        SecretPart::parse("key", pointer, "reveal[0]").expect("a part").value(document.as_bytes())
    }

    fn text(text: &str) -> PartValue {
        PartValue::Text(Zeroizing::new(text.to_owned()))
    }

    #[test]
    fn a_part_is_one_value_of_the_document() {
        for (pointer, expected) in [
            ("/project_id", text("p-1")),
            ("/port", text("8080")),
            ("/is_on", text("true")),
            ("/a~1b/c", text("d")),
            ("/list/1", text("y")),
            ("/", text("empty")),
            ("/project", PartValue::Absent),
            ("/project_id/x", PartValue::Absent),
            ("/list/2", PartValue::Absent),
            ("/none", PartValue::Refused),
            ("/list", PartValue::Refused),
            ("/a~1b", PartValue::Refused),
        ] {
            assert_eq!(value(pointer, DOCUMENT), expected, "{pointer}");
        }
        for document in ["", "no JSON", "[", "\"text\"", "7"] {
            assert_eq!(value("/project_id", document), PartValue::Absent, "{document}");
        }
    }

    #[test]
    fn it_is_called_as_it_is_written() {
        for pointer in ["/project_id", "/a~1b/c~0d", "/"] {
            let part = SecretPart::parse("key", pointer, "reveal[0]").expect("a part");
            assert_eq!(part.to_string(), format!("key#{pointer}"));
        }
    }
}
