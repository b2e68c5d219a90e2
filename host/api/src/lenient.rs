//! Decoding that does not fail: one invalid field must not hide a whole list of objects.
//!
//! An API server reads what was stored under an older schema without checking it, and Go's writers put `null` for what
//! they have not. So a scalar of the wrong type is read as what it can mean, and else as absent.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Any JSON value, as far as a scalar field can use it.
pub(crate) enum Scalar {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    /// Null, a list or an object.
    Nothing,
}

impl Scalar {
    /// The text, with numbers and booleans as JSON writes them.
    pub(crate) fn into_text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text),
            Self::Bool(value) => Some(value.to_string()),
            Self::Int(value) => Some(value.to_string()),
            Self::Float(value) => Some(value.to_string()),
            Self::Nothing => None,
        }
    }

    /// The whole number, also out of text.
    pub(crate) fn into_int(self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(value),
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a cast of a whole float saturates, which is what is wanted"
            )]
            Self::Float(value) if value.fract() == 0.0 => Some(value as i64),
            Self::Text(text) => text.parse().ok(),
            Self::Bool(_) | Self::Float(_) | Self::Nothing => None,
        }
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Scalar, E> {
        Ok(Scalar::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Scalar, E> {
        Ok(Scalar::Int(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Scalar, E> {
        Ok(Scalar::Int(i64::try_from(value).unwrap_or(i64::MAX)))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Scalar, E> {
        Ok(Scalar::Float(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Scalar, E> {
        Ok(Scalar::Text(value.to_owned()))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Scalar, E> {
        Ok(Scalar::Text(value))
    }

    fn visit_unit<E: Error>(self) -> Result<Scalar, E> {
        Ok(Scalar::Nothing)
    }

    fn visit_none<E: Error>(self) -> Result<Scalar, E> {
        Ok(Scalar::Nothing)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Scalar, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Scalar, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar::Nothing)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Scalar, A::Error> {
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Nothing)
    }
}

/// Text; a number or boolean is read as its text.
pub(crate) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Scalar::deserialize(deserializer).map(Scalar::into_text)
}

/// A whole number that fits; one that does not is moved to the nearest that does.
pub(crate) fn int32<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i32>, D::Error> {
    let number = Scalar::deserialize(deserializer)?.into_int();
    Ok(number.map(|value| i32::try_from(value).unwrap_or(if value < 0 { i32::MIN } else { i32::MAX })))
}

pub(crate) fn int64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    Scalar::deserialize(deserializer).map(Scalar::into_int)
}

/// True or false, also as text.
pub(crate) fn boolean<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    Ok(match Scalar::deserialize(deserializer)? {
        Scalar::Bool(value) => Some(value),
        Scalar::Text(text) => text.parse().ok(),
        Scalar::Int(_) | Scalar::Float(_) | Scalar::Nothing => None,
    })
}

/// A moment; what is none is absent.
pub(crate) fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Time>, D::Error> {
    let text = Scalar::deserialize(deserializer)?.into_text();
    Ok(text.and_then(|text| text.parse().ok()).map(Time))
}

/// A list, map or struct that is empty when it is null.
pub(crate) fn or_empty<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}
