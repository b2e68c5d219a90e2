//! Path prefixes that cannot be escaped, however the server behind them reads a path.

use std::fmt;

/// Servers that decode more often than this are not among those that a prefix can guard.
const DECODINGS: usize = 4;

/// A normalised prefix. With a slash at its end it stands for what is below, without one also for the path itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathPrefix(String);

impl PathPrefix {
    /// Reads a prefix; `Err` says what is wrong.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if !text.starts_with('/') {
            return Err(format!("{text:?} is no path prefix: it starts with /"));
        }
        let normalised = url::Url::parse(&format!("https://host{text}")).ok();
        let is_normal = normalised.is_some_and(|url| url.path() == text && url.query().is_none())
            && Readings::of(text).is_some_and(|readings| readings.0.iter().all(|reading| reading == text));
        if is_normal {
            Ok(Self(text.to_owned()))
        } else {
            Err(format!(
                "{text:?} is no normal path: no dot segments, doubled slashes, escapes, query or fragment"
            ))
        }
    }

    /// The prefix as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn covers(&self, path: &str) -> bool {
        match path.strip_prefix(self.0.as_str()) {
            Some(rest) => self.0.ends_with('/') || rest.is_empty() || rest.starts_with('/'),
            None => false,
        }
    }
}

impl fmt::Display for PathPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// All ways in which servers read one path: escapes decoded once, twice, …; dot segments resolved with and without
/// merging doubled slashes; parameters behind `;` ignored; backslashes as slashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Readings(Vec<String>);

impl Readings {
    /// `None` when the path is still escaped after more decodings than any server does.
    pub(crate) fn of(path: &str) -> Option<Self> {
        let mut readings = vec![path.to_owned()];
        let mut current = path.to_owned();
        for _ in 0..=DECODINGS {
            for reading in [resolve(&current, Slashes::Kept), resolve(&current, Slashes::Merged)] {
                if !readings.contains(&reading) {
                    readings.push(reading);
                }
            }
            let decoded = decode(&current);
            if decoded == current {
                return Some(Self(readings));
            }
            current = decoded;
        }
        None
    }

    /// True when every reading is below the prefix.
    pub(crate) fn are_below(&self, prefix: &PathPrefix) -> bool {
        self.0.iter().all(|reading| prefix.covers(reading))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Slashes {
    Kept,
    Merged,
}

fn resolve(path: &str, slashes: Slashes) -> String {
    let path = path.replace('\\', "/");
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment.split(';').next().unwrap_or(segment) {
            ".." => {
                kept.pop();
                if is_last {
                    kept.push("");
                }
            }
            "." if is_last => kept.push(""),
            "." => {}
            "" if slashes == Slashes::Merged && !is_last => {}
            _ => kept.push(segment),
        }
    }
    format!("/{}", kept.join("/"))
}

fn decode(path: &str) -> String {
    let hex = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16));
    let bytes = path.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match (byte, hex(bytes.get(at + 1)), hex(bytes.get(at + 2))) {
            (b'%', Some(high), Some(low)) => {
                decoded.push(u8::try_from(high * 16 + low).unwrap_or(b'%'));
                at += 3;
            }
            _ => {
                decoded.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}
