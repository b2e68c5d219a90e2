//! The log of a call.

use crate::bindings::provider::machinist::host::log as contract;

pub use contract::Level;

/// The receiver of log lines.
pub(crate) trait Sink {
    /// False if the host would drop the line.
    fn enabled(&self, level: Level) -> bool;

    /// Writes a line.
    fn emit(&self, level: Level, message: &str, fields: &[(&str, &str)]);
}

/// Writes log lines: a static message, and all values that vary as fields. The host adds plugin, version, call and
/// machine.
#[derive(Clone, Copy)]
pub struct Log<'a> {
    sink: &'a dyn Sink,
}

impl<'a> Log<'a> {
    pub(crate) fn new(sink: &'a dyn Sink) -> Self {
        Self { sink }
    }

    /// False if the host drops this level: ask before you build an expensive message.
    pub fn enabled(self, level: Level) -> bool {
        self.sink.enabled(level)
    }

    /// Writes a line of this level.
    pub fn emit(self, level: Level, message: &str, fields: &[(&str, &str)]) {
        self.sink.emit(level, message, fields);
    }

    /// Writes a line for the author, for each step.
    pub fn trace(self, message: &str, fields: &[(&str, &str)]) {
        self.emit(Level::Trace, message, fields);
    }

    /// Writes a line for the author.
    pub fn debug(self, message: &str, fields: &[(&str, &str)]) {
        self.emit(Level::Debug, message, fields);
    }

    /// Writes a line that an operator may want to read.
    pub fn info(self, message: &str, fields: &[(&str, &str)]) {
        self.emit(Level::Info, message, fields);
    }

    /// Writes a line that an operator should check.
    pub fn warn(self, message: &str, fields: &[(&str, &str)]) {
        self.emit(Level::Warn, message, fields);
    }

    /// Writes a line that an operator must check.
    pub fn error(self, message: &str, fields: &[(&str, &str)]) {
        self.emit(Level::Error, message, fields);
    }
}

/// The host's log.
pub(crate) struct HostLog;

impl Sink for HostLog {
    fn enabled(&self, level: Level) -> bool {
        contract::enabled(level)
    }

    fn emit(&self, level: Level, message: &str, fields: &[(&str, &str)]) {
        let fields: Vec<(String, String)> =
            fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        contract::emit(level, message, &fields);
    }
}
