//! The names that a driver may have.

use std::fmt;
use std::str::FromStr;

/// The maximum length of a name. It becomes a part of provider ids, packages and ConfigMaps.
const MOST_BYTES: usize = 40;

/// The longest name of a provider.
const MOST_PROVIDER_BYTES: usize = 63;

/// The name of a driver, which is also the folder of its project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name(String);

/// A provider, as MachineClasses name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider(String);

/// The text is not the name of a provider.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "{given:?} is no name of a provider: write letters, digits, dots, hyphens and underscores, at most \
     {MOST_PROVIDER_BYTES} of them, such as OpenStack"
)]
pub struct UnfitProvider {
    /// The text on the command line.
    pub given: String,
}

impl Provider {
    /// Returns the text in MachineClasses.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Provider {
    type Err = UnfitProvider;

    fn from_str(text: &str) -> Result<Self, UnfitProvider> {
        let is_fit = !text.is_empty()
            && text.len() <= MOST_PROVIDER_BYTES
            && text.starts_with(|first: char| first.is_ascii_alphabetic())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte));
        if is_fit { Ok(Self(text.to_owned())) } else { Err(UnfitProvider { given: text.to_owned() }) }
    }
}

/// The text is not a valid name.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "{given:?} is no name of a driver: write lower-case letters, digits and single hyphens, at most {MOST_BYTES} of them, \
     beginning with a letter, such as my-cloud"
)]
pub struct Unfit {
    /// The text on the command line.
    pub given: String,
}

impl Name {
    /// Returns the name as it is.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the provider that the driver serves if nobody names another one.
    pub fn provider(&self) -> Provider {
        Provider(self.0.clone())
    }

    /// Returns the package name. Never a keyword of a language, since it ends with `-driver`.
    pub fn package(&self) -> String {
        format!("{}-driver", self.0)
    }

    /// Returns the name in code.
    pub fn module(&self) -> String {
        self.package().replace('-', "_")
    }

    /// Returns the name of the type.
    pub fn type_name(&self) -> String {
        let package = self.package();
        let capital = |word: &str| {
            let mut letters = word.chars();
            letters
                .next()
                .map(|first| first.to_ascii_uppercase())
                .into_iter()
                .chain(letters)
                .collect::<String>()
        };
        package.split('-').map(capital).collect()
    }
}

impl fmt::Display for Name {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.0)
    }
}

impl FromStr for Name {
    type Err = Unfit;

    fn from_str(text: &str) -> Result<Self, Unfit> {
        let is_part = |part: &str| {
            !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        };
        let is_fit = text.len() <= MOST_BYTES
            && text.starts_with(|first: char| first.is_ascii_lowercase())
            && text.split('-').all(is_part);
        if is_fit { Ok(Self(text.to_owned())) } else { Err(Unfit { given: text.to_owned() }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_a_form_for_each_use() {
        let name: Name = "my-cloud2".parse().unwrap();
        assert_eq!((name.as_str(), name.package().as_str()), ("my-cloud2", "my-cloud2-driver"));
        assert_eq!(
            (name.module().as_str(), name.type_name().as_str()),
            ("my_cloud2_driver", "MyCloud2Driver")
        );
    }

    #[test]
    fn a_provider_is_written_as_machineclasses_have_it() {
        for text in ["OpenStack", "my-cloud", "a.b_c-1"] {
            assert_eq!(text.parse::<Provider>().unwrap().as_str(), text);
        }
        let long = "a".repeat(MOST_PROVIDER_BYTES + 1);
        for text in ["", "1a", "a b", "a\"", "a/b", "ä", &long] {
            let error = text.parse::<Provider>().unwrap_err().to_string();
            assert!(error.contains("no name of a provider"), "{error}");
        }
    }

    #[test]
    fn what_a_package_a_type_or_a_provider_id_would_not_take_is_refused() {
        let long = "a".repeat(MOST_BYTES + 1);
        for text in [
            "", "My", "my_cloud", "1cloud", "-a", "a-", "a--b", "a/b", "../a", "a b", "ä", "a.b", "a\n",
            &long,
        ] {
            let error = text.parse::<Name>().unwrap_err().to_string();
            assert!(error.contains("lower-case"), "{error}");
        }
        // A keyword is a valid name: the derived names have a suffix.
        assert_eq!("try".parse::<Name>().unwrap().module(), "try_driver");
    }
}
