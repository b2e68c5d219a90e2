//! The log of a call.

use crate::bindings::provider::machinist::host::log as contract;

pub use contract::Level;

/// Where lines go.
pub(crate) trait Sink {
    /// False when the line would be dropped anyway.
    fn enabled(&self, level: Level) -> bool;

    /// Takes a line.
    fn emit(&self, level: Level, message: &str, fields: &[(&str, &str)]);
}

/// Takes lines: a static message, and what varies. The host adds plugin, version, call and machine.
#[derive(Clone, Copy)]
pub struct Log<'a> {
    sink: &'a dyn Sink,
}

impl<'a> Log<'a> {
    pub(crate) fn new(sink: &'a dyn Sink) -> Self {
        Self { sink }
    }

    /// False when the host drops this level anyway: ask before you build an expensive message.
    pub fn enabled(self, level: Level) -> bool {
        self.sink.enabled(level)
    }

    /// A line of this level.
    pub fn emit(self, level: Level, message: &str, fields: &[(&str, &str)]) {
        self.sink.emit(level, message, fields);
    }

    /// What only the author wants to know, in every step.
    pub fn trace(self, message: &str, fields: &[(&str, &str)]) {
        self.emit(Level::Trace, message, fields);
    }

    /// What only the author wants to know.
    pub fn debug(self, message: &str, fields: &[(&str, &str)]) {
        self.emit(Level::Debug, message, fields);
    }

    /// What an operator may want to know.
    pub fn info(self, message: &str, fields: &[(&str, &str)]) {
        self.emit(Level::Info, message, fields);
    }

    /// What an operator should look at.
    pub fn warn(self, message: &str, fields: &[(&str, &str)]) {
        self.emit(Level::Warn, message, fields);
    }

    /// What an operator must look at.
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
