//! Values that Kubernetes has types for, in the form that suits objects of others.

use std::borrow::Cow;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::lenient::Scalar;

/// A number, or text such as `25%`. Whether the text means anything is checked where it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IntOrString {
    Int(i64),
    /// Text, as it was written.
    Text(String),
}

impl Serialize for IntOrString {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Int(value) => serializer.serialize_i64(*value),
            Self::Text(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for IntOrString {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Scalar::deserialize(deserializer)? {
            Scalar::Int(value) => Self::Int(value),
            other => Self::Text(other.into_text().unwrap_or_default()),
        })
    }
}

impl JsonSchema for IntOrString {
    fn schema_name() -> Cow<'static, str> {
        "IntOrString".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "x-kubernetes-int-or-string": true })
    }
}

/// The moment as objects store it: whole seconds. A time that is to be compared with a stored one is made by this,
/// since what a second has more is gone after the first write.
pub fn time(at: Timestamp) -> Time {
    Time(Timestamp::from_second(at.as_second()).unwrap_or(at))
}
