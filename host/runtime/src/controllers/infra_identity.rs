//! Credentials for Cluster API: a finalizer keeps a Secret or a MachinistIdentity while objects need it.

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::core::ObjectMeta;
use machinist_api::infrastructure::MachinistIdentity;
use machinist_api::infrastructure::names::finalizers as names;
use machinist_core::machine::{Requeue, Severity};
use machinist_core::scheduling::retry::RetryPolicy;
use machinist_core::value::id::ObjectKey;

use crate::client::errors::within_deadline;
use crate::context::Context;
use crate::context::key::Kind;
use crate::controllers::classes::finalizers::{Finalizer, Users, sync_finalizer};
use crate::controllers::state::TenantState;
use crate::events::{About, Event};
use crate::message::{CredentialsSeen, Report};

/// When a Secret in use is read again: no watch tells that somebody deletes it.
const LOOK_AGAIN: SignedDuration = SignedDuration::from_mins(10);

/// When a Secret in use that is gone is read again: VMs that have to be deleted wait for it. One request for all of its
/// users.
const MISSING_AGAIN: SignedDuration = SignedDuration::from_secs(30);

/// Objects that need credentials.
#[derive(Clone, Debug)]
pub(crate) struct IdentityUsers {
    pub(crate) count: usize,
    /// Some of them, for a message.
    pub(crate) named: Vec<String>,
    /// There are others that may, and that nobody can decode.
    pub(crate) may_be_more: bool,
}

impl IdentityUsers {
    fn finalizer(&self, kind: Kind) -> Finalizer {
        let users = Users { known: self.count, may_be_more: self.may_be_more };
        Finalizer { name: names::IDENTITY, users, kind }
    }

    /// Tells who keeps credentials that somebody deletes.
    fn event(&self, about: About, meta: &ObjectMeta) -> Option<Event> {
        if meta.deletion_timestamp.is_none() || self.count == 0 {
            return None;
        }
        let message = format!(
            "{} objects need these credentials to delete their VMs, such as {}: delete them, or give them another \
             identityRef, and the finalizer {} goes",
            self.count,
            self.named.join(", "),
            names::IDENTITY
        );
        let event = Event::normal(about, "identity", "CredentialsInUse", message);
        Some(Event { severity: Severity::Warning, ..event })
    }
}

/// Reconciles the finalizer of a MachinistIdentity.
pub(crate) async fn identity(
    tenant: &TenantState,
    context: &Context,
    key: &ObjectKey,
    users: &IdentityUsers,
) -> Report {
    let Some(identity) = tenant.infra.identities.get(key) else { return Report::only(Requeue::Gone) };
    let api: Api<MachinistIdentity> = Api::all(context.control.clone());
    let report =
        sync_finalizer(context, &api, &identity.metadata, users.finalizer(Kind::InfraIdentity)).await;
    let about = About::of_infrastructure("MachinistIdentity", &identity.metadata);
    Report { events: users.event(about, &identity.metadata).into_iter().collect(), ..report }
}

/// Reconciles the finalizer of a Secret, which is read by name.
pub(crate) async fn secret(context: &Context, key: &ObjectKey, users: &IdentityUsers) -> Report {
    let api: Api<Secret> = Api::namespaced(context.control.clone(), key.namespace.as_str());
    let retry = Requeue::Retry { policy: RetryPolicy::LONG, hint: None };
    let meta = match within_deadline(api.get_metadata_opt(key.name.as_str())).await {
        Ok(Some(secret)) => secret.metadata,
        Ok(None) if users.count == 0 => return Report::only(Requeue::Gone),
        // Its users say so in their conditions.
        Ok(None) => {
            let credentials = Some(CredentialsSeen::Missing);
            return Report { credentials, ..Report::only(Requeue::After(MISSING_AGAIN)) };
        }
        Err(error) => {
            tracing::debug!(error = %error, "Secret not read");
            return Report::only(retry);
        }
    };
    let report = sync_finalizer(context, &api, &meta, users.finalizer(Kind::Secret)).await;
    let wake = match report.wake {
        Requeue::Resync if users.count == 0 && !users.may_be_more => Requeue::Gone,
        Requeue::Resync => Requeue::After(LOOK_AGAIN),
        other => other,
    };
    let about = About { api_version: "v1".to_owned(), ..About::of("Secret", &meta) };
    let events = users.event(about, &meta).into_iter().collect();
    let credentials = meta.uid.map(CredentialsSeen::There);
    // No watch shows this Secret: there is no version to wait for.
    Report { wrote: Vec::new(), wake, events, credentials, ..report }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;

    #[test]
    fn who_deletes_credentials_in_use_reads_what_needs_them() {
        let named = vec!["MachinistCluster team/shop".to_owned()];
        let users = IdentityUsers { count: 1, named, may_be_more: false };
        let mut meta = ObjectMeta { name: Some("account".to_owned()), ..ObjectMeta::default() };
        let event = |users: &IdentityUsers, meta: &ObjectMeta| users.event(About::of("Secret", meta), meta);
        assert!(event(&users, &meta).is_none());
        meta.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        let reported = event(&users, &meta).unwrap().message;
        assert!(
            reported.contains("MachinistCluster team/shop") && reported.contains("identityRef"),
            "{reported}"
        );
        assert!(event(&IdentityUsers { count: 0, named: Vec::new(), may_be_more: false }, &meta).is_none());
    }
}
