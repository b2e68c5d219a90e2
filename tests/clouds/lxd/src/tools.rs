//! Programs that the cloud consists of, and what to do where they are missing.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};

const RUN: &[(&str, &str)] = &[("lxd", "lxd"), ("lxc", "lxd"), ("unsquashfs", "squashfs-tools")];
const BUILD: &[(&str, &str)] =
    &[("debootstrap", "debootstrap"), ("mksquashfs", "squashfs-tools"), ("chroot", "coreutils")];
/// The limit of inotify instances that all processes of a user share.
const INOTIFY_LIMIT: &str = "/proc/sys/fs/inotify/max_user_instances";
/// Instances of inotify that a container of Debian takes, at most: systemd, its journal, D-Bus and a kubelet.
const INOTIFY_OF_A_CONTAINER: usize = 8;
/// Beside the PATH of a user: programs for the administrator.
const SYSTEM: &str = "/usr/local/sbin:/usr/sbin:/sbin";

/// Fails unless LXD can run here. The error says how to install what is missing.
pub fn for_running() -> anyhow::Result<()> {
    check(RUN)?;
    if !is_root() {
        bail!("the LXD of the tests makes real containers, which only root may: run this as root");
    }
    Ok(())
}

/// Fails unless so many containers of Debian can boot side by side: at the limit of inotify, which all of them share,
/// systemd and kubelets fail. The error names the command that raises the limit.
pub fn room_for(containers: usize) -> anyhow::Result<()> {
    let limit =
        std::fs::read_to_string(INOTIFY_LIMIT).with_context(|| format!("failed to read {INOTIFY_LIMIT}"))?;
    let limit = limit.trim().parse::<usize>().with_context(|| format!("{INOTIFY_LIMIT} has no number"))?;
    inotify_suffices(containers, limit)
}

fn inotify_suffices(containers: usize, limit: usize) -> anyhow::Result<()> {
    let needed = containers * INOTIFY_OF_A_CONTAINER;
    ensure!(
        limit >= needed,
        "{containers} containers need {needed} instances of inotify, and this machine allows {limit}: run sysctl -w \
         fs.inotify.max_user_instances={}",
        needed.next_power_of_two().max(1_024)
    );
    Ok(())
}

/// Fails unless the images can be built here.
pub(crate) fn for_building() -> anyhow::Result<()> {
    check(BUILD)
}

/// The PATH for child processes.
pub(crate) fn path() -> String {
    let own = std::env::var("PATH").unwrap_or_default();
    if own.is_empty() { SYSTEM.to_owned() } else { format!("{own}:{SYSTEM}") }
}

fn check(programs: &[(&str, &str)]) -> anyhow::Result<()> {
    let missing: Vec<_> = programs.iter().filter(|(program, _)| find(&path(), program).is_none()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = missing.iter().map(|(program, _)| *program).collect();
    let mut packages: Vec<&str> = missing.iter().map(|(_, package)| *package).collect();
    packages.dedup();
    bail!(
        "{} not found, and the LXD of the tests needs it: on Debian, apt-get install --no-install-recommends {}",
        names.join(", "),
        packages.join(" ")
    )
}

fn find(path: &str, program: &str) -> Option<PathBuf> {
    path.split(':').map(|folder| Path::new(folder).join(program)).find(|file| file.is_file())
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named_with_the_command_that_installs_it() {
        let error = check(&[("no-such-program", "its-package"), ("sh", "dash")]).unwrap_err().to_string();
        assert!(error.starts_with("no-such-program not found"), "{error}");
        assert!(error.ends_with("apt-get install --no-install-recommends its-package"), "{error}");
        assert!(check(&[("sh", "dash")]).is_ok());
    }

    #[test]
    fn too_small_a_limit_of_inotify_is_named_with_the_command_that_raises_it() {
        let error = inotify_suffices(20, 128).unwrap_err().to_string();
        assert!(error.contains("need 160") && error.contains("allows 128"), "{error}");
        assert!(error.ends_with("sysctl -w fs.inotify.max_user_instances=1024"), "{error}");
        assert!(inotify_suffices(20, 1_024).is_ok() && inotify_suffices(4, 128).is_ok());
    }
}
