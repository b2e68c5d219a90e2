//! What a policy says about itself, checked.

use machinist_core::driver_error::Breakage;

use crate::policy_bindings::machinist::policy::types as wit;

/// What a policy says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyAbout {
    /// Its own name.
    pub name: String,
    /// Its semantic version.
    pub version: semver::Version,
    /// JSON Schema of its settings.
    pub settings_schema: Option<String>,
}

pub(crate) fn about(about: wit::About) -> Result<PolicyAbout, Breakage> {
    let version = about.version.parse().map_err(|_| Breakage::Contract {
        detail: format!("describe: version {:?} is not a semantic version", about.version),
    })?;
    if about.name.trim().is_empty() {
        return Err(Breakage::Contract { detail: "describe: the name is empty".to_owned() });
    }
    Ok(PolicyAbout { name: about.name, version, settings_schema: about.settings_schema })
}
