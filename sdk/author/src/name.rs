//! Valid names of drivers.

use std::fmt;
use std::str::FromStr;

/// The longest name. It becomes a part of provider ids, packages and ConfigMaps.
const MOST_BYTES: usize = 40;

/// The name of a driver: the provider that it serves, and the folder of its project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name(String);

/// It is no name.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "{given:?} is no name of a driver: write lower-case letters, digits and single hyphens, at most {MOST_BYTES} of them, \
     beginning with a letter, such as my-cloud"
)]
pub struct Unfit {
    pub given: String,
}

impl Name {
    /// The provider that it serves.
    pub fn provider(&self) -> &str {
        &self.0
    }

    /// The package of its language. Never a word of a language, since it ends with `-driver`.
    pub fn package(&self) -> String {
        format!("{}-driver", self.0)
    }

    /// The same as a name in code.
    pub fn module(&self) -> String {
        self.package().replace('-', "_")
    }

    /// The same as the name of a type.
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
        assert_eq!((name.provider(), name.package().as_str()), ("my-cloud2", "my-cloud2-driver"));
        assert_eq!(
            (name.module().as_str(), name.type_name().as_str()),
            ("my_cloud2_driver", "MyCloud2Driver")
        );
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
        // A word of a language is fine: what is made of it ends with another.
        assert_eq!("try".parse::<Name>().unwrap().module(), "try_driver");
    }
}
