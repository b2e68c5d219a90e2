//! Builds the binary with `go build`, once for each state of its sources.

use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use sha2::{Digest, Sha256};

/// The version that the programs report. It is the one of `k8s.io/kubernetes` in `go.mod`; clients refuse a server
/// whose version is not semantic, and an unstamped build says `v0.0.0-master`.
pub const KUBERNETES_VERSION: &str = "v1.36.4";
/// The day of that release, so that one state of the sources gives one binary.
const BUILD_DATE: &str = "2026-08-20T11:51:43Z";
/// Go's module proxy does not tell the commit of a version.
const GIT_COMMIT: &str = "unknown";
/// The lowest Go that can read `go.mod` and, if it is too old to build it, fetch the one that can.
const LOWEST_GO: (u32, u32) = (1, 21);
/// How the name of a binary begins that is being built.
const PARTIAL: &str = "control-plane.partial.";
const NEXT_STEP: &str = "install Go 1.26 or newer (https://go.dev/dl), put it on PATH and run this again";

/// The Go module's folder.
fn module() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The path of the built binary. Builds it first if the cache has none for these sources: that takes 6 to 7 minutes on
/// two cores when Go's own cache is empty, and says so on standard error. Any number of processes may call this at the
/// same time; one of them builds. Blocks: call it from a blocking thread.
///
/// The cache is `$MACHINIST_CACHE`, else `$XDG_CACHE_HOME/machinist`, else `~/.cache/machinist`, with
/// `control-plane/<digest>`.
pub fn binary() -> anyhow::Result<PathBuf> {
    let version = go_version(Path::new("go"))?;
    let flags = linker_flags();
    let folder = cache_root()?.join("control-plane").join(digest(module(), &flags, &version)?);
    let binary = folder.join("control-plane");
    if binary.is_file() {
        return Ok(binary);
    }
    fs::create_dir_all(&folder).with_context(|| format!("failed to create {}", folder.display()))?;
    // Held until the end of this function, or of this process.
    let _lock = lock(&folder.join("lock"))?;
    if !binary.is_file() {
        eprintln!("building the control plane from its Go modules, 6 to 7 minutes the first time");
        remove_partial(&folder)?;
        // With our id in its name: a `go build` whose parent was killed may still write to its own.
        build(&flags, &folder.join(format!("{PARTIAL}{}", std::process::id())), &binary)?;
    }
    Ok(binary)
}

/// Builds under another name and renames, so that a binary under its own name is always whole.
fn build(flags: &str, partial: &Path, binary: &Path) -> anyhow::Result<()> {
    let status = Command::new("go")
        .args(["build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o"])
        .arg(partial)
        .arg(".")
        .current_dir(module())
        .env("CGO_ENABLED", "0")
        .env("GOWORK", "off")
        .stdin(Stdio::null())
        .status()
        .context("failed to run `go build`")?;
    anyhow::ensure!(
        status.success(),
        "`go build` of the control plane ended with {status}; its messages are above. If it could not download a \
         module, check the network and GOPROXY; run this again to go on where it stopped"
    );
    fs::rename(partial, binary).with_context(|| format!("failed to rename {}", partial.display()))
}

/// Deletes the leftovers of builds that were killed.
fn remove_partial(folder: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("failed to list {}", folder.display()))? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(PARTIAL) {
            fs::remove_file(entry.path())
                .with_context(|| format!("failed to remove {}", entry.path().display()))?;
        }
    }
    Ok(())
}

fn lock(path: &Path) -> anyhow::Result<File> {
    let file = File::options().create(true).append(true).open(path);
    let file = file.with_context(|| format!("failed to open {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => return Ok(file),
        Err(TryLockError::WouldBlock) => {
            eprintln!("waiting for another process that builds the control plane");
        }
        Err(TryLockError::Error(error)) => return Err(error).context("failed to lock the cache"),
    }
    file.lock().context("failed to lock the cache")?;
    Ok(file)
}

fn go_version(go: &Path) -> anyhow::Result<String> {
    // In the module's folder, so that it is the version that would build it.
    let output = match Command::new(go).arg("version").current_dir(module()).output() {
        Ok(output) => output,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            anyhow::bail!(
                "`go` was not found, and the control plane for demo and tests is built with it: {NEXT_STEP}"
            )
        }
        Err(error) => return Err(error).context("failed to run `go version`"),
    };
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    anyhow::ensure!(
        output.status.success(),
        "`go version` failed: {}; {NEXT_STEP}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    anyhow::ensure!(is_new_enough(&text), "`go` is too old ({text}): {NEXT_STEP}");
    Ok(text)
}

/// Whether `go version go1.26.8 linux/amd64` names a Go that understands our `go.mod`. One that cannot be read passes:
/// development versions have no number, and `go build` has the last word anyway.
fn is_new_enough(version: &str) -> bool {
    let Some(number) = version.split_whitespace().nth(2).and_then(|word| word.strip_prefix("go")) else {
        return true;
    };
    let mut parts = number.split('.').map(|part| part.parse::<u32>().ok());
    match (parts.next().flatten(), parts.next().flatten()) {
        (Some(major), Some(minor)) => (major, minor) >= LOWEST_GO,
        _ => true,
    }
}

/// Version stamps for both places that report one, and no symbol table: the binary is for running.
fn linker_flags() -> String {
    let number = KUBERNETES_VERSION.trim_start_matches('v');
    let mut parts = number.split('.');
    let (major, minor) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let stamps = [
        ("gitVersion", KUBERNETES_VERSION),
        ("gitMajor", major),
        ("gitMinor", minor),
        ("gitCommit", GIT_COMMIT),
        ("gitTreeState", "archive"),
        ("buildDate", BUILD_DATE),
    ];
    let mut flags = "-s -w".to_owned();
    for package in ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"] {
        for (name, value) in stamps {
            flags.push_str(&format!(" -X {package}.{name}={value}"));
        }
    }
    flags
}

/// The digest of all that decides what the binary is.
fn digest(module: &Path, flags: &str, go_version: &str) -> anyhow::Result<String> {
    let entries = fs::read_dir(module).with_context(|| format!("failed to list {}", module.display()))?;
    let mut sources = vec![module.join("go.mod"), module.join("go.sum")];
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "go") {
            sources.push(path);
        }
    }
    sources.sort();
    let mut hasher = Sha256::new();
    for source in sources {
        let content = fs::read(&source).with_context(|| format!("failed to read {}", source.display()))?;
        let name = source.file_name().unwrap_or_default();
        absorb(&mut hasher, name.as_encoded_bytes());
        absorb(&mut hasher, &content);
    }
    absorb(&mut hasher, flags.as_bytes());
    absorb(&mut hasher, go_version.as_bytes());
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// With its length first, so that no two lists of parts look alike.
fn absorb(hasher: &mut Sha256, part: &[u8]) {
    hasher.update((part.len() as u64).to_le_bytes());
    hasher.update(part);
}

fn cache_root() -> anyhow::Result<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    folder("MACHINIST_CACHE")
        .or_else(|| folder("XDG_CACHE_HOME").map(|cache| cache.join("machinist")))
        .or_else(|| folder("HOME").map(|home| home.join(".cache/machinist")))
        .context(
            "none of MACHINIST_CACHE, XDG_CACHE_HOME and HOME is set: set one of them for the built binary",
        )
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_stamped_version_is_the_one_in_go_mod() {
        let go_mod = fs::read_to_string(module().join("go.mod")).unwrap();
        let wanted = format!("k8s.io/kubernetes {KUBERNETES_VERSION}");
        assert!(go_mod.lines().any(|line| line.trim() == wanted), "go.mod does not say {wanted}");
        let staging = KUBERNETES_VERSION.replacen("v1.", "v0.", 1);
        let published = go_mod.lines().filter(|line| line.contains(" => k8s.io/"));
        assert!(published.clone().count() > 30);
        for line in published {
            assert!(line.ends_with(&staging), "{line} is not of {KUBERNETES_VERSION}");
        }
    }

    #[test]
    fn every_change_of_sources_flags_or_go_gives_another_binary() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["go.mod", "go.sum", "main.go"] {
            fs::write(folder.path().join(name), name).unwrap();
        }
        let of = |flags: &str, go: &str| digest(folder.path(), flags, go).unwrap();
        let first = of("-s", "go1");
        assert_eq!(first, of("-s", "go1"));
        assert_ne!(first, of("-w", "go1"));
        assert_ne!(first, of("-s", "go2"));
        fs::write(folder.path().join("main.go"), "changed").unwrap();
        assert_ne!(first, of("-s", "go1"));
    }

    #[test]
    fn a_missing_go_is_named_with_the_next_step() {
        let error = go_version(Path::new("/nonexistent/go")).unwrap_err().to_string();
        assert!(error.contains("`go` was not found") && error.contains("install Go 1.26"), "{error}");
    }

    #[test]
    fn a_go_that_cannot_read_our_go_mod_is_too_old() {
        assert!(!is_new_enough("go version go1.19.8 linux/amd64"));
        assert!(is_new_enough("go version go1.26.8 linux/amd64"));
        assert!(is_new_enough("go version devel go1.27-abc linux/amd64"));
    }

    #[test]
    fn what_a_killed_build_left_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["lock", "control-plane.partial.7", "control-plane.partial.12"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        remove_partial(folder.path()).unwrap();
        let left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["lock"]);
    }

    #[test]
    fn one_builder_at_a_time_holds_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let held = lock(&path).unwrap();
        let second = File::options().append(true).open(&path).unwrap();
        assert!(matches!(second.try_lock(), Err(TryLockError::WouldBlock)));
        drop(held);
        // Not `try_lock`: a process that another test starts right now holds a copy of the file until it runs its own
        // program.
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || sender.send(second.lock().is_ok()));
        assert!(receiver.recv_timeout(Duration::from_secs(10)).expect("the lock was not released"));
    }
}
