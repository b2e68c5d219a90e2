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
pub(crate) async fn read(
    tenant: &TenantState,
    context: &Context,
    related: &RelatedObjects,
) -> Result<SecretsRead, ActError> {
    let needed = related.needed_secrets();
    let mut read = SecretsRead::default();
    if needed.credentials {
        let needs_labels = related.needs_namespace_labels(tenant);
        let labels = namespace_labels(context, related.key.namespace.as_str(), needs_labels).await?;
        read.credentials = Some(credentials(tenant, context, related.identity(tenant, &labels)).await?);
    }
    if let Some(key) = needed.bootstrap {
        let secret = secret_reads::read(&context.control, &key).await?;
        read.bootstrap = Some((key.name.to_string(), secret));
    }
    Ok(read)
}

/// Reads the Secrets with these credentials.
///
/// # Errors
/// When an API server does not say what a Secret has.
pub(crate) async fn credentials(
    tenant: &TenantState,
    context: &Context,
    named: NamedIdentity,
) -> Result<Credentials, ActError> {
    let mut secrets = Vec::new();
    if let NamedIdentity::Secrets(keys) = &named {
        for key in keys {
            let secret = tenant.infra.secrets.shared(&context.control, key).await?;
            secrets.push((key.clone(), secret));
        }
    }
    Ok(Credentials { named, secrets })
}

/// Returns the labels of a namespace, where they are needed.
///
/// # Errors
/// When an API server does not answer.
pub(crate) async fn namespace_labels(
    context: &Context,
    namespace: &str,
    are_needed: bool,
) -> Result<BTreeMap<String, String>, ActError> {
    if !are_needed {
        return Ok(BTreeMap::new());
    }
    let api: Api<Namespace> = Api::all(context.control.clone());
    let found = within_deadline(api.get_metadata_opt(namespace)).await?;
    Ok(found.and_then(|found| found.metadata.labels).unwrap_or_default())
}
