//! Replays a recording: the component gets the same question, and sees the same answers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use machinist_core::driver::error::CallError;
use machinist_core::driver::{Operation, SecretValues};
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

use crate::calls::call::{Prepared, Sandbox};
use crate::calls::exports::{Ask, ask_again};
use crate::calls::limits::Ceilings;
use crate::grants::{Grants, SecretKey};
use crate::output_limits::hex;
use crate::recording::{CallRecording, Difference, FORMAT, Player, Playing, Recording, Secrets, difference};

/// No Secret and no user data is larger; a recording that says so is none.
const MOST_SECRET_BYTES: u64 = 4 * 1024 * 1024;
/// Beyond what the recorded call had: a replay on a slow machine is not cut off earlier than the call was.
const GRACE: Duration = Duration::from_secs(5);
/// The longest that a contract lets a call take.
const LONGEST: Duration = Duration::from_secs(3600);

/// Why a recording cannot be played.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    #[error("the recording is of a call {0:?}, which no driver has: it is of a later host, or damaged")]
    Operation(String),
    #[error("the arguments of {operation} do not fit the contract: {detail}")]
    Question { operation: &'static str, detail: String },
    #[error("the recording has no usable seed of its random numbers: {0}")]
    Seed(String),
    #[error("the recording has a secret of {bytes} bytes, and {MOST_SECRET_BYTES} are the most")]
    Secret { bytes: u64 },
    #[error("the recording has the format {0}, and this host plays {FORMAT}")]
    Format(u32),
    #[error("the component cannot be loaded: {0}")]
    Load(String),
    #[error("the component is a health policy, and recordings are of drivers")]
    Policy,
    #[error("the replay was interrupted: try again")]
    Interrupted,
}

/// The result of a replay.
#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    /// The recording of the replay.
    pub recording: Recording,
    /// In what that differs from the recording that was played. Empty: in nothing.
    pub differences: Vec<Difference>,
}

/// Plays one recording to a component.
pub(crate) async fn replay(
    sandbox: &Sandbox,
    prepared: &Prepared,
    ceilings: &Ceilings,
    recorded: &Recording,
) -> Result<Replayed, ReplayError> {
    if recorded.format != FORMAT {
        return Err(ReplayError::Format(recorded.format));
    }
    let player = Player::new(Arc::new(recorded.clone()), Playing::Replay)
        .map_err(|error| ReplayError::Seed(error.to_string()))?;
    let active = CallRecording::replaying(player);
    let prepared = Prepared {
        plugin: prepared.plugin.clone(),
        digest: prepared.digest,
        code: ArcSwap::from(prepared.code.load_full()),
        settings: recorded.settings.as_str().into(),
        grants: grants(&recorded.secrets).shared(),
        limits: prepared.limits.with_recorded(&recorded.limits, ceilings),
        memory: Arc::clone(&prepared.memory),
    };
    let replay = Replay { sandbox, prepared: &prepared, recorded, recording: &active };
    let asked = ask_again(&recorded.operation, &replay);
    asked.ok_or_else(|| ReplayError::Operation(recorded.operation.clone()))?.await?;
    let recording = active.finish().ok_or(ReplayError::Interrupted)?;
    let differences = difference(recorded, &recording);
    Ok(Replayed { recording, differences })
}

/// Nothing leaves the host, whatever is granted. Values that the recording shows are no secrets in its replay.
fn grants(secrets: &Secrets) -> Grants {
    let reveal = secrets.shown().map(|(key, _)| SecretKey::Key(key.to_owned())).collect();
    Grants { reveal, ..Grants::default() }
}

/// A replay of one call.
pub(crate) struct Replay<'a> {
    sandbox: &'a Sandbox,
    prepared: &'a Prepared,
    recorded: &'a Recording,
    recording: &'a CallRecording,
}

impl Replay<'_> {
    /// Asks what the recording asked. The recording has the answer.
    pub(crate) async fn ask<A: Ask>(&self) -> Result<(), ReplayError> {
        let question = A::recorded(self)?;
        let code = &self.prepared.code.load_full();
        let had = Duration::from_millis(self.recorded.limits.deadline_ms).min(LONGEST);
        let deadline = Instant::now() + had + GRACE;
        let answer =
            self.sandbox.call_with_recording(code, self.prepared, question, deadline, self.recording).await;
        if let Err(CallError::Refused(refusal)) = answer {
            tracing::debug!(%refusal, "the host refused a replay");
        }
        Ok(())
    }

    /// Returns the arguments of the recorded call.
    pub(crate) fn question<T: DeserializeOwned>(&self, operation: Operation) -> Result<T, ReplayError> {
        serde_json::from_value(self.recorded.question.clone())
            .map_err(|error| ReplayError::Question { operation: operation.name(), detail: error.to_string() })
    }

    /// Returns the values that the recording shows, and others as long as the real ones.
    pub(crate) fn stand_ins(&self) -> Result<SecretValues, ReplayError> {
        let facts = &self.recorded.secrets;
        let value = |key: &str, bytes: u64| {
            if bytes > MOST_SECRET_BYTES {
                return Err(ReplayError::Secret { bytes });
            }
            let digits = hex(&Sha256::digest(format!("stands in for {key}"))).into_bytes();
            Ok(digits
                .into_iter()
                .cycle()
                .take(usize::try_from(bytes).unwrap_or_default())
                .collect::<Vec<u8>>())
        };
        let values = facts.keys.iter().map(|fact| Ok((fact.key.clone(), value(&fact.key, fact.bytes)?)));
        let user_data = facts.user_data_bytes.map(|bytes| value("user data", bytes)).transpose()?;
        let mut values = values.collect::<Result<BTreeMap<_, _>, ReplayError>>()?;
        values.extend(facts.shown().map(|(key, value)| (key.to_owned(), value.as_bytes().to_vec())));
        Ok(SecretValues { values, user_data, ..SecretValues::default() })
    }
}
