//! `cargo xtask sim`: runs seeds, and says which one failed and how to repeat it.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use sim::{Plan, Report, run};

#[derive(Parser)]
#[command(name = "cargo xtask sim", bin_name = "cargo xtask sim")]
/// Simulates whole clusters, each from its seed: the real runtime and core, everything else in memory, time as fast as it can
/// be computed.
struct Options {
    /// How many seeds to run
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Machines of each run
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    machines: u32,
    /// Simulated hours with faults; the calm after them comes on top
    #[arg(long, default_value_t = 3.0, value_parser = hours)]
    hours: f64,
    /// Seeds at a time; by default one a processor
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_024))]
    threads: Option<u32>,
    /// Prints what the hosts log, as RUST_LOG says
    #[arg(long)]
    log: bool,
}

fn hours(text: &str) -> Result<f64, String> {
    let hours: f64 = text.parse().map_err(|_| "is not a number".to_owned())?;
    if (0.01..=100_000.0).contains(&hours) {
        Ok(hours)
    } else {
        Err("must be from 0.01 to 100000".to_owned())
    }
}

fn main() -> ExitCode {
    let options = Options::parse();
    if options.log {
        tracing_subscriber::fmt().with_env_filter(tracing_subscriber::EnvFilter::from_default_env()).init();
    }
    let began = Instant::now();
    let reports = run_all(&options);
    print_summary(&options, &reports, began.elapsed());
    let failed: Vec<&Report> = reports.iter().filter(|report| report.violation.is_some()).collect();
    for report in failed.iter().skip(1) {
        println!("also failed: seed {}{}", report.seed, told(report));
    }
    let Some(first) = failed.first() else {
        let all_ran = reports.len() as u64 == options.seeds;
        return if all_ran { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    };
    println!("\n{}\n\nseed {} failed{}", first.story, first.seed, told(first));
    println!(
        "repeat it with: cargo xtask sim --seeds 1 --seed {} --machines {} --hours {}",
        first.seed, options.machines, options.hours
    );
    ExitCode::FAILURE
}

fn told(report: &Report) -> String {
    report.violation.as_ref().map(|violation| format!(": {violation}")).unwrap_or_default()
}

fn run_all(options: &Options) -> Vec<Report> {
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads =
        options.threads.and_then(|threads| usize::try_from(threads).ok()).unwrap_or_else(processors);
    let (next, reports) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= options.seeds {
                        return;
                    }
                    let seed = options.seed.wrapping_add(number);
                    let chaos = Duration::from_secs_f64(options.hours * 3600.0);
                    match run(&Plan::new(seed, options.machines as usize, chaos)) {
                        Ok(report) => {
                            reports.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(report);
                        }
                        Err(error) => eprintln!("seed {seed} could not be run: {error:#}"),
                    }
                }
            });
        }
    });
    let mut reports = reports.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    reports.sort_by_key(|report| report.seed);
    reports
}

fn print_summary(options: &Options, reports: &[Report], took: Duration) {
    let machine_hours: f64 = reports.iter().map(Report::machine_hours).sum();
    let calls: usize = reports.iter().map(|report| report.calls).sum();
    let vms: u64 = reports.iter().map(|report| report.vms).sum();
    let mut faults = BTreeMap::<&str, u64>::new();
    for (name, count) in reports.iter().flat_map(|report| &report.faults) {
        *faults.entry(name).or_default() += count;
    }
    let seconds = took.as_secs_f64();
    println!("seeds             {} from {}, in {seconds:.1} s", reports.len(), options.seed);
    println!("seeds per second  {:.2}", reports.len() as f64 / seconds);
    println!("machine-hours     {machine_hours:.0} simulated, {:.0} per second", machine_hours / seconds);
    println!("calls             {calls}, {:.0} per second", calls as f64 / seconds);
    println!("VMs made          {vms}");
    println!("faults injected   {}", faults.values().sum::<u64>());
    for (name, count) in faults {
        println!("  {name:<15} {count}");
    }
    if let [report] = reports {
        println!("trace             {:016x}", report.hash);
    }
}
