//! Child processes that know nothing of their parent end with it all the same.

use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::errno::Errno;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{getpid, getppid};

/// The kernel kills the process that this command starts when the thread that starts it ends, however it ends. A
/// process that is killed drops nothing.
pub fn end_with_this_thread(command: &mut Command) {
    let parent = getpid();
    let before_exec = move || {
        set_pdeathsig(Signal::SIGKILL)?;
        // A parent that was killed before that line sends no signal.
        if getppid() == parent { Ok(()) } else { Err(Errno::ESRCH.into()) }
    };
    #[expect(unsafe_code, reason = "between fork and exec: system calls only, nothing allocates or locks")]
    // SAFETY: the closure makes two system calls and touches no memory of others.
    unsafe {
        command.pre_exec(before_exec);
    }
}
