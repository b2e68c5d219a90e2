//! A log that can be read.

use std::cell::RefCell;

use crate::log::{Level, Log, Sink};

/// A line of the log.
#[derive(Clone, Debug)]
pub struct LogLine {
    /// How bad it is.
    pub level: Level,
    /// The static text.
    pub message: String,
    /// What varies.
    pub fields: Vec<(String, String)>,
}

/// Keeps the lines that were written.
#[derive(Debug, Default)]
pub struct MockLog {
    lines: RefCell<Vec<LogLine>>,
}

impl MockLog {
    /// What writes into it.
    pub fn log(&self) -> Log<'_> {
        Log::new(self)
    }

    /// All lines so far.
    pub fn lines(&self) -> Vec<LogLine> {
        self.lines.borrow().clone()
    }

    pub(super) fn take(&self) -> Vec<LogLine> {
        self.lines.take()
    }
}

impl Sink for MockLog {
    fn enabled(&self, _: Level) -> bool {
        true
    }

    fn emit(&self, level: Level, message: &str, fields: &[(&str, &str)]) {
        let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        self.lines.borrow_mut().push(LogLine { level, message: message.to_owned(), fields });
    }
}
