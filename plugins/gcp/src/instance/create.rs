//! From a request to exactly one instance.
//!
//! The request id makes repetitions safe: Google answers a known one with its old operation. The name makes them safe
//! after Google has forgotten the id: names are unique in a zone. An operation that has failed keeps its id, so the
//! next insert has another one. Each zone has ids of its own, and the host stores the zone before the first request in
//! it, so that a repetition never begins in another zone.

use machinist_sdk::driver::{
    self as wit, Code, Creation, DriverError, Failure, Request, invalid as refused_class, quoted,
};

use crate::class::spec::Spec;
use crate::class::zone;
use crate::gce::answer::{Instance, InstanceStatus, Operation};
use crate::gce::credentials::UserData;
use crate::gce::error_codes as codes;
use crate::gce::errors::{self, Refused};
use crate::gce::pending::{Pending, request_id};
use crate::instance::launch;
use crate::instance::machine::{Machines, Outcome, of_another_cluster, of_nobody};
use crate::instance::map;
use crate::instance::marks::{Marks, Whose};
use crate::names::is_name;

const DOING: &str = "create the instance";
/// The time until the next call, if there is something to do at once.
const AT_ONCE_MS: u64 = 0;
/// The time until the next look at an instance that is in the way.
const WAY_MS: u64 = 2_000;
/// The words in Google's refusal of a request id.
const REQUEST_ID: &str = "requestId";

/// One create: a Machine, its class, and its zones.
struct Create<'a> {
    request: &'a Request,
    spec: &'a Spec,
    marks: Marks<'a>,
    user_data: &'a UserData,
    /// In the order in which they are tried; never empty.
    choices: Vec<String>,
}

impl Machines<'_> {
    /// Sends one request that changes something at most, and waits for nothing.
    pub(crate) fn create(&self, request: &Request, spec: &Spec, user_data: &UserData) -> Outcome<Creation> {
        let marks = Marks::new(request, self.adopted);
        check(spec, user_data, &marks)?;
        let choices = zone::choices(spec, &request.class.zones);
        let create = Create { request, spec, marks, user_data, choices };
        let mut state = Pending::parse(request.machine.last_known_state.as_deref());
        state.project = Some(self.gce.project.clone());
        let zone = state.zone.clone().unwrap_or_else(|| spec.zone.clone());
        state.zone = Some(zone.clone());
        if let Some(name) = state.insert.clone() {
            return match self.gce.operation(&zone, &name).map_err(|refused| known(refused, &state))? {
                Some(operation) => self.follow(&create, &zone, operation, state),
                // Google has forgotten it. The instance itself tells.
                None => self.look(&create, &zone, state),
            };
        }
        if state.instance.is_some() {
            return self.look(&create, &zone, state);
        }
        if !create.choices.contains(&zone) {
            // The class names other zones than the create that may have happened.
            return self.resolve(&create, &zone, &state);
        }
        self.insert(&create, &zone, state)
    }

    fn insert(&self, create: &Create<'_>, zone: &str, state: Pending) -> Outcome<Creation> {
        let body = launch::body(create.spec, &self.gce.project, zone, &create.marks, create.user_data);
        let id = request_id(&create.request.idempotency_key, state.attempt);
        match self.gce.insert(zone, &id, &body) {
            Ok(operation) => self.follow(create, zone, operation, state),
            Err(refused) if is_taken(&refused) => match self.resolved(create, zone, &state)? {
                Some(creation) => Ok(creation),
                None => self.in_the_way(create, zone, refused, &state),
            },
            // An earlier create with another class or other user data used the id.
            Err(refused) if refused.message.contains(REQUEST_ID) => self.resolve(create, zone, &state),
            Err(refused) if is_certain(&refused) && refused.is_of_zone => {
                self.next_zone(create, zone, refused, &state)
            }
            Err(refused) => Err(known(refused, &state)),
        }
    }

    /// Goes on with an insert that Google works on, or has ended.
    fn follow(
        &self,
        create: &Create<'_>,
        zone: &str,
        operation: Operation,
        mut state: Pending,
    ) -> Outcome<Creation> {
        if !operation.is_done {
            state.insert = Some(operation.name);
            return Ok(self.in_progress(state, "Google works on the instance"));
        }
        match operation.error {
            None => self.look(create, zone, Pending { insert: None, instance: operation.target_id, ..state }),
            Some((code, message)) => {
                let refused = errors::operation(DOING, &code, &message);
                self.failed(create, zone, refused, state)
            }
        }
    }

    /// The insert has failed. Only if Google shows no instance, there is none for certain.
    fn failed(&self, create: &Create<'_>, zone: &str, refused: Refused, state: Pending) -> Outcome<Creation> {
        if is_taken(&refused) {
            return match self.resolved(create, zone, &state)? {
                Some(creation) => Ok(creation),
                None => self.in_the_way(create, zone, refused, &state),
            };
        }
        let found = self.gce.instance(zone, create.marks.name).map_err(|refused| known(refused, &state))?;
        if let Some(instance) = found.filter(|instance| create.marks.whose(instance) == Whose::Own) {
            return Ok(self.here(&instance, state));
        }
        if refused.is_of_zone {
            return self.next_zone(create, zone, refused, &state);
        }
        Err(known(refused, &state.next_attempt()))
    }

    /// The zone has said no for certain. The host stores the next one with the next request id, and calls again.
    fn next_zone(
        &self,
        create: &Create<'_>,
        zone: &str,
        refused: Refused,
        state: &Pending,
    ) -> Outcome<Creation> {
        let at = create.choices.iter().position(|known| known == zone).unwrap_or(0);
        let mut state = state.next_attempt();
        let Some(next) = create.choices.get(at + 1) else {
            state.zone = create.choices.first().cloned();
            return Err(known(refused, &state));
        };
        state.zone = Some(next.clone());
        self.log.info("a zone has no capacity, the next one is tried", &[("zone", next)]);
        let message = format!("{}; zone {next} is tried next", refused.failure.message);
        Ok(progress(&state, AT_ONCE_MS, message))
    }

    /// Reads the instance of an insert that has ended well.
    fn look(&self, create: &Create<'_>, zone: &str, state: Pending) -> Outcome<Creation> {
        match self.gce.instance(zone, create.marks.name).map_err(|refused| known(refused, &state))? {
            Some(instance) => self.existing(create, &instance, state),
            None => {
                self.log.info("the instance of an earlier insert is gone", &[("zone", zone)]);
                let message = "the instance of an earlier create is gone, another one is created";
                Ok(progress(&state.next_attempt(), AT_ONCE_MS, message))
            }
        }
    }

    /// Goes on from a create of which it is not known whether it happened.
    fn resolve(&self, create: &Create<'_>, zone: &str, state: &Pending) -> Outcome<Creation> {
        if let Some(creation) = self.resolved(create, zone, state)? {
            return Ok(creation);
        }
        let mut state = state.next_attempt();
        if !create.choices.iter().any(|known| known == zone) {
            state.zone = create.choices.first().cloned();
        }
        Ok(progress(
            &state,
            AT_ONCE_MS,
            "an earlier create with another class made no instance, another one is created",
        ))
    }

    /// Returns what an earlier create has made, or Google works on. `None`: there is and comes nothing.
    fn resolved(&self, create: &Create<'_>, zone: &str, state: &Pending) -> Outcome<Option<Creation>> {
        let name = create.marks.name;
        // The operation first: an insert that ends between both reads is seen by the second.
        let running = self.gce.running_insert(zone, name).map_err(|refused| known(refused, state))?;
        if let Some(instance) = self.gce.instance(zone, name).map_err(|refused| known(refused, state))? {
            return self.existing(create, &instance, state.clone()).map(Some);
        }
        Ok(running.map(|operation| {
            let state = Pending { insert: Some(operation.name), ..state.clone() };
            self.in_progress(state, "Google works on the instance of an earlier create")
        }))
    }

    /// An instance has the Machine's name.
    fn existing(&self, create: &Create<'_>, instance: &Instance, state: Pending) -> Outcome<Creation> {
        match create.marks.whose(instance) {
            Whose::Own => Ok(self.here(instance, state)),
            Whose::Neighbours if instance.status == InstanceStatus::Stopping => Ok(progress(
                &state,
                WAY_MS,
                format!("the instance {} of another Machine of this name is being removed", instance.name),
            )),
            Whose::Neighbours => Err(Failure::from(DriverError {
                provider_id: Some(map::provider_id(&self.gce.project, &instance.zone, &instance.name)),
                ..Failure::new(
                    Code::AlreadyExists,
                    format!(
                        "failed to {DOING}: {} in zone {} belongs to another Machine of this cluster with the same name, and \
                         names are unique in a zone: delete this Machine, or use another zone",
                        instance.name, instance.zone
                    ),
                )
                .into_record()
            })),
            Whose::OfCluster(cluster) if create.marks.uid_is_on(instance) => Err(of_another_cluster(instance, &cluster)),
            Whose::OfCluster(cluster) => Err(Failure::new(
                Code::AlreadyExists,
                format!(
                    "failed to {DOING}: {} in zone {} belongs to cluster {}, and names are unique in a zone: delete this \
                     Machine, or use another zone or project",
                    instance.name,
                    instance.zone,
                    quoted(&cluster)
                ),
            )),
            Whose::Unmarked => Err(of_nobody(instance, &create.marks)),
        }
    }

    /// The machine's own instance.
    fn here(&self, instance: &Instance, mut state: Pending) -> Creation {
        state.zone = Some(instance.zone.clone());
        match instance.status {
            // The insert has not ended: it may still fail without capacity.
            InstanceStatus::Starting => self.in_progress(state, "Google starts the instance"),
            InstanceStatus::Stopping => progress(
                &state,
                WAY_MS,
                format!("the instance {} is being stopped or removed", instance.name),
            ),
            InstanceStatus::Running | InstanceStatus::Stopped | InstanceStatus::Other => {
                state.instance = Some(instance.id);
                state.insert = None;
                state.looks = 0;
                Creation::Created(wit::Vm { last_known_state: Some(state.text()), ..self.vm(instance) })
            }
        }
    }

    /// Something else than the instance has a name that Google would give: a disk of an earlier instance.
    fn in_the_way(
        &self,
        create: &Create<'_>,
        zone: &str,
        refused: Refused,
        state: &Pending,
    ) -> Outcome<Creation> {
        let state = state.next_attempt();
        let mut removed = 0;
        for disk in self.gce.disks(&create.marks.uid_filter()).map_err(|refused| known(refused, &state))? {
            if disk.zone == zone && create.marks.are_on(&disk.labels) && !disk.is_used {
                self.gce.delete_disk(&disk.zone, disk.id).map_err(|refused| known(refused, &state))?;
                self.log.info("disk of an earlier instance ordered away", &[("disk", &disk.name)]);
                removed += 1;
            }
        }
        if removed > 0 {
            return Ok(progress(&state, WAY_MS, "a disk of an earlier instance is removed first"));
        }
        Err(known(refused, &state))
    }

    fn in_progress(&self, mut state: Pending, message: &str) -> Creation {
        let again_ms = state.look_again_ms();
        state.looks = state.looks.saturating_add(1);
        progress(&state, again_ms, message)
    }
}

/// Refuses what can never be created, before anything is sent.
fn check(spec: &Spec, user_data: &UserData, marks: &Marks<'_>) -> Outcome<()> {
    if !is_name(marks.name) {
        return Err(refused_class(format!(
            "the Machine's name {:?} cannot be that of an instance of Google: at most 63 lower-case letters, digits and \
             hyphens, beginning with a letter: use a shorter name of the MachineDeployment",
            quoted(marks.name)
        )));
    }
    if launch::has_key_twice(spec, user_data) {
        return Err(refused_class(format!(
            "metadata of the MachineClass's providerSpec has the key {}, under which the instance gets the user data: \
             remove it, or begin userData with #cloud-config",
            user_data.key
        )));
    }
    Ok(())
}

/// Whether Google says that a name is taken.
fn is_taken(refused: &Refused) -> bool {
    matches!(refused.reason.as_deref(), Some(codes::ALREADY_EXISTS | codes::EXISTS_ALREADY))
}

/// Whether a refusal is a certain no.
fn is_certain(refused: &Refused) -> bool {
    !refused.failure.may_have_happened
}

fn progress(state: &Pending, ask_again_ms: u64, message: impl Into<String>) -> Creation {
    Creation::InProgress(wit::Progress { resume_token: state.text(), ask_again_ms, message: message.into() })
}

/// The next call must know zone, attempt and operation, even if this one failed.
fn known(refused: Refused, state: &Pending) -> Failure {
    let mut failure = refused.failure;
    failure.last_known_state = Some(state.text());
    failure
}
