//! Scopes of tokens: a mark names them, and the grants have patterns of them.

use crate::auth::AuthReason;
use crate::auth::grant::{ceiling, joined};
use crate::auth::mark::RawParameters;
use crate::auth::scheme::MarkParameters;
use crate::target::Error;
use crate::target::{NamePattern, is_scope};

/// The scopes that a mark names: `scope=ONE TWO`. Without any, the service chooses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scopes(pub(crate) Vec<String>);

impl MarkParameters for Scopes {
    fn take(raw: &mut RawParameters) -> Result<Self, AuthReason> {
        let scopes = raw.text("scope").unwrap_or_default();
        let scopes: Vec<String> = scopes.split_ascii_whitespace().map(str::to_owned).collect();
        if scopes.iter().all(|scope| is_scope(scope)) { Ok(Self(scopes)) } else { Err(AuthReason::Mark) }
    }
}

impl Scopes {
    /// Returns the scopes with a blank between them.
    pub(in crate::auth) fn joined(&self) -> String {
        self.0.join(" ")
    }
}

/// Patterns of the scopes that marks may name. Without any, they may name none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GrantedScopes(Vec<NamePattern>);

impl GrantedScopes {
    pub(in crate::auth) fn parse(raw: Option<Vec<String>>, at: &str) -> Result<Self, Error> {
        let place = format!("{at}.scopes");
        let Some(raw) = raw else { return Ok(Self(Vec::new())) };
        if raw.is_empty() {
            return Err(Error::invalid(place, "names no scope: leave it out when marks name none"));
        }
        let one = |text: &String| {
            NamePattern::scope(text)
                .ok_or_else(|| Error::invalid(&place, format!("{text:?} is no scope with at most one *")))
        };
        raw.iter().map(one).collect::<Result<_, _>>().map(Self)
    }

    pub(in crate::auth) fn denial(&self, scopes: &Scopes) -> Option<AuthReason> {
        let is_granted = |scope: &String| self.0.iter().any(|pattern| pattern.matches(scope));
        (!scopes.0.iter().all(is_granted)).then_some(AuthReason::Scope)
    }

    pub(in crate::auth) fn beyond(&self, ceiling: &Self) -> Option<String> {
        ceiling::patterns("scope", &self.0, &ceiling.0)
    }

    pub(in crate::auth) fn summary(&self) -> String {
        if self.0.is_empty() { "no scopes".to_owned() } else { format!("scopes {}", joined(&self.0)) }
    }
}
