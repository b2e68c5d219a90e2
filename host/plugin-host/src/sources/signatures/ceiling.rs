//! The upper bound of grants: in files of the host, which writers of plugins' ConfigMaps cannot change.

use std::collections::BTreeMap;
use std::path::Path;

use machinist_core::value::id::{PluginName, ProviderName};

use crate::grants::Grants;
use crate::target;

/// Upper bound for grants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantsCeiling(Ceiling);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Ceiling {
    /// The same for each driver.
    OfAll(Box<Grants>),
    /// By the name of the plugin. A driver that is not named may nothing.
    Named(BTreeMap<String, Grants>),
}

/// Why there is no ceiling.
#[derive(Debug, thiserror::Error)]
pub enum CeilingError {
    #[error("failed to read {path}")]
    Read {
        /// The file or folder.
        path: String,
        #[source]
        source: std::io::Error,
    },
    #[error("{path} is wrong")]
    Grants {
        path: String,
        #[source]
        source: target::Error,
    },
    #[error("{path} has no ceilings: files NAME.yaml are needed, each for the plugin of that name")]
    Empty { path: String },
}

/// Parts of grants that exceed a ceiling.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CeilingBreach {
    #[error(
        "its grants exceed the ceiling of the host (--grants-ceiling): {}; take that out of the grants, or have the operator \
         of the host raise the ceiling",
        beyond.join("; ")
    )]
    Grants { beyond: Vec<String> },
    #[error(
        "it claims provider {provider}, and the ceiling of the host (--grants-ceiling) does not allow that: have the operator \
         of the host raise the ceiling"
    )]
    Provider { provider: ProviderName },
    #[error(
        "the ceiling of the host (--grants-ceiling) has no file {plugin}.yaml: have the operator of the host add it, or use \
         the name of a plugin that has one"
    )]
    Unnamed { plugin: PluginName },
}

/// Whether a driver may serve what it claims, whatever its grants say.
pub(crate) fn check_providers(
    ceiling: Option<&Grants>,
    claimed: &[ProviderName],
) -> Result<(), CeilingBreach> {
    let Some(allowed) = ceiling.and_then(Grants::providers) else { return Ok(()) };
    match claimed.iter().find(|provider| !allowed.contains(*provider)) {
        None => Ok(()),
        Some(provider) => Err(CeilingBreach::Provider { provider: provider.clone() }),
    }
}

impl GrantsCeiling {
    /// One for all drivers.
    #[must_use]
    pub fn of_all(grants: Grants) -> Self {
        Self(Ceiling::OfAll(Box::new(grants)))
    }

    /// A file with grants, for all drivers; or a folder with a file `NAME.yaml` for each plugin.
    pub fn read(path: &Path) -> Result<Self, CeilingError> {
        let failed = |source| CeilingError::Read { path: path.display().to_string(), source };
        if !std::fs::metadata(path).map_err(failed)?.is_dir() {
            return read_file(path).map(Self::of_all);
        }
        let mut named = BTreeMap::new();
        for entry in std::fs::read_dir(path).map_err(failed)? {
            let file = entry.map_err(failed)?.path();
            let is_ceiling = file.extension().is_some_and(|ending| ending == "yaml");
            if let Some(name) = file.file_stem().and_then(|name| name.to_str()).filter(|_| is_ceiling) {
                named.insert(name.to_owned(), read_file(&file)?);
            }
        }
        if named.is_empty() {
            return Err(CeilingError::Empty { path: path.display().to_string() });
        }
        Ok(Self(Ceiling::Named(named)))
    }

    /// Checks that the grants of a driver stay below its ceiling.
    pub(crate) fn check(&self, plugin: &PluginName, grants: &Grants) -> Result<&Grants, CeilingBreach> {
        let ceiling = self.of(plugin).ok_or_else(|| CeilingBreach::Unnamed { plugin: plugin.clone() })?;
        let beyond = grants.beyond(ceiling);
        if beyond.is_empty() { Ok(ceiling) } else { Err(CeilingBreach::Grants { beyond }) }
    }

    /// `None`: a driver of this name may nothing.
    fn of(&self, plugin: &PluginName) -> Option<&Grants> {
        match &self.0 {
            Ceiling::OfAll(grants) => Some(grants),
            Ceiling::Named(named) => named.get(plugin.as_str()),
        }
    }
}

fn read_file(path: &Path) -> Result<Grants, CeilingError> {
    let shown = || path.display().to_string();
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|source| CeilingError::Read { path: shown(), source })?;
    Grants::parse(&text).map_err(|source| CeilingError::Grants { path: shown(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_for_all_drivers_and_a_folder_for_those_that_it_names() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("aws.yaml");
        std::fs::write(&file, "egress: [{ host: a.example }]").expect("written");
        std::fs::write(folder.path().join("README"), "no grants").expect("written");
        let grants = |ceiling: &GrantsCeiling, plugin: &str| {
            ceiling.of(&PluginName::new(plugin)).map(|grants| grants.egress().len())
        };
        let all = GrantsCeiling::read(&file).expect("a ceiling");
        assert_eq!((grants(&all, "aws"), grants(&all, "other")), (Some(1), Some(1)));
        let named = GrantsCeiling::read(folder.path()).expect("a ceiling");
        assert_eq!((grants(&named, "aws"), grants(&named, "other")), (Some(1), None));
        let unnamed = named.check(&PluginName::new("other"), &Grants::default()).expect_err("no ceiling");
        assert!(unnamed.to_string().contains("no file other.yaml"), "{unnamed}");
    }

    #[test]
    fn a_ceiling_that_cannot_be_read_is_an_error_that_names_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let message = |path: &Path| {
            machinist_core::value::error_chain::chain(&GrantsCeiling::read(path).expect_err("no ceiling"))
        };
        assert!(message(folder.path()).contains("has no ceilings"));
        assert!(message(&folder.path().join("absent")).contains("failed to read"));
        std::fs::write(folder.path().join("aws.yaml"), "hosts: 7").expect("written");
        assert!(message(folder.path()).contains("aws.yaml is wrong"));
    }
}
