//! `cargo xtask fuzz`: tries many inputs, and says how to repeat one that breaks a promise.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use clap::Parser;
use fuzz::{Finding, Plan, Summary, Target, targets};

/// How often it says how far it is.
const PROGRESS: Duration = Duration::from_secs(5);
const ALL_SHARES: u64 = 1_000;

#[derive(Debug, Parser)]
#[command(name = "cargo xtask fuzz", bin_name = "cargo xtask fuzz")]
/// Tries inputs that strangers could send on everything that parses them: good samples with changes, from a seed. Ends
/// at the first broken promise of each target.
struct Options {
    /// Only this target; may be given several times
    #[arg(long = "target", value_name = "NAME")]
    targets: Vec<String>,
    /// How many inputs, for all targets together: each has its share
    #[arg(long, default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(1..))]
    inputs: u64,
    /// Decides which inputs: the same seed and jobs try the same ones
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Threads
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=256))]
    jobs: u32,
    /// Tries this file alone, on the one target that is named
    #[arg(long, value_name = "FILE")]
    repeat: Option<PathBuf>,
    /// Writes each input to FILE.JOB before it is tried: after an abort or an endless loop the last one is there
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Lists the targets and ends
    #[arg(long)]
    list: bool,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// False when a promise is broken.
fn run(options: &Options) -> Result<bool> {
    if options.list {
        targets::ALL.iter().for_each(|target| println!("{:<12} {}", target.name, target.about));
        return Ok(true);
    }
    let chosen = chosen(&options.targets)?;
    if let Some(file) = &options.repeat {
        let [target] = chosen.as_slice() else { bail!("--repeat needs the --target that the file is for") };
        return repeat(target, file);
    }
    let shares: u64 = chosen.iter().map(|target| u64::from(target.share)).sum();
    let (mut total, begun, mut all_hold) = (0, Instant::now(), true);
    println!("{:<12} {:>10} {:>8} {:>8} {:>10}", "target", "inputs", "ways", "s", "inputs/s");
    for target in chosen {
        let inputs = (options.inputs * u64::from(target.share)).div_ceil(shares.max(1)).max(1);
        let plan = Plan { inputs, seed: options.seed, jobs: options.jobs, trace: options.trace.clone() };
        let summary = watched(target, &plan);
        println!("{}", row(target, &summary));
        total += summary.inputs;
        for finding in &summary.findings {
            all_hold = false;
            println!("{}", finding_text(target, finding, options.seed)?);
        }
    }
    println!(
        "{total} inputs in {:.1} s, seed {}, {} jobs",
        begun.elapsed().as_secs_f64(),
        options.seed,
        options.jobs
    );
    Ok(all_hold)
}

fn chosen(names: &[String]) -> Result<Vec<&'static Target>> {
    debug_assert_eq!(targets::ALL.iter().map(|target| u64::from(target.share)).sum::<u64>(), ALL_SHARES);
    if names.is_empty() {
        return Ok(targets::ALL.iter().collect());
    }
    let of = |name: &String| {
        targets::named(name).with_context(|| format!("there is no target {name}: see --list"))
    };
    names.iter().map(of).collect()
}

fn repeat(target: &Target, file: &Path) -> Result<bool> {
    let input = std::fs::read(file).with_context(|| format!("failed to read {}", file.display()))?;
    Ok(match fuzz::once(target, &input) {
        Ok(shape) => {
            println!("{}: every promise is kept ({shape:?})", target.name);
            true
        }
        Err(finding) => {
            println!("{}: {}", target.name, finding.what);
            false
        }
    })
}

/// Runs a target, and says on a terminal how far it is.
fn watched(target: &Target, plan: &Plan) -> Summary {
    let (tried, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        if std::io::stderr().is_terminal() {
            scope.spawn(|| {
                let mut next = Instant::now() + PROGRESS;
                while !is_over.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(100));
                    if Instant::now() >= next {
                        next += PROGRESS;
                        let tried = tried.load(Ordering::Relaxed);
                        // Nobody needs to know that nobody reads it.
                        let _ = writeln!(std::io::stderr(), "{}: {tried} of {}", target.name, plan.inputs);
                    }
                }
            });
        }
        let summary = fuzz::run(target, plan, &tried);
        is_over.store(true, Ordering::Relaxed);
        summary
    })
}

fn row(target: &Target, summary: &Summary) -> String {
    let Summary { inputs, shapes, took, .. } = summary;
    let seconds = took.as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let rate = *inputs as f64 / seconds.max(0.001);
    format!("{:<12} {inputs:>10} {shapes:>8} {seconds:>8.1} {rate:>10.0}", target.name)
}

/// Prints the broken promise and the command that repeats it. The input is kept in a file.
fn finding_text(target: &Target, finding: &Finding, seed: u64) -> Result<String> {
    let file = std::env::temp_dir().join(format!("machinist-fuzz-{}-{seed}", target.name));
    std::fs::write(&file, &finding.input).with_context(|| format!("failed to write {}", file.display()))?;
    let text = String::from_utf8_lossy(&finding.input);
    let shown: String = text.chars().take(300).flat_map(char::escape_debug).collect();
    Ok(format!(
        "{}: {}\n  input: {shown}\n  repeat it with: cargo xtask fuzz --target {} --repeat {}",
        target.name,
        finding.what,
        target.name,
        file.display()
    ))
}
