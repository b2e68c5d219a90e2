//! Placeholders by their meaning: two calls of the same component get different tokens for the same value.

use crate::grants::PLACEHOLDER_PREFIX;
use crate::recording::model::Placeholder;
use crate::vault::PLACEHOLDER_BYTES;

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
mod tests {
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
