//! The statement that a signature covers: a component together with the grants, the settings, the name and the
//! providers that it may serve with, and a counter that only grows. Pure.
//!
//! Its form is an in-toto Statement, written as RFC 8785 writes JSON (sorted keys, no blanks, no end of line), so that
//! the same parts are the same bytes wherever they are put together. Those bytes are what is signed, as a blob:
//!
//! ```json
//! {"_type":"https://in-toto.io/Statement/v1","predicate":{"counter":7,"kind":"driver","name":"aws","providers":["aws"]},
//!  "predicateType":"https://machinist.dev/plugin-bundle/v1","subject":[
//!  {"digest":{"sha256":"…"},"name":"grants.yaml"},{"digest":{"sha256":"…"},"name":"plugin.wasm"},
//!  {"digest":{"sha256":"…"},"name":"settings.json"}]}
//! ```

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::digest::ContentDigest;
use crate::manifest::JsonPlace;

/// The `_type` of the statement.
const TYPE: &str = "https://in-toto.io/Statement/v1";
/// The `predicateType` of the statement.
const PREDICATE: &str = "https://machinist.dev/plugin-bundle/v1";
/// Four digests, a name and the names of some providers. A longer text is not read.
pub const MOST_BYTES: usize = 16 << 10;
/// Larger numbers are not the same in all readers of JSON.
pub const MOST_COUNTER: u64 = (1 << 53) - 1;
/// No plugin serves more.
const MOST_PROVIDERS: usize = 64;
/// Nor has a name of more bytes: names of plugins are values of labels.
const MOST_NAME_BYTES: usize = 253;

/// The subjects, in the order in which the statement has them.
const GRANTS: &str = "grants.yaml";
const COMPONENT: &str = "plugin.wasm";
const TERMS: &str = "policy.yaml";
const SETTINGS: &str = "settings.json";

/// Everything but the counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    pub kind: String,
    /// The name of the plugin.
    pub name: String,
    pub component: ContentDigest,
    /// The text of the grants. `None`: there are none.
    pub grants: Option<ContentDigest>,
    /// The text of the settings.
    pub settings: Option<ContentDigest>,
    /// The text with the terms of a health policy.
    pub terms: Option<ContentDigest>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// The parts of the plugin that the signature binds to each other.
    pub parts: Parts,
    /// Which providers it may serve; empty for a health policy.
    pub providers: BTreeSet<String>,
    /// Its place in time: a plugin that has served with a greater one takes it no more.
    pub counter: u64,
}

/// A part of a bundle, as reasons name it. A closed set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    Component,
    Grants,
    Settings,
    Terms,
    /// The name of the plugin.
    Name,
    /// Driver or health policy.
    Kind,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Component => "component",
            Self::Grants => GRANTS,
            Self::Settings => SETTINGS,
            Self::Terms => TERMS,
            Self::Name => "plugin name",
            Self::Kind => "kind",
        })
    }
}

/// Why a text is no bundle.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// Longer than any bundle.
    #[error("it has {bytes} bytes, and {MOST_BYTES} are the most")]
    TooLong { bytes: usize },
    /// No JSON, an unknown or doubled field, or a value of another type.
    #[error("it is not the JSON of a bundle, which has each field once and no others{0}")]
    Json(JsonPlace),
    /// Another kind of statement.
    #[error("it is another kind of statement: predicateType must be {PREDICATE}")]
    OtherStatement,
    /// Something in it means nothing.
    #[error("{0}")]
    Invalid(&'static str),
    /// The same in other bytes.
    #[error("it is not in the canonical form (sorted keys, no blanks): `machinist plugin bundle` prints it")]
    NotCanonical,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct RawStatement {
    #[serde(rename = "_type")]
    kind: String,
    predicate: RawPredicate,
    #[serde(rename = "predicateType")]
    predicate_type: String,
    subject: Vec<RawSubject>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct RawPredicate {
    counter: u64,
    kind: String,
    name: String,
    providers: Vec<String>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct RawSubject {
    digest: RawDigest,
    name: String,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct RawDigest {
    sha256: String,
}

impl Bundle {
    /// The bytes that are signed.
    pub fn to_text(&self) -> String {
        let Parts { kind, name, component, grants, settings, terms } = &self.parts;
        let subject = |name: &str, digest: ContentDigest| RawSubject {
            digest: RawDigest { sha256: digest.hex() },
            name: name.to_owned(),
        };
        let optional = |name, digest: &Option<ContentDigest>| digest.map(|digest| subject(name, digest));
        let subjects = [
            optional(GRANTS, grants),
            Some(subject(COMPONENT, *component)),
            optional(TERMS, terms),
            optional(SETTINGS, settings),
        ];
        let statement = RawStatement {
            kind: TYPE.to_owned(),
            predicate: RawPredicate {
                counter: self.counter,
                kind: kind.clone(),
                name: name.clone(),
                providers: self.providers.iter().cloned().collect(),
            },
            predicate_type: PREDICATE.to_owned(),
            subject: subjects.into_iter().flatten().collect(),
        };
        // Fields are declared in the order of RFC 8785; texts and numbers have but one form there.
        serde_json::to_string(&statement).unwrap_or_default()
    }

    /// Reads a statement in its canonical form.
    pub fn parse(text: &str) -> Result<Self, BundleError> {
        if text.len() > MOST_BYTES {
            return Err(BundleError::TooLong { bytes: text.len() });
        }
        let raw: RawStatement =
            serde_json::from_str(text).map_err(|error| BundleError::Json((&error).into()))?;
        if raw.kind != TYPE || raw.predicate_type != PREDICATE {
            return Err(BundleError::OtherStatement);
        }
        let bundle = Self::of(raw)?;
        if bundle.to_text() == text { Ok(bundle) } else { Err(BundleError::NotCanonical) }
    }

    fn of(raw: RawStatement) -> Result<Self, BundleError> {
        let RawPredicate { counter, kind, name, providers } = raw.predicate;
        if counter > MOST_COUNTER {
            return Err(BundleError::Invalid("its counter is beyond 2^53 - 1, the most that JSON can say"));
        }
        let is_name = |text: &String| (1..=MOST_NAME_BYTES).contains(&text.len());
        if !is_name(&name) || !providers.iter().all(is_name) || providers.len() > MOST_PROVIDERS {
            return Err(BundleError::Invalid("a name in it is empty or too long, or there are too many"));
        }
        let (mut component, mut grants, mut settings, mut terms) = (None, None, None, None);
        for RawSubject { digest, name } in raw.subject {
            let place = match name.as_str() {
                GRANTS => &mut grants,
                COMPONENT => &mut component,
                TERMS => &mut terms,
                SETTINGS => &mut settings,
                _ => return Err(BundleError::Invalid("it has a subject that this host does not know")),
            };
            let digest: ContentDigest = format!("sha256:{}", digest.sha256)
                .parse()
                .map_err(|_| BundleError::Invalid("a digest in it is not 64 small hex digits"))?;
            if place.replace(digest).is_some() {
                return Err(BundleError::Invalid("it has a subject twice"));
            }
        }
        let component = component.ok_or(BundleError::Invalid("it has no subject plugin.wasm"))?;
        let parts = Parts { kind, name, component, grants, settings, terms };
        Ok(Self { parts, providers: providers.into_iter().collect(), counter })
    }

    /// Returns the names of the parts that it covers, for people.
    pub fn covers(&self) -> Vec<String> {
        let Parts { grants, settings, terms, .. } = &self.parts;
        let texts = [(Part::Grants, grants), (Part::Settings, settings), (Part::Terms, terms)];
        let there = texts.into_iter().filter_map(|(part, digest)| digest.map(|_| part.to_string()));
        let always = [Part::Component, Part::Name, Part::Kind].map(|part| part.to_string());
        let providers = (!self.providers.is_empty()).then(|| "providers".to_owned());
        always.into_iter().chain(there).chain(providers).collect()
    }

    /// Where what is there differs from what was signed.
    pub fn differences(&self, there: &Parts) -> BTreeSet<Part> {
        let Parts { kind, name, component, grants, settings, terms } = &self.parts;
        let pairs = [
            (Part::Component, *component == there.component),
            (Part::Grants, *grants == there.grants),
            (Part::Settings, *settings == there.settings),
            (Part::Terms, *terms == there.terms),
            (Part::Name, *name == there.name),
            (Part::Kind, *kind == there.kind),
        ];
        pairs.into_iter().filter_map(|(part, is_same)| (!is_same).then_some(part)).collect()
    }
}

/// Whether a version may serve by its counter. `highest` is the greatest with which the plugin has served; a version
/// without a counter comes before all that have one.
pub fn is_current(counter: Option<u64>, highest: Option<u64>) -> bool {
    counter >= highest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle() -> Bundle {
        Bundle {
            parts: Parts {
                kind: "driver".to_owned(),
                name: "aws".to_owned(),
                component: ContentDigest::of(b"component"),
                grants: Some(ContentDigest::of(b"grants")),
                settings: Some(ContentDigest::of(b"{}")),
                terms: None,
            },
            providers: BTreeSet::from(["aws".to_owned(), "AWS".to_owned()]),
            counter: 7,
        }
    }

    fn refused(text: &str) -> String {
        Bundle::parse(text).expect_err(text).to_string()
    }

    #[test]
    fn the_same_parts_are_the_same_bytes_everywhere() {
        let hex = |bytes: &[u8]| ContentDigest::of(bytes).hex();
        let expected = format!(
            concat!(
                r#"{{"_type":"https://in-toto.io/Statement/v1","#,
                r#""predicate":{{"counter":7,"kind":"driver","name":"aws","providers":["AWS","aws"]}},"#,
                r#""predicateType":"https://machinist.dev/plugin-bundle/v1","subject":["#,
                r#"{{"digest":{{"sha256":"{}"}},"name":"grants.yaml"}},"#,
                r#"{{"digest":{{"sha256":"{}"}},"name":"plugin.wasm"}},"#,
                r#"{{"digest":{{"sha256":"{}"}},"name":"settings.json"}}]}}"#,
            ),
            hex(b"grants"),
            hex(b"component"),
            hex(b"{}")
        );
        assert_eq!(bundle().to_text(), expected);
        assert_eq!(Bundle::parse(&expected).expect("a bundle"), bundle());
        // A value that sorts its keys writes the same: no field is out of the order of RFC 8785.
        let value: serde_json::Value = serde_json::from_str(&expected).expect("JSON");
        assert_eq!(value.to_string(), expected);
    }

    #[test]
    fn attack_a_bundle_in_other_bytes_is_refused_with_its_reason() {
        let good = bundle().to_text();
        assert!(refused(&good[..good.len() - 1]).contains("not the JSON of a bundle"));
        assert!(refused("").contains("not the JSON of a bundle"));
        let huge = format!("{good}{}", " ".repeat(MOST_BYTES));
        assert!(refused(&huge).contains("16384 are the most"));
        for (from, to, expected) in [
            (r#""counter":7"#, r#""counter":7,"counter":8"#, "not the JSON of a bundle"),
            (r#""counter":7"#, r#""counter": 7"#, "canonical"),
            (r#""counter":7"#, r#""counter":7.0"#, "not the JSON of a bundle"),
            (r#""counter":7"#, r#""counter":-7"#, "not the JSON of a bundle"),
            (r#""counter":7"#, r#""counter":9007199254740992"#, "2^53"),
            (r#""counter":7"#, r#""counter":99999999999999999999"#, "not the JSON of a bundle"),
            (r#""name":"aws""#, r#""extra":1,"name":"aws""#, "not the JSON of a bundle"),
            (r#""name":"aws""#, r#""name":"\u0061ws""#, "canonical"),
            (r#""name":"aws""#, r#""name":"""#, "empty or too long"),
            (r#"["AWS","aws"]"#, r#"["aws","AWS"]"#, "canonical"),
            (r#"["AWS","aws"]"#, r#"["aws","aws"]"#, "canonical"),
            ("plugin-bundle/v1", "plugin-bundle/v2", "another kind of statement"),
            ("Statement/v1", "Statement/v0.1", "another kind of statement"),
            (r#""name":"settings.json""#, r#""name":"rollout.yaml""#, "does not know"),
            (r#""name":"settings.json""#, r#""name":"grants.yaml""#, "a subject twice"),
            (r#""name":"plugin.wasm""#, r#""name":"policy.yaml""#, "no subject plugin.wasm"),
            (r#"{"sha256":""#, r#"{"sha256":"g"#, "64 small hex digits"),
        ] {
            assert!(good.contains(from), "{from}");
            let said = refused(&good.replacen(from, to, 1));
            assert!(said.contains(expected), "{to}: {said}");
        }
        let deep = "[".repeat(MOST_BYTES);
        assert!(refused(&deep).contains("not the JSON of a bundle"));
    }

    #[test]
    fn each_part_that_differs_is_named() {
        let bundle = bundle();
        assert!(bundle.differences(&bundle.parts).is_empty());
        let check = |change: &dyn Fn(&mut Parts), expected: &str| {
            let mut there = bundle.parts.clone();
            change(&mut there);
            let parts: Vec<String> = bundle.differences(&there).iter().map(ToString::to_string).collect();
            assert_eq!(parts.join(", "), expected);
        };
        check(&|there| there.component = ContentDigest::of(b"x"), "component");
        check(&|there| there.grants = None, "grants.yaml");
        check(&|there| there.settings = Some(ContentDigest::of(b"x")), "settings.json");
        check(&|there| there.terms = Some(ContentDigest::of(b"x")), "policy.yaml");
        check(&|there| there.name = "azure".to_owned(), "plugin name");
        check(&|there| there.kind = "health-policy".to_owned(), "kind");
        check(&|there| (there.grants, there.settings) = (None, None), "grants.yaml, settings.json");
    }

    #[test]
    fn a_counter_serves_that_is_not_below_the_highest() {
        assert!(is_current(None, None) && is_current(Some(0), None));
        assert!(is_current(Some(7), Some(7)) && is_current(Some(8), Some(7)));
        assert!(!is_current(Some(6), Some(7)) && !is_current(None, Some(0)));
    }
}
