//! What the demo shows: a live table on a terminal, plain lines elsewhere.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::time::Duration;

use anyhow::Result;
use kube::Api;
use kube::api::ListParams;
use machinist_api::Machine;
use tokio::time::Instant;

/// Rows of the table: more would not fit a small terminal.
const ROWS: usize = 16;

/// Between two looks.
const PERIOD: Duration = Duration::from_millis(200);

/// Shows what happens.
pub(super) struct Progress {
    started: Instant,
    is_terminal: bool,
    /// Lines of the table that stands on the terminal.
    drawn: usize,
    shown_at: Option<Instant>,
    phases: BTreeMap<String, String>,
    counts: BTreeMap<String, usize>,
}

impl Progress {
    pub(super) fn start() -> Self {
        Self {
            started: Instant::now(),
            is_terminal: std::io::stdout().is_terminal(),
            drawn: 0,
            shown_at: None,
            phases: BTreeMap::new(),
            counts: BTreeMap::new(),
        }
    }

    /// A step of the story.
    pub(super) fn say(&mut self, what: &str) {
        self.wipe();
        println!("[{:7.2}s] {what}", self.started.elapsed().as_secs_f64());
    }

    /// Looks at the Machines and shows what has changed. Answers how many there are in each phase.
    pub(super) async fn show(&mut self, api: &Api<Machine>) -> Result<BTreeMap<String, usize>> {
        let is_early = self.shown_at.is_some_and(|at| at.elapsed() < PERIOD);
        if is_early {
            return Ok(self.counts.clone());
        }
        self.shown_at = Some(Instant::now());
        let machines = api.list(&ListParams::default()).await?.items;
        self.counts = BTreeMap::new();
        for machine in &machines {
            *self.counts.entry(phase(machine).to_owned()).or_default() += 1;
        }
        if self.is_terminal {
            self.draw(&machines);
        } else {
            self.list(&machines);
        }
        // Words of the API for the caller; the empty one is "Creating" to people only.
        Ok(self.counts.clone())
    }

    fn list(&mut self, machines: &[Machine]) {
        let mut phases = BTreeMap::new();
        for machine in machines {
            let name = machine.metadata.name.clone().unwrap_or_default();
            let phase = phase(machine).to_owned();
            let before = self.phases.remove(&name);
            if before.as_deref() != Some(&phase) {
                let before = before.unwrap_or_else(|| "(new)".to_owned());
                let id = machine.provider_id().unwrap_or_default();
                println!(
                    "[{:7.2}s]   {name}: {before} -> {phase}  {id}",
                    self.started.elapsed().as_secs_f64()
                );
            }
            phases.insert(name, phase);
        }
        for (name, before) in std::mem::replace(&mut self.phases, phases) {
            println!("[{:7.2}s]   {name}: {before} -> (gone)", self.started.elapsed().as_secs_f64());
        }
    }

    fn draw(&mut self, machines: &[Machine]) {
        self.wipe();
        let counts: Vec<String> =
            self.counts.iter().map(|(phase, count)| format!("{count} {phase}")).collect();
        let mut lines = vec![format!("{} Machines: {}", machines.len(), counts.join(", "))];
        lines.push(format!("  {:<14} {:<18} {:<14} {}", "NAME", "STATUS", "NODE", "REASON"));
        // Those that are on their way are worth a look.
        let mut rows: Vec<&Machine> = machines.iter().collect();
        rows.sort_by_key(|machine| phase(machine) == "Running");
        for machine in rows.iter().take(ROWS) {
            let name = machine.metadata.name.as_deref().unwrap_or_default();
            let node = machine
                .metadata
                .labels
                .as_ref()
                .and_then(|labels| labels.get("node"))
                .map_or("", String::as_str);
            lines.push(format!("  {name:<14} {:<18} {node:<14} {}", phase(machine), reason(machine)));
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

fn phase(machine: &Machine) -> &str {
    let phase = machine.status.as_ref().and_then(|status| status.current_status.phase.as_ref());
    match phase.map_or("", machinist_api::Word::as_str) {
        "" => "Creating",
        phase => phase,
    }
}

fn reason(machine: &Machine) -> &str {
    let own = machine.status.as_ref().and_then(|status| status.machinist.as_ref());
    own.and_then(|own| own.conditions.first()).map_or("", |condition| condition.reason.as_str())
}
