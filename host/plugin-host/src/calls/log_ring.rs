//! The last log lines of each plugin: a ring buffer in memory, which is lost when the host ends.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use machinist_artifacts::ContentDigest;
use machinist_core::value::id::PluginName;
use serde::{Deserialize, Serialize};

/// Lines of one plugin: some minutes of a busy driver, some days of an idle one.
const MOST_LINES: usize = 500;

/// Bytes of one plugin's lines.
const MOST_BYTES: usize = 256 << 10;

/// The number of plugins with lines, removed plugins included. Beyond it, the plugin that was silent for longest is
/// forgotten.
const MOST_PLUGINS: usize = 100;

/// The size of a line beside its texts.
const LINE_BYTES: usize = 128;

/// A line as it is kept. Known secrets are not in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptLine {
    /// Counts up over all plugins of this process.
    pub number: u64,
    /// When it was logged, by the host's clock.
    pub time: Timestamp,
    /// As the contract names it.
    pub level: String,
    /// The call: operation and object.
    pub call: String,
    /// Which component of the plugin.
    pub digest: String,
    pub message: String,
    /// The variable part, as `key=value` pairs.
    pub fields: String,
}

impl KeptLine {
    fn size(&self) -> usize {
        self.call.len() + self.digest.len() + self.message.len() + self.fields.len() + LINE_BYTES
    }
}

/// The lines of a plugin that are kept, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptLines {
    pub lines: Vec<KeptLine>,
    /// Lines of it that had to make room.
    pub dropped: u64,
}

/// Lines of all plugins. A clone is the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogRing(Arc<Mutex<LogRingState>>);

#[derive(Debug, Default)]
struct LogRingState {
    next: u64,
    books: BTreeMap<PluginName, PluginLines>,
}

#[derive(Debug, Default)]
struct PluginLines {
    lines: VecDeque<KeptLine>,
    bytes: usize,
    dropped: u64,
}

/// Where lines of one call come from.
#[derive(Clone, Debug)]
pub(crate) struct LogSource {
    pub(crate) log_ring: LogRing,
    pub(crate) plugin: PluginName,
    pub(crate) digest: ContentDigest,
    pub(crate) call: Arc<str>,
}

impl LogSource {
    /// Keeps a line that holds no secret.
    pub(crate) fn keep(&self, level: &'static str, message: &str, fields: &str) {
        let line = KeptLine {
            number: 0,
            time: Timestamp::now(),
            level: level.to_owned(),
            call: self.call.to_string(),
            digest: self.digest.to_string(),
            message: message.to_owned(),
            fields: fields.to_owned(),
        };
        self.log_ring.books().keep(&self.plugin, line);
    }
}

impl LogRing {
    /// Those of a plugin with a number above `after`. `None` when it has logged nothing.
    pub(crate) fn lines(&self, plugin: &PluginName, after: u64) -> Option<KeptLines> {
        let books = self.books();
        let book = books.books.get(plugin)?;
        let lines = book.lines.iter().filter(|line| line.number > after).cloned().collect();
        Some(KeptLines { lines, dropped: book.dropped })
    }

    fn books(&self) -> MutexGuard<'_, LogRingState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LogRingState {
    fn keep(&mut self, plugin: &PluginName, line: KeptLine) {
        self.next += 1;
        let line = KeptLine { number: self.next, ..line };
        self.books.entry(plugin.clone()).or_default().keep(line);
        if self.books.len() > MOST_PLUGINS {
            let newest = |book: &PluginLines| book.lines.back().map_or(0, |line| line.number);
            let silent = self.books.iter().min_by_key(|(_, book)| newest(book)).map(|(name, _)| name.clone());
            if let Some(silent) = silent {
                self.books.remove(&silent);
            }
        }
    }
}

impl PluginLines {
    fn keep(&mut self, line: KeptLine) {
        self.bytes += line.size();
        self.lines.push_back(line);
        // The last line stays, however long it is: a call may not log more than 64 KiB.
        while self.lines.len() > MOST_LINES || (self.bytes > MOST_BYTES && self.lines.len() > 1) {
            if let Some(oldest) = self.lines.pop_front() {
                self.bytes -= oldest.size();
                self.dropped += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(log_ring: &LogRing, plugin: &str) -> LogSource {
        LogSource {
            log_ring: log_ring.clone(),
            plugin: plugin.into(),
            digest: ContentDigest::of(b"component"),
            call: Arc::from("create machines/a"),
        }
    }

    fn lines(log_ring: &LogRing, plugin: &str, after: u64) -> KeptLines {
        log_ring.lines(&plugin.into(), after).expect("has logged")
    }

    #[test]
    fn the_last_lines_are_kept_and_those_before_are_counted() {
        let log_ring = LogRing::default();
        let sim = source(&log_ring, "sim");
        for line in 0..MOST_LINES + 7 {
            sim.keep("info", &format!("line {line}"), "");
        }
        let all = lines(&log_ring, "sim", 0);
        assert_eq!((all.lines.len(), all.dropped), (MOST_LINES, 7));
        assert_eq!(all.lines[0].message, "line 7");
        let later = lines(&log_ring, "sim", all.lines[497].number).lines;
        assert_eq!(
            later.iter().map(|line| line.message.as_str()).collect::<Vec<_>>(),
            ["line 505", "line 506"]
        );
        assert_eq!(log_ring.lines(&"aws".into(), 0), None);
    }

    #[test]
    fn long_lines_leave_room_for_fewer() {
        let log_ring = LogRing::default();
        let sim = source(&log_ring, "sim");
        for _ in 0..20 {
            sim.keep("info", &"x".repeat(60 << 10), "");
        }
        let all = lines(&log_ring, "sim", 0);
        assert_eq!((all.lines.len(), all.dropped), (4, 16));
        sim.keep("info", &"x".repeat(MOST_BYTES), "");
        assert_eq!(lines(&log_ring, "sim", 0).lines.len(), 1);
    }

    #[test]
    fn of_too_many_plugins_the_one_that_is_silent_for_longest_is_forgotten() {
        let log_ring = LogRing::default();
        for number in 0..MOST_PLUGINS {
            source(&log_ring, &format!("plugin-{number}")).keep("info", "begins", "");
        }
        source(&log_ring, "plugin-0").keep("info", "again", "");
        source(&log_ring, "one-more").keep("info", "begins", "");
        assert!(log_ring.lines(&"plugin-1".into(), 0).is_none());
        for kept in ["plugin-0", "plugin-2", "one-more"] {
            assert!(log_ring.lines(&kept.into(), 0).is_some(), "{kept}");
        }
    }
}
