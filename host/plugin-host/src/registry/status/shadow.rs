//! The calls of a shadow, as the status has them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::registry::canary::ShadowReport;
use crate::registry::canary::shadow::ShadowCounts;

/// Every watch of ConfigMaps reads the annotation.
const MOST_EXAMPLES: usize = 6;
const MOST_CHARS: usize = 600;

/// How the calls of a shadow compare with those that counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ShadowStatus {
    pub functions: BTreeMap<String, CallCounts>,
    /// The latest example of each kind of difference.
    pub examples: Vec<DifferenceExample>,
}

/// How the calls of a function compare: see [`ShadowCounts`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CallCounts {
    /// The same requests, the same answer.
    pub same: u64,
    /// Other requests or another answer.
    pub differs: u64,
    /// Calls with a read that the recording lacks.
    pub unread: u64,
    pub broken: u64,
    /// Calls that the shadow was not asked.
    pub left_out: u64,
}

/// An example of a kind of difference.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DifferenceExample {
    /// The function of the call.
    pub function: String,
    /// The Machine or class of the call.
    pub subject: String,
    /// How often the difference was seen.
    pub seen: u64,
    /// The difference. The only text of a status with several lines.
    pub text: String,
}

impl From<&ShadowReport> for ShadowStatus {
    fn from(report: &ShadowReport) -> Self {
        let counts = |of: &ShadowCounts| {
            let ShadowCounts { same, differs, unread, broken, left_out } = *of;
            CallCounts { same, differs, unread, broken, left_out }
        };
        let functions = report.functions.iter().map(|(name, of)| ((*name).to_owned(), counts(of)));
        let examples = report.examples.iter().take(MOST_EXAMPLES).map(|example| DifferenceExample {
            function: example.function.to_owned(),
            subject: example.subject.clone(),
            seen: example.seen,
            text: cut(&example.text, MOST_CHARS),
        });
        Self { functions: functions.collect(), examples: examples.collect() }
    }
}

/// Returns the text, or its first characters and an ellipsis.
pub fn cut(text: &str, most: usize) -> String {
    if text.chars().nth(most).is_none() {
        return text.to_owned();
    }
    format!("{} …", text.chars().take(most).collect::<String>())
}
