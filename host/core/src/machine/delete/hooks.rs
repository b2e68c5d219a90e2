//! Hooks by which others block a deletion, as in Cluster API.

use jiff::{SignedDuration, Timestamp};

use crate::machine::conclusion::elapsed;
use crate::machine::facts::MachineView;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HookPoint {
    Drain,
    /// The removal of the VM.
    Vm,
}

/// Hooks that a deletion waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HookWait<'a> {
    /// Their names, sorted. Never empty.
    pub(crate) hooks: &'a [String],
    /// Since when they are awaited.
    pub(crate) since: Timestamp,
    /// Until when, at most.
    pub(crate) until: Timestamp,
    /// The rest of that time. Above zero.
    pub(crate) left: SignedDuration,
}

/// Returns the hooks that block this stage, if any. A forced deletion waits for none, and no hook blocks for ever.
///
/// The time of hooks before the drain counts from the request for deletion. The time of hooks before the deletion of
/// the VM does not include the drain: it counts from their first check, which is noted on the Machine.
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

/// Returns until when present hooks have blocked this stage, or block it. `None` if none do, or the deletion does not
/// wait for them.
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

/// Returns whether the clock of the hooks before the deletion of the VM must start.
pub(crate) fn is_unnoted(view: &MachineView) -> bool {
    view.machine.going.pre_terminate_since.is_none()
}

impl HookWait<'_> {
    /// Returns the text for people: the awaited hooks, since when and until when, and how to continue without them.
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
