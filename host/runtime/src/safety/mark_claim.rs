//! The claim on the cluster's mark: a Secret beside the bootstrap tokens, the one place of the target cluster that
//! hosts can write under machine-controller-manager's roles as well.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Api;
use kube::api::PostParams;
use machinist_api::names;
use machinist_core::driver::write_error::ActError;
use machinist_core::safety::mark_claim::{HolderName, MarkHolder, MarkStep, MarkWatch, object_name};
use serde_json::json;
use tracing::{info, warn};

use crate::client::errors::within_deadline;
use crate::client::writes::merge;
use crate::context::key::Kind;
use crate::controllers::objects::metadata::Metadata;

use super::SafetyWatch;

/// Where bootstrap tokens are.
const NAMESPACE: &str = "kube-system";

/// `type` of the Secret.
const SECRET_TYPE: &str = "machinist.dev/cluster-mark";

/// Annotation on it: which control plane holds the mark.
const HOLDER: &str = "machinist.dev/holder";

/// Annotation on it: where that control plane is, for people.
const HOLDER_NAMESPACE: &str = "machinist.dev/holder-namespace";

/// Annotation on it: when the holder was there last.
const RENEWED: &str = "machinist.dev/renewed";

/// The pause between two reads.
const PERIOD: std::time::Duration = std::time::Duration::from_mins(1);

/// The pause until the next read while nothing is known.
const SOON: std::time::Duration = std::time::Duration::from_secs(2);

/// The time limit of a read.
const WAIT: std::time::Duration = std::time::Duration::from_secs(3);

/// The holder of the mark, as far as this process knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Holder {
    /// Not read yet. Nobody may act on a mark that another control plane may hold.
    #[default]
    Unknown,
    /// This control plane holds it, or no claim is needed.
    Own,
    /// Another control plane holds it.
    Another,
}

/// The claim as this process knows it.
#[derive(Default)]
pub(super) struct MarkClaim {
    watch: MarkWatch,
    holder: Holder,
    has_warned: bool,
    own: Option<HolderName>,
    due: Option<tokio::time::Instant>,
}

impl MarkClaim {
    /// Returns the holder of the mark. Reads it once a minute at most, and only while this process leads. Without an
    /// answer the holder stays as it was, and is read again soon while nothing is known.
    pub(super) async fn holder(&mut self, watch: &SafetyWatch, leads: bool) -> Holder {
        let asks = leads && watch.tenant.settings.controllers.machines;
        let Some(target) = watch.context.target.clone().filter(|_| asks) else {
            // Another process may have led meanwhile, and this one may begin to.
            *self = Self { has_warned: self.has_warned, ..Self::default() };
            return Holder::Own;
        };
        let now = tokio::time::Instant::now();
        if self.due.is_some_and(|due| now < due) {
            return self.holder;
        }
        let api: Api<Secret> = Api::namespaced(target, NAMESPACE);
        // The gate waits for this, and must notice a server that is away.
        match tokio::time::timeout(WAIT, self.look(watch, &api)).await {
            Ok(Ok(holder)) => self.holder = holder,
            Ok(Err(error @ ActError::Denied { .. })) => {
                self.holder = Holder::Own;
                if !std::mem::replace(&mut self.has_warned, true) {
                    warn!(error = %error, "the claim on the cluster's mark cannot be kept: a second control plane is not noticed");
                }
            }
            // Another one has written it first: the next read shows the holder.
            Ok(Err(ActError::Conflict)) => self.holder = Holder::Unknown,
            // The next read shows it.
            Ok(Err(_)) | Err(_) => {}
        }
        let pause = if self.holder == Holder::Unknown { SOON } else { PERIOD };
        self.due = Some(tokio::time::Instant::now() + pause);
        self.holder
    }

    async fn look(&mut self, watch: &SafetyWatch, api: &Api<Secret>) -> Result<Holder, ActError> {
        let own = self.own(watch).await?;
        let mark = &watch.tenant.settings.cluster;
        let name = object_name(mark);
        let found = within_deadline(api.get_opt(&name)).await?;
        let claim = found.as_ref().and_then(|secret| claim_of(&secret.metadata));
        let now = watch.context.clock.now();
        let wanted: BTreeMap<String, String> = [
            (HOLDER, own.unique.clone()),
            (HOLDER_NAMESPACE, watch.namespace.clone()),
            (RENEWED, now.to_string()),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .into();
        match (self.watch.observe(claim.as_ref(), &own, now), &found) {
            (MarkStep::Rest, _) => Ok(Holder::Own),
            (MarkStep::HeldByOther, _) => {
                let holder = claim.map(|claim| claim.holder).unwrap_or_default();
                warn!(mark, holder, secret = name, "another control plane holds the cluster's mark");
                Ok(Holder::Another)
            }
            (MarkStep::Create | MarkStep::Renew | MarkStep::TakeOver, Some(secret)) => {
                if claim.is_some_and(|claim| ![&own.unique, &own.before].contains(&&claim.holder)) {
                    info!(mark, secret = name, "the cluster's mark is taken over: its holder has stopped");
                }
                // In the version that was seen: of two that take it over, one does.
                let meta = &secret.metadata;
                let patch = Metadata::of(meta).in_version(meta).with("annotations", json!(wanted)).patch();
                merge(api, Kind::Secret, &name, patch).await?;
                Ok(Holder::Own)
            }
            (MarkStep::Create | MarkStep::Renew | MarkStep::TakeOver, None) => {
                let secret = Secret {
                    metadata: ObjectMeta {
                        name: Some(name),
                        namespace: Some(NAMESPACE.to_owned()),
                        annotations: Some(wanted),
                        ..ObjectMeta::default()
                    },
                    type_: Some(SECRET_TYPE.to_owned()),
                    string_data: Some([("mark".to_owned(), mark.clone())].into()),
                    ..Secret::default()
                };
                within_deadline(api.create(&PostParams::default(), &secret)).await?;
                Ok(Holder::Own)
            }
        }
    }

    /// Returns the name of this control plane: the uid of the Lease that all its replicas share, which no other one
    /// has. Without leader election there may be no Lease, and the namespace is the name.
    async fn own(&mut self, watch: &SafetyWatch) -> Result<HolderName, ActError> {
        if let Some(own) = &self.own {
            return Ok(own.clone());
        }
        let api: Api<Lease> = Api::namespaced(watch.context.control.clone(), &watch.namespace);
        let uid = match within_deadline(api.get_metadata_opt(names::leases::MACHINE_CONTROLLER)).await {
            Ok(found) => found.and_then(|lease| lease.metadata.uid),
            Err(ActError::Denied { .. }) => None,
            Err(error) => return Err(error),
        };
        let before = format!("namespace {}", watch.namespace);
        let own = HolderName { unique: uid.unwrap_or_else(|| before.clone()), before };
        self.own = Some(own.clone());
        Ok(own)
    }
}

/// A claim that nobody can read is nobody's.
fn claim_of(meta: &ObjectMeta) -> Option<MarkHolder> {
    let annotations = meta.annotations.as_ref()?;
    let renewed: Timestamp = annotations.get(RENEWED)?.parse().ok()?;
    Some(MarkHolder { holder: annotations.get(HOLDER)?.clone(), renewed })
}
