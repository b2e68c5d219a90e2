//! Parses `--cluster-api`: namespaces in which kinds are served.

use machinist_runtime::context::settings::ClusterApi;

use super::value::{AsTyped, FlagType};

const EVERYWHERE: &str = "*";

impl FlagType for ClusterApi {
    /// `*` for all namespaces, a name for one, nothing for none.
    fn parse(text: &str) -> Result<Self, String> {
        let is_name = |text: &str| {
            let is_inner =
                |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
            text.len() <= 63 && text.chars().all(is_inner) && !text.starts_with('-') && !text.ends_with('-')
        };
        match text.trim() {
            "" => Ok(Self::Off),
            EVERYWHERE => Ok(Self::EveryNamespace),
            name if is_name(name) => Ok(Self::Namespace(name.to_owned())),
            _ => Err("must be `*` for all namespaces, or the name of one namespace".to_owned()),
        }
    }
}

impl AsTyped for ClusterApi {
    fn as_typed(&self) -> String {
        match self {
            Self::Off => String::new(),
            Self::EveryNamespace => EVERYWHERE.to_owned(),
            Self::Namespace(name) => name.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_namespaces_one_or_none() {
        for (text, served) in [
            ("", ClusterApi::Off),
            ("*", ClusterApi::EveryNamespace),
            ("team-1", ClusterApi::Namespace("team-1".to_owned())),
        ] {
            assert_eq!(ClusterApi::parse(text), Ok(served.clone()));
            assert_eq!(served.as_typed(), text);
        }
        for text in ["a,b", "Team", "-a", "a b", &"a".repeat(64)] {
            assert!(ClusterApi::parse(text).is_err(), "{text}");
        }
    }
}
