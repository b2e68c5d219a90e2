//! The private virtual environment that moto is installed in, once for each list of versions and each Python.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use sha2::{Digest, Sha256};

/// The installed packages, in exact versions.
const REQUIREMENTS: &str = include_str!("../../requirements.txt");
/// The oldest Python that moto runs on.
const LOWEST_PYTHON: (u32, u32) = (3, 10);
/// Says which Python this is, and fails if it cannot make a virtual environment.
const ASK: &str =
    "import ensurepip, venv, sys; print('%d.%d' % sys.version_info[:2]); print(sys.version, sys.base_prefix)";
const PYTHON: &str = "python3";
const VENV_STEP: &str = "install Python 3.10 or later with its venv module (Debian: apt-get install python3-venv), put \
                         `python3` on the PATH and run this again";

/// Installs moto if the cache has none for this Python and these versions, and gives the environment's Python. That
/// takes a minute or two, and is said on standard error. Any number of processes may call this at the same time; one of
/// them installs. Nothing is downloaded when it is there. Blocks: call it from a blocking thread.
///
/// The cache is `$MACHINIST_CACHE`, else `$XDG_CACHE_HOME/machinist`, else `~/.cache/machinist`, with `moto/<digest>`.
/// The error says what to do.
pub fn prepare() -> anyhow::Result<PathBuf> {
    prepare_in(&cache::folder()?, PYTHON, REQUIREMENTS)
}

fn prepare_in(cache: &Path, python: &str, requirements: &str) -> anyhow::Result<PathBuf> {
    let version = version_of(python)?;
    let folder = cache.join("moto").join(digest(requirements, &version));
    let installed = Environment { venv: folder.join("venv"), mark: folder.join("ready") };
    if installed.is_ready() {
        return Ok(installed.python());
    }
    fs::create_dir_all(&folder).with_context(|| format!("failed to create {}", folder.display()))?;
    // Held until the end of this function, or of this process.
    let _lock = lock(&folder.join("lock"))?;
    if !installed.is_ready() {
        let started = Instant::now();
        eprintln!("installing moto into {}, a minute or two the first time", folder.display());
        installed.install(python, requirements, &folder)?;
        eprintln!("installed moto in {} s", started.elapsed().as_secs());
    }
    Ok(installed.python())
}

/// It is made where it stays, since its programs know their own path, and counts only with the mark beside it.
struct Environment {
    venv: PathBuf,
    mark: PathBuf,
}

impl Environment {
    fn is_ready(&self) -> bool {
        self.mark.is_file() && self.python().exists()
    }

    fn python(&self) -> PathBuf {
        self.venv.join("bin/python")
    }

    fn install(&self, python: &str, requirements: &str, folder: &Path) -> anyhow::Result<()> {
        // Deletes the leftovers of an installation that was killed.
        if self.venv.exists() {
            fs::remove_dir_all(&self.venv)
                .with_context(|| format!("failed to remove {}", self.venv.display()))?;
        }
        let list = folder.join("requirements.txt");
        fs::write(&list, requirements).with_context(|| format!("failed to write {}", list.display()))?;
        let made = run(Command::new(python).args(["-m", "venv"]).arg(&self.venv))?;
        ensure!(
            made,
            "`{python} -m venv` failed; its messages are above. If it says that ensurepip is missing: {VENV_STEP}"
        );
        let installed = run(Command::new(self.python())
            .args(["-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"])
            .args(["--require-hashes", "--requirement"])
            .arg(&list))?;
        ensure!(
            installed,
            "pip could not install moto; its messages are above. If it could not reach the package index, check the \
             network, or name a mirror in PIP_INDEX_URL; run this again to start over. Once installed, no network is needed"
        );
        fs::write(&self.mark, "").with_context(|| format!("failed to write {}", self.mark.display()))
    }
}

/// Runs it with its messages on standard error; whether it succeeded.
fn run(command: &mut Command) -> anyhow::Result<bool> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command
        .stdin(Stdio::null())
        .stdout(std::io::stderr())
        .status()
        .with_context(|| format!("failed to run {program}"))?;
    Ok(status.success())
}

/// The whole version of this Python, and where it lives: another one needs an environment of its own.
fn version_of(python: &str) -> anyhow::Result<String> {
    let output = match Command::new(python).args(["-I", "-c", ASK]).stdin(Stdio::null()).output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            bail!("`{python}` was not found, and the EC2 of the tests runs on it: {VENV_STEP}")
        }
        Err(error) => return Err(error).with_context(|| format!("failed to run `{python}`")),
    };
    ensure!(
        output.status.success(),
        "`{python}` cannot make virtual environments: {VENV_STEP}. It says: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let number = text.lines().next().unwrap_or_default();
    ensure!(is_new_enough(number), "`{python}` is too old ({number}): {VENV_STEP}");
    Ok(text)
}

/// Whether `3.11` is a Python that moto runs on.
fn is_new_enough(number: &str) -> bool {
    let mut parts = number.split('.').map(|part| part.trim().parse::<u32>().unwrap_or_default());
    (parts.next().unwrap_or_default(), parts.next().unwrap_or_default()) >= LOWEST_PYTHON
}

fn lock(path: &Path) -> anyhow::Result<File> {
    let file = File::options().create(true).append(true).open(path);
    let file = file.with_context(|| format!("failed to open {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => return Ok(file),
        Err(TryLockError::WouldBlock) => eprintln!("waiting for another process that installs moto"),
        Err(TryLockError::Error(error)) => return Err(error).context("failed to lock the cache"),
    }
    file.lock().context("failed to lock the cache")?;
    Ok(file)
}

fn digest(requirements: &str, version: &str) -> String {
    let mut hasher = Sha256::new();
    for part in [requirements, version] {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A Python that writes down how it was called, and makes environments of itself.
    fn fake(folder: &Path, behaviour: &str) -> String {
        let path = folder.join("python3");
        let script = format!(
            "#!/bin/sh\necho \"$*\" >> {calls}\ncase \"$*\" in\n{behaviour}\n*ensurepip*) echo 3.11; echo 3.11.7 /usr;;\n\
             *venv*) mkdir -p \"$3/bin\" && cp \"$0\" \"$3/bin/python\";;\nesac\n",
            calls = folder.join("calls").display()
        );
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn calls(folder: &Path, with: &str) -> usize {
        fs::read_to_string(folder.join("calls")).unwrap().lines().filter(|line| line.contains(with)).count()
    }

    #[test]
    fn every_version_is_exact_and_has_digests() {
        let packages =
            REQUIREMENTS.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_alphanumeric()));
        assert!(packages.clone().any(|line| line.starts_with("moto==")));
        for line in packages {
            assert!(line.contains("==") && line.ends_with('\\'), "{line}");
        }
    }

    #[test]
    fn what_is_installed_is_not_installed_again() {
        let folder = tempfile::tempdir().unwrap();
        let python = fake(folder.path(), "");
        let first = prepare_in(folder.path(), &python, "moto==1").unwrap();
        assert_eq!(prepare_in(folder.path(), &python, "moto==1").unwrap(), first);
        assert_eq!(calls(folder.path(), "pip install"), 1);
        assert_ne!(prepare_in(folder.path(), &python, "moto==2").unwrap(), first);
        assert_eq!(calls(folder.path(), "pip install"), 2);
    }

    #[test]
    fn of_many_that_come_at_once_one_installs() {
        let folder = tempfile::tempdir().unwrap();
        let python = fake(folder.path(), "*install*) sleep 0.2;;");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| prepare_in(folder.path(), &python, "moto==1").unwrap());
            }
        });
        assert_eq!(calls(folder.path(), "pip install"), 1);
    }

    #[test]
    fn an_installation_that_failed_is_reported_with_the_next_step_and_starts_over() {
        let folder = tempfile::tempdir().unwrap();
        let python = fake(folder.path(), "*install*) exit 1;;");
        let error = prepare_in(folder.path(), &python, "moto==1").unwrap_err().to_string();
        assert!(error.contains("check the network") && error.contains("PIP_INDEX_URL"), "{error}");
        let python = fake(folder.path(), "");
        prepare_in(folder.path(), &python, "moto==1").unwrap();
        assert_eq!(calls(folder.path(), "-m venv"), 2);
    }

    #[test]
    fn a_python_without_venv_or_too_old_or_missing_is_reported_with_the_next_step() {
        let folder = tempfile::tempdir().unwrap();
        let say = |behaviour: &str| {
            let python = fake(folder.path(), behaviour);
            prepare_in(folder.path(), &python, "moto==1").unwrap_err().to_string()
        };
        let error = say("*ensurepip*) echo no module named ensurepip >&2; exit 1;;");
        assert!(error.contains("python3-venv") && error.contains("no module named ensurepip"), "{error}");
        let error = say("*ensurepip*) echo 3.9; echo 3.9.1 /usr;;");
        assert!(error.contains("too old (3.9)"), "{error}");
        let error = prepare_in(folder.path(), "/nonexistent/python3", "x").unwrap_err().to_string();
        assert!(error.contains("was not found") && error.contains("apt-get install python3-venv"), "{error}");
    }
}
