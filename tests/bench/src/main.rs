//! Figures, as ratios against a baseline in the same run.
//!
//! Seconds depend on the machine and on its other users. So each figure is beside the time of plain Rust, or of a plain
//! client, for the same work in the same run. Nothing here passes or fails by time.

mod attacks;
mod calls;
mod conditions;
mod deployments;
mod drains;
mod faults;
mod idle;
mod languages;
mod machines;
mod progress;
mod report;
mod swaps;
mod times;
mod week;

use std::path::Path;

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};

use conditions::Conditions;
use report::Report;

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
    let mut page = report::start(&Conditions::now()?);
    let machines = usize::try_from(options.machines)?;
    let wants = |part| options.only.is_empty() || options.only.contains(&part);
    if wants(Part::Calls) {
        calls::measure().await?.write(&mut page);
    }
    if wants(Part::Swaps) {
        swaps::measure().await?.write(&mut page);
    }
    if wants(Part::Languages) {
        languages::measure().await?.write(&mut page);
    }
    if wants(Part::Attacks) {
        attacks::measure(&options.attack).await?.write(&mut page);
    }
    if wants(Part::Signing) {
        calls::signing::measure().await?.write(&mut page);
    }
    if wants(Part::Machines) {
        machines::measure(machines).await?.write(&mut page);
    }
    if wants(Part::Deletions) {
        machines::deletions::measure(machines).await?.write(&mut page);
    }
    if wants(Part::Drains) {
        drains::measure(machines).await?.write(&mut page);
    }
    if wants(Part::Faults) {
        faults::measure().await?.write(&mut page);
    }
    if wants(Part::Idle) {
        idle::measure(2 * machines).await?.write(&mut page);
    }
    if wants(Part::Deployment) {
        deployments::growth(&options.sizes).await?.write(&mut page);
    }
    if wants(Part::Rolling) {
        for machines in &options.rolled {
            deployments::rolling(*machines).await?.write(&mut page);
        }
    }
    if wants(Part::ScaleDown) {
        deployments::scale_down(options.scaled).await?.write(&mut page);
    }
    if wants(Part::Many) {
        deployments::many(options.deployments).await?.write(&mut page);
    }
    if wants(Part::Ec2) {
        machines::ec2::measure().await?.write(&mut page);
    }
    if wants(Part::Week) {
        tokio::task::spawn_blocking(week::measure).await??.write(&mut page);
    }
    Ok(page.into_text())
}
