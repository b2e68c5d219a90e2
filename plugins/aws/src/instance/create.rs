//! From a request to exactly one instance.
//!
//! The client token makes repetitions safe: EC2 answers a known token with the same instance. A token whose instance is
//! proven gone creates nothing any more; only then the driver uses the next one. Each zone has a token of its own, too.
//! The host stores it before the first request in that zone, so a repetition never begins in another zone.

use machinist_sdk::driver::{self as wit, Code, Creation, DriverError, Failure, Request};

use crate::class::spec::{self, Spec};
use crate::class::{placement, zone};
use crate::ec2::answer::Instance;
use crate::ec2::error_codes as codes;
use crate::ec2::errors::error;
use crate::ec2::params::{Filter, Params};
use crate::ec2::pending::{PendingCreate, token};
use crate::instance::launch::{self, Launch};
use crate::instance::machine::{Look, Machines, Outcome, of_another_cluster, only};
use crate::instance::map;
use crate::instance::marks::Marks;

/// The time until the next call for an instance that EC2 does not show, or that has no name yet.
const LAG_RETRY_MS: u64 = 2_000;
/// Tokens that one call tries. The host calls again, and the count continues.
const TOKENS_PER_CALL: u32 = 5;

/// The result of a launch with one token.
enum Launched {
    Here(Box<Instance>),
    /// The token's instance is proven gone.
    Gone,
}

impl Machines<'_> {
    /// Sends two requests in the normal case. `user_data` is a placeholder for its base64.
    pub(crate) fn create(&self, request: &Request, user_data: &str) -> Outcome<Creation> {
        let mut state = PendingCreate::parse(request.machine.last_known_state.as_deref());
        let in_part = spec::read_in_part(&request.class);
        let keys = in_part.tag_keys();
        let marks = Marks::new(request, keys.as_ref(), self.adopted);
        if let Some(id) = state.instance.take() {
            match self.look(&id, &marks).map_err(|failed| known(failed, &state.with(&id)))? {
                Look::Here(instance) if !instance.node_name.is_empty() => {
                    return Ok(self.created(&instance, &state));
                }
                Look::Here(_) => {
                    return Ok(self.in_progress(&id, &state, "EC2 has given the instance no name yet"));
                }
                Look::Gone => {
                    self.log.info("the instance of an earlier launch is gone", &[("instance", &id)]);
                    state.attempt = state.attempt.saturating_add(1);
                }
                // The token finds an instance that reads do not show, in the region where it was used.
                Look::Unseen | Look::Foreign if in_part.region == self.ec2.region() => {}
                Look::Unseen | Look::Foreign => {
                    return Ok(self.in_progress(
                        &id,
                        &state,
                        "EC2 does not show the instance of an earlier launch yet",
                    ));
                }
            }
        }
        let (spec, _) = spec::read(&request.class)?;
        self.launch_one(request, &spec, &marks, user_data, state)
    }

    fn launch_one(
        &self,
        request: &Request,
        spec: &Spec,
        marks: &Marks<'_>,
        user_data: &str,
        mut state: PendingCreate,
    ) -> Outcome<Creation> {
        let region = self.ec2.region();
        state.region = Some(spec.region.clone());
        let choices = zone::choices(spec, &request.class.zones);
        if !choices.contains(&state.zone) {
            // The class names other zones now. If an instance is there, the token finds it.
            state.zone = None;
        }
        let spec = &Spec { zone: state.zone.clone().or_else(|| spec.zone.clone()), ..spec.clone() };
        if spec.region != region {
            let message = format!(
                "the create began in region {region}, and the MachineClass's providerSpec names {}: it is begun there",
                spec.region
            );
            return Err(known(Failure::from(error(Code::Aborted, message)), &state));
        }
        let placement =
            placement::parameters(spec.placement.as_ref(), request.machine.node_template.as_deref())?;
        let root_device = self.ec2.root_device(&spec.ami)?.ok_or_else(|| no_image(spec))?;
        let tags = marks.tags(spec);
        for _ in 0..TOKENS_PER_CALL {
            let Some(token) = token(&request.idempotency_key, state.attempt) else {
                return Err(unexpected_key());
            };
            let launch = Launch {
                token: &token,
                root_device: &root_device,
                user_data,
                tags: &tags,
                placement: &placement,
            };
            let params = launch::parameters(spec, launch);
            let launched = match self.launch(&params, &token, marks) {
                Err(failed) if is_refused_by_zone(&failed) && choices.len() > 1 => {
                    return self.next_zone(failed, &choices, state);
                }
                launched => launched.map_err(|failed| after_attempts(failed, &state))?,
            };
            match launched {
                Launched::Here(instance) if !instance.node_name.is_empty() => {
                    return Ok(self.created(&instance, &state));
                }
                Launched::Here(instance) => return self.named(&instance.id, marks, &state),
                Launched::Gone => {
                    self.log.info(
                        "the instance under a token is gone, the next token is due",
                        &[("token", &token)],
                    );
                    state.attempt = state.attempt.saturating_add(1);
                }
            }
        }
        let message =
            format!("{} instances of this Machine were terminated as they were made", state.attempt);
        Err(known(Failure::from(error(Code::Aborted, message)), &state))
    }

    /// The zone has said no for certain. The host stores the next one with the next token, and calls again.
    fn next_zone(
        &self,
        refused: Failure,
        choices: &[Option<String>],
        mut state: PendingCreate,
    ) -> Outcome<Creation> {
        let at = choices.iter().position(|zone| *zone == state.zone).unwrap_or(0);
        state.attempt = state.attempt.saturating_add(1);
        let Some(next) = choices.get(at + 1) else {
            state.zone = None;
            return Err(known(refused, &state));
        };
        state.zone.clone_from(next);
        let zone = next.as_deref().unwrap_or_default();
        self.log.info("a zone has no capacity, the next one is tried", &[("zone", zone)]);
        let message = format!("{}; zone {zone} is tried next", refused.message);
        Ok(Creation::InProgress(wit::Progress { resume_token: state.text(), ask_again_ms: 0, message }))
    }

    fn launch(&self, params: &Params, token: &str, marks: &Marks<'_>) -> Outcome<Launched> {
        match self.ec2.run(params) {
            Ok(instance) if instance.is_there() => Ok(Launched::Here(Box::new(instance))),
            Ok(_) => Ok(Launched::Gone),
            Err(failed) => match failed.cloud_code() {
                Some(codes::TERMINATED) => Ok(Launched::Gone),
                Some(codes::MISMATCH) => self.adopt(token, marks).map_err(exists),
                _ => Err(failed.into()),
            },
        }
    }

    /// An earlier create with another class or other user data launched an instance with this token: it is the
    /// machine's.
    fn adopt(&self, token: &str, marks: &Marks<'_>) -> Outcome<Launched> {
        if let Some(instance) = only(self.find(marks)?)? {
            self.log.info("instance of an earlier create adopted", &[("instance", &instance.id)]);
            return Ok(Launched::Here(Box::new(instance)));
        }
        // Without its tags the token still finds it.
        let mut found = self.ec2.search(&[Filter::new("client-token", token)])?;
        found.retain(|instance| instance.client_token.as_deref().is_none_or(|own| own == token));
        let (here, gone): (Vec<Instance>, Vec<Instance>) = found.into_iter().partition(Instance::is_there);
        match here.into_iter().next() {
            Some(instance) => match marks.other_cluster(&instance) {
                None => {
                    self.log.info("instance of an earlier create adopted", &[("instance", &instance.id)]);
                    Ok(Launched::Here(Box::new(instance)))
                }
                Some(cluster) => Err(Failure::from(DriverError {
                    provider_id: Some(map::provider_id(&self.ec2.region(), &instance.id)),
                    ..of_another_cluster(&instance, cluster).into_record()
                })),
            },
            None if !gone.is_empty() => Ok(Launched::Gone),
            None => Err(Failure::from(DriverError {
                cloud_code: Some(codes::MISMATCH.to_owned()),
                retry_after_ms: Some(LAG_RETRY_MS),
                ..error(
                    Code::Aborted,
                    "failed to launch the instance: an earlier create launched it with other parameters, and EC2's \
                     reads do not show it yet; if this lasts, delete the Machine",
                )
            })),
        }
    }

    /// Reads the instance once for its name. If that takes longer, the next call continues, since a call occupies a
    /// place for which others wait.
    fn named(&self, id: &str, marks: &Marks<'_>, state: &PendingCreate) -> Outcome<Creation> {
        match self.look(id, marks) {
            Ok(Look::Here(instance)) if !instance.node_name.is_empty() => Ok(self.created(&instance, state)),
            Ok(Look::Here(_) | Look::Gone | Look::Foreign | Look::Unseen) => {
                Ok(self.in_progress(id, state, "the instance is launched, EC2 does not show its name yet"))
            }
            Err(failed) if matches!(failed.code, Code::Unavailable | Code::DeadlineExceeded) => {
                let retry_ms = failed.retry_after_ms.unwrap_or(LAG_RETRY_MS);
                Ok(progress(id, &self.with_region(state), &failed.message, retry_ms))
            }
            Err(failed) => Err(exists(known(failed, &self.with_region(state).with(id)))),
        }
    }

    fn created(&self, instance: &Instance, state: &PendingCreate) -> Creation {
        let state = self.with_region(state).with(&instance.id);
        Creation::Created(wit::Vm { last_known_state: Some(state.text()), ..self.vm(instance) })
    }

    fn in_progress(&self, id: &str, state: &PendingCreate, message: &str) -> Creation {
        progress(id, &self.with_region(state), &format!("{message}: {id}"), LAG_RETRY_MS)
    }

    fn with_region(&self, state: &PendingCreate) -> PendingCreate {
        PendingCreate { region: Some(self.ec2.region()), ..state.clone() }
    }
}

impl PendingCreate {
    fn with(&self, instance: &str) -> Self {
        Self { instance: Some(instance.to_owned()), ..self.clone() }
    }
}

fn progress(id: &str, state: &PendingCreate, message: &str, ask_again_ms: u64) -> Creation {
    let resume_token = state.with(id).text();
    Creation::InProgress(wit::Progress { resume_token, ask_again_ms, message: message.to_owned() })
}

/// From here on every error must say that there may be an instance.
fn exists(mut failed: Failure) -> Failure {
    failed.may_have_happened = true;
    failed
}

/// Whether a refusal is certain, and another zone may not refuse.
fn is_refused_by_zone(failed: &Failure) -> bool {
    !failed.may_have_happened && failed.cloud_code.as_deref().is_some_and(codes::is_of_a_zone)
}

/// The next call must know the current token, even if this one failed.
fn after_attempts(failed: Failure, state: &PendingCreate) -> Failure {
    if state.attempt == 0 { failed } else { known(failed, state) }
}

fn known(mut failed: Failure, state: &PendingCreate) -> Failure {
    failed.last_known_state = Some(state.text());
    failed
}

fn no_image(spec: &Spec) -> Failure {
    let message = format!(
        "failed to read the image: {} is not in region {} or not shared with the account: correct ami in the \
         MachineClass's providerSpec",
        spec.ami, spec.region
    );
    Failure::from(DriverError { terminal: true, ..error(Code::InvalidArgument, message) })
}

fn unexpected_key() -> Failure {
    Failure::from(error(
        Code::Internal,
        "failed to launch the instance: the host's idempotency key is not of the 64 ASCII characters that EC2 takes",
    ))
}
