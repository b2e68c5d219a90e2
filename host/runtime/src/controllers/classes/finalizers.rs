//! Finalizers on classes and Secrets: a class stays while a Machine uses it, a Secret while a class does.

use kube::core::ObjectMeta;
use kube::{Api, Resource};
use machinist_api::{MachineClass, names};
use machinist_core::driver::write_error::ActError;
use machinist_core::machine::Requeue;
use machinist_core::machine::finalizer::{FinalizerFact, FinalizerStep, hold};
use machinist_core::scheduling::retry::RetryPolicy;
use machinist_core::value::id::ObjectKey;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::fmt::Debug;
use tracing::debug;

use crate::client::writes::merge;
use crate::context::Context;
use crate::context::key::Kind;
use crate::controllers::classes::class_secrets;
use crate::controllers::state::TenantState;
use crate::message::Report;

/// Reconciles the finalizer of a class.
pub(crate) async fn class(tenant: &TenantState, context: &Context, key: &ObjectKey, users: Users) -> Report {
    let Some(class) = tenant.classes.get(key) else { return gone() };
    let api: Api<MachineClass> = Api::namespaced(context.control.clone(), key.namespace.as_str());
    let finalizer = Finalizer { name: names::finalizers::MACHINE, users, kind: Kind::Class };
    sync_finalizer(context, &api, &class.metadata, finalizer).await
}

/// Reconciles the finalizer of a Secret.
///
/// A class that may not use the Secret does not keep it: otherwise anyone who can write classes could block the
/// deletion of every Secret in the namespace. `named_by` are all classes that name it; `users` says whether others
/// cannot be decoded.
pub(crate) async fn secret(
    tenant: &TenantState,
    context: &Context,
    key: &ObjectKey,
    users: Users,
    named_by: &[ObjectKey],
) -> Report {
    let Some(secret) = tenant.secrets.get(key) else { return gone() };
    let allowed = class_secrets::users(tenant, key, &secret, named_by);
    let users = Users { may_be_more: allowed.may_be_more || users.may_be_more, ..allowed };
    let api: Api<k8s_openapi::api::core::v1::Secret> =
        Api::namespaced(context.control.clone(), key.namespace.as_str());
    let finalizer = Finalizer { name: names::finalizers::SECRET, users, kind: Kind::Secret };
    sync_finalizer(context, &api, &secret.metadata, finalizer).await
}

/// Objects that use another one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Users {
    pub(crate) known: usize,
    /// There are others that may, and that nobody can decode.
    pub(crate) may_be_more: bool,
}

pub(crate) struct Finalizer {
    pub(crate) name: &'static str,
    /// Users of the object with the finalizer.
    pub(crate) users: Users,
    /// Of which kind that one is.
    pub(crate) kind: Kind,
}

/// Puts the finalizer on an object that is used, and takes it off one that is not.
pub(crate) async fn sync_finalizer<T>(
    context: &Context,
    api: &Api<T>,
    meta: &ObjectMeta,
    finalizer: Finalizer,
) -> Report
where
    T: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
{
    let Finalizer { name: finalizer, users, kind } = finalizer;
    let mut finalizers = meta.finalizers.clone().unwrap_or_default();
    let fact = FinalizerFact {
        is_held: finalizers.iter().any(|name| name == finalizer),
        is_deleting: meta.deletion_timestamp.is_some(),
        users: users.known,
        has_unknown_users: users.may_be_more,
    };
    match hold(fact) {
        FinalizerStep::Rest => return rest(),
        FinalizerStep::Put => finalizers.push(finalizer.to_owned()),
        FinalizerStep::Take => finalizers.retain(|name| name != finalizer),
    }
    if !*context.leads.borrow() {
        return rest();
    }
    // The whole list is written, so it must be the list that was seen.
    let patch = json!({ "metadata": {
        "uid": meta.uid, "resourceVersion": meta.resource_version, "finalizers": finalizers,
    } });
    let name = meta.name.as_deref().unwrap_or_default();
    match merge(api, kind, name, patch).await {
        Ok(wrote) => Report { wrote: wrote.into_iter().collect(), ..Report::only(Requeue::Resync) },
        Err(error) => {
            debug!(error = %error, "finalizer not written");
            let policy = match error {
                ActError::Gone => return gone(),
                ActError::Conflict => RetryPolicy::CONFLICT,
                _ => RetryPolicy::SHORT,
            };
            Report::only(Requeue::Retry { policy, hint: None })
        }
    }
}

fn gone() -> Report {
    Report::only(Requeue::Gone)
}

fn rest() -> Report {
    Report::only(Requeue::Resync)
}
