//! For `tests/fuzz` alone: the parsers that are behind a call, a request or a file, as functions of bytes.

use bytes::Bytes;
use http::{HeaderMap, Method, Request};
use jiff::Timestamp;
use machinist_core::driver::error::{CallError, GuestFailure};
use machinist_core::driver::{Creation, Deletion, Page, Vm};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::path::Path;

use crate::calls::bindings::driver::machinist::provider::types as wit;
use crate::calls::convert;
use crate::grants::Grants;
use crate::output_limits as bounds;
use crate::recording::folder;
use crate::recording::folder::ReadError;
use crate::recording::{NoSeed, Player, Playing, Recording};
use crate::vault::Vault;
use crate::{About, PolicyAbout, auth, egress};

/// The part of a guest's answer that the host uses.
#[derive(Debug)]
pub enum UsedPart {
    Creation(Creation),
    Deletion(Deletion),
    Vm(Vm),
    Page(Page),
    VolumeIds(Vec<Option<String>>),
    Warnings(Vec<String>),
    About(Box<About>),
    Error(Box<CallError>),
}

/// The answer of a guest, by the name of its type in the contract. `None`: no guest can answer this.
pub fn guest_answer(kind: &str, answer: Value, vault: &Vault) -> Option<Result<UsedPart, GuestFailure>> {
    fn of<T: DeserializeOwned>(answer: Value) -> Option<T> {
        serde_json::from_value(answer).ok()
    }
    Some(match kind {
        "creation" => convert::creation(of(answer)?, vault).map(UsedPart::Creation),
        "deletion" => convert::deletion(of(answer)?, vault).map(UsedPart::Deletion),
        "vm" => convert::vm(of(answer)?, vault).map(UsedPart::Vm),
        "page" => convert::page(of(answer)?).map(UsedPart::Page),
        "volume-ids" => convert::volume_ids(2, of(answer)?).map(UsedPart::VolumeIds),
        "warnings" => Ok(UsedPart::Warnings(convert::warnings(&of::<Vec<String>>(answer)?, vault))),
        "about" => convert::about(of(answer)?).map(Box::new).map(UsedPart::About),
        "error" => Ok(UsedPart::Error(Box::new(convert::error(of::<wit::DriverError>(answer)?, vault)))),
        _ => return None,
    })
}

/// A recording as a file has it.
///
/// # Errors
/// It is none, for the reason that is returned.
pub fn recording(bytes: &[u8]) -> Result<Recording, ReadError> {
    folder::parse(bytes, Path::new("call.json"))
}

/// Plays all of a recording to a component that does the same again. So many answers were found.
///
/// # Errors
/// It has no seed.
pub fn play(recording: Recording) -> Result<usize, NoSeed> {
    let again = recording.clone();
    let player = Player::new(recording.into(), Playing::Replay)?;
    Ok(crate::recording::play_through(&player, &again))
}

/// Reads the answer of a token service with status 200. `None`: there is no such scheme.
pub fn token_answer(
    scheme: &str,
    headers: &HeaderMap,
    body: &[u8],
    now: Timestamp,
) -> Option<Result<(), String>> {
    Some(match scheme {
        "oauth2" => auth::access_token(body, now).map(drop).map_err(|error| error.to_string()),
        "keystone" => auth::subject_token(headers, body, now).map(drop).map_err(|error| error.to_string()),
        "sts" => auth::session_keys(body, now).map(drop).map_err(|error| error.to_string()),
        _ => return None,
    })
}

/// Reads an answer of a cloud for pace, credentials and clocks: a wait, the codes, and the skew.
pub fn cloud_says(headers: &HeaderMap, body: &[u8], now: Timestamp) -> String {
    egress::cloud_says(headers, body, now)
}

/// Returns the request that is sent for one of a component.
///
/// # Errors
/// Why nothing is.
pub fn sent(
    request: Request<Bytes>,
    grants: &Grants,
    vault: &Vault,
) -> Result<Request<Bytes>, egress::Failure> {
    egress::sent(request, grants, vault)
}

/// Whether a text has characters that command a terminal or turn the direction of writing.
pub fn is_visible(text: &str) -> bool {
    bounds::visible(text) == text
}

/// Why a source is not loaded, as reports say it.
pub fn reason(error: &(dyn std::error::Error + 'static)) -> String {
    bounds::reason(error)
}

/// The methods that a request may have.
pub fn methods() -> &'static [Method] {
    &crate::target::METHODS
}

/// Reads the self-description of a policy.
///
/// # Errors
/// Returns the first thing in it that breaks the contract.
pub fn policy_about(
    name: String,
    version: String,
    settings_schema: Option<String>,
) -> Result<PolicyAbout, GuestFailure> {
    crate::health_policy::convert::checked(name, version, settings_schema)
}

/// The answer of a policy as core gets it: what it writes beside its verdict.
pub fn policy_reason(reason: &str) -> String {
    crate::health_policy::convert::reason(reason)
}
