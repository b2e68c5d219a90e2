//! `cargo xtask sim`: runs seeds, and says which one failed and how to repeat it. `cli` has its parts.

mod cli;

use std::process::ExitCode;

use clap::Parser;
use cli::{Cost, Options, Summary, failure_text, run_all, violation};
use sim::Report;

fn main() -> ExitCode {
    let options = Options::parse();
    if options.log {
        tracing_subscriber::fmt().with_env_filter(tracing_subscriber::EnvFilter::from_default_env()).init();
    }
    let cost = Cost::start();
    let reports = run_all(&options, &cost);
    let summary = Summary::of(&options, &reports, &cost);
    print!("{}", summary.table());
    let failed: Vec<&Report> = reports.iter().filter(|report| report.violation.is_some()).collect();
    for report in failed.iter().skip(1) {
        println!("also failed: seed {}{}", report.seed, violation(report));
    }
    if let Some(first) = failed.first() {
        println!("\n{}", failure_text(&options, first));
    } else {
        println!("\n{}", summary.sentence());
    }
    if options.json {
        println!("{}", summary.json());
    }
    let all_ran = reports.len() as u64 == options.seeds;
    if failed.is_empty() && all_ran { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
