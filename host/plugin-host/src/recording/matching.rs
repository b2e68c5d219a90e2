//! How much two requests have in common.

use crate::grants::PLACEHOLDER_PREFIX;
use crate::recording::model::{Exchange, Placeholder};
use crate::recording::recorder::body::Body;
use crate::vault::PLACEHOLDER_BYTES;

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

/// The placeholders of one call.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlaceholderNames(Vec<(String, String)>);

impl PlaceholderNames {
    pub(crate) fn of(placeholders: &[Placeholder]) -> Self {
        let named = |placeholder: &Placeholder| {
            let token = placeholder.answer.clone().ok()?;
            let encodings = placeholder.encodings.iter().filter(|encoding| *encoding != "plain");
            let words: Vec<&str> =
                ["secret", &placeholder.key].into_iter().chain(encodings.map(String::as_str)).collect();
            Some((token, format!("{{{}}}", words.join(" "))))
        };
        Self(placeholders.iter().filter_map(named).collect())
    }

    /// Returns `text` with each token replaced by its name.
    pub(crate) fn named(&self, text: &str) -> String {
        let mut named = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(PLACEHOLDER_PREFIX) {
            let (before, from) = rest.split_at(at);
            let (token, after) = from
                .split_at_checked(PLACEHOLDER_BYTES)
                .unwrap_or_else(|| from.split_at(PLACEHOLDER_PREFIX.len()));
            named.push_str(before);
            let known = self.0.iter().find(|(known, _)| known == token);
            named.push_str(known.map_or("{secret of nobody}", |(_, name)| name));
            rest = after;
        }
        named.push_str(rest);
        named
    }
}

#[cfg(test)]
mod placeholders_tests {
    use super::*;

    #[test]
    fn tokens_are_named_and_similar_texts_do_no_harm() {
        let token = format!("{PLACEHOLDER_PREFIX}{}", "7".repeat(25));
        let placeholder = Placeholder {
            key: "token".to_owned(),
            encodings: vec!["base64".to_owned(), "plain".to_owned()],
            answer: Ok(token.clone()),
        };
        let names = PlaceholderNames::of(&[placeholder]);
        assert_eq!(
            names.named(&format!("Bearer {token}, {token}")),
            "Bearer {secret token base64}, {secret token base64}"
        );
        assert_eq!(names.named("plain"), "plain");
        let short = format!("{PLACEHOLDER_PREFIX}12");
        assert_eq!(names.named(&short), "{secret of nobody}12");
        let invalid = format!("{PLACEHOLDER_PREFIX}{}é", "7".repeat(24));
        assert!(names.named(&invalid).starts_with("{secret of nobody}"));
    }
}
