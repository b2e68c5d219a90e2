//! The bootstrap token of a Machine, as a Secret of the target cluster.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use machinist_core::driver::bootstrap_token::{
    ATTEMPTS, Existing, ExistingSecret, TokenRequest, describe, expiration, field, id, on_existing,
    secret_name,
};
use machinist_core::driver::write_error::ActError;
use machinist_core::value::id::Uid;
use serde_json::json;

use crate::client::errors::within_deadline;
use crate::client::field_manager::{FIELD_MANAGER, TOKEN_OWNER};
use crate::client::writes::{gone_is_done, only};
use crate::context::Context;
use crate::context::settings::Settings;

use crate::controllers::facts::machine::observe::ObservedMachine;
use crate::controllers::objects::metadata::annotation;

/// The namespace of bootstrap tokens in Kubernetes.
const NAMESPACE: &str = "kube-system";

/// `type` of their Secrets.
const SECRET_TYPE: &str = "bootstrap.kubernetes.io/token";

/// A token, and until when it is valid.
pub(super) struct BootstrapToken {
    pub(super) text: String,
    pub(super) until: jiff::Timestamp,
}

fn secrets(context: &Context) -> Result<Api<Secret>, ActError> {
    let target =
        context.target.clone().ok_or(ActError::Forbidden { reason: "there is no target cluster" })?;
    Ok(Api::namespaced(target, NAMESPACE))
}

/// Makes the token, or extends the one that is there, and gives all of it. Usually one request.
pub(super) async fn ensure(
    context: &Context,
    settings: &Settings,
    observed: &ObservedMachine,
) -> Result<BootstrapToken, ActError> {
    let api = secrets(context)?;
    let machine = &observed.view.machine;
    let now = context.clock.now();
    let expires = now.checked_add(observed.view.settings.creation_timeout).unwrap_or(jiff::Timestamp::MAX);
    for attempt in 0..ATTEMPTS {
        let request = TokenRequest {
            uid: &machine.uid,
            machine_name: &machine.key.name,
            attempt,
            expires,
            extra_groups: &settings.bootstrap_token_extra_groups,
        };
        let wanted = describe(&request, &context.random_bytes::<64>())
            .map_err(|error| ActError::Invalid { message: error.to_string() })?;
        let secret = Secret {
            metadata: ObjectMeta {
                name: Some(wanted.name.to_string()),
                namespace: Some(NAMESPACE.to_owned()),
                annotations: Some([(TOKEN_OWNER.to_owned(), machine.uid.to_string())].into()),
                ..ObjectMeta::default()
            },
            type_: Some(SECRET_TYPE.to_owned()),
            data: Some(
                wanted
                    .fields
                    .iter()
                    .map(|(name, value)| ((*name).to_owned(), ByteString(value.clone().into_bytes())))
                    .collect(),
            ),
            ..Secret::default()
        };
        match within_deadline(api.create(&PostParams::default(), &secret)).await {
            Ok(_) => return Ok(BootstrapToken { text: wanted.token.reveal(), until: expires }),
            Err(ActError::Conflict) => {}
            Err(error) => return Err(error),
        }
        let known = existing(&api, wanted.name.as_str(), &machine.uid, attempt, now, expires).await?;
        if let Some(known) = known {
            return Ok(known);
        }
    }
    Err(ActError::Invalid { message: format!("{ATTEMPTS} ids of bootstrap tokens are taken by others") })
}

/// The token of the Secret that is there; `None` when it is somebody else's.
async fn existing(
    api: &Api<Secret>,
    name: &str,
    uid: &Uid,
    attempt: u32,
    now: jiff::Timestamp,
    wanted: jiff::Timestamp,
) -> Result<Option<BootstrapToken>, ActError> {
    let secret = within_deadline(api.get(name)).await?;
    let fields: BTreeMap<String, Vec<u8>> =
        secret.data.clone().unwrap_or_default().into_iter().map(|(name, value)| (name, value.0)).collect();
    let owner = owner_of(&secret);
    match on_existing(ExistingSecret { owner, fields: &fields }, uid, attempt, now, wanted) {
        Existing::Keep { token } => {
            Ok(Some(BootstrapToken { text: token.reveal(), until: ends_at(&fields).unwrap_or(now) }))
        }
        Existing::Extend { token, expires } => {
            match extend_expiry(api, &secret, expires).await {
                Ok(()) => Ok(Some(BootstrapToken { text: token.reveal(), until: expires })),
                // It is good for as long as it is, and the Machine may be quick.
                Err(ActError::Denied { message }) => match ends_at(&fields).filter(|end| *end > now) {
                    Some(end) => Ok(Some(BootstrapToken { text: token.reveal(), until: end })),
                    None => Err(ActError::Denied { message }),
                },
                Err(error) => Err(error),
            }
        }
        Existing::ForeignTryNext => Ok(None),
        Existing::Damaged => Err(ActError::Invalid {
            message: format!(
                "the bootstrap token in Secret {NAMESPACE}/{name} is damaged: delete the Secret"
            ),
        }),
    }
}

/// Extends the Machine's token, if it has one. A token that is gone is not created again: the VM has its value.
pub(super) async fn extend(
    context: &Context,
    observed: &ObservedMachine,
    until: jiff::Timestamp,
) -> Result<(), ActError> {
    let api = secrets(context)?;
    match own(&api, observed).await? {
        Some(secret) => gone_is_done(extend_expiry(&api, &secret, until).await),
        None => Ok(()),
    }
}

/// Finds the Machine's own token. It may have a later id, if the first was taken when it was created.
async fn own(api: &Api<Secret>, observed: &ObservedMachine) -> Result<Option<Secret>, ActError> {
    let uid = &observed.view.machine.uid;
    for attempt in 0..ATTEMPTS {
        let name = secret_name(&id(uid, attempt));
        match within_deadline(api.get_opt(name.as_str())).await? {
            Some(secret) if owner_of(&secret) == Some(uid.as_str()) => return Ok(Some(secret)),
            Some(_) | None => {}
        }
    }
    Ok(None)
}

/// Writes only the expiry: the value is in the user data of a create that may have happened. Accounts of
/// machine-controller-manager may create and delete such Secrets and not change them; for them the Secret is replaced
/// by one with the same id and value. For a moment there is none, and a kubelet that authenticates just then tries
/// again.
async fn extend_expiry(api: &Api<Secret>, seen: &Secret, until: jiff::Timestamp) -> Result<(), ActError> {
    let name = seen.metadata.name.as_deref().unwrap_or_default();
    let patch = json!({
        "metadata": { "uid": seen.metadata.uid },
        "stringData": { field::EXPIRATION: expiration(until) },
    });
    let params = PatchParams::apply(FIELD_MANAGER);
    match within_deadline(api.patch(name, &params, &Patch::Merge(patch))).await {
        Err(ActError::Denied { .. }) => {}
        done => return done.map(|_| ()),
    }
    delete(api, seen).await?;
    let mut data = seen.data.clone().unwrap_or_default();
    data.insert(field::EXPIRATION.to_owned(), ByteString(expiration(until).into_bytes()));
    let replacement = Secret {
        metadata: ObjectMeta {
            name: seen.metadata.name.clone(),
            namespace: seen.metadata.namespace.clone(),
            annotations: seen.metadata.annotations.clone(),
            labels: seen.metadata.labels.clone(),
            ..ObjectMeta::default()
        },
        type_: seen.type_.clone(),
        data: Some(data),
        ..Secret::default()
    };
    let mut last = ActError::Gone;
    for _ in 0..ATTEMPTS {
        match within_deadline(api.create(&PostParams::default(), &replacement)).await {
            // An earlier attempt without an answer has created it.
            Ok(_) | Err(ActError::Conflict) => return Ok(()),
            Err(ActError::Denied { message } | ActError::Invalid { message }) => {
                let message = format!("it was taken away to be made with a later end: {message}");
                return Err(ActError::Invalid { message });
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// When a token ends, as its Secret says.
fn ends_at(fields: &BTreeMap<String, Vec<u8>>) -> Option<jiff::Timestamp> {
    std::str::from_utf8(fields.get(field::EXPIRATION)?).ok()?.parse().ok()
}

/// Deletes the Machine's token, and no other's. Usually two requests: the Secret with the first id may belong to
/// another Machine, so it is read before it is deleted.
pub(super) async fn forget(context: &Context, observed: &ObservedMachine) -> Result<(), ActError> {
    let api = secrets(context)?;
    match own(&api, observed).await? {
        Some(secret) => delete(&api, &secret).await,
        None => Ok(()),
    }
}

async fn delete(api: &Api<Secret>, secret: &Secret) -> Result<(), ActError> {
    let params = only(secret.metadata.uid.clone(), None);
    let name = secret.metadata.name.as_deref().unwrap_or_default();
    gone_is_done(within_deadline(api.delete(name, &params)).await)
}

fn owner_of(secret: &Secret) -> Option<&str> {
    annotation(&secret.metadata, TOKEN_OWNER)
}
