//! Words from a closed vocabulary in a field that may hold anything.

use std::borrow::Cow;
use std::fmt;

use machinist_core::value::phase::{OperationState, OperationType, Phase};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::lenient::Scalar;

/// A closed set of words.
pub trait Vocabulary: Copy + Eq {
    /// The word as the API writes it.
    fn word(self) -> &'static str;

    /// None for a word that is not of the set.
    fn from_word(text: &str) -> Option<Self>;
}

/// A word: one that is known, or another that is kept as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word<V> {
    /// One of the vocabulary.
    Known(V),
    /// Written by somebody who knows more words, or by mistake.
    Other(String),
}

impl<V: Vocabulary> Word<V> {
    /// Reads the text; never fails.
    pub fn parse(text: &str) -> Self {
        V::from_word(text).map_or_else(|| Self::Other(text.to_owned()), Self::Known)
    }

    /// The word as the API writes it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Known(value) => value.word(),
            Self::Other(text) => text,
        }
    }

    /// The value, where the word is of the vocabulary.
    pub fn known(&self) -> Option<V> {
        match self {
            Self::Known(value) => Some(*value),
            Self::Other(_) => None,
        }
    }
}

impl<V> From<V> for Word<V> {
    fn from(value: V) -> Self {
        Self::Known(value)
    }
}

impl<V: Vocabulary> PartialEq<V> for Word<V> {
    fn eq(&self, other: &V) -> bool {
        self.known() == Some(*other)
    }
}

impl<V: Vocabulary> fmt::Display for Word<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl<V: Vocabulary> Serialize for Word<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de, V: Vocabulary> Deserialize<'de> for Word<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Scalar::deserialize(deserializer)?.into_text().unwrap_or_default();
        Ok(Self::parse(&text))
    }
}

/// Plain text: a schema that listed the words would refuse objects that others accept.
impl<V> JsonSchema for Word<V> {
    fn schema_name() -> Cow<'static, str> {
        "Word".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

macro_rules! vocabulary_of_core {
    ($($name:ident),+) => {
        $(impl Vocabulary for $name {
            fn word(self) -> &'static str {
                self.as_str()
            }

            fn from_word(text: &str) -> Option<Self> {
                Self::parse(text)
            }
        })+
    };
}

vocabulary_of_core!(Phase, OperationType, OperationState);

/// Declares a vocabulary that only the API needs.
macro_rules! vocabulary {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant,)+ }

        impl $crate::word::Vocabulary for $name {
            fn word(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            fn from_word(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

pub(crate) use vocabulary;
