//! The output of the demo: a live table on a terminal, plain lines elsewhere.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use anyhow::{Result, bail};
use tokio::time::{Instant, sleep};

use crate::fleet::{Fleet, FleetBounds, FleetWatch, Seen};

/// Rows of the table: more would not fit a small terminal.
const ROWS: usize = 16;
const PERIOD: Duration = Duration::from_millis(200);
/// Only what is stuck shows nothing for so long, however slow the machine.
const TIMEOUT: Duration = Duration::from_secs(180);

pub(super) struct Progress {
    started: Instant,
    is_terminal: bool,
    /// Lines of the table on the terminal.
    drawn: usize,
    /// The line that was printed last, elsewhere.
    last_line: String,
}

impl Progress {
    pub(super) fn start() -> Self {
        let is_terminal = std::io::stdout().is_terminal();
        Self { started: Instant::now(), is_terminal, drawn: 0, last_line: String::new() }
    }

    /// A step of the story.
    pub(super) fn say(&mut self, what: &str) {
        self.wipe();
        println!("[{:7.2}s] {what}", self.started.elapsed().as_secs_f64());
    }

    /// Shows the Machines until it is done. `what` is the sentence that will be true.
    pub(super) async fn until(
        &mut self,
        what: &str,
        fleet: &FleetWatch,
        bounds: FleetBounds,
        mut is_done: impl AsyncFnMut() -> Result<bool>,
    ) -> Result<()> {
        let mut moved = (fleet.stretch().moments, Instant::now());
        loop {
            fleet.look(|fleet| self.show(fleet, bounds));
            if is_done().await? {
                return Ok(());
            }
            let moments = fleet.stretch().moments;
            if moments != moved.0 {
                moved = (moments, Instant::now());
            } else if moved.1.elapsed() > TIMEOUT {
                bail!("nothing has changed for {TIMEOUT:?}, and it is not so that {what}");
            }
            sleep(PERIOD).await;
        }
    }

    fn show(&mut self, fleet: &Fleet, bounds: FleetBounds) {
        let line = headline(fleet, bounds);
        if self.is_terminal {
            self.draw(&line, fleet);
        } else if line != self.last_line {
            println!("[{:7.2}s]   {line}", self.started.elapsed().as_secs_f64());
            self.last_line = line;
        }
    }

    fn draw(&mut self, headline: &str, fleet: &Fleet) {
        self.wipe();
        let mut lines = vec![headline.to_owned()];
        lines.push(format!("  {:<22} {:<12} {:<10} {:<22} {}", "NAME", "CLASS", "STATUS", "NODE", "REASON"));
        // Those that are on their way are worth a look.
        let mut rows: Vec<&Seen> = fleet.machines().values().collect();
        rows.sort_by_key(|machine| machine.shown_phase() == "Running");
        for Seen { name, class, node, reason, .. } in rows.iter().take(ROWS) {
            let status = fleet.machines().get(name).map_or("", Seen::shown_phase);
            lines.push(format!("  {name:<22} {class:<12} {status:<10} {node:<22} {reason}"));
        }
        if rows.len() > ROWS {
            lines.push(format!("  … and {} more", rows.len() - ROWS));
        }
        for line in &lines {
            println!("{line}");
        }
        self.drawn = lines.len();
        std::io::stdout().flush().ok();
    }

    fn wipe(&mut self) {
        if self.drawn > 0 {
            // Up so many lines, and clear from there.
            print!("\x1b[{}A\x1b[J", self.drawn);
            self.drawn = 0;
        }
    }
}

fn headline(fleet: &Fleet, bounds: FleetBounds) -> String {
    let (tally, FleetBounds { most, fewest_available }) = (fleet.tally(), bounds);
    format!("{tally}; {} available  [{fewest_available} available … {most} in all]", tally.available)
}
