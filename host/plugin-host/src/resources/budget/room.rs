//! Finds out how much memory the process may use: the limit of its cgroup, else the memory of the machine.

use std::fmt;
use std::path::{Path, PathBuf};

const MIB: u64 = 1 << 20;
const MEMORY: &str = "/proc/meminfo";
const GROUPS: &str = "/proc/self/cgroup";
const MOUNT: &str = "/sys/fs/cgroup";
/// The share of the controllers: their caches of API objects, the program, connections, recordings on their way to
/// disk.
const CONTROLLERS_PART: u64 = 4;
const LEAST_CONTROLLERS_BYTES: u64 = 128 * MIB;
/// Fewer bytes run no component of a large language.
const LEAST_BUDGET_BYTES: u64 = 128 * MIB;
/// The size for a machine that names no memory.
const UNKNOWN_ROOM_BYTES: u64 = 1024 * MIB;

/// The memory of the process, by the rule that is tightest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) bytes: u64,
    /// The file that says so.
    pub(super) source: PathBuf,
}

impl fmt::Display for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} MiB ({})", self.bytes / MIB, self.source.display())
    }
}

/// Reads the limits of this process.
pub(super) fn room() -> Room {
    room_by(|path| std::fs::read_to_string(path).ok())
}

/// Returns the part of the room that plugins and the compiler share.
pub(super) fn budget_bytes(room_bytes: u64) -> u64 {
    let controllers = (room_bytes / CONTROLLERS_PART).max(LEAST_CONTROLLERS_BYTES);
    room_bytes.saturating_sub(controllers).max(LEAST_BUDGET_BYTES)
}

/// Returns the tightest limit in these files. A limit of a group above counts, too.
fn room_by(read: impl Fn(&Path) -> Option<String>) -> Room {
    let groups = read(Path::new(GROUPS)).unwrap_or_default();
    let limits = groups.lines().filter_map(limit_files).flatten().filter_map(|path| {
        // `max` of version 2 is no number; the endless limit of version 1 is larger than any machine.
        let bytes = read(&path)?.trim().parse().ok()?;
        Some(Room { bytes, source: path })
    });
    let machine = read(Path::new(MEMORY)).and_then(|text| machine_bytes(&text));
    let machine = machine.map(|bytes| Room { bytes, source: MEMORY.into() });
    let unknown = || Room { bytes: UNKNOWN_ROOM_BYTES, source: MEMORY.into() };
    limits.chain(machine).min_by_key(|room| room.bytes).unwrap_or_else(unknown)
}

/// Returns the files with the limits of the group that this line of `/proc/self/cgroup` names: its own, and those
/// above.
fn limit_files(line: &str) -> Option<Vec<PathBuf>> {
    let mut parts = line.splitn(3, ':');
    let (_, controllers, group) = (parts.next()?, parts.next()?, parts.next()?);
    let (mount, file) = if controllers.is_empty() {
        (PathBuf::from(MOUNT), "memory.max")
    } else if controllers.split(',').any(|controller| controller == "memory") {
        (Path::new(MOUNT).join("memory"), "memory.limit_in_bytes")
    } else {
        return None;
    };
    let group = Path::new(group.trim_start_matches('/'));
    // A group outside of what a container sees begins with `..`.
    Some(group.ancestors().map(|group| mount.join(group).join(file)).collect())
}

fn machine_bytes(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &[(&str, &str)], expected: (u64, &str)) {
        let read = |path: &Path| {
            files.iter().find(|(name, _)| Path::new(name) == path).map(|(_, text)| (*text).to_owned())
        };
        let room = room_by(read);
        assert_eq!((room.bytes, room.source.as_path()), (expected.0, Path::new(expected.1)), "{files:?}");
    }

    const MACHINE: (&str, &str) = (MEMORY, "MemTotal:       8388608 kB\nMemFree:  1 kB\n");

    #[test]
    fn the_tightest_limit_counts() {
        let bytes = 8 << 30;
        check(&[MACHINE], (bytes, MEMORY));
        // Version 2, in a container and on a machine.
        let own = (GROUPS, "0::/\n");
        check(&[MACHINE, own, ("/sys/fs/cgroup/memory.max", "max\n")], (bytes, MEMORY));
        check(
            &[MACHINE, own, ("/sys/fs/cgroup/memory.max", "1073741824\n")],
            (1 << 30, "/sys/fs/cgroup/memory.max"),
        );
        check(
            &[
                MACHINE,
                (GROUPS, "0::/kubepods/pod1/main\n"),
                ("/sys/fs/cgroup/kubepods/pod1/main/memory.max", "max\n"),
                ("/sys/fs/cgroup/kubepods/pod1/memory.max", "500\n"),
                ("/sys/fs/cgroup/kubepods/memory.max", "900\n"),
            ],
            (500, "/sys/fs/cgroup/kubepods/pod1/memory.max"),
        );
        // Version 1, alone and beside version 2.
        let old = (GROUPS, "12:cpu,cpuacct:/x\n5:memory:/x\n0::/\n");
        let limit = "/sys/fs/cgroup/memory/x/memory.limit_in_bytes";
        check(&[MACHINE, old, (limit, "700\n")], (700, limit));
        check(&[MACHINE, old, (limit, "9223372036854771712\n")], (bytes, MEMORY));
        check(&[], (UNKNOWN_ROOM_BYTES, MEMORY));
        check(&[(MEMORY, "MemTotal: much\n"), (GROUPS, "nonsense\n0:")], (UNKNOWN_ROOM_BYTES, MEMORY));
    }

    #[test]
    fn the_controllers_keep_a_quarter_and_never_less_than_they_need() {
        for (room, budget) in [(1024, 768), (4096, 3072), (512, 384), (300, 172), (100, 128), (0, 128)] {
            assert_eq!(budget_bytes(room * MIB), budget * MIB, "{room} MiB");
        }
    }

    #[test]
    fn this_machine_has_room() {
        assert!(room().bytes > MIB, "{}", room());
    }
}
