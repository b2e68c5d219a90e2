//! A log for tests to read.

use std::cell::RefCell;

use crate::log::{Level, Log, Sink};

/// A line of the log.
#[derive(Clone, Debug)]
pub struct LogLine {
    /// The severity.
    pub level: Level,
    /// The static text.
    pub message: String,
    /// Names and values.
    pub fields: Vec<(String, String)>,
}

/// Keeps the lines of the log.
#[derive(Debug, Default)]
pub struct MockLog {
    lines: RefCell<Vec<LogLine>>,
}

impl MockLog {
    /// Returns a log that writes here.
    pub fn log(&self) -> Log<'_> {
        Log::new(self)
    }

    /// Returns all lines so far.
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
