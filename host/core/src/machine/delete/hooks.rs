//! Hooks by which others hold a deletion, as Cluster API has them.

use jiff::{SignedDuration, Timestamp};

use crate::machine::conclusion::elapsed;
use crate::machine::facts::MachineView;

/// What is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HookPoint {
    /// The drain.
    Drain,
    /// The removal of the VM.
    Vm,
}

/// Hooks that are to be awaited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HookWait<'a> {
    /// Their names, sorted. Never empty.
    pub(crate) hooks: &'a [String],
    /// Since when they are awaited.
    pub(crate) since: Timestamp,
    /// Until when, at most.
    pub(crate) until: Timestamp,
    /// How long that is from now on. Above zero.
    pub(crate) left: SignedDuration,
}

/// The hooks that hold it, if any do. A forced deletion waits for none, and no hook holds for ever.
///
/// The time of those before the drain counts from the request for deletion. How long a drain takes is not theirs to pay for, so
/// that the time of those before the VM's removal counts from when they were first met, which is noted on the Machine.
pub(crate) fn wait(view: &MachineView, held: HookPoint, now: Timestamp) -> Option<HookWait<'_>> {
    let going = &view.machine.going;
    let (hooks, since) = match held {
        HookPoint::Drain => (&going.pre_drain_hooks, view.machine.deletion),
        HookPoint::Vm => (&going.pre_terminate_hooks, going.pre_terminate_since),
    };
    if hooks.is_empty() || going.is_forced {
        return None;
    }
    let since = since.unwrap_or(now);
    let left = view.settings.deletion_hook_timeout - elapsed(since, now);
    let until = since.checked_add(view.settings.deletion_hook_timeout).unwrap_or(Timestamp::MAX);
    (left > SignedDuration::ZERO).then_some(HookWait { hooks, since, until, left })
}

/// Until when hooks that are still there have held it, or do. `None` where none do, or nobody waits for them.
pub(crate) fn held_until(view: &MachineView, held: HookPoint) -> Option<Timestamp> {
    let going = &view.machine.going;
    let (hooks, since) = match held {
        HookPoint::Drain => (&going.pre_drain_hooks, view.machine.deletion),
        HookPoint::Vm => (&going.pre_terminate_hooks, going.pre_terminate_since),
    };
    if hooks.is_empty() || going.is_forced {
        return None;
    }
    since?.checked_add(view.settings.deletion_hook_timeout).ok()
}

/// The clock of the hooks before the VM's removal has to be started.
pub(crate) fn is_unnoted(view: &MachineView) -> bool {
    view.machine.going.pre_terminate_since.is_none()
}

impl HookWait<'_> {
    /// For people: what is awaited, since when and until when, and how to go on without.
    pub(crate) fn message(&self, held: &str, bad_timeout: Option<&str>) -> String {
        let mut text = format!(
            "{held} waits for {}, since {} and until {} at the latest; remove the annotation, or set label \
             force-deletion to true, to go on at once",
            self.hooks.join(", "),
            whole_seconds(self.since),
            whole_seconds(self.until),
        );
        if let Some(problem) = bad_timeout {
            text.push_str(&format!("; {problem}"));
        }
        text
    }
}

/// As objects store times.
pub(crate) fn whole_seconds(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}
