//! The steps after a launch: interfaces without source/destination check, and IPv6 prefixes. An adopted instance gets
//! the marks of a launch.

use std::fmt;

use machinist_sdk::driver::{self as wit, Code, DriverError, Failure, Request};

use crate::class::spec::{self, Spec};
use crate::ec2::answer::{Instance, Nic};
use crate::ec2::errors::error;
use crate::instance::machine::{Look, Machines, Outcome, known_id, launched_id, not_found, only};
use crate::instance::map;
use crate::instance::marks::{Marks, lacks_marks};
use crate::tags::TagKeys;

/// The time until the next search for an instance that reads do not show yet.
const LAG_RETRY_MS: u64 = 2_000;

/// The missing steps of an instance, by its class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Due {
    /// True if it belongs to the Machine and lacks the marks.
    pub(crate) marks: bool,
    /// Interfaces whose source/destination check is still on.
    pub(crate) checking: Vec<String>,
    /// Interfaces, and the number of their missing prefixes.
    pub(crate) prefixes: Vec<(String, i32)>,
    /// Network card and device of interfaces that need prefixes and are not attached.
    pub(crate) absent: Vec<(i32, i32)>,
}

impl Due {
    /// Compares an instance with its class, interface by interface. Surplus prefixes stay: a pod may use them.
    pub(crate) fn of(spec: &Spec, instance: &Instance) -> Self {
        let mut due = Self { marks: lacks_marks(instance), ..Self::default() };
        if spec.is_forwarding {
            let checking = instance.interfaces.iter().filter(|nic| nic.checks && !nic.is_fabric());
            due.checking = checking.map(|nic| nic.id.clone()).collect();
        }
        for interface in spec.interfaces.iter().filter(|interface| interface.ipv6_prefixes > 0) {
            let place = (interface.card.unwrap_or(0), interface.device);
            let is_it = |nic: &&Nic| (nic.card, nic.device) == place;
            match instance.interfaces.iter().find(is_it) {
                Some(nic) if nic.ipv6_prefixes < interface.ipv6_prefixes => {
                    due.prefixes.push((nic.id.clone(), interface.ipv6_prefixes - nic.ipv6_prefixes));
                }
                Some(_) => {}
                None => due.absent.push(place),
            }
        }
        due
    }

    pub(crate) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Due {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if self.marks {
            parts.push("mark it as the Machine's".to_owned());
        }
        if !self.checking.is_empty() {
            parts.push(format!("turn off the source/destination check of {}", self.checking.join(", ")));
        }
        for (nic, lacking) in &self.prefixes {
            parts.push(format!("assign {lacking} IPv6 prefixes to {nic}"));
        }
        for (card, device) in &self.absent {
            parts.push(format!("attach an interface at network card {card}, device {device}"));
        }
        f.write_str(&parts.join(", "))
    }
}

impl Machines<'_> {
    /// Sends no request unless the class asks for it, or the instance is adopted.
    pub(crate) fn initialize(&self, request: &Request) -> Outcome<wit::Vm> {
        let spec = spec::read_in_part(&request.class);
        let keys = spec.tag_keys();
        let marks = Marks::new(request, keys.as_ref(), self.adopted);
        let instance = self.launched(request, &marks)?;
        let due = Due::of(&spec, &instance);
        match self.do_what_is_due(&due, &instance, &marks) {
            Ok(()) => Ok(self.vm(&instance)),
            Err(failed) => Err(Failure::from(DriverError {
                provider_id: Some(map::provider_id(&self.ec2.region(), &instance.id)),
                node_name: Some(instance.node_name),
                ..failed.into_record()
            })),
        }
    }

    /// Returns the launched instance. Right after a launch reads may not show it; it is not absent then.
    fn launched(&self, request: &Request, marks: &Marks<'_>) -> Outcome<Instance> {
        let Some(id) = known_id(request) else {
            return only(self.find(marks)?)?.ok_or_else(|| not_found(request));
        };
        let look = self.look(&id, marks)?;
        let is_unseen = matches!(look, Look::Unseen);
        if let Look::Here(instance) = look {
            return Ok(*instance);
        }
        match only(self.find(marks)?)? {
            Some(instance) => Ok(instance),
            None if is_unseen => Err(Failure::from(DriverError {
                retry_after_ms: Some(LAG_RETRY_MS),
                ..error(
                    Code::Unavailable,
                    format!(
                        "EC2 does not show the instance {id} yet, which takes seconds after a launch; if it was \
                         terminated, delete the Machine"
                    ),
                )
            })),
            None => Err(not_found(request)),
        }
    }

    /// Does the missing steps. Continues after a refusal, so that one interface does not block the others.
    fn do_what_is_due(&self, due: &Due, instance: &Instance, marks: &Marks<'_>) -> Outcome<()> {
        let mut refused = None;
        if due.marks {
            refused = self.ec2.tag(&instance.id, &marks.own_tags()).err();
            if refused.is_none() {
                self.log.info("instance marked as the machine's", &[("instance", &instance.id)]);
            }
        }
        for nic in &due.checking {
            refused = self.ec2.stop_checking(nic).err().or(refused);
        }
        for (nic, lacking) in &due.prefixes {
            refused = self.ec2.assign_prefixes(nic, *lacking).err().or(refused);
        }
        match (refused, due.absent.first()) {
            (Some(failed), _) => Err(failed.into()),
            (None, Some((card, device))) => Err(Failure::from(error(
                Code::FailedPrecondition,
                format!(
                    "failed to assign IPv6 prefixes: no interface is attached at network card {card}, device {device}: \
                     attach one, or delete the Machine"
                ),
            ))),
            (None, None) => Ok(()),
        }
    }
}

/// Fails without a request if the class asks for nothing and there is no instance to adopt. An instance that this
/// driver has launched needs no adoption.
pub(crate) fn is_offered(request: &Request, adopted: Option<&TagKeys>) -> Outcome<()> {
    let may_be_adopted = adopted.is_some() && launched_id(request).is_none();
    if may_be_adopted || spec::read_in_part(&request.class).needs_initialize() {
        return Ok(());
    }
    Err(Failure::from(error(
        Code::Unimplemented,
        "nothing to initialize: the MachineClass asks neither for srcAndDstChecksEnabled false nor for ipv6PrefixCount",
    )))
}
