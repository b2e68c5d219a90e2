//! The private virtual environment of the services, one for each list of versions and each Python.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use sha2::{Digest, Sha256};

/// The installed packages, in exact versions with digests.
const REQUIREMENTS: &str = include_str!("../requirements.txt");
/// The oldest Python on which the services run.
const LOWEST_PYTHON: (u32, u32) = (3, 11);
/// Prints the version, and fails if this Python cannot create a virtual environment.
const ASK: &str =
    "import ensurepip, venv, sys; print('%d.%d' % sys.version_info[:2]); print(sys.version, sys.base_prefix)";
/// The command that installs the services.
const COMMAND: &str = "cargo run -p openstack -- prepare";
const NEXT_STEP: &str = "install Python 3.11 or later with its venv module (Debian: apt-get install python3-venv), put \
                         `python3` on the PATH and run this again";

/// The programs of the services, and the folder of what belongs to them.
#[derive(Clone, Debug)]
pub struct Environment {
    folder: PathBuf,
}

impl Environment {
    /// Returns the environment's Python.
    pub fn python(&self) -> PathBuf {
        self.folder.join("venv/bin/python")
    }

    /// Returns the folder of the empty databases. The first start fills it, for these sources.
    pub(crate) fn template(&self, sources: &str) -> PathBuf {
        self.folder.join("databases").join(digest(&[sources]))
    }

    fn mark(&self) -> PathBuf {
        self.folder.join("ready")
    }
}

/// Installs the services, 400 MB in about a minute, unless the cache has them. Any number of processes may call this at
/// the same time; one of them installs. Blocks.
///
/// The cache is `$MACHINIST_CACHE`, else `$XDG_CACHE_HOME/machinist`, else `~/.cache/machinist`, with
/// `openstack/<digest>`.
pub fn prepare() -> anyhow::Result<Environment> {
    prepare_in(&cache::folder()?, "python3", REQUIREMENTS)
}

/// Returns the services that the cache has. Without them the error names the command that installs them. Blocks.
pub fn prepared() -> anyhow::Result<Environment> {
    prepared_in(&cache::folder()?, "python3", REQUIREMENTS)
}

fn prepared_in(cache: &Path, python: &str, requirements: &str) -> anyhow::Result<Environment> {
    let environment = environment_in(cache, python, requirements)?;
    ensure!(
        environment.mark().is_file(),
        "the services of OpenStack are not installed: run `{COMMAND}`, which takes a minute or two and 400 MB"
    );
    Ok(environment)
}

fn environment_in(cache: &Path, python: &str, requirements: &str) -> anyhow::Result<Environment> {
    let version = version_of(python)?;
    Ok(Environment { folder: cache.join("openstack").join(digest(&[requirements, &version])) })
}

fn prepare_in(cache: &Path, python: &str, requirements: &str) -> anyhow::Result<Environment> {
    let environment = environment_in(cache, python, requirements)?;
    if environment.mark().is_file() {
        return Ok(environment);
    }
    let folder = &environment.folder;
    fs::create_dir_all(folder).with_context(|| format!("failed to create {}", folder.display()))?;
    let lock = File::options().create(true).append(true).open(folder.join("lock"));
    let lock = lock.context("failed to open the lock of the cache")?;
    // Held until the end of this function, or of this process.
    lock.lock().context("failed to lock the cache")?;
    if !environment.mark().is_file() {
        let started = Instant::now();
        eprintln!("installing OpenStack into {}, a minute or two the first time", folder.display());
        install(&environment, python, requirements)?;
        eprintln!("installed OpenStack in {} s", started.elapsed().as_secs());
    }
    Ok(environment)
}

fn install(environment: &Environment, python: &str, requirements: &str) -> anyhow::Result<()> {
    let venv = environment.folder.join("venv");
    // Leftovers of an installation that was killed.
    if venv.exists() {
        fs::remove_dir_all(&venv).with_context(|| format!("failed to remove {}", venv.display()))?;
    }
    let list = environment.folder.join("requirements.txt");
    fs::write(&list, requirements).with_context(|| format!("failed to write {}", list.display()))?;
    let is_made = run(Command::new(python).args(["-m", "venv"]).arg(&venv))?;
    ensure!(is_made, "`{python} -m venv` failed; its messages are above: {NEXT_STEP}");
    let is_installed = run(Command::new(environment.python())
        .args(["-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"])
        .args(["--require-hashes", "--requirement"])
        .arg(&list))?;
    ensure!(
        is_installed,
        "pip could not install OpenStack; its messages are above. If it could not reach the package index, check the \
         network, or name a mirror in PIP_INDEX_URL; run this again to start over"
    );
    fs::write(environment.mark(), "").context("failed to mark the environment as complete")
}

/// Returns whether the command succeeded. Its messages go to standard error.
fn run(command: &mut Command) -> anyhow::Result<bool> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command.stdin(Stdio::null()).stdout(std::io::stderr()).status();
    Ok(status.with_context(|| format!("failed to run {program}"))?.success())
}

/// Returns the complete version of this Python and its folder: another one needs an environment of its own.
fn version_of(python: &str) -> anyhow::Result<String> {
    let output = match Command::new(python).args(["-I", "-c", ASK]).stdin(Stdio::null()).output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            bail!("`{python}` was not found, and the OpenStack of the tests runs on it: {NEXT_STEP}")
        }
        Err(error) => return Err(error).with_context(|| format!("failed to run `{python}`")),
    };
    let complaint = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    ensure!(
        output.status.success(),
        "`{python}` cannot create virtual environments: {NEXT_STEP}. Its message: {complaint}"
    );
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut parts = text.trim().split(['.', '\n']).map(|part| part.trim().parse::<u32>().unwrap_or_default());
    let version = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    ensure!(
        version >= LOWEST_PYTHON,
        "`{python}` is too old ({}): {NEXT_STEP}",
        text.lines().next().unwrap_or_default()
    );
    Ok(text)
}

fn digest(parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A Python that records its calls, and whose environments contain itself.
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
        for service in ["keystone==", "nova==", "neutron==", "glance==", "cinder==", "openstack-placement=="]
        {
            assert!(packages.clone().any(|line| line.starts_with(service)), "{service}");
        }
        for line in packages {
            assert!(line.contains("==") && line.ends_with('\\'), "{line}");
        }
    }

    #[test]
    fn of_many_that_come_at_once_one_installs() {
        let folder = tempfile::tempdir().unwrap();
        let python = fake(folder.path(), "*install*) sleep 0.2;;");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| prepare_in(folder.path(), &python, "nova==1").unwrap());
            }
        });
        assert_eq!(calls(folder.path(), "pip install"), 1);
    }

    #[test]
    fn a_failed_installation_is_reported_with_the_next_step_and_starts_over() {
        let folder = tempfile::tempdir().unwrap();
        let python = fake(folder.path(), "*install*) exit 1;;");
        let error = prepare_in(folder.path(), &python, "nova==1").unwrap_err().to_string();
        assert!(error.contains("check the network") && error.contains("PIP_INDEX_URL"), "{error}");
        let python = fake(folder.path(), "");
        prepare_in(folder.path(), &python, "nova==1").unwrap();
        assert_eq!(calls(folder.path(), "-m venv"), 2);
    }

    #[test]
    fn services_that_are_not_installed_are_reported_with_the_command_that_installs_them() {
        let folder = tempfile::tempdir().unwrap();
        let python = fake(folder.path(), "");
        let error = prepared_in(folder.path(), &python, "nova==1").unwrap_err().to_string();
        assert!(error.contains("cargo run -p openstack -- prepare"), "{error}");
        let installed = prepare_in(folder.path(), &python, "nova==1").unwrap();
        assert_eq!(prepared_in(folder.path(), &python, "nova==1").unwrap().folder, installed.folder);
    }

    #[test]
    fn a_python_that_is_too_old_or_missing_is_reported_with_the_next_step() {
        let folder = tempfile::tempdir().unwrap();
        let python = fake(folder.path(), "*ensurepip*) echo 3.9; echo 3.9.1 /usr;;");
        let error = prepare_in(folder.path(), &python, "x").unwrap_err().to_string();
        assert!(error.contains("too old (3.9)"), "{error}");
        let error = prepare_in(folder.path(), "/nonexistent/python3", "x").unwrap_err().to_string();
        assert!(error.contains("was not found") && error.contains("apt-get install python3-venv"), "{error}");
    }
}
