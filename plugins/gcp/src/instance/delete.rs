//! Removes a Machine's instances and disks until they are proven gone.
//!
//! Interfaces and ephemeral addresses go with their instance, and so do disks with autoDelete. Disks that the class
//! keeps have no marks. So a marked disk without an instance is a remain.

use machinist_sdk::driver::{self as wit, Deletion, Failure, Request};

use crate::gce::answer::Instance;
use crate::gce::error_codes::NOT_READY;
use crate::gce::errors::{self, Refused};
use crate::gce::pending::Pending;
use crate::instance::machine::{Look, Machines, Outcome, protected, zones};
use crate::instance::map;
use crate::instance::marks::Marks;
use crate::names::is_name;

/// The state of the deletions that earlier calls noted.
enum Noted {
    None,
    Running,
    Ended,
}

impl Machines<'_> {
    /// Orders instances away, then what is left of them. Each call sends its orders and waits for nothing.
    pub(crate) fn delete(&self, request: &Request) -> Outcome<Deletion> {
        let marks = Marks::new(request, self.adopted);
        let mut state = Pending::parse(request.machine.last_known_state.as_deref());
        match self.noted(&mut state)? {
            Noted::Running => return Ok(in_progress(state, "Google removes the instance")),
            // Their end is proof, so that no search is needed.
            Noted::Ended => return self.remains(&marks, state),
            Noted::None => {}
        }
        let found = self.instances_of(request, &marks, &state)?;
        if found.is_empty() {
            if self.is_coming(request, &mut state)? {
                return Ok(in_progress(state, "Google works on the instance, which is removed afterwards"));
            }
            return self.remains(&marks, state);
        }
        let (mut refused, mut is_busy) = (None, false);
        for (zone, id, name) in found {
            match self.gce.delete(&zone, id) {
                Ok(operation) => {
                    state.instance = state.instance.filter(|noted| *noted != id);
                    state.deletions.extend(operation.map(|operation| (zone, operation.name)));
                    self.log.info("instance ordered away", &[("instance", &name)]);
                }
                // An instance that is being created cannot be removed yet.
                Err(failed) if failed.reason.as_deref() == Some(NOT_READY) => is_busy = true,
                Err(failed) => refused = refused.or(Some(failed)),
            }
        }
        match refused {
            Some(failed) => Err(known(failed, &state)),
            None if is_busy || !state.deletions.is_empty() => {
                Ok(in_progress(state, "Google removes the instance"))
            }
            // All of them were gone already.
            None => self.remains(&marks, state),
        }
    }

    /// Looks at the deletions that earlier calls began.
    fn noted(&self, state: &mut Pending) -> Outcome<Noted> {
        if state.deletions.is_empty() {
            return Ok(Noted::None);
        }
        let mut left = Vec::new();
        let mut failed = None;
        for (zone, name) in std::mem::take(&mut state.deletions) {
            match self.gce.operation(&zone, &name)? {
                Some(operation) if !operation.is_done => left.push((zone, name)),
                Some(operation) => {
                    let error = operation
                        .error
                        .map(|(code, message)| errors::operation("remove the instance", &code, &message));
                    // Somebody else was faster.
                    failed = failed
                        .or(error.filter(|error| error.reason.as_deref() != Some("RESOURCE_NOT_FOUND")));
                }
                None => {}
            }
        }
        state.deletions = left;
        match failed {
            // The next call searches again.
            Some(failed) => Err(known(failed, state)),
            None if state.deletions.is_empty() => Ok(Noted::Ended),
            None => Ok(Noted::Running),
        }
    }

    /// Returns zone, number and name of everything that is to be removed. One that is not ours is refused, and nothing
    /// is removed.
    fn instances_of(
        &self,
        request: &Request,
        marks: &Marks<'_>,
        state: &Pending,
    ) -> Outcome<Vec<(String, u64, String)>> {
        let mut found = self.find(request, marks)?;
        if let Some(place) = request.machine.provider_id.as_deref().and_then(map::parts) {
            let is_known = |instance: &Instance| instance.zone == place.zone && instance.name == place.name;
            if !found.iter().any(is_known)
                && let Look::Here(instance) = self.look_by_id(place.zone, place.name, marks)?
            {
                found.push(*instance);
            }
        }
        for instance in &found {
            protected(instance)?;
        }
        let mut all: Vec<(String, u64, String)> =
            found.into_iter().map(|instance| (instance.zone, instance.id, instance.name)).collect();
        // Reads may be stale, orders are not. Without a read, only an instance that this driver has noted is its own.
        if let (Some(zone), Some(id)) = (&state.zone, state.instance)
            && !all.iter().any(|(_, known, _)| *known == id)
        {
            all.push((zone.clone(), id, marks.name.to_owned()));
        }
        Ok(all)
    }

    /// Whether Google works on an insert whose instance reads do not show yet.
    fn is_coming(&self, request: &Request, state: &mut Pending) -> Outcome<bool> {
        if let (Some(zone), Some(name)) = (&state.zone, &state.insert)
            && self.gce.operation(zone, name)?.is_some_and(|operation| !operation.is_done)
        {
            return Ok(true);
        }
        // A Machine with an id has had its instance, and a name that Google does not take was never sent.
        if request.machine.provider_id.is_some() || !is_name(&request.machine.name) {
            return Ok(false);
        }
        for zone in zones(request) {
            if let Some(operation) = self.gce.running_insert(&zone, &request.machine.name)? {
                state.zone = Some(zone);
                state.insert = Some(operation.name);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Removes disks with the Machine's marks that no instance uses.
    fn remains(&self, marks: &Marks<'_>, mut state: Pending) -> Outcome<Deletion> {
        let mut disks = self.gce.disks(&marks.uid_filter()).map_err(|failed| known(failed, &state))?;
        // A disk that is in use belongs to somebody's instance now.
        disks.retain(|disk| marks.are_on(&disk.labels) && !disk.is_used);
        for disk in disks {
            let operation =
                self.gce.delete_disk(&disk.zone, disk.id).map_err(|failed| known(failed, &state))?;
            state.deletions.extend(operation.map(|operation| (disk.zone, operation.name)));
            self.log.info("disk ordered away", &[("disk", &disk.name)]);
        }
        if state.deletions.is_empty() {
            return Ok(Deletion::Deleted(Some(Pending::default().text())));
        }
        Ok(in_progress(state, "Google removes disks of the instance"))
    }
}

fn in_progress(mut state: Pending, message: &str) -> Deletion {
    let ask_again_ms = state.look_again_ms();
    state.looks = state.looks.saturating_add(1);
    Deletion::InProgress(wit::Progress {
        resume_token: state.text(),
        ask_again_ms,
        message: message.to_owned(),
    })
}

/// The next call must know which deletions have begun, even if this one failed.
fn known(refused: Refused, state: &Pending) -> Failure {
    let mut failure = refused.failure;
    failure.last_known_state = Some(state.text());
    failure
}
