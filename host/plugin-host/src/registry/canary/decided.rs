//! Earlier decisions about versions: by a host, which wrote them into the status of the ConfigMap, or by a person.

use std::collections::BTreeMap;

use machinist_artifacts::ContentDigest;

use crate::output_limits as bounds;
use crate::sources;
use crate::sources::configmap::Fingerprint;
use crate::sources::keys::PluginKeys;
use crate::sources::status::{PROMOTED, PluginStatus, WITHDRAWN};

/// A decision about a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionDecision {
    pub digest: ContentDigest,
    /// Which content of the source, settings and grants included, as its fingerprint is written; a person means any.
    pub content: Option<String>,
    pub decision: Decision,
}

/// The end of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    Promoted,
    /// It answers no call, for this reason.
    Withdrawn(String),
}

impl VersionDecision {
    /// Reads the decisions in the annotations of a ConfigMap. A person's decision counts before the host's; an invalid
    /// one is ignored.
    pub fn of(annotations: &BTreeMap<String, String>) -> Vec<Self> {
        let person = annotations.get(PluginKeys::ROLLOUT_ANNOTATION).and_then(|text| Self::by_a_person(text));
        let host = Self::by_a_host(PluginStatus::of(annotations));
        let mut all: Vec<Self> = host.into_iter().collect();
        if let Some(person) = person {
            all.retain(|decision| decision.digest != person.digest);
            all.push(person);
        }
        all
    }

    fn by_a_person(text: &str) -> Option<Self> {
        let (word, digest) = text.trim().split_once('=')?;
        let decision = match word {
            "promote" => Decision::Promoted,
            "withdraw" => Decision::Withdrawn(super::Cause::Asked.to_string()),
            _ => return None,
        };
        Some(Self { digest: sources::digest(digest).ok()?, content: None, decision })
    }

    fn by_a_host(status: PluginStatus) -> Option<Self> {
        let rollout = status.rollout?;
        let decision = match rollout.decision.as_str() {
            PROMOTED => Decision::Promoted,
            WITHDRAWN => Decision::Withdrawn(bounds::shown(&rollout.reason.unwrap_or_default())),
            _ => return None,
        };
        // Without a content the decision is about none.
        let content = Some(status.content.unwrap_or_default());
        Some(Self { digest: sources::digest(&rollout.digest?).ok()?, content, decision })
    }

    /// Whether this version is meant.
    pub(crate) fn is_about(&self, digest: &ContentDigest, content: Option<&Fingerprint>) -> bool {
        let fits = |wanted: &String| content.is_some_and(|content| content.to_string() == *wanted);
        self.digest == *digest && self.content.as_ref().is_none_or(fits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

    fn decisions(annotations: &[(&str, String)]) -> Vec<Decision> {
        let annotations = annotations.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        VersionDecision::of(&annotations).into_iter().map(|decision| decision.decision).collect()
    }

    fn status(decision: &str) -> String {
        format!(r#"{{"state":"Ready","rollout":{{"digest":"{A}","decision":"{decision}","reason":"slow"}}}}"#)
    }

    #[test]
    fn a_hosts_decision_is_read_back() {
        assert_eq!(decisions(&[(PluginKeys::STATUS_ANNOTATION, status("promoted"))]), [Decision::Promoted]);
        assert_eq!(
            decisions(&[(PluginKeys::STATUS_ANNOTATION, status("withdrawn"))]),
            [Decision::Withdrawn("slow".to_owned())]
        );
    }

    #[test]
    fn a_promotion_is_read_back_as_the_host_writes_it_without_a_reason() {
        let written = format!(
            r#"{{"content":"c","rollout":{{"decision":"promoted","digest":"{A}","mode":"canary","reason":null,"shadow":null}}}}"#
        );
        assert_eq!(decisions(&[(PluginKeys::STATUS_ANNOTATION, written)]), [Decision::Promoted]);
    }

    #[test]
    fn a_persons_word_counts_first() {
        let both = [
            (PluginKeys::STATUS_ANNOTATION, status("withdrawn")),
            (PluginKeys::ROLLOUT_ANNOTATION, format!("promote={A}")),
        ];
        assert_eq!(decisions(&both), [Decision::Promoted]);
    }

    #[test]
    fn nonsense_says_nothing() {
        for text in ["", "promote", "promote=", "promote=abc", "later=sha256:aa", "\0"] {
            assert!(decisions(&[(PluginKeys::ROLLOUT_ANNOTATION, text.to_owned())]).is_empty(), "{text:?}");
        }
        for text in ["", "{", "[]", r#"{"rollout":7}"#, r#"{"rollout":{"digest":"x","decision":"promoted"}}"#]
        {
            assert!(decisions(&[(PluginKeys::STATUS_ANNOTATION, text.to_owned())]).is_empty(), "{text:?}");
        }
        assert!(decisions(&[(PluginKeys::STATUS_ANNOTATION, status("later"))]).is_empty());
    }
}
