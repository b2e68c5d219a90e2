//! Figures, as ratios against a baseline in the same run.
//!
//! Seconds depend on the machine and on who else uses it. So each figure stands beside what plain Rust, or a plain
//! client, needed for the same work in the same run. Nothing here passes or fails by time.

mod attacks;
mod calls;
mod conditions;
mod deletions;
mod deployments;
mod drains;
mod faults;
mod idle;
mod languages;
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
    /// Of the attacks only this one, by its name in the table; may be given several times
    #[arg(long, value_name = "NAME", conflicts_with = "write")]
    attack: Vec<String>,
    /// How many Machines; drains that wait and a host that is idle get twice as many
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(10..=5_000))]
    machines: u32,
    /// How many Machines of one MachineDeployment, one run each
    #[arg(long, value_delimiter = ',', default_values_t = [100, 1_000, 5_000], value_parser = clap::value_parser!(u32).range(5..=5_000))]
    sizes: Vec<u32>,
    /// How many Machines are rolled, a tenth of them beyond at a time; one run each
    #[arg(long, value_delimiter = ',', default_values_t = [100, 500], value_parser = clap::value_parser!(u32).range(5..=5_000))]
    rolled: Vec<u32>,
    /// How many Machines are scaled to none
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(5..=5_000))]
    scaled: u32,
    /// How many MachineDeployments of five
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(2..=1_000))]
    deployments: u32,
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
    /// Drivers in each language: first call, call, memory
    Languages,
    /// Calls of a driver while another one attacks
    Attacks,
    /// Signing a request
    Signing,
    /// Machines from create to Running
    Machines,
    /// Machines without pods, from delete to gone
    Deletions,
    /// Machines with pods, from delete to gone, and drains that wait
    Drains,
    /// Clouds that refuse and fail, a host that is killed, crowds of Events, requests to the cloud
    Faults,
    /// A host that has nothing to do
    Idle,
    /// Machines of one MachineDeployment, from create to Running
    Deployment,
    /// MachineDeployments that are rolled to another class
    Rolling,
    /// A MachineDeployment that is scaled to none
    ScaleDown,
    /// Many small MachineDeployments
    Many,
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
    languages: Option<Vec<languages::Outcome>>,
    attacks: Option<attacks::Figures>,
    signing: Option<signing::Figures>,
    machines: Option<machines::Figures>,
    deletions: Option<deletions::Figures>,
    drains: Option<drains::Figures>,
    faults: Option<faults::Figures>,
    idle: Option<idle::Figures>,
    deployment: Option<deployments::Growth>,
    rolling: Vec<deployments::Rolling>,
    scale_down: Option<deployments::ScaleDown>,
    many: Option<deployments::Many>,
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
    if wants(Part::Languages) {
        figures.languages = Some(languages::measure().await?);
    }
    if wants(Part::Attacks) {
        figures.attacks = Some(attacks::measure(&options.attack).await?);
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
    if wants(Part::Faults) {
        figures.faults = Some(faults::measure().await?);
    }
    if wants(Part::Idle) {
        figures.idle = Some(idle::measure(2 * machines).await?);
    }
    if wants(Part::Deployment) {
        figures.deployment = Some(deployments::growth(&options.sizes).await?);
    }
    if wants(Part::Rolling) {
        for machines in &options.rolled {
            figures.rolling.push(deployments::rolling(*machines).await?);
        }
    }
    if wants(Part::ScaleDown) {
        figures.scale_down = Some(deployments::scale_down(options.scaled).await?);
    }
    if wants(Part::Many) {
        figures.many = Some(deployments::many(options.deployments).await?);
    }
    if wants(Part::Ec2) {
        figures.ec2 = Some(machines::ec2::measure().await?);
    }
    if wants(Part::Week) {
        figures.week = Some(tokio::task::spawn_blocking(week::measure).await??);
    }
    Ok(report::render(&conditions, &figures))
}
