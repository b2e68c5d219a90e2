//! Takes all unneeded rights from the compiler's process before it reads an untrusted component.
//!
//! The process has its input, its output and stderr as open descriptors, and needs memory, threads and the processor.
//! All other rights are removed in layers that do not depend on each other: no further descriptor (a limit of the
//! process, known to every kernel), no file and no network (landlock), only a few system calls (seccomp), and a network
//! without interfaces (namespaces). Where the kernel lacks a layer, the process says so and continues with the others.

use std::collections::BTreeMap;
use std::io;

use landlock::{ABI, Access as _, AccessFs, AccessNet, Ruleset, RulesetAttr as _, RulesetStatus, Scope};
use nix::sched::{CloneFlags, unshare};
use rustix::process::{Resource, Rlimit, setrlimit};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, SeccompRule, apply_filter};

use super::calls;

/// Input, output and complaints.
const DESCRIPTORS: u64 = 3;
/// The version that kernels from 6.12 on support; older ones apply a part of it.
const LANDLOCK: ABI = ABI::V6;
/// Begins the line that says what holds.
const MARK: &str = "confined";

/// The layers that hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Confinement {
    /// No file is opened, whatever the user may do.
    pub(crate) files: bool,
    /// No socket, no program, no other process, no code in writable memory.
    pub(crate) calls: bool,
    /// There is no interface and no neighbour.
    pub(crate) network: bool,
}

impl Confinement {
    /// Returns the layers by name, and whether they hold.
    pub(crate) fn layers(self) -> [(&'static str, bool); 3] {
        [("files", self.files), ("system-calls", self.calls), ("network", self.network)]
    }

    /// Returns the line that tells it to the parent.
    pub(super) fn line(self) -> String {
        let layers = self.layers().map(|(name, holds)| format!(" {name}={}", u8::from(holds)));
        format!("{MARK}{}\n", layers.concat())
    }

    /// Parses that line at the beginning of a process's output. The rest of the output is not trusted.
    pub(super) fn read(output: &str) -> (Option<Self>, &str) {
        let Some((line, rest)) = output.split_once('\n') else { return (None, output) };
        let mut words = line.split(' ');
        if words.next() != Some(MARK) {
            return (None, output);
        }
        let layers: Vec<&str> = words.collect();
        let holds = |name: &str| layers.contains(&format!("{name}=1").as_str());
        let [files, calls, network] = Self::default().layers().map(|(name, _)| holds(name));
        (Some(Self { files, calls, network }), rest)
    }
}

/// Confines this thread and all that it starts. There is no way back. Threads that run already are not confined.
///
/// # Errors
///
/// If the limit of descriptors, which every kernel has, cannot be set.
pub(super) fn confine() -> io::Result<Confinement> {
    let network = has_left_the_network();
    let files = knows_no_file();
    let most = Some(DESCRIPTORS);
    setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most })?;
    let calls = makes_few_calls();
    Ok(Confinement { files, calls, network })
}

/// A user namespace is what lets a process without rights leave the others. Containers often forbid it.
fn has_left_the_network() -> bool {
    let others = CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWIPC | CloneFlags::CLONE_NEWNS;
    unshare(CloneFlags::CLONE_NEWUSER | others).is_ok()
}

/// All that landlock knows is denied, and no rule allows anything.
fn knows_no_file() -> bool {
    let restricted = Ruleset::default()
        .handle_access(AccessFs::from_all(LANDLOCK))
        .and_then(|rules| rules.handle_access(AccessNet::from_all(LANDLOCK)))
        .and_then(|rules| rules.scope(Scope::from_all(LANDLOCK)))
        .and_then(|rules| rules.create()?.restrict_self());
    match restricted {
        Ok(status) => match status.ruleset {
            RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => true,
            RulesetStatus::NotEnforced => false,
        },
        Err(_) => false,
    }
}

/// Installs two filters, of which the stricter answer counts: threads are created by the older call, whose flags a
/// filter can check.
fn makes_few_calls() -> bool {
    let apply = || -> Result<(), seccompiler::Error> {
        let older = [(libc::SYS_clone3, Vec::new())].into();
        apply_filter(&filter(older, SeccompAction::Allow, calls::not_there())?)?;
        apply_filter(&filter(calls::needed()?, calls::refused(), SeccompAction::Allow)?)
    };
    apply().is_ok()
}

fn filter(
    rules: BTreeMap<i64, Vec<SeccompRule>>,
    others: SeccompAction,
    matching: SeccompAction,
) -> Result<BpfProgram, seccompiler::Error> {
    let target = std::env::consts::ARCH.try_into()?;
    Ok(SeccompFilter::new(rules, others, matching, target)?.try_into()?)
}

#[cfg(test)]
#[path = "confine_tests.rs"]
mod tests;
