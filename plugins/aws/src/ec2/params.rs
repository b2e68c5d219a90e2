//! The form of a request: a flat list of names and values, in a fixed order.

use std::fmt;

use form_urlencoded::Serializer;

/// The version of EC2's query API.
const VERSION: &str = "2016-11-15";

/// The parameters of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Params(Vec<(String, String)>);

impl Params {
    pub(crate) fn new(action: &str) -> Self {
        Self(Vec::new()).set("Action", action).set("Version", VERSION)
    }

    pub(crate) fn set(mut self, name: impl Into<String>, value: impl fmt::Display) -> Self {
        self.0.push((name.into(), value.to_string()));
        self
    }

    /// Sets a parameter, if there is a value.
    pub(crate) fn maybe(self, name: impl Into<String>, value: Option<impl fmt::Display>) -> Self {
        match value {
            Some(value) => self.set(name, value),
            None => self,
        }
    }

    /// Sets `Filter.N` of a describing call.
    pub(crate) fn filters(self, filters: &[Filter]) -> Self {
        filters.iter().zip(1_usize..).fold(self, |params, (filter, number)| {
            let params = params.set(format!("Filter.{number}.Name"), &filter.name);
            filter.values.iter().zip(1_usize..).fold(params, |params, (value, index)| {
                params.set(format!("Filter.{number}.Value.{index}"), value)
            })
        })
    }

    /// Encodes as application/x-www-form-urlencoded. The same parameters always give the same bytes.
    pub(crate) fn encoded(&self) -> String {
        let mut form = Serializer::new(String::new());
        for (name, value) in &self.0 {
            form.append_pair(name, value);
        }
        form.finish()
    }
}

/// A filter of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Filter {
    name: String,
    values: Vec<String>,
}

impl Filter {
    pub(crate) fn new(name: impl Into<String>, value: &str) -> Self {
        Self { name: name.into(), values: vec![literal(value)] }
    }

    pub(crate) fn any_of(name: &str, values: &[&str]) -> Self {
        Self { name: name.to_owned(), values: values.iter().map(|value| literal(value)).collect() }
    }

    pub(crate) fn tag(key: &str, value: &str) -> Self {
        Self::new(format!("tag:{key}"), value)
    }
}

/// Escapes `*` and `?`, which are wildcards in the values of filters.
fn literal(value: &str) -> String {
    let mut literal = String::with_capacity(value.len());
    for char in value.chars() {
        if matches!(char, '*' | '?' | '\\') {
            literal.push('\\');
        }
        literal.push(char);
    }
    literal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_encoded_in_its_order() {
        let params = Params::new("Do").set("B", "x y&z").maybe("A", Some(1)).maybe("C", None::<i32>);
        assert_eq!(params.encoded(), "Action=Do&Version=2016-11-15&B=x+y%26z&A=1");
    }

    #[test]
    fn a_filter_means_its_value_to_the_letter() {
        let params =
            Params::new("D").filters(&[Filter::tag("Name", "a*b?"), Filter::any_of("s", &["x", "y"])]);
        assert_eq!(
            params.encoded(),
            "Action=D&Version=2016-11-15&Filter.1.Name=tag%3AName&Filter.1.Value.1=a%5C*b%5C%3F\
             &Filter.2.Name=s&Filter.2.Value.1=x&Filter.2.Value.2=y"
        );
    }
}
