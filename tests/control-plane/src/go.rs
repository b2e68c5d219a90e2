//! Builds programs from a Go module of this tree, once for each state of its sources.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use sha2::{Digest, Sha256};

/// The lowest Go that can read `go.mod` and, if it is too old to build it, fetch the one that can.
const LOWEST_GO: (u32, u32) = (1, 21);
/// Part of the name of a program or folder that is not complete yet. The id of the process that makes it follows.
const PARTIAL: &str = ".partial.";
const NEXT_STEP: &str = "install Go 1.26 or newer (https://go.dev/dl), put it on PATH and run this again";

/// A Go module, and what is made from it.
#[derive(Clone, Debug)]
pub struct GoModule<'a> {
    /// The folder with `go.mod`.
    pub folder: &'a Path,
    /// The name of its folder in the cache.
    pub name: &'a str,
    /// The programs in words, and how long they take with empty caches, for messages.
    pub what: &'a str,
    /// Each program's name and its package.
    pub programs: &'a [(&'a str, &'a str)],
    /// Folders of a module that it depends on, copied beside the programs: a name, the module, and the path in it.
    pub folders: &'a [(&'a str, &'a str, &'a str)],
    /// Flags of Go's linker.
    pub linker_flags: &'a str,
}

impl GoModule<'_> {
    /// The folder with the built programs and the copied folders, each under its name. Builds first what the cache has
    /// not for these sources, and says so on standard error. Any number of processes may call this at the same time;
    /// one of them builds. Blocks: call it from a blocking thread.
    ///
    /// The cache is `$MACHINIST_CACHE`, else `$XDG_CACHE_HOME/machinist`, else `~/.cache/machinist`, with
    /// `<name>/<digest>`.
    pub fn built(&self) -> anyhow::Result<PathBuf> {
        let version = go_version(Path::new("go"), self.folder, self.what)?;
        let folder = cache::folder()?.join(self.name).join(self.digest(&version)?);
        if self.is_complete(&folder) {
            return Ok(folder);
        }
        fs::create_dir_all(&folder).with_context(|| format!("failed to create {}", folder.display()))?;
        // Held until the end of this function, or of this process.
        let _lock = lock(&folder.join("lock"), self.what)?;
        if !self.is_complete(&folder) {
            eprintln!("building {} from Go modules", self.what);
            remove_partial(&folder)?;
            for (name, package) in self.programs {
                self.make(&folder, name, |partial| self.build(package, partial))?;
            }
            for (name, module, path) in self.folders {
                self.make(&folder, name, |partial| self.copy(module, path, partial))?;
            }
        }
        Ok(folder)
    }

    fn is_complete(&self, folder: &Path) -> bool {
        let programs = self.programs.iter().map(|(name, _)| name);
        programs.chain(self.folders.iter().map(|(name, ..)| name)).all(|name| folder.join(name).exists())
    }

    /// Makes it under another name and renames it, so that what has its own name is always whole. With our id in the
    /// name: a `go build` whose parent was killed may still write to its own.
    fn make(
        &self,
        folder: &Path,
        name: &str,
        make: impl FnOnce(&Path) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let complete = folder.join(name);
        if complete.exists() {
            return Ok(());
        }
        let partial = folder.join(format!("{name}{PARTIAL}{}", std::process::id()));
        make(&partial)?;
        fs::rename(&partial, complete).with_context(|| format!("failed to rename {}", partial.display()))
    }

    fn build(&self, package: &str, to: &Path) -> anyhow::Result<()> {
        let status = Command::new("go")
            .args([
                "build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", self.linker_flags, "-o",
            ])
            .arg(to)
            .arg(package)
            .current_dir(self.folder)
            .env("CGO_ENABLED", "0")
            .env("GOWORK", "off")
            .stdin(Stdio::null())
            .status()
            .context("failed to run `go build`")?;
        anyhow::ensure!(
            status.success(),
            "`go build` of {package} ended with {status}; its messages are above. If it could not download a module, \
             check the network and GOPROXY; run this again to go on where it stopped"
        );
        Ok(())
    }

    fn copy(&self, module: &str, path: &str, to: &Path) -> anyhow::Result<()> {
        let output = Command::new("go")
            .args(["list", "-mod=readonly", "-m", "-f", "{{.Dir}}", module])
            .current_dir(self.folder)
            .env("GOWORK", "off")
            .output()
            .context("failed to run `go list`")?;
        anyhow::ensure!(
            output.status.success(),
            "`go list` of {module} failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
        let from = Path::new(String::from_utf8_lossy(&output.stdout).trim()).join(path);
        fs::create_dir(to).with_context(|| format!("failed to create {}", to.display()))?;
        for entry in fs::read_dir(&from).with_context(|| format!("failed to list {}", from.display()))? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                let content = fs::read(entry.path())?;
                // Not `fs::copy`: files of Go's cache are read-only, and a copy would be, too.
                fs::write(to.join(entry.file_name()), content)?;
            }
        }
        Ok(())
    }

    /// The folders with the programs' own sources: a package in a folder of its own does not depend on the others here.
    fn source_folders(&self) -> BTreeSet<PathBuf> {
        let mut folders: BTreeSet<PathBuf> = self
            .programs
            .iter()
            .map(|(_, package)| match package.strip_prefix("./") {
                Some(folder) => self.folder.join(folder),
                None => self.folder.to_owned(),
            })
            .collect();
        if folders.is_empty() {
            folders.insert(self.folder.to_owned());
        }
        folders
    }

    /// The digest of all that decides what is built.
    fn digest(&self, go_version: &str) -> anyhow::Result<String> {
        let mut sources = vec![self.folder.join("go.mod"), self.folder.join("go.sum")];
        for folder in self.source_folders() {
            let entries =
                fs::read_dir(&folder).with_context(|| format!("failed to list {}", folder.display()))?;
            for entry in entries {
                let path = entry?.path();
                if path.extension().is_some_and(|extension| extension == "go") {
                    sources.push(path);
                }
            }
        }
        sources.sort();
        let mut hasher = Sha256::new();
        for source in sources {
            let content =
                fs::read(&source).with_context(|| format!("failed to read {}", source.display()))?;
            let name = source.file_name().unwrap_or_default();
            absorb(&mut hasher, name.as_encoded_bytes());
            absorb(&mut hasher, &content);
        }
        absorb(&mut hasher, self.linker_flags.as_bytes());
        absorb(&mut hasher, go_version.as_bytes());
        for (_, module, path) in self.folders {
            absorb(&mut hasher, module.as_bytes());
            absorb(&mut hasher, path.as_bytes());
        }
        Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

/// Deletes the leftovers of builds that were killed.
fn remove_partial(folder: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("failed to list {}", folder.display()))? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().contains(PARTIAL) {
            let is_folder = entry.file_type()?.is_dir();
            let remove = if is_folder { fs::remove_dir_all } else { fs::remove_file };
            remove(entry.path()).with_context(|| format!("failed to remove {}", entry.path().display()))?;
        }
    }
    Ok(())
}

fn lock(path: &Path, what: &str) -> anyhow::Result<File> {
    let file = File::options().create(true).append(true).open(path);
    let file = file.with_context(|| format!("failed to open {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => return Ok(file),
        Err(TryLockError::WouldBlock) => eprintln!("waiting for another process that builds {what}"),
        Err(TryLockError::Error(error)) => return Err(error).context("failed to lock the cache"),
    }
    file.lock().context("failed to lock the cache")?;
    Ok(file)
}

fn go_version(go: &Path, module: &Path, what: &str) -> anyhow::Result<String> {
    // In the module's folder, so that it is the version that would build it.
    let output = match Command::new(go).arg("version").current_dir(module).output() {
        Ok(output) => output,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            anyhow::bail!("`go` was not found; with it is built {what}: {NEXT_STEP}")
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

/// With its length first, so that no two lists of parts look alike.
fn absorb(hasher: &mut Sha256, part: &[u8]) {
    hasher.update((part.len() as u64).to_le_bytes());
    hasher.update(part);
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;

    fn module<'a>(folder: &'a Path, linker_flags: &'a str) -> GoModule<'a> {
        GoModule { folder, name: "a", what: "a program", programs: &[], folders: &[], linker_flags }
    }

    #[test]
    fn every_change_of_sources_flags_or_go_gives_another_binary() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["go.mod", "go.sum", "main.go"] {
            fs::write(folder.path().join(name), name).unwrap();
        }
        let of = |flags: &str, go: &str| module(folder.path(), flags).digest(go).unwrap();
        let first = of("-s", "go1");
        assert_eq!(first, of("-s", "go1"));
        assert_ne!(first, of("-w", "go1"));
        assert_ne!(first, of("-s", "go2"));
        fs::write(folder.path().join("main.go"), "changed").unwrap();
        assert_ne!(first, of("-s", "go1"));
    }

    #[test]
    fn a_program_in_a_folder_of_its_own_depends_on_no_other_source() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("b")).unwrap();
        for name in ["go.mod", "go.sum", "main.go", "b/main.go"] {
            fs::write(folder.path().join(name), name).unwrap();
        }
        let digest = |programs| GoModule { programs, ..module(folder.path(), "") }.digest("go1").unwrap();
        let digests = || (digest(&[("a", ".")]), digest(&[("b", "./b")]));
        let (a, b) = digests();
        fs::write(folder.path().join("main.go"), "changed").unwrap();
        let (changed_a, same_b) = digests();
        assert!(changed_a != a && same_b == b);
        fs::write(folder.path().join("b/main.go"), "changed").unwrap();
        assert!(digests().0 == changed_a && digests().1 != b);
    }

    #[test]
    fn a_missing_go_is_named_with_the_next_step() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let error = go_version(Path::new("/nonexistent/go"), here, "a program").unwrap_err().to_string();
        assert!(error.contains("`go` was not found") && error.contains("install Go 1.26"), "{error}");
    }

    #[test]
    fn what_exists_is_not_made_again_and_what_failed_does_not_exist() {
        let folder = tempfile::tempdir().unwrap();
        let module = module(folder.path(), "");
        assert!(module.make(folder.path(), "program", |_| anyhow::bail!("no network")).is_err());
        assert!(!folder.path().join("program").exists());
        module.make(folder.path(), "program", |partial| Ok(fs::write(partial, "first")?)).unwrap();
        module.make(folder.path(), "program", |_| anyhow::bail!("made again")).unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("program")).unwrap(), "first");
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
        for name in ["lock", "program", "program.partial.7", "other.partial.12"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        fs::create_dir(folder.path().join("crds.partial.3")).unwrap();
        remove_partial(folder.path()).unwrap();
        let mut left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["lock", "program"]);
    }

    #[test]
    fn one_builder_at_a_time_holds_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let held = lock(&path, "a program").unwrap();
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
