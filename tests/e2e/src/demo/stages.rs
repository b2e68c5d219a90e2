//! The stages of the story, and what held at every moment of each.

use std::time::Duration;

use anyhow::Result;
use tokio::time::Instant;

use super::progress::Progress;
use crate::fleet::{FleetBounds, FleetWatch, Stretch};

/// A stage that is over.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    pub(super) what: String,
    pub(super) bounds: FleetBounds,
    pub(super) stretch: Stretch,
    pub(super) took: Duration,
}

impl Stage {
    pub(super) fn found(&self) -> String {
        let (FleetBounds { most, fewest_available }, seen) = (self.bounds, &self.stretch);
        format!(
            "{:.1} s; at most {} of {most}; available at least {}, needed {fewest_available}; {} looks",
            self.took.as_secs_f64(),
            seen.most,
            seen.fewest_available,
            seen.moments
        )
    }
}

/// All of them, watched by one watch.
pub(super) struct Stages<'a> {
    pub(super) fleet: &'a FleetWatch,
    pub(super) over: Vec<Stage>,
}

impl Stages<'_> {
    /// Begins a stage with what the user does, and shows it until it is done.
    pub(super) async fn play(
        &mut self,
        (what, bounds): (&str, FleetBounds),
        progress: &mut Progress,
        begin: impl Future<Output = Result<()>>,
        is_done: impl AsyncFnMut() -> Result<bool>,
    ) -> Result<()> {
        progress.say(what);
        let started = Instant::now();
        self.fleet.begin();
        begin.await?;
        progress.until(what, self.fleet, bounds, is_done).await?;
        let took = started.elapsed();
        let stage = Stage { what: what.to_owned(), bounds, stretch: self.fleet.stretch(), took };
        progress.say(&format!("  done: {}", stage.found()));
        self.over.push(stage);
        Ok(())
    }

    /// Machines that were made in all stages.
    pub(super) fn made(&self) -> usize {
        self.over.iter().map(|stage| stage.stretch.made).sum()
    }
}
