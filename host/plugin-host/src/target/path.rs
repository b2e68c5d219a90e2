//! Paths and prefixes of paths that cannot be escaped, however the server behind them reads a path.

use std::fmt;

/// Servers that decode more often than this are not among those that a prefix can guard.
const DECODINGS: usize = 4;

/// Which paths a rule is about, as normalised text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathPattern {
    /// A prefix. With a slash at its end it matches all paths below, without one also the path itself.
    Prefix(String),
    /// This path and no other.
    Exact(String),
}

impl PathPattern {
    /// Reads a prefix; `Err` says what is wrong.
    pub(crate) fn prefix(text: &str) -> Result<Self, String> {
        normal(text).map(Self::Prefix)
    }

    /// Parses a path that matches only itself; `Err` names the problem.
    pub(crate) fn exact(text: &str) -> Result<Self, String> {
        normal(text).map(Self::Exact)
    }

    /// The path as it was written.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Prefix(text) | Self::Exact(text) => text,
        }
    }

    /// Whether each path that the other means is one that this means.
    pub(crate) fn is_wider(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Exact(_), Self::Prefix(_)) => false,
            (pattern, Self::Exact(path) | Self::Prefix(path)) => pattern.covers(path),
        }
    }

    fn covers(&self, path: &str) -> bool {
        match self {
            Self::Exact(exact) => path == exact,
            Self::Prefix(prefix) => match path.strip_prefix(prefix.as_str()) {
                Some(rest) => prefix.ends_with('/') || rest.is_empty() || rest.starts_with('/'),
                None => false,
            },
        }
    }
}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

fn normal(text: &str) -> Result<String, String> {
    if !text.starts_with('/') {
        return Err(format!("{text:?} is no path: it starts with /"));
    }
    let normalised = url::Url::parse(&format!("https://host{text}")).ok();
    let is_normal = normalised.is_some_and(|url| url.path() == text && url.query().is_none())
        && Readings::of(text).is_some_and(|readings| readings.0.iter().all(|reading| reading == text));
    if is_normal {
        Ok(text.to_owned())
    } else {
        Err(format!(
            "{text:?} is no normal path: no dot segments, doubled slashes, escapes, query or fragment"
        ))
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

    /// True when the pattern means every reading.
    pub(crate) fn fit(&self, pattern: &PathPattern) -> bool {
        self.0.iter().all(|reading| pattern.covers(reading))
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
