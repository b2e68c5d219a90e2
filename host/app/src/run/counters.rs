//! The highest counters of signed plugins, as annotations of a Lease in the control namespace: nobody writes there by
//! writing ConfigMaps, and a restore of the plugins' namespace leaves it alone.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::BoxFuture;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Patch, PatchParams, PostParams};
use kube::core::ObjectMeta;
use kube::{Api, Client};
use machinist_plugin_host::{CounterStore, Digest};
use machinist_runtime::client::field_manager::FIELD_MANAGER;
use serde_json::json;
use tokio::time::timeout;

/// Its name. The rights of the host name it as well.
pub(crate) const LEASE: &str = "machinist-plugin-counters";

/// For one request, for which a server takes milliseconds.
const REQUEST: Duration = Duration::from_secs(10);

/// Of replicas that write at the same time each is done after a few attempts.
const MOST_CONFLICTS: usize = 5;

/// The longest name of an annotation, without its prefix.
const MOST_NAME_BYTES: usize = 63;

pub(crate) struct LeaseCounters {
    api: Api<Lease>,
    namespace: String,
}

/// How an attempt to raise a counter has ended.
enum Raised {
    Done,
    Conflict,
}

impl LeaseCounters {
    pub(crate) fn new(client: Client, namespace: &str) -> Self {
        Self { api: Api::namespaced(client, namespace), namespace: namespace.to_owned() }
    }

    async fn read(&self) -> Result<Option<ObjectMeta>, String> {
        let lease = answered(self.api.get_metadata_opt(LEASE)).await.map_err(|error| self.message(&error))?;
        Ok(lease.map(|lease| lease.metadata))
    }

    async fn try_raise(&self, key: &str, counter: u64) -> Result<Raised, String> {
        let there = self.read().await?;
        let written = match &there {
            None => {
                let annotations = Some(BTreeMap::from([(key.to_owned(), counter.to_string())]));
                let metadata =
                    ObjectMeta { name: Some(LEASE.to_owned()), annotations, ..ObjectMeta::default() };
                let lease = Lease { metadata, spec: None };
                answered(self.api.create(&PostParams::default(), &lease)).await.map(drop)
            }
            Some(there) if highest(there.annotations.as_ref(), key)? >= Some(counter) => {
                return Ok(Raised::Done);
            }
            Some(there) => {
                let patch = json!({ "metadata": {
                    "resourceVersion": there.resource_version,
                    "annotations": { key: counter.to_string() },
                } });
                let params =
                    PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
                answered(self.api.patch_metadata(LEASE, &params, &Patch::Merge(patch))).await.map(drop)
            }
        };
        match written {
            Ok(()) => Ok(Raised::Done),
            Err(RequestError::Refused(status)) if status.code == 409 || status.code == 404 => {
                Ok(Raised::Conflict)
            }
            Err(error) => Err(self.message(&error)),
        }
    }

    fn message(&self, error: &RequestError) -> String {
        match error {
            RequestError::Refused(status) if status.code == 403 => format!(
                "the account of the host may not: allow it `create` on leases, and `get` and `patch` on Lease {LEASE}, in \
                 namespace {}, as deploy/rbac/20-control-role.yaml does",
                self.namespace
            ),
            RequestError::Refused(status) => {
                format!("the API server refuses Lease {LEASE}: {}", status.message)
            }
            RequestError::Silent => "the API server does not answer".to_owned(),
            RequestError::Unreachable(error) => format!("the API server does not answer: {error}"),
        }
    }
}

/// Why a request has failed.
enum RequestError {
    Refused(Box<kube::core::Status>),
    Unreachable(kube::Error),
    Silent,
}

async fn answered<T>(request: impl Future<Output = kube::Result<T>>) -> Result<T, RequestError> {
    match timeout(REQUEST, request).await {
        Err(_) => Err(RequestError::Silent),
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(kube::Error::Api(status))) => Err(RequestError::Refused(status)),
        Ok(Err(error)) => Err(RequestError::Unreachable(error)),
    }
}

impl CounterStore for LeaseCounters {
    fn highest(&self, kind: &'static str, plugin: &str) -> BoxFuture<'_, Result<Option<u64>, String>> {
        let key = key(kind, plugin);
        Box::pin(async move {
            let Some(there) = self.read().await? else { return Ok(None) };
            highest(there.annotations.as_ref(), &key)
        })
    }

    fn raise(&self, kind: &'static str, plugin: &str, counter: u64) -> BoxFuture<'_, Result<(), String>> {
        let key = key(kind, plugin);
        Box::pin(async move {
            for _ in 0..MOST_CONFLICTS {
                if let Raised::Done = self.try_raise(&key, counter).await? {
                    return Ok(());
                }
            }
            Err(format!("Lease {LEASE} is written by others all the time"))
        })
    }

    fn place(&self, kind: &'static str, plugin: &str) -> String {
        format!("annotation {} of Lease {}/{LEASE}", key(kind, plugin), self.namespace)
    }
}

/// A number that cannot be read is no number that is low.
fn highest(annotations: Option<&BTreeMap<String, String>>, key: &str) -> Result<Option<u64>, String> {
    let Some(text) = annotations.and_then(|all| all.get(key)) else { return Ok(None) };
    let wrong = |_| {
        format!(
            "annotation {key} of Lease {LEASE} is no number: write the highest counter there, or remove it"
        )
    };
    text.trim().parse().map(Some).map_err(wrong)
}

/// The annotation of a plugin. Names of ConfigMaps may be longer than those of annotations.
fn key(kind: &str, plugin: &str) -> String {
    if plugin.len() <= MOST_NAME_BYTES {
        return format!("{kind}.counters.machinist.dev/{plugin}");
    }
    let digest = Digest::of(plugin.as_bytes()).hex();
    let begun: String = plugin.chars().take(30).collect();
    format!("{kind}.counters.machinist.dev/{begun}-{digest:.32}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_plugin_has_an_annotation_of_its_own() {
        assert_eq!(key("driver", "aws"), "driver.counters.machinist.dev/aws");
        assert_ne!(key("driver", "aws"), key("health-policy", "aws"));
        let (one, other) = (format!("{}-1", "a".repeat(200)), format!("{}-2", "a".repeat(200)));
        assert_ne!(key("driver", &one), key("driver", &other));
        let name = key("driver", &one);
        assert!(name.split_once('/').is_some_and(|(_, name)| name.len() <= MOST_NAME_BYTES), "{name}");
    }

    #[test]
    fn a_number_that_cannot_be_read_is_not_taken_for_none() {
        let annotations = |text: &str| BTreeMap::from([("k".to_owned(), text.to_owned())]);
        assert_eq!(highest(Some(&annotations("7")), "k"), Ok(Some(7)));
        assert_eq!(highest(Some(&annotations("7")), "other"), Ok(None));
        assert_eq!(highest(None, "k"), Ok(None));
        for invalid in ["", "-1", "x", "99999999999999999999999"] {
            assert!(
                highest(Some(&annotations(invalid)), "k").expect_err("no number").contains("is no number"),
                "{invalid}"
            );
        }
    }
}
