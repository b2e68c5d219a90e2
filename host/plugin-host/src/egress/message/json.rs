//! Finds the strings of a JSON text, so that one can be changed while every other byte stays.

use std::collections::HashSet;
use std::ops::Range;

use serde::de::IgnoredAny;

/// Calls `visit` with the path and the inside (without quotes, escapes as they are) of each string value. Returns
/// whether each key is in its object once: of a doubled one, one parser takes the first value and another the last.
/// `None` when the text is no JSON.
pub(crate) fn visit_strings<E>(
    text: &[u8],
    mut visit: impl FnMut(&[String], Range<usize>) -> Result<(), E>,
) -> Option<Result<bool, E>> {
    // The walk below relies on valid, not too deep JSON.
    serde_json::from_slice::<IgnoredAny>(text).ok()?;
    let mut walk = Walk { open: Vec::new(), path: Vec::new(), has_distinct_keys: true };
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        if *byte == b'"' {
            let end = string_end(text, at + 1)?;
            if walk.expects_key() {
                walk.key(serde_json::from_slice(text.get(at..=end)?).ok()?);
            } else if let Err(error) = visit(&walk.path, at + 1..end) {
                return Some(Err(error));
            }
            at = end;
        } else {
            walk.step(*byte);
        }
        at += 1;
    }
    Some(Ok(walk.has_distinct_keys))
}

enum Inside {
    Object { expects_key: bool, keys: HashSet<String> },
    Array { index: usize },
}

/// `path` has one segment for each container that is open: the key or index of what comes.
struct Walk {
    open: Vec<Inside>,
    path: Vec<String>,
    has_distinct_keys: bool,
}

impl Walk {
    fn expects_key(&self) -> bool {
        matches!(self.open.last(), Some(Inside::Object { expects_key: true, .. }))
    }

    fn key(&mut self, key: String) {
        if let Some(Inside::Object { keys, .. }) = self.open.last_mut() {
            self.has_distinct_keys &= keys.insert(key.clone());
        }
        self.path.pop();
        self.path.push(key);
    }

    fn step(&mut self, byte: u8) {
        match byte {
            b'{' => {
                self.open.push(Inside::Object { expects_key: true, keys: HashSet::new() });
                self.path.push(String::new());
            }
            b'[' => {
                self.open.push(Inside::Array { index: 0 });
                self.path.push("0".to_owned());
            }
            b'}' | b']' => {
                self.open.pop();
                self.path.pop();
            }
            b':' => {
                if let Some(Inside::Object { expects_key, .. }) = self.open.last_mut() {
                    *expects_key = false;
                }
            }
            b',' => match self.open.last_mut() {
                Some(Inside::Object { expects_key, .. }) => *expects_key = true,
                Some(Inside::Array { index }) => {
                    *index += 1;
                    let next = index.to_string();
                    self.key(next);
                }
                None => {}
            },
            _ => {}
        }
    }
}

/// The index of the closing quote.
fn string_end(text: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        match text.get(at)? {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(text: &str) -> Option<Vec<(String, String)>> {
        let mut found = Vec::new();
        let visited = visit_strings(text.as_bytes(), |path, span| {
            found.push((path.join("/"), text[span].to_owned()));
            Ok::<(), ()>(())
        });
        visited.map(|_| found)
    }

    #[test]
    fn every_string_is_found_at_its_path() {
        let text = r#" {"a":"1","b":{"c":["x",{"d":"y"},2,"z"],"e\"f":"q\"}"},"g":null,"h":[[],["w"]]} "#;
        let expected = [
            ("a", "1"),
            ("b/c/0", "x"),
            ("b/c/1/d", "y"),
            ("b/c/3", "z"),
            ("b/e\"f", "q\\\"}"),
            ("h/1/0", "w"),
        ];
        let expected: Vec<_> = expected.map(|(path, inside)| (path.to_owned(), inside.to_owned())).into();
        assert_eq!(strings(text), Some(expected));
        assert_eq!(strings("\"top\""), Some(vec![(String::new(), "top".to_owned())]));
    }

    #[test]
    fn a_text_that_is_no_json_has_no_strings() {
        for text in ["", "{", "{\"a\":\"b\"", "{\"a\":\"b\"} x", "a=b", "{'a':'b'}"] {
            assert_eq!(strings(text), None, "{text}");
        }
        assert_eq!(strings(&"[".repeat(5000)), None);
    }
}
