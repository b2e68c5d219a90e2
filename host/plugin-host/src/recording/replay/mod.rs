//! Replays a recording: the component gets the same question, and sees the same answers.
//!
//! | module | what it does |
//! | --- | --- |
//! | `player` | answers the component from the recording |
//! | `matching` | finds the recorded request that is most like a new one |
//! | `placeholders` | compares placeholders by the secrets behind them |

pub(crate) mod matching;
pub(crate) mod placeholders;
pub(crate) mod player;

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use machinist_core::driver::error::CallError;
use machinist_core::driver::{
    ClassSpec, DriverResult, ListRequest, MachineIdentity, MachineRequest, Operation, SecretValues,
};
use machinist_core::value::id::{ClassName, Name, Namespace, ProviderId, ProviderName, Uid};
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

use super::CallRecording;
use super::difference::{Difference, difference};
use super::model::{FORMAT, LimitsTaken, Recording};
use super::rng::hex;
use crate::calls::bindings::driver::machinist::provider::types as wit;
use crate::calls::call::{Prepared, Sandbox};
use crate::calls::exports as ask;
use crate::calls::limits::{Ceilings, Limits};
use player::{Player, Playing};

/// No Secret and no user data is larger; a recording that says so is none.
const MOST_SECRET_BYTES: u64 = 4 * 1024 * 1024;
/// Beyond what the recorded call had: a replay on a slow machine is not cut off earlier than the call was.
const GRACE: Duration = Duration::from_secs(5);
/// The longest that a contract lets a call take.
const LONGEST: Duration = Duration::from_secs(3600);

/// Why a recording cannot be played.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// Nothing in the contract is called so.
    #[error("the recording is of a call {0:?}, which no driver has: it is of a later host, or damaged")]
    Operation(String),
    /// Arguments that are none of this call.
    #[error("the arguments of {operation} do not fit the contract: {detail}")]
    Question { operation: &'static str, detail: String },
    /// The seed is none.
    #[error("the recording has no usable seed of its random numbers: {0}")]
    Seed(String),
    /// A secret that cannot be.
    #[error("the recording has a secret of {bytes} bytes, and {MOST_SECRET_BYTES} are the most")]
    Secret { bytes: u64 },
    /// Written by another host.
    #[error("the recording has the format {0}, and this host plays {FORMAT}")]
    Format(u32),
    /// The component does not load.
    #[error("the component cannot be loaded: {0}")]
    Load(String),
    /// The component is a policy.
    #[error("the component is a health policy, and recordings are of drivers")]
    Policy,
    /// The host is ending.
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
        // Nothing leaves the host, whatever is granted.
        grants: Arc::clone(&sandbox.no_grants),
        limits: limits(&recorded.limits, &prepared.limits, ceilings),
        memory: Arc::clone(&prepared.memory),
    };
    ask_again(sandbox, &prepared, recorded, &active).await?;
    let recording = active.finish().ok_or(ReplayError::Interrupted)?;
    let differences = difference(recorded, &recording);
    Ok(Replayed { recording, differences })
}

async fn ask_again(
    sandbox: &Sandbox,
    prepared: &Prepared,
    recorded: &Recording,
    active: &CallRecording,
) -> Result<(), ReplayError> {
    let operation = operation(&recorded.operation)?;
    let code = &prepared.code.load_full();
    let had = Duration::from_millis(recorded.limits.deadline_ms).min(LONGEST);
    let deadline = Instant::now() + had + GRACE;
    let machine = || machine(recorded, operation);
    // The recording has the answer.
    match operation {
        Operation::Create => {
            over(
                sandbox.call_with_recording(code, prepared, ask::Create(machine()?), deadline, active).await,
            );
        }
        Operation::Initialize => {
            over(
                sandbox
                    .call_with_recording(code, prepared, ask::Initialize(machine()?), deadline, active)
                    .await,
            );
        }
        Operation::Delete => {
            over(
                sandbox.call_with_recording(code, prepared, ask::Delete(machine()?), deadline, active).await,
            );
        }
        Operation::GetStatus => {
            over(
                sandbox
                    .call_with_recording(code, prepared, ask::GetStatus(machine()?), deadline, active)
                    .await,
            );
        }
        Operation::Reboot => {
            over(
                sandbox.call_with_recording(code, prepared, ask::Reboot(machine()?), deadline, active).await,
            );
        }
        Operation::DeleteById => {
            let (request, vm) = question(recorded, operation)?;
            let request = machine_request(request, stand_ins(recorded)?);
            over(
                sandbox
                    .call_with_recording(code, prepared, ask::DeleteById { request, vm }, deadline, active)
                    .await,
            );
        }
        Operation::List => {
            let (class, cluster, token): (wit::Class, String, Option<String>) =
                question(recorded, operation)?;
            let secrets = stand_ins(recorded)?;
            let list = ask::List(ListRequest { class: class_spec(class), cluster, token, secrets });
            over(sandbox.call_with_recording(code, prepared, list, deadline, active).await);
        }
        Operation::GetVolumeIds => {
            let ids = ask::GetVolumeIds(question(recorded, operation)?);
            over(sandbox.call_with_recording(code, prepared, ids, deadline, active).await);
        }
        Operation::ValidateClass => {
            let class = ask::ValidateClass(class_spec(question(recorded, operation)?));
            over(sandbox.call_with_recording(code, prepared, class, deadline, active).await);
        }
        Operation::Describe => {
            over(sandbox.call_with_recording(code, prepared, ask::Describe, deadline, active).await);
        }
    }
    Ok(())
}

fn over<T>(answer: DriverResult<T>) {
    if let Err(CallError::Refused(refusal)) = answer {
        tracing::debug!(%refusal, "the host refused a replay");
    }
}

fn operation(name: &str) -> Result<Operation, ReplayError> {
    const ALL: [Operation; 10] = [
        Operation::Create,
        Operation::Initialize,
        Operation::Delete,
        Operation::GetStatus,
        Operation::List,
        Operation::GetVolumeIds,
        Operation::Reboot,
        Operation::DeleteById,
        Operation::ValidateClass,
        Operation::Describe,
    ];
    let found = ALL.into_iter().find(|operation| operation.name() == name);
    found.ok_or_else(|| ReplayError::Operation(name.to_owned()))
}

fn question<T: DeserializeOwned>(recorded: &Recording, operation: Operation) -> Result<T, ReplayError> {
    serde_json::from_value(recorded.question.clone())
        .map_err(|error| ReplayError::Question { operation: operation.name(), detail: error.to_string() })
}

fn machine(recorded: &Recording, operation: Operation) -> Result<MachineRequest, ReplayError> {
    Ok(machine_request(question(recorded, operation)?, stand_ins(recorded)?))
}

fn machine_request(request: wit::Request, secrets: SecretValues) -> MachineRequest {
    let machine = request.machine;
    MachineRequest {
        machine: MachineIdentity {
            namespace: Namespace::from(machine.namespace),
            name: Name::from(machine.name),
            uid: Uid::from(machine.uid),
            labels: machine.labels.into_iter().collect(),
            annotations: machine.annotations.into_iter().collect(),
            provider_id: machine.provider_id.map(ProviderId::from),
            node_template: machine.node_template,
            last_known_state: machine.last_known_state,
        },
        class: class_spec(request.class),
        idempotency_key: request.idempotency_key,
        cluster: request.cluster,
        secrets,
    }
}

fn class_spec(class: wit::Class) -> ClassSpec {
    ClassSpec {
        name: ClassName::from(class.name),
        provider: ProviderName::from(class.provider),
        spec: class.spec,
        node_template: class.node_template,
        zones: class.zones,
        driver_digest: None,
    }
}

/// Values as long as the real ones, which are nowhere in a recording.
fn stand_ins(recorded: &Recording) -> Result<SecretValues, ReplayError> {
    let facts = &recorded.secrets;
    let value = |key: &str, bytes: u64| {
        if bytes > MOST_SECRET_BYTES {
            return Err(ReplayError::Secret { bytes });
        }
        let digits = hex(&Sha256::digest(format!("stands in for {key}"))).into_bytes();
        Ok(digits.into_iter().cycle().take(usize::try_from(bytes).unwrap_or_default()).collect::<Vec<u8>>())
    };
    let values = facts.keys.iter().map(|fact| Ok((fact.key.clone(), value(&fact.key, fact.bytes)?)));
    let user_data = facts.user_data_bytes.map(|bytes| value("user data", bytes)).transpose()?;
    let values = values.collect::<Result<_, ReplayError>>()?;
    Ok(SecretValues { values, user_data, ..SecretValues::default() })
}

/// The recorded ones, as far as this host has room.
fn limits(taken: &LimitsTaken, own: &Limits, ceilings: &Ceilings) -> Limits {
    Limits {
        memory_bytes: taken.memory_bytes.min(ceilings.memory_bytes),
        table_elements: taken.table_elements.min(ceilings.table_elements),
        cpu: Duration::from_millis(taken.cpu_ms),
        copied_bytes: taken.copied_bytes,
        handles: usize::try_from(taken.handles).unwrap_or(usize::MAX),
        ..own.clone()
    }
}
