//! Secrets that are read by name. In all namespaces of a management cluster the host lists no Secrets: it reads those
//! that objects name, and no others.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use machinist_core::driver::write_error::ActError;
use machinist_core::value::id::ObjectKey;
use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::errors::within_deadline;

/// How long credentials are used before they are read again. The machines of a cluster share them: at a rollout each
/// would read the same Secret, and of thousands at rest one is looked at every few seconds.
const FRESH: Duration = Duration::from_secs(30);

/// Secrets in memory. Beyond that all are read again.
const MAX_SECRETS: usize = 1_000;

type Shared = Arc<OnceCell<Option<Arc<Secret>>>>;

/// Secrets that several objects share. Concurrent reads of one Secret are one request.
#[derive(Default)]
pub(crate) struct SecretReads {
    known: Mutex<BTreeMap<ObjectKey, (Instant, Shared)>>,
}

impl SecretReads {
    /// Returns the Secret as it was at most 30 s ago; `None` if there is none.
    pub(crate) async fn shared(
        &self,
        client: &Client,
        key: &ObjectKey,
    ) -> Result<Option<Arc<Secret>>, ActError> {
        let shared = self.known_or_new(key);
        shared.get_or_try_init(|| read(client, key)).await.cloned()
    }

    /// The Secret is not as it was: the next read is a request.
    pub(crate) fn forget(&self, key: &ObjectKey) {
        self.known().remove(key);
    }

    fn known_or_new(&self, key: &ObjectKey) -> Shared {
        let now = Instant::now();
        let mut known = self.known();
        if let Some((since, shared)) = known.get(key)
            && now.duration_since(*since) < FRESH
        {
            return Arc::clone(shared);
        }
        if known.len() >= MAX_SECRETS {
            known.clear();
        }
        let shared = Shared::default();
        known.insert(key.clone(), (now, Arc::clone(&shared)));
        shared
    }

    /// Each change is one operation, so that a panic elsewhere leaves the memory whole.
    fn known(&self) -> MutexGuard<'_, BTreeMap<ObjectKey, (Instant, Shared)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads a Secret; `None` if there is none.
pub(crate) async fn read(client: &Client, key: &ObjectKey) -> Result<Option<Arc<Secret>>, ActError> {
    let api: Api<Secret> = Api::namespaced(client.clone(), key.namespace.as_str());
    let secret = within_deadline(api.get_opt(key.name.as_str())).await?;
    Ok(secret.map(Arc::new))
}
