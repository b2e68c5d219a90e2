//! The strategy of a deployment: its fields as written, and validated.

use crate::value::int_or_percent::{IntOrPercent, RawIntOrPercent};

/// The strategy as it was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawStrategy {
    pub kind: Option<String>,
    pub rolling: Option<RawRolloutBounds>,
    pub in_place: Option<RawRolloutBounds>,
    /// For type InPlaceUpdate: the orchestration.
    pub orchestration: Option<String>,
}

/// The bounds of a rollout as they were written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawRolloutBounds {
    /// How many may be missing.
    pub max_unavailable: Option<RawIntOrPercent>,
    /// How many there may be above the wanted number.
    pub max_surge: Option<RawIntOrPercent>,
}

/// The strategy to replace Machines of another template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// All old ones are deleted before the first new one is created.
    Recreate,
    RollingUpdate(Shares),
    InPlaceUpdate(Shares, Orchestration),
}

/// The selection of Nodes that are updated in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orchestration {
    Auto,
    Manual,
}

/// Bounds, before they are applied to a number of Machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    /// How many may be missing.
    pub max_unavailable: IntOrPercent,
    /// How many there may be above the wanted number.
    pub max_surge: IntOrPercent,
}

/// The bounds of a rollout, as numbers of Machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RolloutBounds {
    /// How many Machines are wanted.
    pub desired: u32,
    /// How many there may be above the wanted number.
    pub surge: u32,
    /// How many of those wanted may be missing.
    pub unavailable: u32,
}

impl RolloutBounds {
    /// Returns the most Machines that may exist.
    pub fn most(self) -> u32 {
        // A deployment of zero has no surge, or scaling to zero would leave some.
        if self.desired == 0 { 0 } else { self.desired.saturating_add(self.surge) }
    }

    /// Returns the fewest Machines that must be available.
    pub fn fewest(self) -> u32 {
        self.desired.saturating_sub(self.unavailable)
    }
}

impl Strategy {
    /// Reads the fields.
    ///
    /// # Errors
    ///
    /// A sentence for each field that is missing or invalid.
    pub fn parse(raw: &RawStrategy, has_target: bool) -> Result<Self, Vec<String>> {
        match raw.kind.as_deref() {
            Some("Recreate") => Ok(Self::Recreate),
            Some("RollingUpdate") => {
                shares(raw.rolling.as_ref(), "spec.strategy.rollingUpdate").map(Self::RollingUpdate)
            }
            Some("InPlaceUpdate") => in_place(raw, has_target),
            other => {
                let told = other.map_or_else(|| "missing".to_owned(), |word| format!("{word:?}"));
                let known = "set it to RollingUpdate, Recreate or InPlaceUpdate";
                Err(vec![format!("spec.strategy.type is {told}: {known}")])
            }
        }
    }

    /// Returns the bounds for a number of Machines.
    ///
    /// With neither surge nor unavailable Machines a rollout never begins: then one may be unavailable. No more than
    /// are wanted can be.
    pub fn bounds(self, desired: u32) -> RolloutBounds {
        let (shares, has_surge) = match self {
            Self::Recreate => return RolloutBounds { desired, surge: 0, unavailable: 0 },
            Self::RollingUpdate(shares) | Self::InPlaceUpdate(shares, Orchestration::Auto) => (shares, true),
            Self::InPlaceUpdate(shares, Orchestration::Manual) => (shares, false),
        };
        let surge = if has_surge { shares.max_surge.rounded_up(desired) } else { 0 };
        let unavailable = match (surge, shares.max_unavailable.rounded_down(desired)) {
            (0, 0) => 1,
            (_, unavailable) => unavailable,
        };
        RolloutBounds { desired, surge, unavailable: unavailable.min(desired) }
    }

    /// Returns the unusual bounds that do no harm, with the values that count instead.
    pub fn oddities(self) -> Vec<String> {
        let (Self::RollingUpdate(shares) | Self::InPlaceUpdate(shares, _)) = self else { return Vec::new() };
        let mut odd = Vec::new();
        if let IntOrPercent::Percent(101..) = shares.max_unavailable {
            odd.push(format!("maxUnavailable {} counts as 100%", shares.max_unavailable));
        }
        let is_nothing = |share| matches!(share, IntOrPercent::Int(0) | IntOrPercent::Percent(0));
        if is_nothing(shares.max_unavailable) && is_nothing(shares.max_surge) {
            odd.push("maxSurge and maxUnavailable are both 0: maxUnavailable counts as 1".to_owned());
        }
        odd
    }
}

fn in_place(raw: &RawStrategy, has_target: bool) -> Result<Strategy, Vec<String>> {
    let path = "spec.strategy.inPlaceUpdate";
    let mut problems = Vec::new();
    if !has_target {
        problems.push(
            "spec.strategy.type is InPlaceUpdate, and there is no target cluster whose Nodes could be updated: use another"
                .to_owned(),
        );
    }
    let orchestration = match raw.orchestration.as_deref() {
        Some("Auto") => Some(Orchestration::Auto),
        Some("Manual") => Some(Orchestration::Manual),
        other => {
            let told = other.map_or_else(|| "missing".to_owned(), |word| format!("{word:?}"));
            problems.push(format!("{path}.orchestrationType is {told}: set it to Auto or Manual"));
            None
        }
    };
    match (shares(raw.in_place.as_ref(), path), orchestration) {
        (Ok(shares), Some(orchestration)) if problems.is_empty() => {
            Ok(Strategy::InPlaceUpdate(shares, orchestration))
        }
        (shares, _) => {
            problems.extend(shares.err().unwrap_or_default());
            Err(problems)
        }
    }
}

fn shares(raw: Option<&RawRolloutBounds>, path: &str) -> Result<Shares, Vec<String>> {
    let Some(raw) = raw else {
        return Err(vec![format!("{path} is missing: set maxUnavailable and maxSurge there")]);
    };
    let one = |field: &str, raw: Option<&RawIntOrPercent>| match raw {
        None => Err(format!("{path}.{field} is missing: set a number such as 1 or a share such as 25%")),
        Some(raw) => IntOrPercent::parse(raw).map_err(|error| format!("{path}.{field}: {error}")),
    };
    let unavailable = one("maxUnavailable", raw.max_unavailable.as_ref());
    let surge = one("maxSurge", raw.max_surge.as_ref());
    match (unavailable, surge) {
        (Ok(max_unavailable), Ok(max_surge)) => Ok(Shares { max_unavailable, max_surge }),
        (unavailable, surge) => Err([unavailable.err(), surge.err()].into_iter().flatten().collect()),
    }
}
