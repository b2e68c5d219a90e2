//! An error with its causes in one line, for people.

use std::error::Error;

/// Returns the text of an error and of its causes, separated by colons. A cause that the text before it already ends
/// with is left out: some libraries repeat their cause in their own text.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let message = cause.to_string();
        if !ends_with(&text, &message) {
            text.push_str(": ");
            text.push_str(&message);
        }
        next = cause.source();
    }
    text
}

/// True when the text is the message, or ends with it as its cause.
fn ends_with(text: &str, message: &str) -> bool {
    text.strip_suffix(message).is_some_and(|head| head.is_empty() || head.ends_with(": "))
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use super::*;

    #[derive(Debug)]
    struct Link {
        message: &'static str,
        cause: Option<Box<Self>>,
    }

    impl fmt::Display for Link {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.message)
        }
    }

    impl Error for Link {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.cause.as_deref().map(|cause| cause as &(dyn Error + 'static))
        }
    }

    fn check(messages: &[&'static str], expected: &str) {
        let linked =
            messages.iter().rev().fold(None, |cause, message| Some(Box::new(Link { message, cause })));
        assert_eq!(chain(&linked.expect("a message")), expected);
    }

    #[test]
    fn each_cause_is_named_once() {
        check(&["a", "b", "c"], "a: b: c");
        check(&["failed: not set", "not set"], "failed: not set");
        check(&["connect failed", "connect failed", "refused"], "connect failed: refused");
        check(&["a: b: c", "b: c", "c"], "a: b: c");
        check(&["a: b", "b", "c"], "a: b: c");
    }

    #[test]
    fn a_cause_whose_word_ends_the_text_by_chance_is_named() {
        check(&["failed to read x", "x"], "failed to read x: x");
        check(&["unset", "set"], "unset: set");
    }
}
