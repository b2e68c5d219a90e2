//! Figures, as ratios against a baseline in the same run.
//!
//! Seconds depend on the machine and on who else uses it. So each figure stands beside what plain Rust, or a plain
//! client, needed for the same work in the same run. Nothing here passes or fails by time.

mod calls;
mod conditions;
mod deletions;
mod drains;
mod idle;
mod machines;
mod progress;
mod report;
mod signing;
mod swaps;
mod times;
mod week;

use std::path::Path;

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};

use conditions::Conditions;

/// Measures driver calls against plain Rust, and lives of Machines against a plain client.
#[derive(Clone, Debug, Parser)]
#[command(name = "cargo xtask bench --")]
struct Options {
    /// Only this part; may be given several times
    #[arg(long, value_enum, conflicts_with = "write")]
    only: Vec<Part>,
    /// How many Machines; drains that wait and a host that is idle get twice as many
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(10..=5_000))]
    machines: u32,
    /// Write tests/bench/FIGURES.md
    #[arg(long)]
    write: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Driver calls in a fresh instance
    Calls,
    /// Loading and swapping drivers
    Swaps,
    /// Signing a request
    Signing,
    /// Machines from create to Running
    Machines,
    /// Machines without pods, from delete to gone
    Deletions,
    /// Machines with pods, from delete to gone, and drains that wait
    Drains,
    /// A host that has nothing to do
    Idle,
    /// Machines on EC2, played by moto
    Ec2,
    /// Ten thousand Machines in the simulator, and what a week of them would take
    Week,
}

/// What was measured.
#[derive(Clone, Debug, Default)]
struct Figures {
    calls: Option<calls::Figures>,
    swaps: Option<swaps::Figures>,
    signing: Option<signing::Figures>,
    machines: Option<machines::Figures>,
    deletions: Option<deletions::Figures>,
    drains: Option<drains::Figures>,
    idle: Option<idle::Figures>,
    ec2: Option<machines::ec2::Figures>,
    week: Option<week::Week>,
}

fn main() -> Result<()> {
    let options = Options::parse();
    rustls::crypto::ring::default_provider().install_default().ok();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("failed to start threads")?;
    let text = runtime.block_on(measure(&options))?;
    println!("{text}");
    if options.write {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("FIGURES.md");
        std::fs::write(&path, text).with_context(|| format!("failed to write {}", path.display()))?;
    }
    Ok(())
}

async fn measure(options: &Options) -> Result<String> {
    let conditions = Conditions::now()?;
    let machines = usize::try_from(options.machines)?;
    let wants = |part| options.only.is_empty() || options.only.contains(&part);
    let mut figures = Figures::default();
    if wants(Part::Calls) {
        figures.calls = Some(calls::measure().await?);
    }
    if wants(Part::Swaps) {
        figures.swaps = Some(swaps::measure().await?);
    }
    if wants(Part::Signing) {
        figures.signing = Some(signing::measure().await?);
    }
    if wants(Part::Machines) {
        figures.machines = Some(machines::measure(machines).await?);
    }
    if wants(Part::Deletions) {
        figures.deletions = Some(deletions::measure(machines).await?);
    }
    if wants(Part::Drains) {
        figures.drains = Some(drains::measure(machines).await?);
    }
    if wants(Part::Idle) {
        figures.idle = Some(idle::measure(2 * machines).await?);
    }
    if wants(Part::Ec2) {
        figures.ec2 = Some(machines::ec2::measure().await?);
    }
    if wants(Part::Week) {
        figures.week = Some(tokio::task::spawn_blocking(week::measure).await??);
    }
    Ok(report::render(&conditions, &figures))
}
