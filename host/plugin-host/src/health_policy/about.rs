//! A policy's description of itself, checked.

use machinist_core::driver::error::GuestFailure;

use crate::calls::bindings::policy::machinist::policy::types as wit;
use crate::output_limits::{NAME_BYTES, SCHEMA_BYTES, broken, identifier, opaque};

/// A policy's description of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyAbout {
    pub name: String,
    pub version: semver::Version,
    /// JSON Schema of its settings.
    pub settings_schema: Option<String>,
}

pub(crate) fn about(about: wit::About) -> Result<PolicyAbout, GuestFailure> {
    checked(about.name, about.version, about.settings_schema)
}

/// Names and versions are identifiers: whole and visible, or refused.
pub(crate) fn checked(
    name: String,
    version: String,
    settings_schema: Option<String>,
) -> Result<PolicyAbout, GuestFailure> {
    let version = identifier("describe: a version", version, NAME_BYTES)?;
    let version = version
        .parse()
        .map_err(|_| broken(format!("describe: version {version:?} is not a semantic version")))?;
    let name = identifier("describe: a name", name, NAME_BYTES)?;
    if name.trim().is_empty() {
        return Err(broken("describe: the name is empty"));
    }
    let settings_schema = settings_schema
        .map(|schema| opaque("describe: a schema of settings", schema, SCHEMA_BYTES))
        .transpose()?;
    Ok(PolicyAbout { name, version, settings_schema })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policys_description_is_whole_and_visible_or_refused() {
        let says = |name: &str, version: &str, schema: Option<usize>| {
            checked(name.to_owned(), version.to_owned(), schema.map(|bytes| "x".repeat(bytes)))
        };
        assert!(says("zone", "1.2.3", Some(SCHEMA_BYTES)).is_ok());
        let long = "x".repeat(NAME_BYTES + 1);
        for (name, version, schema) in [
            (" ", "1.0.0", None),
            ("zone", "new", None),
            (long.as_str(), "1.0.0", None),
            ("zone\u{1b}[2J", "1.0.0", None),
            ("zone", &format!("1.0.0-{long}"), None),
            ("zone", "1.0.0", Some(SCHEMA_BYTES + 1)),
        ] {
            assert!(
                matches!(says(name, version, schema), Err(GuestFailure::Contract { .. })),
                "{name} {version}"
            );
        }
    }
}
