//! How much a test does: little on each change, much at night.
//!
//! `cargo xtask test --nightly` sets the factor. Tests that are long at any factor carry `#[ignore = "nightly: …"]`
//! instead, and run only there.

/// The variable that `cargo xtask test --nightly` sets.
const FACTOR: &str = "MACHINIST_CASES_FACTOR";

/// Returns how many inputs a test tries that usually tries so many.
pub fn cases(usually: u32) -> u32 {
    usually.saturating_mul(factor(std::env::var(FACTOR).ok().as_deref()))
}

/// A factor that cannot be read counts as 1: a test must not do less than usual.
fn factor(given: Option<&str>) -> u32 {
    given.and_then(|text| text.parse().ok()).filter(|factor| *factor > 0).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_multiplies_and_anything_else_changes_nothing() {
        assert_eq!((factor(Some("20")), factor(None)), (20, 1));
        assert_eq!((factor(Some("0")), factor(Some("-3")), factor(Some("many"))), (1, 1, 1));
    }
}
