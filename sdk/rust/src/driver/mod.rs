//! The traits of a driver, and the tools to write one.
//!
//! | topic | items |
//! | --- | --- |
//! | calls of the host | [`Driver`], [`Reboot`], [`DeleteById`], [`NodeId`], [`Placement`], [`Interruption`], [`Capacity`] |
//! | access to the world | [`Host`], [`OfflineHost`], [`Secret`], [`Log`] |
//! | requests to the cloud | [`HttpRequest`], [`HttpAnswer`], [`Limits`], [`auth`] |
//! | failures | [`Failure`], [`Attempt`], [`NoAnswer`], [`NoAnswerReason`] |
//! | JSON of users | [`Fields`] |
//!
//! | module | what it does |
//! | --- | --- |
//! | `host` | the host, as a driver sees it |
//! | `secrets` | secrets as handles |
//! | `auth` | marks requests for the host to authenticate |
//! | `http` | requests and answers, and their limits |
//! | `url` | parses URLs of requests and settings |
//! | `failure` | failures of calls |
//! | `attempt` | failed requests as failures of a call |
//! | `no_answer` | requests without an answer: the cause, and advice |
//! | `fields` | reads JSON that people write: a class, or settings |
//! | `text` | quotes text of others for messages, and escapes it for URLs |
//! | `time` | parses times as clouds write them |

mod attempt;
pub mod auth;
mod failure;
mod fields;
mod host;
mod http;
mod no_answer;
mod secrets;
mod text;
mod time;
mod url;

pub use crate::bindings::capacity_teller::exports::machinist::capacity::capacity::NodeResources;
pub use crate::bindings::provider::machinist::provider::types::{
    About, Address, Capabilities, Class, Code, Condition, Creation, Deletion, DriverError, Listed, Machine,
    Page, Progress, Request, Vm, VmState,
};
pub use crate::log::{Level, Log};
pub use attempt::{Attempt, Effect, Refusal, code_of_status};
pub use failure::{Failure, invalid, not_found, unimplemented};
pub use fields::Fields;
pub use host::{Host, OfflineHost};
pub use http::{HttpAnswer, HttpRequest, Limits, Method};
pub use no_answer::{NoAnswer, NoAnswerReason};
pub use secrets::{Encoding, Secret, SecretRefusal, SecretRefused, Secrets, USER_DATA_KEY};
pub use text::{escaped, quoted, quoted_up_to};
pub use time::rfc3339_ms;
pub use url::{Scheme, Url};

impl std::ops::BitOrAssign for Capabilities {
    fn bitor_assign(&mut self, more: Self) {
        *self = *self | more;
    }
}

pub(crate) use http::PIECE_BYTES;
pub(crate) use secrets::Handle;

/// A driver of a cloud. Each call runs in an instance of its own, so nothing survives a call.
///
/// `wit/provider` describes the promises of each call. A call fails with a [`Failure`]. A panic is a trap: the host
/// counts it against the plugin, not against the machine.
pub trait Driver {
    /// Describes the driver. Must not fail.
    fn describe(host: &dyn OfflineHost) -> About;

    /// Checks a class and returns warnings. Must accept every class that `create` accepts.
    ///
    /// # Errors
    /// [`invalid`], with a message that names the field.
    fn validate_class(class: &Class, host: &dyn OfflineHost) -> Result<Vec<String>, Failure>;

    /// Creates the machine, or finds the one that an earlier call with this idempotency key created.
    ///
    /// # Errors
    /// By code; `may_have_happened` whenever the request may have reached the cloud.
    fn create(request: &Request, host: &dyn Host) -> Result<Creation, Failure>;

    /// Does the missing steps after creation, and nothing if none is missing.
    ///
    /// # Errors
    /// `NotFound` if there is no machine; `Unimplemented` if the driver has no such step.
    fn initialize(request: &Request, host: &dyn Host) -> Result<Vm, Failure> {
        let _ = (request, host);
        Err(unimplemented("initialize"))
    }

    /// Removes the machine and everything created with it. If nothing exists, that is success.
    ///
    /// # Errors
    /// By code, never `NotFound`.
    fn delete(request: &Request, host: &dyn Host) -> Result<Deletion, Failure>;

    /// Returns the state of the machine. Changes nothing.
    ///
    /// # Errors
    /// `NotFound` only if a complete search has not found it; `OutOfRange` if several machines match; `Uninitialized`
    /// if `initialize` is due.
    fn get_status(request: &Request, host: &dyn Host) -> Result<Vm, Failure> {
        let _ = (request, host);
        Err(unimplemented("get-status"))
    }

    /// Returns one page of the machines with the cluster's mark in this class's account and place, and of no other
    /// cluster.
    ///
    /// # Errors
    /// By code. An empty page if there is no machine.
    fn list(class: &Class, cluster: &str, token: Option<&str>, host: &dyn Host) -> Result<Page, Failure> {
        let _ = (class, cluster, token, host);
        Err(unimplemented("list"))
    }

    /// Returns the cloud's ids of these PersistentVolume specs (JSON each), one entry for each; `None` for volumes of
    /// another kind.
    ///
    /// # Errors
    /// If a spec is unreadable.
    fn get_volume_ids(
        volume_specs: &[String],
        host: &dyn OfflineHost,
    ) -> Result<Vec<Option<String>>, Failure> {
        let _ = (volume_specs, host);
        Err(unimplemented("get-volume-ids"))
    }
}

/// Optional: a driver that can restart machines. `export_driver!(MyDriver, reboot)` exports it.
pub trait Reboot: Driver {
    /// Restarts the machine. Returns when the cloud has accepted the order.
    ///
    /// # Errors
    /// `NotFound` if there is no machine, else by code.
    fn reboot(request: &Request, host: &dyn Host) -> Result<(), Failure>;
}

/// Optional: a driver that can remove one VM of two. `export_driver!(MyDriver, delete_by_id)` exports it.
pub trait DeleteById: Driver {
    /// Removes the VM with this provider id and no other. `request.machine.provider_id` is the VM that the Machine
    /// keeps. If the VM does not exist, that is success.
    ///
    /// # Errors
    /// `FailedPrecondition` if the VM lacks the cluster's mark, or is the one that the Machine keeps; else by code.
    fn delete_by_id(request: &Request, provider_id: &str, host: &dyn Host) -> Result<(), Failure>;
}

/// Optional: a driver whose own provider ids differ from those of Nodes. `export_driver!(MyDriver, node_id)` exports
/// it.
pub trait NodeId: Driver {
    /// Returns the id that the cloud controller manager writes into `Node.spec.providerID` for this VM: 1 to 512 bytes,
    /// the same for the same arguments, in every later version as well.
    ///
    /// # Errors
    /// `FailedPrecondition` if the VM lacks a part of the id, such as its zone.
    fn node_id(request: &Request, vm: &Vm, host: &dyn OfflineHost) -> Result<String, Failure>;
}

/// Optional: a driver that puts VMs into an exact failure domain. `export_driver!(MyDriver, placement)` exports it.
pub trait Placement: Driver {
    /// Returns the `providerSpec` that creates VMs of this class in this failure domain and nowhere else. With it
    /// `create` makes a VM whose `failure_domain` is this text, or fails. The same arguments always give the same text.
    ///
    /// # Errors
    /// [`invalid`] if the class cannot be in this failure domain, with a message that names the field to change.
    fn place(class: &Class, failure_domain: &str, host: &dyn OfflineHost) -> Result<String, Failure>;
}

/// Optional: a driver that knows whether its cloud may take VMs away. `export_driver!(MyDriver, interruption)` exports
/// it.
pub trait Interruption: Driver {
    /// Returns whether the cloud may take a VM of this class away at any time: spot, preemptible. False if the class
    /// does not say so. The same arguments always give the same answer.
    ///
    /// # Errors
    /// [`invalid`] if the class is unreadable.
    fn is_interruptible(class: &Class, host: &dyn OfflineHost) -> Result<bool, Failure>;
}

/// Optional: a driver that knows the resources of Nodes. `export_driver!(MyDriver, capacity)` exports it.
pub trait Capacity: Driver {
    /// Returns the resources of a Node of this class, at least `cpu` and `memory`, as Kubernetes quantities. Changes
    /// nothing.
    ///
    /// # Errors
    /// [`invalid`] if the class can never have a Node, [`not_found`] if its resources are unknown, else by code.
    fn node_capacity(class: &Class, host: &dyn Host) -> Result<NodeResources, Failure>;
}

/// Returns one entry for each spec, or a failure if the driver returned another number.
pub(crate) fn volume_ids<D: Driver>(
    specs: &[String],
    host: &dyn OfflineHost,
) -> Result<Vec<Option<String>>, Failure> {
    let ids = D::get_volume_ids(specs, host)?;
    if ids.len() == specs.len() {
        return Ok(ids);
    }
    let message =
        format!("get_volume_ids must answer one entry for each of {} specs, got {}", specs.len(), ids.len());
    Err(Failure::new(Code::Internal, message))
}
