//! From a request to exactly one VM.
//!
//! A VM has the Machine's name, and Azure refuses a second one of the name whatever reads show (`If-None-Match: *`). So
//! each step can be repeated, and a call goes on where the one before ended. Azure works for minutes on a VM: the call
//! that orders it answers "in progress", and the next ones ask how it goes.
//!
//! Zones are tried one per call. The host stores the next one before the driver orders a VM there, and the name is the
//! key of all of them.

use machinist_sdk::driver::{Code, Creation, Failure, Request, invalid};

use crate::arm::Found;
use crate::arm::answer::{Power, Provisioning, VmFacts};
use crate::arm::error_codes;
use crate::arm::errors::{self, ArmError};
use crate::arm::names::{self, Kind, ResourceId};
use crate::arm::operation::{self, Progress};
use crate::arm::pending::{Doing, Pending};
use crate::class::spec::{self, Place};
use crate::class::zone;
use crate::vm::body::{self, Launch};
use crate::vm::machine::{Known, Look, Machines, Outcome, no_group, or_log};
use crate::vm::parts::{Parts, foreign};
use machinist_sdk::driver as wit;

/// The time until the next look at a VM that reads do not show yet, or that is being removed.
const LAG_RETRY_MS: u64 = 2_000;
/// The time until the next call, if there is something to do at once.
const AT_ONCE_MS: u64 = 0;
const DOING: &str = "create the VM";

impl Machines<'_> {
    /// `user_data` is a placeholder for its base64.
    pub(crate) fn create(&self, request: &Request, user_data: &str) -> Outcome<Creation> {
        if let Some(problem) = names::problem(&request.machine.name) {
            return Err(invalid(problem));
        }
        let mut known = self.known(request);
        let id = known.id.clone().ok_or_else(no_group)?;
        known.state.vm = Some(id.clone());
        let choices = zone::choices(&request.class);
        // If the class names other zones now and a VM is there, the name finds it.
        known.state.zone = known.state.zone.filter(|zone| choices.contains(zone));
        known.stay_in_zone();
        if let Some(poll) = known.state.poll_of(Doing::Create).map(str::to_owned) {
            match self.arm.progress(&poll, DOING)? {
                Progress::Running { retry_after_ms } => {
                    return Ok(progress(
                        &known.state,
                        "the VM is being created",
                        operation::pause(retry_after_ms),
                    ));
                }
                Progress::Failed { code, message } => {
                    known.state.poll = None;
                    return self.after_failure(&known, &id, &code, &message);
                }
                Progress::Done => {
                    known.state.poll = None;
                    return self.ordered(&known, &id);
                }
                Progress::Unknown => known.state.poll = None,
            }
        }
        let (spec, _) = spec::read(&request.class)?;
        known.spec = spec;
        known.stay_in_zone();
        self.begin(known, &id, user_data)
    }

    fn begin(&self, mut known: Known<'_>, id: &ResourceId, user_data: &str) -> Outcome<Creation> {
        let tags = known.marks.tags(&known.spec);
        match self.nic(&known, id, &tags)? {
            Parts::Waiting { ask_again_ms, message } => {
                return Ok(progress(&known.state, &message, ask_again_ms));
            }
            Parts::Ready(nic) => {
                known.state.address = nic.address;
                if nic.is_attached {
                    return self.ordered(&known, id);
                }
            }
        }
        let plan = self.plan(&known)?;
        if let Parts::Waiting { ask_again_ms, message } = self.disks(&known, id, &tags)? {
            return Ok(progress(&known.state, &message, ask_again_ms));
        }
        let launch = Launch { id, tags: &tags, user_data, plan: plan.as_ref() };
        match self.arm.put_vm(id, body::vm(&known.spec, &launch)) {
            Ok(accepted) => {
                self.log.info("VM ordered", &[("name", &id.name)]);
                known.state.poll = accepted.poll.clone().map(|path| (Doing::Create, path));
                Ok(progress(&known.state, "the VM is being created", accepted.ask_again_ms()))
            }
            Err(failed) if failed.is_existing() => self.existing(&known, id),
            Err(failed) if failed.is_taken_name() => self.without_old_disks(&known, id, failed),
            Err(failed) => {
                let answer = self.next_zone(&known, failed.into(), AT_ONCE_MS);
                // Another zone needs the network interface as well.
                if answer.as_ref().is_err_and(|failure| failure.code == Code::ResourceExhausted) {
                    self.withdraw(&known, id);
                }
                answer
            }
        }
    }

    /// Azure has made no VM. If the zone has said no for certain, the host stores the next one, and calls again after
    /// the pause. After the last zone the refusal is the answer, and the next create begins with the class's own zone.
    fn next_zone(&self, known: &Known<'_>, refused: Failure, pause_ms: u64) -> Outcome<Creation> {
        let choices = zone::choices(&known.request.class);
        let at = choices.iter().position(|zone| known.spec.place == Place::Zone(*zone));
        let next = at.filter(|_| is_refused_by_zone(&refused)).and_then(|at| choices.get(at + 1));
        let mut state = Pending { poll: None, ..known.state.clone() };
        let Some(next) = next.copied() else { return Err(in_zone(refused, state)) };
        state.zone = Some(next);
        self.log.info("a zone has no capacity, the next one is tried", &[("zone", &next.to_string())]);
        Ok(progress(&state, &format!("{}; zone {next} is tried next", refused.message), pause_ms))
    }

    /// Looks at the VM that Azure has accepted.
    fn ordered(&self, known: &Known<'_>, id: &ResourceId) -> Outcome<Creation> {
        match self.look(known, id)? {
            Look::Here(facts) => self.judge(known, id, &facts),
            Look::Absent | Look::NoGroup => Ok(progress(
                &known.state,
                "Azure does not show the VM yet, or it is being removed",
                LAG_RETRY_MS,
            )),
            Look::Foreign(refused) => Err(refused),
        }
    }

    /// Azure has refused a second VM of the name.
    fn existing(&self, known: &Known<'_>, id: &ResourceId) -> Outcome<Creation> {
        match self.look(known, id)? {
            Look::Here(facts) => self.judge(known, id, &facts),
            Look::Foreign(refused) => Err(refused),
            Look::Absent | Look::NoGroup => Ok(progress(
                &known.state,
                "a VM of the name exists, and Azure does not show it yet",
                LAG_RETRY_MS,
            )),
        }
    }

    fn judge(&self, known: &Known<'_>, id: &ResourceId, facts: &VmFacts) -> Outcome<Creation> {
        match (facts.state, facts.power) {
            (Provisioning::Succeeded | Provisioning::Updating, _) => self.created(known, facts),
            // The agent did not report in time. The VM runs: its Node joins, or the host's timeout ends it.
            (Provisioning::Failed, Power::Running) => {
                self.log.info("VM runs although Azure calls it failed", &[("name", &facts.name)]);
                self.created(known, facts)
            }
            (Provisioning::Failed, _) => {
                let (code, message) = facts.failure.clone().unwrap_or_else(|| {
                    ("Failed".to_owned(), "Azure could not create the VM, and does not say why".to_owned())
                });
                self.withdrawn(known, id, facts, &code, &message)
            }
            (Provisioning::Deleting, _) => {
                Ok(progress(&known.state, "the VM of an earlier create is being deleted", LAG_RETRY_MS))
            }
            (Provisioning::Creating | Provisioning::Other, _) => {
                Ok(progress(&known.state, "the VM is being created", operation::ASK_AGAIN_MS))
            }
        }
    }

    fn created(&self, known: &Known<'_>, facts: &VmFacts) -> Outcome<Creation> {
        Ok(Creation::Created(self.with_address(known, facts)?))
    }

    /// The operation has failed. If the VM runs all the same, it counts.
    fn after_failure(
        &self,
        known: &Known<'_>,
        id: &ResourceId,
        code: &str,
        message: &str,
    ) -> Outcome<Creation> {
        match self.look(known, id)? {
            Look::Here(facts) if facts.power == Power::Running => self.created(known, &facts),
            Look::Here(facts) => self.withdrawn(known, id, &facts, code, message),
            Look::Absent | Look::NoGroup => {
                self.next_zone(known, errors::failed_later(DOING, code, message), LAG_RETRY_MS)
            }
            Look::Foreign(refused) => Err(refused),
        }
    }

    /// Removes a VM that never ran, and its parts with it: the next create makes another one. A VM of an earlier zone
    /// that is still there says nothing about this one.
    fn withdrawn(
        &self,
        known: &Known<'_>,
        id: &ResourceId,
        facts: &VmFacts,
        code: &str,
        message: &str,
    ) -> Outcome<Creation> {
        or_log(self.log, "the failed VM is not removed yet", self.arm.delete(id));
        if facts.zone != known.spec.zone() {
            return Ok(progress(
                &known.state,
                "the failed VM of an earlier zone is removed first",
                LAG_RETRY_MS,
            ));
        }
        self.next_zone(known, errors::failed_later(DOING, code, message), LAG_RETRY_MS)
    }

    /// Removes the parts of a VM that Azure has refused, as far as Azure allows it: it may keep a network interface for
    /// minutes. The deletion of the Machine removes the rest.
    fn withdraw(&self, known: &Known<'_>, id: &ResourceId) {
        let nic = id.beside(Kind::Nic, &names::nic(&id.name));
        or_log(self.log, "the network interface is not removed yet", self.arm.delete(&nic));
        for disk in known.spec.data_disks.iter().filter(|disk| disk.image.is_some()) {
            let disk = id.beside(Kind::Disk, &names::data_disk(&id.name, disk));
            or_log(self.log, "the disk is not removed yet", self.arm.delete(&disk));
        }
    }

    /// Disks of the names that the VM would give to its own: those of an earlier VM of this Machine go first.
    fn without_old_disks(
        &self,
        known: &Known<'_>,
        id: &ResourceId,
        failed: Box<ArmError>,
    ) -> Outcome<Creation> {
        let empty = known.spec.data_disks.iter().filter(|disk| disk.image.is_none());
        let mut names = vec![names::os_disk(&id.name)];
        names.extend(empty.map(|disk| names::data_disk(&id.name, disk)));
        let mut is_removing = false;
        for name in names {
            let disk = id.beside(Kind::Disk, &name);
            let Found::Here(facts) = self.arm.disk(&disk)? else { continue };
            if let Some(foreign) = foreign(known, &disk, &facts.tags) {
                return Err(foreign);
            }
            if facts.state != Provisioning::Deleting {
                self.arm.delete(&disk)?;
                self.log.info("disk of an earlier VM ordered away", &[("name", &name)]);
            }
            is_removing = true;
        }
        if is_removing {
            return Ok(progress(&known.state, "a disk of an earlier VM is being removed", LAG_RETRY_MS));
        }
        Err(failed.into())
    }
}

/// True if a refusal is certain, and another zone may not refuse.
fn is_refused_by_zone(failure: &Failure) -> bool {
    !failure.may_have_happened && failure.cloud_code.as_deref().is_some_and(error_codes::is_of_a_zone)
}

/// Returns a failure with the zone of the next create: the same one as long as the outcome is open or Azure only puts
/// the create off, else the class's own. That one alone decides whether the Machine can ever work.
fn in_zone(mut failure: Failure, mut state: Pending) -> Failure {
    let stays = failure.may_have_happened || matches!(failure.code, Code::Unavailable | Code::Aborted);
    if state.zone.is_some() && !stays {
        state.zone = None;
        failure.terminal = false;
    }
    failure.last_known_state = Some(state.text());
    failure
}

fn progress(state: &Pending, message: &str, ask_again_ms: u64) -> Creation {
    Creation::InProgress(wit::Progress {
        resume_token: state.text(),
        ask_again_ms,
        message: message.to_owned(),
    })
}
