//! Patterns of roles that a Secret may ask for.

use std::fmt;

use crate::target::pattern;

/// The name of a role of AWS. Its last part may have one `*`, which matches any characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RolePattern(String);

impl RolePattern {
    /// No role has a longer name: IAM ends at 512 characters for the path, and 64 for the name.
    const MOST_BYTES: usize = 1_024;

    /// The account must be named: with a role of another account a VM would boot there, with a token to join this
    /// cluster.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let fixed = text.split('*').next().unwrap_or_default();
        let parts: Vec<&str> = fixed.split(':').collect();
        let names_account = parts.len() >= 6
            && parts.first() == Some(&"arn")
            && parts.get(4).is_some_and(|account| !account.is_empty());
        let is_sound = text.len() <= Self::MOST_BYTES
            && text.bytes().all(|byte| byte.is_ascii_graphic())
            && text.matches('*').count() <= 1;
        if names_account && is_sound {
            return Ok(Self(text.to_owned()));
        }
        Err(format!(
            "{text:?} is no role: write arn:aws:iam::ACCOUNT:role/NAME, with the account, and at most one * after it"
        ))
    }

    /// Whether the pattern matches this role.
    pub(super) fn matches(&self, role: &str) -> bool {
        pattern::matches(&self.0, role)
    }

    /// Whether the pattern also matches each role of `other`.
    pub(super) fn covers(&self, other: &Self) -> bool {
        pattern::covers(&self.0, &other.0)
    }
}

impl fmt::Display for RolePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_means_roles_of_one_account() {
        let one = RolePattern::parse("arn:aws:iam::123456789012:role/machines").unwrap();
        assert!(one.matches("arn:aws:iam::123456789012:role/machines"));
        let some = RolePattern::parse("arn:aws:iam::123456789012:role/team-a/*").unwrap();
        assert!(some.matches("arn:aws:iam::123456789012:role/team-a/x"));
        for other in [
            "arn:aws:iam::123456789012:role/machines2",
            "arn:aws:iam::210987654321:role/machines",
            "arn:aws:iam::123456789012:role/Machines",
            "arn:aws:iam::123456789012:role/team-b/x",
            " arn:aws:iam::123456789012:role/machines",
            "",
        ] {
            assert!(!one.matches(other) && !some.matches(other), "{other}");
        }
    }

    #[test]
    fn attack_a_pattern_takes_roles_of_every_account() {
        for text in [
            "*", "", "arn:*", "arn:aws:iam::*:role/machines", "arn:aws:iam::1*:role/machines",
            "arn:aws:iam:::role/machines", "machines", "arn:aws:iam::1:role/*x*", "arn:aws:iam::1:role/a b",
            "arn:aws:iam::1:role/\n",
        ] {
            assert!(RolePattern::parse(text).is_err(), "{text:?}");
        }
    }
}
