//! Reads JSON as leniently as Go's `encoding/json` reads it into structs: it ignores the case of keys and unknown keys,
//! null is the zero value, and of a duplicate key the last one counts (objects are merged).
//!
//! The reader does not stop at a problem: it collects all problems, each with the path of its field.

use std::collections::BTreeMap;

use machinist_sdk::driver::quoted_up_to as quoted;
use serde_json::Value;

/// The maximum length of a quoted value.
const SHOWN_CHARACTERS: usize = 40;

/// Problems and warnings of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Findings {
    /// Problems that make the document unusable.
    pub(crate) problems: Vec<String>,
    /// Fields that the driver ignores.
    pub(crate) warnings: Vec<String>,
}

impl Findings {
    pub(crate) fn problem(&mut self, text: impl Into<String>) {
        self.problems.push(text.into());
    }

    pub(crate) fn warning(&mut self, text: impl Into<String>) {
        self.warnings.push(text.into());
    }
}

/// A JSON object, with its path and the names of the fields that were read.
#[derive(Debug)]
pub(crate) struct Object<'a> {
    at: String,
    entries: Vec<(&'a str, &'a Value)>,
    asked: Vec<&'static str>,
}

impl<'a> Object<'a> {
    /// Reads the document. Null is an object without fields; any other value is a problem and counts as null.
    pub(crate) fn root(value: &'a Value, findings: &mut Findings) -> Self {
        let mut root = Self { at: String::new(), entries: Vec::new(), asked: Vec::new() };
        root.take(value, findings);
        root
    }

    /// Reads an entry of a list.
    pub(crate) fn entry(at: String, value: &'a Value, findings: &mut Findings) -> Self {
        let mut entry = Self { at, entries: Vec::new(), asked: Vec::new() };
        entry.take(value, findings);
        entry
    }

    fn take(&mut self, value: &'a Value, findings: &mut Findings) {
        match value {
            Value::Object(fields) => {
                self.entries.extend(fields.iter().map(|(key, value)| (key.as_str(), value)));
            }
            Value::Null => {}
            other => {
                let at = if self.at.is_empty() { "providerSpec" } else { &self.at };
                findings.problem(format!("{at} must be an object, got {}", shown(other)));
            }
        }
    }

    /// Returns the path of a field.
    pub(crate) fn path(&self, name: &str) -> String {
        if self.at.is_empty() { name.to_owned() } else { format!("{}.{name}", self.at) }
    }

    /// Returns a text, empty if absent.
    pub(crate) fn text(&mut self, name: &'static str, findings: &mut Findings) -> String {
        let value = self.last_set(name);
        self.as_text(name, value, findings).unwrap_or_default()
    }

    /// Returns an optional text. Null counts as absent.
    pub(crate) fn optional_text(&mut self, name: &'static str, findings: &mut Findings) -> Option<String> {
        let value = self.last(name);
        self.as_text(name, value, findings)
    }

    /// Returns a whole number of 32 bits, 0 if absent.
    pub(crate) fn number(&mut self, name: &'static str, findings: &mut Findings) -> i32 {
        let value = self.last_set(name);
        self.as_number(name, value, findings).unwrap_or_default()
    }

    /// Returns an optional whole number of 32 bits.
    pub(crate) fn optional_number(&mut self, name: &'static str, findings: &mut Findings) -> Option<i32> {
        let value = self.last(name);
        self.as_number(name, value, findings)
    }

    /// Returns a boolean, false if absent.
    pub(crate) fn flag(&mut self, name: &'static str, findings: &mut Findings) -> bool {
        let value = self.last_set(name);
        self.as_flag(name, value, findings).unwrap_or_default()
    }

    /// Returns an optional boolean.
    pub(crate) fn optional_flag(&mut self, name: &'static str, findings: &mut Findings) -> Option<bool> {
        let value = self.last(name);
        self.as_flag(name, value, findings)
    }

    /// Returns an optional decimal number, as it is written.
    pub(crate) fn decimal(&mut self, name: &'static str, findings: &mut Findings) -> Option<String> {
        match self.last(name)? {
            Value::Number(number) => Some(number.to_string()),
            other => self.unfit(name, "a number", other, findings),
        }
    }

    /// Returns an optional object.
    pub(crate) fn object(&mut self, name: &'static str, findings: &mut Findings) -> Option<Object<'a>> {
        let values = self.values(name);
        let after_null = values.iter().rposition(|value| value.is_null()).map_or(0, |index| index + 1);
        let values = values.get(after_null..).filter(|values| !values.is_empty())?;
        let mut object = Self { at: self.path(name), entries: Vec::new(), asked: Vec::new() };
        for value in values {
            object.take(value, findings);
        }
        Some(object)
    }

    /// Returns the entries of a list, each with its path.
    pub(crate) fn list(&mut self, name: &'static str, findings: &mut Findings) -> Vec<(String, &'a Value)> {
        let path = self.path(name);
        match self.last(name) {
            None => Vec::new(),
            Some(Value::Array(entries)) => {
                let at = |(index, entry): (usize, &'a Value)| (format!("{path}[{index}]"), entry);
                entries.iter().enumerate().map(at).collect()
            }
            Some(other) => {
                findings.problem(format!("{path} must be a list, got {}", shown(other)));
                Vec::new()
            }
        }
    }

    /// Returns a map from texts to texts, with case-sensitive keys.
    pub(crate) fn map(&mut self, name: &'static str, findings: &mut Findings) -> BTreeMap<String, String> {
        let Some(object) = self.object(name, findings) else { return BTreeMap::new() };
        let mut map = BTreeMap::new();
        for (key, value) in &object.entries {
            match value {
                Value::String(text) => {
                    map.insert((*key).to_owned(), text.clone());
                }
                Value::Null => {
                    map.insert((*key).to_owned(), String::new());
                }
                other => {
                    let at = format!("{}[{:?}]", object.at, quoted(key, SHOWN_CHARACTERS));
                    findings.problem(format!("{at} must be a string, got {}", shown(other)));
                }
            }
        }
        map
    }

    /// Adds a warning for each field that was not read.
    pub(crate) fn finish(self, findings: &mut Findings) {
        for (key, _) in &self.entries {
            if !self.asked.iter().any(|asked| folded(asked) == folded(key)) {
                let path = self.path(&quoted(key, SHOWN_CHARACTERS));
                findings.warning(format!("{path} is not a field and is ignored"));
            }
        }
    }

    fn values(&mut self, name: &'static str) -> Vec<&'a Value> {
        self.asked.push(name);
        let name = folded(name);
        self.entries.iter().filter(|(key, _)| folded(key) == name).map(|(_, value)| *value).collect()
    }

    /// Returns the last value of an optional field.
    fn last(&mut self, name: &'static str) -> Option<&'a Value> {
        self.values(name).last().copied().filter(|value| !value.is_null())
    }

    /// Returns the last value of a field with a default: null changes nothing.
    fn last_set(&mut self, name: &'static str) -> Option<&'a Value> {
        self.values(name).into_iter().rfind(|value| !value.is_null())
    }

    fn as_text(&self, name: &str, value: Option<&Value>, findings: &mut Findings) -> Option<String> {
        match value? {
            Value::String(text) => Some(text.clone()),
            other => self.unfit(name, "a string", other, findings),
        }
    }

    fn as_number(&self, name: &str, value: Option<&Value>, findings: &mut Findings) -> Option<i32> {
        let value = value?;
        match value.as_i64().and_then(|number| i32::try_from(number).ok()) {
            Some(number) => Some(number),
            None => self.unfit(name, "a whole number of 32 bits", value, findings),
        }
    }

    fn as_flag(&self, name: &str, value: Option<&Value>, findings: &mut Findings) -> Option<bool> {
        match value? {
            Value::Bool(flag) => Some(*flag),
            other => self.unfit(name, "true or false", other, findings),
        }
    }

    fn unfit<T>(&self, name: &str, wanted: &str, got: &Value, findings: &mut Findings) -> Option<T> {
        findings.problem(format!("{} must be {wanted}, got {}", self.path(name), shown(got)));
        None
    }
}

/// Quotes a value in one line, shortened.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        other => quoted(&other.to_string(), SHOWN_CHARACTERS),
    }
}

/// Folds a key, so that keys which Go considers equal are equal. Two letters beyond ASCII fold into ASCII: the long s
/// and the Kelvin sign.
fn folded(key: &str) -> String {
    let fold = |char: char| match char {
        'ſ' => 's',
        '\u{212A}' => 'k',
        other => other.to_ascii_lowercase(),
    };
    key.chars().map(fold).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read<T>(value: &Value, read: impl FnOnce(&mut Object<'_>, &mut Findings) -> T) -> (T, Findings) {
        let mut findings = Findings::default();
        let mut object = Object::root(value, &mut findings);
        let result = read(&mut object, &mut findings);
        object.finish(&mut findings);
        (result, findings)
    }

    #[test]
    fn keys_match_without_regard_to_case() {
        for key in ["vmSize", "VmSize", "VMSIZE", "vmsize"] {
            let (text, findings) = read(&json!({ key: "m5" }), |object, all| object.text("vmSize", all));
            assert_eq!((text.as_str(), findings), ("m5", Findings::default()), "{key}");
        }
        let (text, _) = read(&json!({ "\u{212A}eyName": "k" }), |object, all| object.text("keyName", all));
        assert_eq!(text, "k");
        let (tags, _) =
            read(&json!({ "tagſ": { "A": "1", "a": "2" } }), |object, all| object.map("tags", all));
        assert_eq!(tags.len(), 2);
    }

    #[test]
    fn of_keys_that_come_twice_the_last_counts_and_objects_are_put_together() {
        let spec = json!({ "AMI": "first", "ami": "last", "IAM": { "name": "a" }, "iam": { "arn": "b" } });
        let ((ami, name, arn), _) = read(&spec, |object, all| {
            let mut iam = object.object("iam", all).unwrap();
            (object.text("ami", all), iam.text("name", all), iam.text("arn", all))
        });
        assert_eq!((ami.as_str(), name.as_str(), arn.as_str()), ("last", "a", "b"));
        let spec = json!({ "AMI": "set", "ami": null, "KEYNAME": "set", "keyName": null });
        let (both, _) =
            read(&spec, |object, all| (object.text("ami", all), object.optional_text("keyName", all)));
        assert_eq!(both, ("set".to_owned(), None));
    }

    #[test]
    fn null_is_the_zero_value() {
        let spec = json!({ "a": null, "b": null, "c": null, "d": null, "e": null, "f": null, "g": null });
        let ((), findings) = read(&spec, |object, all| {
            assert_eq!((object.text("a", all), object.number("b", all)), (String::new(), 0));
            assert!(!object.flag("c", all) && object.object("d", all).is_none());
            assert!(object.list("e", all).is_empty() && object.map("f", all).is_empty());
            assert!(object.decimal("g", all).is_none());
        });
        assert_eq!(findings, Findings::default());
    }

    #[test]
    fn every_wrong_type_is_a_problem_with_its_path() {
        let spec = json!({
            "a": 1, "b": 1.5, "c": "yes", "d": [], "e": {}, "f": { "k": 1 }, "g": [true], "h": 3_000_000_000_i64,
        });
        let ((), findings) = read(&spec, |object, all| {
            object.text("a", all);
            object.number("b", all);
            object.flag("c", all);
            object.object("d", all);
            object.list("e", all);
            object.map("f", all);
            object.decimal("g", all);
            object.optional_number("h", all);
        });
        let expected = [
            "a must be a string, got 1",
            "b must be a whole number of 32 bits, got 1.5",
            "c must be true or false, got \"yes\"",
            "d must be an object, got a list",
            "e must be a list, got an object",
            "f[\"k\"] must be a string, got 1",
            "g must be a number, got a list",
            "h must be a whole number of 32 bits, got 3000000000",
        ];
        assert_eq!(findings.problems, expected);
    }

    #[test]
    fn unknown_fields_are_warned_of() {
        let (_, findings) = read(&json!({ "ami": "a", "colour": 1 }), |object, all| object.text("ami", all));
        assert_eq!(findings.warnings, ["colour is not a field and is ignored"]);
        assert!(findings.problems.is_empty());
    }
}
