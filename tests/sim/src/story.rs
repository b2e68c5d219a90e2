//! The last events, for the reader of a failure.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use jiff::Timestamp;

/// Lines that are kept.
const LINES: usize = 200;

/// The actions of users, kubelets and faults. The wire has the requests of hosts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Story(Arc<Mutex<VecDeque<String>>>);

impl Story {
    pub(crate) fn tell(&self, at: Timestamp, (what, whom): (&str, &str)) {
        let mut lines = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        lines.push_back(format!("{at} {what} {whom}"));
        if lines.len() > LINES {
            lines.pop_front();
        }
    }

    /// All lines that are kept.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).iter().cloned().collect()
    }
}
