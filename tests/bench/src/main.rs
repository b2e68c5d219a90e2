//! Figures, as ratios against a baseline in the same run.
//!
//! Seconds depend on the machine and on its other users. So each figure is beside the time of plain Rust, or of a plain
//! client, for the same work in the same run. Nothing here passes or fails by time.
//!
//! | module | content |
//! | --- | --- |
//! | `calls` | a driver call in a fresh instance, beside the same work in plain Rust |
//! | `drivers` | the driver of each cloud on its cloud, and one driver in each language |
//! | `swaps` | loading and swapping drivers: from the cache, from the compiler, and under calls |
//! | `attacks` | calls of a driver while another driver attacks |
//! | `machines` | Machines from create to Running, beside a plain client with as many writes |
//! | `deployments` | MachineDeployments: created, rolled, scaled to none, and many |
//! | `drains` | drained Machines: many at a time until they are gone, and many that wait |
//! | `infra` | MachinistMachines from create to provisioned, and an idle host |
//! | `faults` | a cloud that refuses and fails, a host that is killed, crowds of Events |
//! | `idle` | the requests and CPU time of a host whose Machines all run |
//! | `week` | the time to simulate a week of ten thousand Machines |
//! | `conditions` | the machine, its load and the versions during the measurements |
//! | `times` | shares of many times of the same thing, such as the median |
//! | `progress` | prints the progress of a long part on stderr |
//! | `report` | the figures as a Markdown page |

mod attacks;
mod calls;
mod conditions;
mod deployments;
mod drains;
mod drivers;
mod faults;
mod idle;
mod infra;
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

/// Compares driver calls with plain Rust, and the lives of Machines with a plain client.
#[derive(Clone, Debug, Parser)]
#[command(name = "cargo xtask bench --")]
struct Options {
    /// Run only this part; may be repeated
    #[arg(long, value_enum, conflicts_with = "write")]
    only: Vec<Part>,
    /// Run only this attack, by its name in the table; may be repeated
    #[arg(long, value_name = "NAME", conflicts_with = "write")]
    attack: Vec<String>,
    /// Number of Machines; doubled for queued drains and the idle host
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(10..=5_000))]
    machines: u32,
    /// Numbers of Machines of one MachineDeployment, comma-separated; one run each
    #[arg(long, value_delimiter = ',', default_values_t = [100, 1_000, 5_000], value_parser = clap::value_parser!(u32).range(5..=5_000))]
    sizes: Vec<u32>,
    /// Numbers of Machines in a rolling update, comma-separated; one run each; the surge is a tenth
    #[arg(long, value_delimiter = ',', default_values_t = [100, 500], value_parser = clap::value_parser!(u32).range(5..=5_000))]
    rolled: Vec<u32>,
    /// Number of Machines that are scaled down to 0
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(5..=5_000))]
    scaled: u32,
    /// Number of MachineDeployments with five Machines each
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
    /// Signing of a request
    Signing,
    /// The driver of each cloud: first call, memory, 100 Machines, requests to the cloud
    Drivers,
    /// Machines, from creation to Running
    Machines,
    /// Machines without pods, from the request to delete them until they are gone
    Deletions,
    /// Machines with pods, from the request to delete them until they are gone, and queued drains
    Drains,
    /// Clouds that reject and fail requests, a killed host, floods of Events, requests to the cloud
    Faults,
    /// A host without work
    Idle,
    /// MachinistMachines of Cluster API, from creation to provisioned, and a host without work for them
    Infra,
    /// MachinistMachines of a MachineDeployment with Cluster API's own core
    InfraWithCore,
    /// Machines of one MachineDeployment, from creation to Running
    Deployment,
    /// Rolling updates of MachineDeployments to another class
    Rolling,
    /// A MachineDeployment that is scaled down to 0
    ScaleDown,
    /// Many small MachineDeployments
    Many,
    /// Machines on EC2, simulated by moto
    Ec2,
    /// 10,000 Machines in the simulator, and an estimate of the time for a week of them
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
    let wanted = |part: &&Part| options.only.is_empty() || options.only.contains(part);
    for part in Part::value_variants().iter().filter(wanted) {
        match part {
            Part::Calls => calls::measure().await?.write(&mut page),
            Part::Swaps => swaps::measure().await?.write(&mut page),
            Part::Languages => drivers::languages::measure().await?.write(&mut page),
            Part::Drivers => drivers::measure().await?.write(&mut page),
            Part::Attacks => attacks::measure(&options.attack).await?.write(&mut page),
            Part::Signing => calls::signing::measure().await?.write(&mut page),
            Part::Machines => machines::measure(machines).await?.write(&mut page),
            Part::Deletions => drains::deletions::measure(machines).await?.write(&mut page),
            Part::Drains => drains::measure(machines).await?.write(&mut page),
            Part::Faults => faults::measure().await?.write(&mut page),
            Part::Idle => idle::measure(2 * machines).await?.write(&mut page),
            Part::Infra => infra::measure(machines).await?.write(&mut page),
            Part::InfraWithCore => infra::with_core::measure(machines).await?.write(&mut page),
            Part::Deployment => deployments::growth(&options.sizes).await?.write(&mut page),
            Part::Rolling => {
                for machines in &options.rolled {
                    deployments::rolling(*machines).await?.write(&mut page);
                }
            }
            Part::ScaleDown => deployments::scale_down(options.scaled).await?.write(&mut page),
            Part::Many => deployments::many(options.deployments).await?.write(&mut page),
            Part::Ec2 => machines::ec2::measure().await?.write(&mut page),
            Part::Week => tokio::task::spawn_blocking(week::measure).await??.write(&mut page),
        }
    }
    Ok(page.into_text())
}
