//! One kubelet of the fleet, and the VM that it runs in.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::{Action, Done, StatusWrite, after};
use crate::config::Timing;
use crate::vm::Vm;

/// Heartbeats between two status writes without a change.
const HEARTBEATS_PER_STATUS: u32 = 5;

/// A kubelet and the VM that it runs in.
#[derive(Debug)]
pub(super) struct Kubelet {
    pub(super) vm: Arc<Vm>,
    /// Where the timetable has it.
    pub(super) due: Option<Timestamp>,
    phase: Phase,
    /// Whether an action of it is being performed.
    is_busy: bool,
    is_ready: bool,
    /// Further conditions by type.
    conditions: BTreeMap<String, (bool, Timestamp)>,
    silent_since: Option<Timestamp>,
    /// When it is given up, if it stays silent.
    give_up_at: Option<Timestamp>,
    ended: bool,
    had_conflict: bool,
}

/// How far a kubelet has come.
#[derive(Debug)]
enum Phase {
    /// It is to join at this time, for the so-manieth time.
    Joining { at: Timestamp, attempt: u32 },
    /// Its Node is registered.
    Registered(Registration),
    /// It cannot join, or its Node was deleted: a kubelet does nothing more before its next start.
    Idle,
}

#[derive(Debug)]
struct Registration {
    uid: String,
    joined: Timestamp,
    /// Since when Ready is as it is.
    changed: Timestamp,
    last_heartbeat: Timestamp,
    has_lease: bool,
    /// Whether its conditions were set to Unknown.
    is_given_up: bool,
    next_lease: Timestamp,
    next_status: Timestamp,
}

/// The effects of a change on the fleet.
#[derive(Debug, Default)]
pub(super) struct Followup {
    pub(super) is_over: bool,
    pub(super) is_first_conflict: bool,
}

impl Kubelet {
    /// A kubelet that joins at this time.
    pub(super) fn new(vm: Arc<Vm>, at: Timestamp) -> Self {
        Self {
            vm,
            due: None,
            phase: Phase::Joining { at, attempt: 0 },
            is_busy: false,
            is_ready: true,
            conditions: BTreeMap::new(),
            silent_since: None,
            give_up_at: None,
            ended: false,
            had_conflict: false,
        }
    }

    pub(super) fn is_alive(&self) -> bool {
        !self.ended
    }

    pub(super) fn is_registered(&self) -> bool {
        matches!(self.phase, Phase::Registered(_))
    }

    pub(super) fn is_up(&self) -> bool {
        self.is_alive() && self.is_registered() && self.silent_since.is_none()
    }

    /// When it wants to do something next.
    pub(super) fn next(&self) -> Option<Timestamp> {
        if self.is_busy {
            return None;
        }
        let own = match &self.phase {
            _ if self.ended || self.silent_since.is_some() => None,
            Phase::Joining { at, .. } => Some(*at),
            Phase::Registered(registration) => Some(registration.next_lease.min(registration.next_status)),
            Phase::Idle => None,
        };
        let given_up = self.give_up_at.filter(|_| self.is_registered());
        own.into_iter().chain(given_up).min()
    }

    /// Returns the action at this time.
    pub(super) fn begin(&mut self, now: Timestamp, timing: &Timing) -> Option<Action> {
        let is_silent = self.ended || self.silent_since.is_some();
        let action = match &mut self.phase {
            Phase::Registered(registration) if self.give_up_at.is_some_and(|at| at <= now) => {
                self.give_up_at = None;
                registration.is_given_up = true;
                let write = StatusWrite::Unknown { last_heartbeat: registration.last_heartbeat };
                status(&self.vm, registration, write)
            }
            _ if is_silent => return None,
            Phase::Joining { at, .. } if *at <= now => Action::Join { vm: Arc::clone(&self.vm) },
            Phase::Registered(registration) if registration.next_status <= now => {
                registration.next_status = after(now, timing.heartbeat * HEARTBEATS_PER_STATUS);
                let write = StatusWrite::Report {
                    is_ready: self.is_ready,
                    changed: registration.changed,
                    joined: registration.joined,
                    conditions: self.conditions.clone(),
                };
                status(&self.vm, registration, write)
            }
            Phase::Registered(registration) if registration.next_lease <= now => {
                // Kept in step, so that renewals stay spread as they were; after a silence they begin again.
                let in_step = after(registration.next_lease, timing.heartbeat);
                registration.next_lease = in_step.max(after(now, timing.heartbeat / 2));
                Action::Lease {
                    node_name: self.vm.node_name.clone(),
                    uid: registration.uid.clone(),
                    is_first: !registration.has_lease,
                }
            }
            Phase::Joining { .. } | Phase::Registered(_) | Phase::Idle => return None,
        };
        self.is_busy = true;
        Some(action)
    }

    /// Takes note of what came of its action. `jitter` is random, from 0 to 1.
    pub(super) fn finish(
        &mut self,
        action: &Action,
        done: &Done,
        now: Timestamp,
        timing: &Timing,
        jitter: f64,
    ) -> Followup {
        self.is_busy = false;
        let mut news = Followup::default();
        match (&mut self.phase, done) {
            (Phase::Joining { .. }, Done::Joined { uid } | Done::Adopted { uid }) => {
                self.register(uid, matches!(done, Done::Adopted { .. }), now, timing, jitter);
            }
            (Phase::Joining { .. }, Done::NoToken) => self.phase = Phase::Idle,
            (Phase::Joining { at, attempt }, _) => {
                let pause = timing.join_retry.saturating_mul(1 << (*attempt).min(16));
                *at = after(now, pause.min(timing.join_retry_limit).mul_f64(0.75 + jitter / 2.0));
                *attempt += 1;
                if *done == Done::NameTaken {
                    news.is_first_conflict = !self.had_conflict;
                    self.had_conflict = true;
                }
            }
            (Phase::Registered(registration), done) => match (action, done) {
                (Action::Lease { .. }, Done::Written) => {
                    registration.has_lease = true;
                    registration.last_heartbeat = now;
                }
                (Action::Lease { .. }, Done::Missing) => {
                    // Gone together with its Node, or alone: the status write shows it.
                    registration.has_lease = false;
                    registration.next_status = now;
                }
                (Action::Lease { .. }, _) => registration.next_lease = after(now, retry(timing)),
                (Action::Status { .. }, Done::Written) => registration.last_heartbeat = now,
                (Action::Status { .. }, Done::Missing) => self.phase = Phase::Idle,
                (Action::Status { write: StatusWrite::Unknown { .. }, .. }, _) => {
                    self.give_up_at = Some(after(now, retry(timing)));
                }
                (Action::Status { .. } | Action::Join { .. }, _) => {
                    registration.next_status = after(now, retry(timing));
                }
            },
            (Phase::Idle, _) => {}
        }
        news.is_over = self.is_over();
        news
    }

    fn register(&mut self, uid: &str, is_adopted: bool, now: Timestamp, timing: &Timing, jitter: f64) {
        // A kubelet that creates a Node writes its status with it; one that adopts a Node, or has changed by now,
        // writes at once.
        let is_reported = self.is_ready && self.conditions.is_empty() && !is_adopted;
        let heartbeats = timing.heartbeat.mul_f64(jitter);
        self.phase = Phase::Registered(Registration {
            uid: uid.to_owned(),
            joined: now,
            changed: now,
            last_heartbeat: now,
            has_lease: false,
            is_given_up: false,
            next_lease: after(now, heartbeats),
            next_status: if is_reported {
                after(now, timing.heartbeat * (HEARTBEATS_PER_STATUS - 1) + heartbeats)
            } else {
                now
            },
        });
        if self.ended || self.silent_since.is_some() {
            self.give_up_at = timing.unknown_after.map(|grace| after(now, grace));
        }
    }

    pub(super) fn set_ready(&mut self, is_ready: bool, now: Timestamp) {
        if self.is_ready == is_ready {
            return;
        }
        self.is_ready = is_ready;
        if let Phase::Registered(registration) = &mut self.phase {
            registration.changed = now;
            registration.next_status = now;
        }
    }

    pub(super) fn set_condition(&mut self, kind: &str, is_true: bool, now: Timestamp) {
        if self.conditions.get(kind).is_some_and(|(is, _)| *is == is_true) {
            return;
        }
        self.conditions.insert(kind.to_owned(), (is_true, now));
        if let Phase::Registered(registration) = &mut self.phase {
            registration.next_status = now;
        }
    }

    pub(super) fn silence(&mut self, now: Timestamp, timing: &Timing) {
        if self.silent_since.is_none() {
            self.silent_since = Some(now);
            self.give_up_at = timing.unknown_after.map(|grace| after(now, grace));
        }
    }

    pub(super) fn resume(&mut self, now: Timestamp) {
        if self.silent_since.take().is_none() {
            return;
        }
        self.give_up_at = None;
        if let Phase::Registered(registration) = &mut self.phase {
            registration.next_lease = now;
            registration.next_status = now;
            if std::mem::take(&mut registration.is_given_up) {
                registration.changed = now;
            }
        }
    }

    /// The VM reboots: its kubelet is silent until it has started.
    pub(super) fn reboot(&mut self, vm: Arc<Vm>, now: Timestamp, boot: Duration, join: Duration) {
        self.vm = vm;
        let up = after(now, boot);
        match &mut self.phase {
            Phase::Registered(registration) => {
                registration.next_lease = up;
                registration.next_status = up;
            }
            Phase::Joining { .. } | Phase::Idle => {
                self.phase = Phase::Joining { at: after(up, join), attempt: 0 };
            }
        }
    }

    /// The VM is gone. The Node stays.
    pub(super) fn end(&mut self, now: Timestamp, timing: &Timing) -> Followup {
        self.ended = true;
        if self.silent_since.is_none() {
            self.give_up_at = timing.unknown_after.map(|grace| after(now, grace));
        }
        Followup { is_over: self.is_over(), ..Followup::default() }
    }

    /// Whether nothing will ever be done for it again.
    fn is_over(&self) -> bool {
        self.ended && !self.is_busy && !(self.is_registered() && self.give_up_at.is_some())
    }
}

fn status(vm: &Arc<Vm>, registration: &Registration, write: StatusWrite) -> Action {
    Action::Status { vm: Arc::clone(vm), uid: registration.uid.clone(), write }
}

/// How soon a heartbeat that failed is repeated.
fn retry(timing: &Timing) -> Duration {
    (timing.heartbeat / 4).clamp(Duration::from_millis(100), Duration::from_secs(5))
}
