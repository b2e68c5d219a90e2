//! How much two requests have in common.

use super::placeholders::PlaceholderNames;
use crate::recording::model::Exchange;
use crate::recording::recorder::body::Body;

/// A request with its placeholders named, so that it can be compared with one of another call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
    /// `None` if it is unknown: it was not read, or did not fit into the recording.
    pub(crate) body: Option<Body>,
}

/// The common part of two requests, most first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MatchLevel {
    /// Everything that is known of both.
    Same,
    Url,
    Path,
}

impl MatchLevel {
    pub(crate) const ALL: [Self; 3] = [Self::Same, Self::Url, Self::Path];
}

impl Named {
    pub(crate) fn of(exchange: &Exchange, names: &PlaceholderNames) -> Self {
        let body = match &exchange.body {
            Body::Text(text) => Some(Body::Text(names.named(text))),
            Body::Base64(text) => Some(Body::Base64(text.clone())),
            Body::Unread | Body::LeftOut(_) => None,
        };
        Self::new(&exchange.method, &exchange.url, &exchange.headers, body, names)
    }

    pub(crate) fn new(
        method: &str,
        url: &str,
        headers: &[(String, String)],
        body: Option<Body>,
        names: &PlaceholderNames,
    ) -> Self {
        let header = |(name, value): &(String, String)| (name.clone(), names.named(value));
        let mut headers: Vec<(String, String)> = headers.iter().map(header).collect();
        headers.sort();
        Self { method: method.to_owned(), url: names.named(url), headers, body }
    }

    /// Whether they are as alike as this.
    pub(crate) fn is_like(&self, other: &Self, level: MatchLevel) -> bool {
        self.method == other.method
            && match level {
                MatchLevel::Same => {
                    let same_body = match (&self.body, &other.body) {
                        (Some(own), Some(others)) => own == others,
                        (None, _) | (_, None) => true,
                    };
                    self.url == other.url && self.headers == other.headers && same_body
                }
                // A form says in its body what it is about, and an URL that is always the same says nothing.
                MatchLevel::Url => self.url == other.url && self.action() == other.action(),
                MatchLevel::Path => self.path() == other.path() && self.action() == other.action(),
            }
    }

    fn path(&self) -> &str {
        self.url.split('?').next().unwrap_or_default()
    }

    /// `Action=…` of a form, as the query APIs of clouds have it.
    fn action(&self) -> Option<&str> {
        let Some(Body::Text(text)) = &self.body else { return None };
        text.split('&').find_map(|pair| pair.strip_prefix("Action="))
    }

    /// For people: no query, which may be long.
    pub(crate) fn title(&self) -> String {
        let action = self.action().map(|action| format!(" {action}")).unwrap_or_default();
        format!("{} {}{action}", self.method, self.url)
    }
}
