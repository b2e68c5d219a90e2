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
pub fn lower_own_priority() -> io::Result<()> {
    let nice = nice(NICE_INCREMENT)?;
    // Kernels before 6.12 do not know this, and a container may forbid it. The priority alone helps, too.
    if let Err(error) = ask_for_slice(nice, SLICE) {
        tracing::debug!(%error, "low-priority threads keep the processor until their slice is over");
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

/// Asks for time slices of this length. Threads with shorter slices, the default, do not wait for the end of such a
/// slice, as they would for another thread of even the lowest priority.
#[expect(unsafe_code, reason = "no library has this system call")]
fn ask_for_slice(nice: i32, slice: Duration) -> io::Result<()> {
    let size = u32::try_from(size_of::<Attributes>()).map_err(io::Error::other)?;
    let runtime_nanos = u64::try_from(slice.as_nanos()).map_err(io::Error::other)?;
    let attributes = Attributes { size, flags: KEEP_POLICY, nice, runtime_nanos, ..Attributes::default() };
    // SAFETY: the kernel reads as many bytes as `size` says, which the structure has, and keeps none.
    let refused = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    if refused == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the priority and the time slice from the kernel. Kernels before 6.12 do not tell the time slice.
    #[expect(unsafe_code, reason = "no library has this system call")]
    fn noted() -> (i32, u64) {
        let mut noted = Attributes::default();
        let size = u32::try_from(size_of::<Attributes>()).unwrap();
        // SAFETY: the kernel writes as many bytes as `size` says, which the structure has.
        let refused = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut noted, size, 0) };
        assert_eq!(refused, 0, "{}", io::Error::last_os_error());
        (noted.nice, noted.runtime_nanos)
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
