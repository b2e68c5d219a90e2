//! `machinist driver test`: the conformance kit on a component in a file.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use machinist_conformance::report::Result as Checked;
use machinist_conformance::{CompileSettings, Options, Profile, Selection, Stop, list, run};

use crate::args::TestFlags;
use crate::plugin::file::Component;

/// The profile's name where none is given.
const PROFILE: &str = "conformance.yaml";
/// The interval of progress lines in a log.
const NEWS: Duration = Duration::from_secs(5);

pub(crate) async fn test(flags: TestFlags) -> anyhow::Result<()> {
    if flags.list {
        for check in list() {
            println!("{:<24} {}", check.id, check.promise);
        }
        return Ok(());
    }
    let file = flags.file.context("the component is missing: machinist driver test FILE.wasm")?;
    let selection = Selection::of(&flags.only)?;
    let component = Component::read(&file)?;
    let profile = read_profile(&file, flags.profile)?;
    // Before minutes of work are lost to it.
    for path in flags.junit.iter().chain(&flags.report) {
        std::fs::write(path, "").with_context(|| format!("failed to write {}", path.display()))?;
    }
    let digest = component.digest.to_string();
    let folder = tempfile::tempdir().context("failed to make a folder for compiled code")?;
    let options = Options {
        component: component.bytes,
        profile,
        cloud: flags.cloud,
        admin: flags.admin,
        selection,
        compiling: CompileSettings {
            compiler: std::env::current_exe()
                .context("failed to find this executable, which compiles plugins")?,
            compiler_args: vec![crate::COMPILE.into()],
            cache_dir: folder.path().to_owned(),
            cache_key: rand::random(),
        },
        nonce: format!("{:08x}", rand::random::<u32>()),
    };
    eprintln!("loading {} ...", file.display());
    let progress = Progress::new();
    let report = run(options, |checked, count| progress.tell(checked, count)).await?;
    progress.end();
    print!("{}", report.text());
    if let Some(path) = &flags.junit {
        std::fs::write(path, report.junit())
            .with_context(|| format!("failed to write {}", path.display()))?;
    }
    if let Some(path) = &flags.report {
        std::fs::write(path, report.markdown(&digest))
            .with_context(|| format!("failed to write {}", path.display()))?;
    }
    let score = report.score();
    ensure!(score.passed + score.failed > 0, "no check could be run: the report says of each why");
    if score.failed > 0 {
        bail!("{} of {} checks failed", score.failed, score.passed + score.failed);
    }
    Ok(())
}

fn read_profile(file: &Path, given: Option<PathBuf>) -> anyhow::Result<Profile> {
    let path = match given {
        Some(path) => path,
        None => {
            let mut places = vec![file.with_file_name(PROFILE), PathBuf::from(PROFILE)];
            places.dedup();
            let found = places.iter().find(|path| path.is_file()).cloned();
            found.with_context(|| {
                let places: Vec<_> = places.iter().map(|path| path.display().to_string()).collect();
                format!("there is no {}: name the driver's profile with --profile", places.join(" and no "))
            })?
        }
    };
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("failed to read the profile in {}", path.display()))?;
    Profile::parse_in(&text, |name| std::env::var(name).ok())
        .with_context(|| format!("{} is no profile", path.display()))
}

/// Reports progress on stderr: one line that changes on a terminal, else a line every few seconds.
struct Progress {
    is_terminal: bool,
    reported: Mutex<(usize, Instant)>,
}

impl Progress {
    fn new() -> Self {
        Self { is_terminal: std::io::stderr().is_terminal(), reported: Mutex::new((0, Instant::now())) }
    }

    fn tell(&self, checked: &Checked, count: usize) {
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        reported.0 += 1;
        let word = match &checked.verdict {
            Ok(()) => "ok",
            Err(Stop::Skipped(_)) => "skipped",
            Err(Stop::Failed(_) | Stop::Broken(_)) => "FAILED",
        };
        let line = format!("{} of {count}: {} {word}", reported.0, checked.id());
        let mut stderr = std::io::stderr();
        // A closed stderr is no error.
        if self.is_terminal {
            let _ = write!(stderr, "\r\x1b[2K{line}");
        } else if reported.1.elapsed() >= NEWS {
            reported.1 = Instant::now();
            let _ = writeln!(stderr, "{line}");
        }
        let _ = stderr.flush();
    }

    fn end(&self) {
        if self.is_terminal {
            eprint!("\r\x1b[2K");
        }
    }
}
