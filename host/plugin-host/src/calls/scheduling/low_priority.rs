//! Threads with low priority.

use std::io;
use std::time::Duration;

use rustix::process::nice;

/// Low enough to yield to others, high enough that a call ends on a processor that is always busy.
pub(crate) const NICE_INCREMENT: i32 = 10;
/// The longest that the kernel takes.
const SLICE: Duration = Duration::from_millis(100);

/// Lowers the priority of the calling thread and of those that it starts. It cannot be raised again.
///
/// # Errors
///
/// If the kernel refuses.
pub(crate) fn lower_own_priority() -> io::Result<()> {
    let nice = nice(NICE_INCREMENT)?;
    // Kernels before 6.12 do not know this, and a container may forbid it. The priority alone helps, too.
    if let Err(error) = ask_for_slice(nice, SLICE) {
        tracing::debug!(%error, "patient threads go on until their turn is over");
    }
    Ok(())
}

/// Puts the calling thread, and those that it starts, into the kernel's idle class. A thread of any other class that wakes
/// takes the processor from it at once, regardless of their earlier use, and a processor that runs only such threads counts
/// as free. On processors that are always busy such a thread gets next to nothing.
///
/// # Errors
///
/// If the kernel refuses even a lower priority.
pub fn run_when_idle() -> io::Result<()> {
    let nice = nice(PATIENCE)?;
    if let Err(error) = set(&Attributes { policy: IDLE, nice, ..Attributes::default() }) {
        tracing::debug!(%error, "low-priority threads have a lower priority, and not the idle class");
        if let Err(error) = ask_for_slice(nice, SLICE) {
            tracing::debug!(%error, "low-priority threads keep the processor until their slice is over");
        }
    }
    Ok(())
}

/// The argument of the kernel's `sched_setattr` in its first version.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime_nanos: u64,
    deadline_nanos: u64,
    period_nanos: u64,
}

/// The policy stays as it is.
const KEEP_POLICY: u64 = 0x08;
/// The idle class.
const IDLE: u32 = 5;

/// Asks for time slices of this length. Threads with shorter slices, the default, do not wait for the end of such a slice,
/// as they would for another thread of even the lowest priority.
fn ask_for_slice(nice: i32, slice: Duration) -> io::Result<()> {
    let runtime_nanos = u64::try_from(slice.as_nanos()).map_err(io::Error::other)?;
    set(&Attributes { flags: KEEP_POLICY, nice, runtime_nanos, ..Attributes::default() })
}

/// Sets these attributes for the calling thread.
#[expect(unsafe_code, reason = "no library has this system call")]
fn set(attributes: &Attributes) -> io::Result<()> {
    let size = u32::try_from(size_of::<Attributes>()).map_err(io::Error::other)?;
    let attributes = Attributes { size, ..*attributes };
    // SAFETY: the kernel reads as many bytes as `size` says, which the structure has, and keeps none.
    let refused = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    if refused == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_runs_when_idle_is_of_that_class_and_so_are_those_that_it_starts() {
        let policy = || noted_in_full().policy;
        let (own, its_childs) = std::thread::spawn(move || {
            run_when_idle().unwrap();
            (policy(), std::thread::spawn(policy).join().unwrap())
        })
        .join()
        .unwrap();
        assert_eq!((own, its_childs, policy()), (IDLE, IDLE, 0));
    }

    /// Reads the priority and the time slice from the kernel. Kernels before 6.12 do not tell the time slice.
    fn noted() -> (i32, u64) {
        let noted = noted_in_full();
        (noted.nice, noted.runtime_nanos)
    }

    #[expect(unsafe_code, reason = "no library has this system call")]
    fn noted_in_full() -> Attributes {
        let mut attributes = Attributes::default();
        let size = u32::try_from(size_of::<Attributes>()).unwrap();
        // SAFETY: the kernel writes as many bytes as `size` says, which the structure has.
        let refused = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0) };
        assert_eq!(refused, 0, "{}", io::Error::last_os_error());
        attributes
    }

    #[test]
    fn a_thread_with_low_priority_is_never_waited_for() {
        let (nice, slice) = noted();
        let (lowered, its_slice, its_childs) = std::thread::spawn(|| {
            lower_own_priority().unwrap();
            let (nice, slice) = noted();
            (nice, slice, std::thread::spawn(noted).join().unwrap())
        })
        .join()
        .unwrap();
        assert_eq!((lowered, its_slice), its_childs);
        assert_eq!(lowered, (nice + NICE_INCREMENT).min(19));
        if slice > 0 {
            assert_eq!(Duration::from_nanos(its_slice), SLICE);
            assert!(Duration::from_nanos(slice) < SLICE);
        }
        assert_eq!(noted(), (nice, slice), "only that thread");
    }
}
