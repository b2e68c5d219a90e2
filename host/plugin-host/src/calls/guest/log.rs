//! Log lines of a driver, bounded and without secrets.

use std::sync::Arc;

use machinist_core::value::id::PluginName;
use tracing::Level;

use crate::calls::bindings::driver::machinist::host::log::Level as GuestLevel;
use crate::output_limits::visible;
use crate::recording::Levels;

/// Target of the lines in the host's log.
const TARGET: &str = "machinist::driver";
/// The contract's bounds for one call.
const MOST_LINES: u32 = 1_000;
const MOST_BYTES: usize = 64 * 1024;

/// A line of a driver as the host keeps it, without known secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    pub plugin: PluginName,
    /// As the contract names it.
    pub level: &'static str,
    pub message: String,
    /// The variable part, as `key=value` pairs.
    pub fields: String,
}

/// Receives each line that is kept. Must not block.
pub(crate) type LogListener = Arc<dyn Fn(&LogLine) + Send + Sync>;

/// Counts what one call logs.
#[derive(Debug, Default)]
pub(crate) struct LogBudget {
    lines: u32,
    bytes: usize,
    dropped: u64,
}

impl LogBudget {
    /// True when a line of this size may be written; counts it either way.
    pub(crate) fn take(&mut self, bytes: usize) -> bool {
        if self.lines >= MOST_LINES || self.bytes.saturating_add(bytes) > MOST_BYTES {
            self.dropped += 1;
            return false;
        }
        self.lines += 1;
        self.bytes += bytes;
        true
    }

    /// Lines so far, also those beyond the bounds.
    pub(crate) fn lines(&self) -> u64 {
        self.dropped + u64::from(self.lines)
    }

    /// Lines beyond the bounds.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }
}

/// Returns whether the host keeps lines of this level. Lines of `info` and above are always kept, for later queries.
pub(crate) fn is_enabled(level: GuestLevel) -> bool {
    match level {
        GuestLevel::Trace => tracing::enabled!(target: TARGET, Level::TRACE),
        GuestLevel::Debug => tracing::enabled!(target: TARGET, Level::DEBUG),
        GuestLevel::Info | GuestLevel::Warn | GuestLevel::Error => true,
    }
}

/// The levels that the host keeps at the moment.
pub(crate) fn kept_levels() -> Levels {
    let [trace, debug, info, warn, error] =
        [GuestLevel::Trace, GuestLevel::Debug, GuestLevel::Info, GuestLevel::Warn, GuestLevel::Error]
            .map(is_enabled);
    Levels { trace, debug, info, warn, error }
}

/// As the contract names it.
pub(crate) fn name(level: GuestLevel) -> &'static str {
    match level {
        GuestLevel::Trace => "trace",
        GuestLevel::Debug => "debug",
        GuestLevel::Info => "info",
        GuestLevel::Warn => "warn",
        GuestLevel::Error => "error",
    }
}

/// Writes the line; plugin, call and machine are in the span around it.
pub(crate) fn emit(level: GuestLevel, message: &str, fields: &str) {
    // A line of the host's log stays one line, whatever the driver writes.
    let message = visible(message);
    match level {
        GuestLevel::Trace => tracing::trace!(target: TARGET, fields, "{message}"),
        GuestLevel::Debug => tracing::debug!(target: TARGET, fields, "{message}"),
        GuestLevel::Info => tracing::info!(target: TARGET, fields, "{message}"),
        GuestLevel::Warn => tracing::warn!(target: TARGET, fields, "{message}"),
        // A driver cannot know what someone should be woken for.
        GuestLevel::Error => tracing::warn!(target: TARGET, fields, driver_level = "error", "{message}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_beyond_the_bounds_are_dropped_and_counted() {
        let mut budget = LogBudget::default();
        assert!(!budget.take(MOST_BYTES + 1));
        let taken = (0..2 * MOST_LINES).filter(|_| budget.take(10)).count();
        assert_eq!((taken, budget.dropped()), (1_000, 1_001));
    }
}
