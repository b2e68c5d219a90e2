//! A template of machines for Cluster API: the resources of a Node, by which an autoscaler scales up from zero.
//!
//! A template makes nothing. The driver knows the resources, and the host writes them into the status where an
//! autoscaler reads them.

#[cfg(test)]
mod tests;

use jiff::SignedDuration;

use crate::driver::error::{CallError, Code};
use crate::driver::virtual_capacity::is_same;
use crate::driver::{DriverResult, NodeResources};
use crate::infra_machine::IdentityFact;
use crate::machine::{ClassFact, DriverFact, Requeue};
use crate::scheduling::retry::RetryPolicy;
use crate::scheduling::step::Step;
use crate::value::words::reasons;

/// Facts of one reconcile.
#[derive(Clone, Debug)]
pub struct InfraTemplateView {
    pub is_deleting: bool,
    /// The class that its machines have.
    pub class: ClassFact,
    pub driver: DriverFact,
    /// The credentials of the cloud.
    pub identity: IdentityFact,
    /// The resources in its status.
    pub stored: NodeResources,
}

/// An effect on a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InfraTemplateEffect {
    /// Ask the driver for the resources of a Node.
    AskCapacity,
}

/// The outcomes of a reconcile so far.
#[derive(Clone, Debug, Default)]
pub struct InfraTemplateProgress {
    pub capacity: Option<DriverResult<NodeResources>>,
}

/// The end of a reconcile.
#[derive(Clone, Debug, PartialEq)]
pub struct InfraTemplateConclusion {
    pub reason: InfraTemplateReason,
    /// The text for people.
    pub message: String,
    pub wake: Requeue,
    /// The resources to write into the status. `None` leaves it alone.
    pub resources: Option<NodeResources>,
}

reasons! {
    /// Why the status of a template is as it is; stable once released.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum InfraTemplateReason {
        CapacityKnown = Normal "CapacityKnown",
        /// The driver tells no resources, or the template is being deleted: the status is not the host's.
        CapacityNotOffered = Normal "CapacityNotOffered",
        /// Class, driver or credentials are missing.
        CapacityWaits = Normal "CapacityWaits",
        /// The driver was asked and does not know.
        CapacityUnknown = Warning "CapacityUnknown",
    }
}

pub type InfraTemplateStep = Step<InfraTemplateEffect, InfraTemplateConclusion>;

/// Returns the next step for a template. Pure: the same arguments give the same step.
pub fn step(view: &InfraTemplateView, progress: &InfraTemplateProgress) -> InfraTemplateStep {
    if view.is_deleting {
        return ends(
            InfraTemplateReason::CapacityNotOffered,
            "the template is being deleted",
            Requeue::Resync,
        );
    }
    if !matches!(view.class, ClassFact::Ready(_)) {
        return ends(InfraTemplateReason::CapacityWaits, "the class is missing or invalid", Requeue::Resync);
    }
    let DriverFact::Ready(driver) = &view.driver else {
        return ends(
            InfraTemplateReason::CapacityWaits,
            "no driver serves the provider yet",
            Requeue::Resync,
        );
    };
    if !driver.capabilities.capacity {
        let message = "the driver tells no resources of Nodes: set the autoscaler's annotations instead";
        return ends(InfraTemplateReason::CapacityNotOffered, message, Requeue::Resync);
    }
    match &view.identity {
        IdentityFact::Ready | IdentityFact::NotNamed => {}
        IdentityFact::Missing(problem) | IdentityFact::Refused(problem) => {
            return ends(InfraTemplateReason::CapacityWaits, problem, again(RetryPolicy::LONG, None));
        }
    }
    match &progress.capacity {
        None => Step::act(InfraTemplateEffect::AskCapacity),
        Some(Ok(found)) => known(view, found),
        Some(Err(error)) => unknown(error),
    }
}

fn again(policy: RetryPolicy, hint: Option<SignedDuration>) -> Requeue {
    Requeue::Retry { policy, hint }
}

fn ends(reason: InfraTemplateReason, message: impl Into<String>, wake: Requeue) -> InfraTemplateStep {
    Step::Finish(InfraTemplateConclusion { reason, message: message.into(), wake, resources: None })
}

fn known(view: &InfraTemplateView, found: &NodeResources) -> InfraTemplateStep {
    Step::Finish(InfraTemplateConclusion {
        reason: InfraTemplateReason::CapacityKnown,
        message: "the resources of a Node are known".to_owned(),
        wake: Requeue::Resync,
        resources: (!is_stored(&view.stored, found)).then(|| found.clone()),
    })
}

/// A quantity in another form is the same: writing it would start the next reconcile for nothing.
fn is_stored(stored: &NodeResources, found: &NodeResources) -> bool {
    let (old, new) = (&stored.resources, &found.resources);
    old.len() == new.len()
        && new.iter().all(|(name, is)| old.get(name).is_some_and(|was| is_same(was, is)))
        && stored.architecture == found.architecture
        && stored.operating_system == found.operating_system
}

/// No machine waits for it. A driver that does not know a class learns it only by a change.
fn unknown(error: &CallError) -> InfraTemplateStep {
    let message = format!("the driver does not say which resources a Node has: {error}");
    let policy = match error.code() {
        Code::NotFound | Code::InvalidArgument | Code::Unimplemented => RetryPolicy::TERMINAL,
        _ => RetryPolicy::LONG,
    };
    ends(InfraTemplateReason::CapacityUnknown, message, again(policy, error.retry_after()))
}
