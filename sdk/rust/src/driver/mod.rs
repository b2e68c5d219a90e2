//! What an author of a driver implements, and what there is to use.
//!
//! | question | here |
//! | --- | --- |
//! | what does the host call | [`Driver`], [`Reboot`], [`DeleteById`] |
//! | what does a call have of the world | [`Host`], [`OfflineHost`], [`Secret`], [`Log`] |
//! | how does it ask the cloud | [`HttpRequest`], [`HttpAnswer`], [`Limits`], [`auth`] |
//! | how does it say that it failed | [`Failure`], [`Attempt`], [`NoAnswer`], [`Trouble`] |
//! | how does it read what users wrote | [`Fields`] |

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
pub use no_answer::{NoAnswer, Trouble};
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

/// A driver of a cloud. Each call runs in an instance of its own, so nothing is remembered between calls.
///
/// What the contract promises of each call stands in `wit/provider`. A call fails by a [`Failure`]. A panic is a trap: the host
/// counts it against the plugin, not against the machine.
pub trait Driver {
    /// Who this is. Must not fail.
    fn describe(host: &dyn OfflineHost) -> About;

    /// Checks a class; the answer is warnings. Must accept every class that `create` accepts.
    ///
    /// # Errors
    /// [`invalid`], with a message that names the field.
    fn validate_class(class: &Class, host: &dyn OfflineHost) -> Result<Vec<String>, Failure>;

    /// Makes the machine, or finds the one that an earlier call with this idempotency key made.
    ///
    /// # Errors
    /// By code; `may_have_happened` whenever the request may have reached the cloud.
    fn create(request: &Request, host: &dyn Host) -> Result<Creation, Failure>;

    /// Does what is to be done after creation, and nothing when it is done already.
    ///
    /// # Errors
    /// `NotFound` when there is no machine; `Unimplemented` when the driver has no such step.
    fn initialize(request: &Request, host: &dyn Host) -> Result<Vm, Failure> {
        let _ = (request, host);
        Err(unimplemented("initialize"))
    }

    /// Removes the machine and all that was made with it. One that is not there is success.
    ///
    /// # Errors
    /// By code, never `NotFound`.
    fn delete(request: &Request, host: &dyn Host) -> Result<Deletion, Failure>;

    /// How the machine is. Changes nothing.
    ///
    /// # Errors
    /// `NotFound` only when a complete look has not found it; `OutOfRange` when several machines answer; `Uninitialized` when
    /// `initialize` is due.
    fn get_status(request: &Request, host: &dyn Host) -> Result<Vm, Failure> {
        let _ = (request, host);
        Err(unimplemented("get-status"))
    }

    /// One page of the machines of this class's account and place that carry the cluster's mark, and of no other cluster.
    ///
    /// # Errors
    /// By code. No machine is an empty page.
    fn list(class: &Class, cluster: &str, token: Option<&str>, host: &dyn Host) -> Result<Page, Failure> {
        let _ = (class, cluster, token, host);
        Err(unimplemented("list"))
    }

    /// The cloud's ids of these PersistentVolume specs (JSON each), one entry for each; `None` for volumes of another kind.
    ///
    /// # Errors
    /// When a spec cannot be read.
    fn get_volume_ids(
        volume_specs: &[String],
        host: &dyn OfflineHost,
    ) -> Result<Vec<Option<String>>, Failure> {
        let _ = (volume_specs, host);
        Err(unimplemented("get-volume-ids"))
    }
}

/// Optional: a driver that can start machines anew. `export_driver!(MyDriver, reboot)` exports it.
pub trait Reboot: Driver {
    /// Starts the machine anew. Returns when the cloud has accepted that.
    ///
    /// # Errors
    /// `NotFound` when there is no machine, else by code.
    fn reboot(request: &Request, host: &dyn Host) -> Result<(), Failure>;
}

/// Optional: a driver that can remove one VM of two. `export_driver!(MyDriver, delete_by_id)` exports it.
pub trait DeleteById: Driver {
    /// Orders the end of the VM with this provider id and of no other. `request.machine.provider_id` is the one that
    /// the Machine keeps. A VM that is not there is success.
    ///
    /// # Errors
    /// `FailedPrecondition` when the VM lacks the cluster's mark, or is the one that the Machine keeps; else by code.
    fn delete_by_id(request: &Request, provider_id: &str, host: &dyn Host) -> Result<(), Failure>;
}

/// One entry for each spec, or the failure that says so.
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
