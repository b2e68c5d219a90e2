//! The optimization tiers of a component's code, and their order.

use crate::calls::engine::CodeKind;

/// How well code is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CodeTier {
    /// By the baseline compiler, in one pass: an eighth of the time, and code that takes up to twice as long.
    Baseline,
    /// By the optimising compiler without its optimisations: for what the baseline compiler does not know.
    Quick,
    /// By the optimising compiler.
    Optimised,
}

impl CodeTier {
    /// All of them, worst first.
    pub const ALL: [Self; 3] = [Self::Baseline, Self::Quick, Self::Optimised];

    /// For metrics and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Quick => "quick",
            Self::Optimised => "optimised",
        }
    }
}

/// The compilers of this host for an engine's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Means {
    pub(crate) kind: CodeKind,
    pub(crate) has_baseline: bool,
    /// Components up to this size are optimised at once: that takes less than a second.
    pub(crate) at_once_bytes: usize,
}

/// Returns the tiers of a component's first code, in order: a later one applies if the component does not compile in an
/// earlier one. Optimised code replaces all others later.
pub(crate) fn first_tiers(means: Means, component_bytes: usize) -> &'static [CodeTier] {
    match means {
        Means { at_once_bytes, .. } if component_bytes <= at_once_bytes => &[CodeTier::Optimised],
        Means { kind: CodeKind::Standard, has_baseline: true, .. } => &[CodeTier::Baseline, CodeTier::Quick],
        // The baseline compiler does not give every NaN the same bits, which policies need, and does not support
        // inspected memories.
        Means { kind: CodeKind::Policy | CodeKind::Inspected, .. }
        | Means { kind: CodeKind::Standard, has_baseline: false, .. } => &[CodeTier::Quick],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: CodeKind, has_baseline: bool, component_bytes: usize, expected: &[CodeTier]) {
        let means = Means { kind, has_baseline, at_once_bytes: 1_000 };
        assert_eq!(first_tiers(means, component_bytes), expected, "{means:?}, {component_bytes} bytes");
    }

    #[test]
    fn a_small_component_is_optimised_at_once_and_a_large_one_begins_with_what_is_made_fast() {
        use CodeKind::{Inspected, Policy, Standard};
        use CodeTier::{Baseline, Optimised, Quick};

        for kind in [Standard, Policy, Inspected] {
            for has_baseline in [true, false] {
                check(kind, has_baseline, 1_000, &[Optimised]);
            }
        }
        check(Standard, true, 1_001, &[Baseline, Quick]);
        check(Standard, false, 1_001, &[Quick]);
        for kind in [Policy, Inspected] {
            check(kind, true, 1_001, &[Quick]);
        }
    }
}
