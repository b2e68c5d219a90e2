//! Reads JSON that people write: a class, or settings. Null counts as absent, and each error names its field.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde_json::{Map, Value};

use super::{Class, Code, Failure, invalid, quoted};

/// The name of the plugin's settings in messages.
const SETTINGS: &str = "the plugin's settings";

/// The fields of a JSON object, with its path.
#[derive(Clone, Debug)]
pub struct Fields {
    path: String,
    fields: Map<String, Value>,
    fault: fn(String) -> Failure,
}

impl Fields {
    /// Reads `providerSpec` of a MachineClass. Errors are terminal: only another class helps.
    ///
    /// # Errors
    /// If `providerSpec` is not a JSON object.
    pub fn provider_spec(class: &Class) -> Result<Self, Failure> {
        Self::parse(&class.spec, "providerSpec", invalid)
    }

    /// Reads the plugin's settings. Errors are not terminal: the operator can fix them.
    ///
    /// # Errors
    /// If they are not a JSON object.
    pub fn settings(text: &str) -> Result<Self, Failure> {
        Self::parse(text, SETTINGS, |message| Failure::new(Code::FailedPrecondition, message))
    }

    /// Parses a text. `path` is the name of the object in messages.
    ///
    /// # Errors
    /// If the text is not a JSON object.
    pub fn parse(text: &str, path: &str, fault: fn(String) -> Failure) -> Result<Self, Failure> {
        let path = path.to_owned();
        match serde_json::from_str(text) {
            Ok(Value::Object(fields)) => Ok(Self { path, fields, fault }),
            Ok(Value::Null) => Ok(Self { path, fields: Map::new(), fault }),
            Ok(_) => Err(fault(format!("{path} must be an object"))),
            Err(error) => {
                Err(fault(format!("{path} is not JSON (line {}, column {})", error.line(), error.column())))
            }
        }
    }

    /// Returns the value of a field. `None` if it is absent or null.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.fields.get(name).filter(|value| !value.is_null())
    }

    /// Returns a text that is not empty.
    ///
    /// # Errors
    /// If the value is of another kind.
    pub fn text(&self, name: &str) -> Result<Option<String>, Failure> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) if !text.is_empty() => Ok(Some(text.clone())),
            Some(other) => Err(self.unfit(name, "a text that is not empty", other)),
        }
    }

    /// Returns a required text.
    ///
    /// # Errors
    /// If it is missing, or of another kind.
    pub fn needed_text(&self, name: &str) -> Result<String, Failure> {
        self.text(name)?.ok_or_else(|| self.missing(name))
    }

    /// Returns a boolean.
    ///
    /// # Errors
    /// If the value is of another kind.
    pub fn flag(&self, name: &str) -> Result<Option<bool>, Failure> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(other) => Err(self.unfit(name, "true or false", other)),
        }
    }

    /// Returns a whole number within a range.
    ///
    /// # Errors
    /// If the value is of another kind, or out of range.
    pub fn whole_number(&self, name: &str, range: RangeInclusive<u64>) -> Result<Option<u64>, Failure> {
        let Some(value) = self.get(name) else { return Ok(None) };
        match value.as_u64().filter(|number| range.contains(number)) {
            Some(number) => Ok(Some(number)),
            None if *range.end() == u64::MAX => {
                Err(self.unfit(name, &format!("a whole number from {} on", range.start()), value))
            }
            None => {
                let wanted = format!("a whole number from {} to {}", range.start(), range.end());
                Err(self.unfit(name, &wanted, value))
            }
        }
    }

    /// Returns a required whole number within a range.
    ///
    /// # Errors
    /// If it is missing, of another kind, or out of range.
    pub fn needed_whole_number(&self, name: &str, range: RangeInclusive<u64>) -> Result<u64, Failure> {
        self.whole_number(name, range)?.ok_or_else(|| self.missing(name))
    }

    /// Returns the texts of a list.
    ///
    /// # Errors
    /// If the value is of another kind.
    pub fn texts(&self, name: &str) -> Result<Vec<String>, Failure> {
        let entries = match self.get(name) {
            None => return Ok(Vec::new()),
            Some(Value::Array(entries)) => entries,
            Some(other) => return Err(self.unfit(name, "a list of texts", other)),
        };
        let text = |(index, entry): (usize, &Value)| match entry {
            Value::String(text) if !text.is_empty() => Ok(text.clone()),
            other => Err(self.unfit(&format!("{name}[{index}]"), "a text that is not empty", other)),
        };
        entries.iter().enumerate().map(text).collect()
    }

    /// Returns keys and values of an object, sorted by key. `wanted` describes the expected value.
    ///
    /// # Errors
    /// If the value is of another kind.
    pub fn entries(&self, name: &str, wanted: &str) -> Result<BTreeMap<&str, &Value>, Failure> {
        match self.get(name) {
            None => Ok(BTreeMap::new()),
            Some(Value::Object(fields)) => {
                let mut entries = BTreeMap::new();
                // Not collected: that would bring a sort of five kilobytes into each component.
                entries.extend(fields.iter().map(|(key, value)| (key.as_str(), value)));
                Ok(entries)
            }
            Some(other) => Err(self.unfit(name, wanted, other)),
        }
    }

    /// Returns the objects of a list.
    ///
    /// # Errors
    /// If the value is of another kind.
    pub fn objects(&self, name: &str) -> Result<Vec<Self>, Failure> {
        let entries = match self.get(name) {
            None => return Ok(Vec::new()),
            Some(Value::Array(entries)) => entries,
            Some(other) => return Err(self.unfit(name, "a list", other)),
        };
        let object = |(index, entry): (usize, &Value)| {
            let at = format!("{name}[{index}]");
            match entry {
                Value::Object(fields) => {
                    Ok(Self { path: self.at(&at), fields: fields.clone(), fault: self.fault })
                }
                other => Err(self.unfit(&at, "an object", other)),
            }
        };
        entries.iter().enumerate().map(object).collect()
    }

    /// Returns a warning for each field that `known` does not name.
    pub fn unknown(&self, known: &[&str]) -> Vec<String> {
        let unknown = self.fields.keys().filter(|name| !known.contains(&name.as_str()));
        unknown.map(|name| format!("{} is not a field and is ignored", self.at(&quoted(name)))).collect()
    }

    /// Returns the failure for a field with a wrong value.
    pub fn unfit(&self, name: &str, wanted: &str, got: &Value) -> Failure {
        self.invalid(name, &format!("must be {wanted}, got {}", quoted(&got.to_string())))
    }

    /// Returns the failure for a field.
    pub fn invalid(&self, name: &str, problem: &str) -> Failure {
        (self.fault)(format!("{} {problem}", self.at(name)))
    }

    fn at(&self, name: &str) -> String {
        if self.path == SETTINGS { format!("{name} in {SETTINGS}") } else { format!("{}.{name}", self.path) }
    }

    fn missing(&self, name: &str) -> Failure {
        self.invalid(name, "is required")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> Result<Fields, Failure> {
        Fields::parse(text, "providerSpec", invalid)
    }

    #[test]
    fn null_is_as_good_as_nothing() {
        for text in ["null", "{}", r#"{"a": null}"#] {
            let fields = spec(text).unwrap();
            assert_eq!((fields.text("a").unwrap(), fields.flag("a").unwrap()), (None, None));
            assert!(fields.objects("a").unwrap().is_empty() && fields.entries("a", "x").unwrap().is_empty());
        }
    }

    #[test]
    fn a_fault_names_its_field_and_what_belongs_there() {
        let fields = spec(r#"{"a": "", "b": 1.5, "c": [1], "d": [{"e": 1}], "f": 9}"#).unwrap();
        let d = fields.objects("d").unwrap().remove(0);
        let table = [
            (fields.text("a").unwrap_err(), "providerSpec.a must be a text that is not empty, got \"\""),
            (fields.needed_text("z").unwrap_err(), "providerSpec.z is required"),
            (fields.flag("a").unwrap_err(), "providerSpec.a must be true or false, got \"\""),
            (
                fields.whole_number("b", 1..=u64::MAX).unwrap_err(),
                "providerSpec.b must be a whole number from 1 on, got 1.5",
            ),
            (
                fields.needed_whole_number("f", 1..=8).unwrap_err(),
                "providerSpec.f must be a whole number from 1 to 8, got 9",
            ),
            (fields.objects("c").unwrap_err(), "providerSpec.c[0] must be an object, got 1"),
            (
                fields.entries("c", "an object of texts").unwrap_err(),
                "providerSpec.c must be an object of texts, got [1]",
            ),
            (fields.texts("f").unwrap_err(), "providerSpec.f must be a list of texts, got 9"),
            (fields.texts("c").unwrap_err(), "providerSpec.c[0] must be a text that is not empty, got 1"),
            (d.text("e").unwrap_err(), "providerSpec.d[0].e must be a text that is not empty, got 1"),
            (spec("[]").unwrap_err(), "providerSpec must be an object"),
            (spec("{\n  x").unwrap_err(), "providerSpec is not JSON (line 2, column 3)"),
        ];
        for (failure, message) in table {
            assert_eq!((failure.message.as_str(), failure.terminal), (message, true));
        }
        assert_eq!(fields.unknown(&["a", "b", "c", "d"]), ["providerSpec.f is not a field and is ignored"]);
    }

    #[test]
    fn a_list_of_texts_comes_in_its_order() {
        let fields = spec(r#"{"zones": ["b", "a"]}"#).unwrap();
        assert_eq!(fields.texts("zones").unwrap(), ["b", "a"]);
        assert!(fields.texts("absent").unwrap().is_empty());
    }

    #[test]
    fn settings_are_the_operator_s_to_fix() {
        let failure = Fields::settings("{}").unwrap().needed_text("endpoint").unwrap_err();
        assert_eq!((failure.code, failure.terminal), (Code::FailedPrecondition, false));
        assert_eq!(failure.message, "endpoint in the plugin's settings is required");
    }
}
