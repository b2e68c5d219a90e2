//! Pauses between attempts, longer each time.

use std::time::Duration;

/// Between attempts at the same: ever longer.
#[derive(Default)]
pub(super) struct Pauses(Option<Duration>);

impl Pauses {
    pub(super) fn next(&mut self) -> Duration {
        const FIRST: Duration = Duration::from_secs(5);
        const LONGEST: Duration = Duration::from_secs(300);
        let pause = self.0.map_or(FIRST, |last| LONGEST.min(last * 2));
        self.0 = Some(pause);
        pause
    }
}
