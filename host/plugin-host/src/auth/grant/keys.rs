//! Keys of the Secret, as grants name them.

use crate::target::Error;

/// Checks a list of keys, or takes the default. Of a list the host uses the first key that the Secret has.
pub(in crate::auth) fn names(
    raw: Option<Vec<String>>,
    at: &str,
    field: &str,
    defaults: &[&str],
) -> Result<Vec<String>, Error> {
    let names = raw.unwrap_or_else(|| defaults.iter().map(|&name| name.to_owned()).collect());
    if names.is_empty() || names.iter().any(String::is_empty) {
        return Err(Error::invalid(format!("{at}.keys.{field}"), "names no key of the Secret"));
    }
    Ok(names)
}

/// Declares the lists under `keys` of a scheme: the parsed and the raw struct, and for each list its field, its name in
/// grants, and its default.
macro_rules! secret_keys {
    (
        $(#[$attribute:meta])*
        $keys:ident, $raw:ident { $($field:ident: $name:literal = [$($default:literal),+],)+ }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub(crate) struct $keys {
            $(pub(crate) $field: Vec<String>,)+
        }

        #[derive(Default, serde::Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub(in crate::auth) struct $raw {
            $(#[serde(rename = $name)] $field: Option<Vec<String>>,)+
        }

        impl $keys {
            pub(in crate::auth) fn parse(raw: $raw, at: &str) -> Result<Self, crate::target::Error> {
                let names = crate::auth::grant::keys::names;
                Ok(Self { $($field: names(raw.$field, at, $name, &[$($default),+])?,)+ })
            }

            /// Returns all lists, in the order of their declaration.
            pub(in crate::auth) fn all(&self) -> Vec<&Vec<String>> {
                vec![$(&self.$field),+]
            }

            pub(in crate::auth) fn used(&self) -> Vec<&String> {
                self.all().into_iter().flatten().collect()
            }

            pub(in crate::auth) fn beyond(&self, ceiling: &Self) -> Option<String> {
                crate::auth::grant::keys(self.all().into_iter().zip(ceiling.all()))
            }
        }
    };
}

pub(in crate::auth) use secret_keys;
