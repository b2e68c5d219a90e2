//! The order of a plugin's versions, and of plugins that want the same provider.

use std::collections::BTreeMap;

use jiff::Timestamp;
use semver::Version;

use crate::sources::keys::PluginKeys;
use crate::sources::status::PluginStatus;

/// The age of a source. Nothing in it changes when objects are restored from a copy or created again from a manifest,
/// but the creation time, which counts last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Age {
    version: Option<Version>,
    has_served: bool,
    created: Option<Timestamp>,
}

impl Age {
    /// Reads the annotations of a ConfigMap.
    pub(crate) fn of(annotations: &BTreeMap<String, String>, created: Option<Timestamp>) -> Self {
        Self {
            version: annotations
                .get(PluginKeys::VERSION_ANNOTATION)
                .and_then(|text| text.trim().parse().ok()),
            has_served: PluginStatus::of(annotations).serving,
            created,
        }
    }

    /// Returns a warning where the annotation is no version.
    pub(crate) fn warning(annotations: &BTreeMap<String, String>) -> Option<String> {
        let text = annotations.get(PluginKeys::VERSION_ANNOTATION)?;
        let error = text.trim().parse::<Version>().err()?;
        let shown: String = text.chars().take(100).collect();
        Some(format!(
            "annotation {} is no version such as 1.4.0, and counts as not set: {shown:?}: {error}",
            PluginKeys::VERSION_ANNOTATION
        ))
    }

    /// The greater, the newer: by the version, without which a source is older than all that have one, then by the
    /// time of creation.
    pub(crate) fn newness(&self) -> (Option<&Version>, Option<Timestamp>) {
        (self.version.as_ref(), self.created)
    }

    /// The lower, the sooner it is asked when two plugins want one provider: those of the directory, then those that
    /// were serving when a host last wrote so, then by the time of creation.
    pub(crate) fn seniority(&self) -> (u8, Option<Timestamp>) {
        let rank = match (self.created, self.has_served) {
            (None, _) => 0,
            (Some(_), true) => 1,
            (Some(_), false) => 2,
        };
        (rank, self.created)
    }
}

impl From<Option<Timestamp>> for Age {
    fn from(created: Option<Timestamp>) -> Self {
        Self { created, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn age(version: Option<&str>, second: i64) -> Age {
        let annotations =
            version.map(|version| (PluginKeys::VERSION_ANNOTATION.to_owned(), version.to_owned()));
        Age::of(&annotations.into_iter().collect(), Timestamp::from_second(second).ok())
    }

    #[test]
    fn the_version_counts_before_the_time_of_creation() {
        let oldest_first = [
            age(None, 1),
            age(None, 9),
            age(Some("1.9.0"), 8),
            age(Some("1.10.0-rc.1"), 5),
            age(Some("1.10.0"), 2),
            age(Some("1.10.0"), 3),
        ];
        assert!(oldest_first.windows(2).all(|pair| pair[0].newness() < pair[1].newness()));
    }

    #[test]
    fn nonsense_counts_as_not_set_and_is_named() {
        assert_eq!(age(Some("latest"), 7), age(None, 7));
        let warning = |text: &str| {
            Age::warning(&BTreeMap::from([(PluginKeys::VERSION_ANNOTATION.to_owned(), text.to_owned())]))
        };
        assert!(
            warning("latest")
                .is_some_and(|warning| warning.contains("\"latest\"") && warning.contains("1.4.0"))
        );
        assert_eq!(warning("1.2.3"), None);
        assert_eq!(Age::warning(&BTreeMap::new()), None);
    }

    #[test]
    fn a_plugin_that_has_served_comes_before_one_that_was_made_earlier() {
        let status = |text: &str| {
            let annotations = BTreeMap::from([(PluginKeys::STATUS_ANNOTATION.to_owned(), text.to_owned())]);
            Age::of(&annotations, Timestamp::from_second(9).ok())
        };
        let served = status(r#"{"serving":true}"#);
        assert!(Age::default().seniority() < served.seniority(), "that is the directory's");
        assert!(served.seniority() < age(None, 1).seniority());
        for invalid in [r#"{"serving":false}"#, "{}", "", "[7]"] {
            assert!(age(None, 1).seniority() < status(invalid).seniority(), "{invalid}");
        }
    }
}
