//! Reads the Secrets of a reconcile.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use machinist_core::driver::write_error::ActError;

use crate::client::errors::within_deadline;
use crate::client::secret_reads;
use crate::context::Context;
use crate::controllers::facts::infra_machine::identity::NamedIdentity;
use crate::controllers::facts::infra_machine::observe::{Credentials, SecretsRead};
use crate::controllers::facts::infra_machine::related::RelatedObjects;
use crate::controllers::state::TenantState;

/// Reads what the objects need, and nothing else.
///
/// # Errors
/// When an API server does not say what a Secret has.
pub(super) async fn read(
    tenant: &TenantState,
    context: &Context,
    related: &RelatedObjects,
) -> Result<SecretsRead, ActError> {
    let needed = related.needed_secrets();
    let mut read = SecretsRead::default();
    if needed.credentials {
        let labels = namespace_labels(tenant, context, related).await?;
        let named = related.identity(tenant, &labels);
        let mut secrets = Vec::new();
        if let NamedIdentity::Secrets(keys) = &named {
            for key in keys {
                let secret = tenant.infra.secrets.shared(&context.control, key).await?;
                secrets.push((key.clone(), secret));
            }
        }
        read.credentials = Some(Credentials { named, secrets });
    }
    if let Some(key) = needed.bootstrap {
        let secret = secret_reads::read(&context.control, &key).await?;
        read.bootstrap = Some((key.name.to_string(), secret));
    }
    Ok(read)
}

/// The labels of the namespace, where an identity asks for them.
async fn namespace_labels(
    tenant: &TenantState,
    context: &Context,
    related: &RelatedObjects,
) -> Result<BTreeMap<String, String>, ActError> {
    if !related.needs_namespace_labels(tenant) {
        return Ok(BTreeMap::new());
    }
    let api: Api<Namespace> = Api::all(context.control.clone());
    let found = within_deadline(api.get_metadata_opt(related.key.namespace.as_str())).await?;
    Ok(found.and_then(|found| found.metadata.labels).unwrap_or_default())
}
