//! The system calls that a compiler needs: memory, threads, its input and its output.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule,
};

type Rules = Result<Vec<SeccompRule>, BackendError>;

/// The action for all other calls: they fail, and the caller continues or gives up.
pub(super) fn refused() -> SeccompAction {
    SeccompAction::Errno(libc::EPERM.unsigned_abs())
}

/// As on a kernel that does not know the call: libraries then take an older one.
pub(super) fn not_there() -> SeccompAction {
    SeccompAction::Errno(libc::ENOSYS.unsigned_abs())
}

/// Always harmless, with any argument.
const FREE: [i64; 25] = [
    libc::SYS_brk,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    // The other filter answers it.
    libc::SYS_clone3,
    libc::SYS_close,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_futex,
    libc::SYS_getpid,
    libc::SYS_getrandom,
    libc::SYS_gettid,
    libc::SYS_madvise,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_nanosleep,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_set_robust_list,
    libc::SYS_sigaltstack,
    libc::SYS_sysinfo,
];

const INPUT: u64 = 0;
const OUTPUT: u64 = 1;
const COMPLAINTS: u64 = 2;

/// Returns what may be called, and with which arguments.
pub(super) fn needed() -> Result<BTreeMap<i64, Vec<SeccompRule>>, BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = FREE.map(|call| (call, Vec::new())).into();
    let own = u64::from(std::process::id());
    rules.extend([
        (libc::SYS_read, one_of(0, &[INPUT])?),
        (libc::SYS_write, one_of(0, &[OUTPUT, COMPLAINTS])?),
        (libc::SYS_writev, one_of(0, &[OUTPUT, COMPLAINTS])?),
        // How a process ends itself after a failed assertion.
        (libc::SYS_tgkill, one_of(0, &[own])?),
        // Reading limits, of this process.
        (libc::SYS_prlimit64, all(vec![is(0, 0)?, is(2, 0)?])?),
        // Threads, but no processes.
        (libc::SYS_clone, all(vec![has(0, libc::CLONE_THREAD)?])?),
        // Memory that is not a file's, and never code.
        (libc::SYS_mmap, all(vec![lacks(2, libc::PROT_EXEC)?, has(3, libc::MAP_ANONYMOUS)?])?),
        (libc::SYS_mprotect, all(vec![lacks(2, libc::PROT_EXEC)?])?),
    ]);
    Ok(rules)
}

fn all(conditions: Vec<SeccompCondition>) -> Rules {
    Ok(vec![SeccompRule::new(conditions)?])
}

fn one_of(argument: u8, values: &[u64]) -> Rules {
    values.iter().map(|value| SeccompRule::new(vec![is(argument, *value)?])).collect()
}

fn is(argument: u8, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, value)
}

fn has(argument: u8, flag: i32) -> Result<SeccompCondition, BackendError> {
    let flag = u64::from(flag.unsigned_abs());
    SeccompCondition::new(argument, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(flag), flag)
}

fn lacks(argument: u8, flag: i32) -> Result<SeccompCondition, BackendError> {
    let flag = u64::from(flag.unsigned_abs());
    SeccompCondition::new(argument, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(flag), 0)
}
