//! The admin functions for tests and the node simulator, over HTTP and by direct calls.

use jiff::Timestamp;
use serde::Deserialize;

use super::directory::Caller;
use super::{Cloud, parse_body};
use crate::cloud::faults::Faults;
use crate::cloud::journal::{Changes, Event, EventKind};
use crate::config::AccountConfig;
use crate::request::Request;
use crate::route::AdminOperation;
use crate::stats::Stats;
use crate::wire::answer::Reply;
use crate::wire::error::ApiError;
use crate::wire::{VmState, VmView};

/// Events of one answer; a reader asks again for more.
const EVENTS_PER_ANSWER: usize = 1000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ConsoleLine {
    line: String,
}

impl Cloud {
    /// Counts of calls and VMs.
    pub fn stats(&self) -> Stats {
        let totals = self.vms.totals();
        Stats {
            calls: self.calls.by_operation(),
            vms: totals.counts,
            duplicates: totals.duplicates,
            duplicates_ever: totals.duplicates_ever,
            created: totals.created,
            terminated: totals.terminated,
            faults_fired: self.faults.fired(),
        }
    }

    /// Sets the counts of what happened to zero; what is stays counted.
    pub fn reset_stats(&mut self) {
        self.calls.reset();
        self.vms.reset_totals();
    }

    /// The faults in force.
    pub fn faults(&self) -> &Faults {
        self.faults.faults()
    }

    /// Replaces all faults. Changes that are late by an earlier read lag stay late.
    pub fn set_faults(&mut self, faults: Faults) -> Result<(), ApiError> {
        if let Some(flaw) = faults.flaw() {
            return Err(ApiError::invalid(flaw));
        }
        self.faults.set(faults);
        Ok(())
    }

    /// Adds an account or replaces its tokens and quota.
    pub fn put_account(&mut self, name: &str, account: &AccountConfig) {
        self.directory.put(name, account);
    }

    /// All VMs of all accounts as they are, oldest first, with the terminated ones that can still be read.
    pub fn vms(&self) -> impl Iterator<Item = &VmView> {
        self.vms.iter().filter(|vm| !vm.is_forgotten()).map(|vm| &vm.truth)
    }

    /// Those that carry this value in the machine tag.
    pub fn vms_of_machine(&self, machine: &str) -> impl Iterator<Item = &VmView> {
        self.vms.of_machine(machine).filter(|vm| !vm.is_forgotten()).map(|vm| &vm.truth)
    }

    /// The one with this id, as it is.
    pub fn vm(&self, id: &str) -> Option<&VmView> {
        self.vms.find(id).filter(|vm| !vm.is_forgotten()).map(|vm| &vm.truth)
    }

    /// The VM dies, as when its hardware fails or a spot VM is reclaimed.
    pub fn kill_vm(&mut self, id: &str, now: Timestamp) -> Result<(), ApiError> {
        self.advance(now);
        let seq = self.existing(&Caller::Admin, id)?;
        self.terminate(seq, Some("killed"));
        Ok(())
    }

    /// The number of the last event.
    pub fn last_event(&self) -> u64 {
        self.journal.head()
    }

    /// The events after `since`; without `since`, or when these are no longer held, a reset and one event for each
    /// VM that exists.
    pub fn changes(&self, since: Option<u64>) -> Changes {
        since
            .and_then(|since| self.journal.since(since, EVENTS_PER_ANSWER))
            .unwrap_or_else(|| self.snapshot())
    }

    fn snapshot(&self) -> Changes {
        let seq = self.journal.head();
        let line = |kind, vm| Event { seq, at: self.now, kind, vm };
        let vms = self.vms.iter().filter_map(|vm| {
            let kind = match vm.truth.state {
                VmState::Pending => EventKind::Created,
                VmState::Running => EventKind::Running,
                VmState::Stopping => EventKind::Stopping,
                VmState::Terminated => return None,
            };
            Some(line(kind, Some(vm.for_kubelet(&self.config.types))))
        });
        Changes { events: std::iter::once(line(EventKind::Reset, None)).chain(vms).collect(), next: seq }
    }

    pub(super) fn administer(
        &mut self,
        operation: &AdminOperation<'_>,
        request: &Request,
    ) -> Result<Reply, ApiError> {
        match operation {
            AdminOperation::ResetStats => {
                self.reset_stats();
                Ok(Reply::empty(200))
            }
            AdminOperation::GetFaults => Reply::json(200, self.faults()),
            AdminOperation::PutFaults => {
                self.set_faults(parse_body(request)?)?;
                Reply::json(200, self.faults())
            }
            AdminOperation::Changes => {
                let since = match request.query("since") {
                    None => None,
                    Some(text) => Some(text.parse().map_err(|_| ApiError::invalid("since is not a number"))?),
                };
                Reply::json(200, &self.changes(since))
            }
            AdminOperation::KillVm(id) => {
                self.kill_vm(id, self.now)?;
                Ok(Reply::empty(202))
            }
            AdminOperation::AppendConsole(id) => {
                let wanted: ConsoleLine = parse_body(request)?;
                let seq = self.existing(&Caller::Admin, id)?;
                if let Some(vm) = self.vms.get_mut(seq) {
                    vm.append_console(&wanted.line);
                }
                Ok(Reply::empty(200))
            }
            AdminOperation::PutAccount(name) => {
                self.put_account(name, &parse_body(request)?);
                Ok(Reply::empty(200))
            }
        }
    }
}
