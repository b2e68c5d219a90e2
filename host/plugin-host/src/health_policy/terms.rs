//! `policy.yaml`: whether a policy decides, about which Machines, and what its calls may use.
//!
//! ```yaml
//! mode: enforce            # observe, the default: it only tells what it would have decided
//! applies_to:              # each part that is given has to fit; absent: all Machines
//!   classes: [small]
//!   deployments: [pool-a]
//!   labels: { tier: batch }
//! limits: { fuel: 200000000, memory_mib: 64, deadline_ms: 2000, copied_kib: 256 }
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use machinist_core::health_policy::{Mode, Scope};
use serde::Deserialize;
use serde_yaml_ng::Value;

use crate::calls::limits::{self, Limits};

/// The operator's settings of a policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyTerms {
    pub mode: Mode,
    /// Which Machines it is about.
    pub scope: Scope,
    /// The limits of its calls.
    pub limits: PolicyLimits,
}

/// Why terms mean nothing.
#[derive(Debug, thiserror::Error)]
pub enum PolicyTermsError {
    /// Not YAML, or with a field that does not exist or has the wrong type.
    #[error(
        "{detail}: it takes mode (observe or enforce), applies_to (classes, deployments, labels) and limits"
    )]
    Syntax { detail: String },
    #[error("failed to read limits")]
    Limits(#[source] limits::Error),
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawReleaseTerms {
    mode: RawPolicyMode,
    applies_to: RawPolicyScope,
    limits: RawPolicyLimits,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RawPolicyMode {
    #[default]
    Observe,
    Enforce,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawPolicyScope {
    classes: BTreeSet<String>,
    deployments: BTreeSet<String>,
    labels: BTreeMap<String, String>,
}

impl PolicyTerms {
    /// Reads `policy.yaml`, which may be JSON. An empty text is all defaults.
    ///
    /// # Errors
    /// When it means nothing.
    pub fn parse(text: &str) -> Result<Self, PolicyTermsError> {
        let raw: Option<RawReleaseTerms> = serde_yaml_ng::from_str(text)
            .map_err(|error| PolicyTermsError::Syntax { detail: error.to_string() })?;
        let RawReleaseTerms { mode, applies_to, limits } = raw.unwrap_or_default();
        Ok(Self {
            mode: match mode {
                RawPolicyMode::Observe => Mode::Observe,
                RawPolicyMode::Enforce => Mode::Enforce,
            },
            scope: applies_to.parsed(),
            limits: limits.checked().map_err(PolicyTermsError::Limits)?,
        })
    }
}

const FIELDS: [&str; 3] = ["mode", "applies_to", "limits"];

impl PolicyTerms {
    /// Returns the terms that apply where the document may be invalid: the policy is to decide unless the document says
    /// that it observes, and about all Machines unless its scope is valid. The policy cannot be called with such terms,
    /// so decisions about these Machines are paused, and a typo of its operator fails no Machine.
    pub(crate) fn assumed(text: &str) -> Self {
        if let Ok(terms) = Self::parse(text) {
            return terms;
        }
        let fields: Option<BTreeMap<String, Value>> = serde_yaml_ng::from_str(text).ok();
        let observes = match &fields {
            None => {
                text.lines().any(|line| line.split('#').next().map(str::trim_end) == Some("mode: observe"))
            }
            Some(fields) => match fields.get("mode") {
                Some(mode) => mode.as_str() == Some(Mode::Observe.as_str()),
                None => fields.keys().all(|field| FIELDS.contains(&field.as_str())),
            },
        };
        let applies_to = fields.and_then(|mut fields| fields.remove("applies_to"));
        let scope = applies_to.and_then(|value| serde_yaml_ng::from_value::<RawPolicyScope>(value).ok());
        Self {
            mode: if observes { Mode::Observe } else { Mode::Enforce },
            scope: scope.map(RawPolicyScope::parsed).unwrap_or_default(),
            limits: PolicyLimits::default(),
        }
    }
}

impl RawPolicyScope {
    fn parsed(self) -> Scope {
        let Self { classes, deployments, labels } = self;
        Scope { classes, deployments, labels }
    }
}

const MIB: u64 = 1024 * 1024;
const KIB: u64 = 1024;
/// About a minute of work. A policy that needs it holds up everything else.
const MOST_FUEL: u64 = 100_000_000_000;
const MOST_MILLISECONDS: u64 = 60_000;
const MOST_COPIED_KIB: u64 = 4 * KIB;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyLimits {
    /// Units of work of one call; about one for each instruction.
    pub fuel: u64,
    /// Linear memory of one call.
    pub memory_bytes: u64,
    /// Time on the wall of one call.
    pub deadline: Duration,
    /// Bytes that may cross the boundary towards the host at once, the answer included.
    pub copied_bytes: u64,
}

impl Default for PolicyLimits {
    fn default() -> Self {
        Self {
            // The policies of this tree use below 100,000; runtimes of scripting languages start with tens of millions.
            fuel: 200_000_000,
            memory_bytes: 64 * MIB,
            deadline: Duration::from_secs(2),
            copied_bytes: 256 * KIB,
        }
    }
}

/// As `policy.yaml` has them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawPolicyLimits {
    fuel: Option<u64>,
    memory_mib: Option<u64>,
    deadline_ms: Option<u64>,
    copied_kib: Option<u64>,
}

/// No policy needs more, and the engine reserves this much for each that runs.
pub(crate) const MOST_MEMORY_BYTES: u64 = 256 * MIB;

impl RawPolicyLimits {
    pub(crate) fn checked(&self) -> Result<PolicyLimits, limits::Error> {
        let mut checked = PolicyLimits::default();
        if let Some(fuel) = limits::checked("fuel", self.fuel, MOST_FUEL)? {
            checked.fuel = fuel;
        }
        if let Some(mib) = limits::checked("memory_mib", self.memory_mib, MOST_MEMORY_BYTES / MIB)? {
            checked.memory_bytes = mib * MIB;
        }
        if let Some(ms) = limits::checked("deadline_ms", self.deadline_ms, MOST_MILLISECONDS)? {
            checked.deadline = Duration::from_millis(ms);
        }
        if let Some(kib) = limits::checked("copied_kib", self.copied_kib, MOST_COPIED_KIB)? {
            checked.copied_bytes = kib * KIB;
        }
        Ok(checked)
    }
}

impl PolicyLimits {
    /// The limits that drivers have too, in the form that all sandboxes take.
    pub(crate) fn common(&self) -> Limits {
        Limits {
            memory_bytes: self.memory_bytes,
            deadline: self.deadline,
            copied_bytes: self.copied_bytes,
            ..Limits::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machinist_core::value::error_chain::chain;

    fn check(text: &str, expected: &str) {
        let shown = match PolicyTerms::parse(text) {
            Ok(terms) => format!("{} {:?}", terms.mode.as_str(), terms.scope),
            Err(error) => chain(&error),
        };
        assert!(shown.starts_with(expected), "{text}: {shown}");
    }

    #[test]
    fn terms_are_read_with_defaults_or_say_what_is_wrong() {
        check("", "observe Scope { classes: {}, deployments: {}, labels: {} }");
        check("mode: enforce", "enforce Scope");
        check(
            "{mode: observe, applies_to: {classes: [a, b], labels: {x: y}}}",
            r#"observe Scope { classes: {"a", "b"}, deployments: {}, labels: {"x": "y"} }"#,
        );
        check("mode: force", "mode: unknown variant `force`, expected `observe` or `enforce`");
        check("modes: enforce", "unknown field `modes`");
        check("applies_to: {class: [a]}", "applies_to: unknown field `class`");
        check("limits: {fuel: 0}", "failed to read limits: limit fuel is 0");
        check(
            "limits: {memory_mib: 1000}",
            "failed to read limits: limit memory_mib is 1000, the host allows 256",
        );
    }

    fn assume(text: &str, expected: &str) {
        let terms = PolicyTerms::assumed(text);
        let classes: Vec<&str> = terms.scope.classes.iter().map(String::as_str).collect();
        assert_eq!(format!("{} {classes:?}", terms.mode.as_str()), expected, "{text}");
    }

    #[test]
    fn terms_that_cannot_be_read_decide_unless_they_say_that_they_observe() {
        assume("", "observe []");
        assume("{mode: enforce, applies_to: {classes: [a]}}", r#"enforce ["a"]"#);
        assume("{mode: enforce, applies_to: {classes: [a]}, limits: {fuel: 0}}", r#"enforce ["a"]"#);
        assume("{mode: enforce, applies_to: {class: [a]}}", "enforce []");
        assume("{mode: force, applies_to: {classes: [a]}}", r#"enforce ["a"]"#);
        assume("modes: enforce", "enforce []");
        assume("mode: enforce\n  limits", "enforce []");
        assume("{", "enforce []");
        assume("[mode]", "enforce []");
        assume("{mode: observe, limits: {fuel: 0}}", "observe []");
        assume("applies_to: {classes: [a]}\nlimits: {fuel: 0}", r#"observe ["a"]"#);
        assume("mode: observe # for a week\nlimits: {", "observe []");
    }
}
