//! A label of the plugins' Namespace requires signatures. It only tightens the flags.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::ListParams;
use kube::runtime::watcher::DefaultBackoff;
use kube::{Api, Client};
use machinist_api::names::labels::PLUGIN;
use machinist_core::driver::write_error::ActError;
use machinist_plugin_host::PluginHost;
use machinist_runtime::client::one_object::OneObject;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::plugin::cluster::raw;

pub(crate) const LABEL: &str = "machinist.dev/require-signature";

/// Between two reads, where the host has no right to watch the Namespace.
const PAUSE: Duration = Duration::from_secs(5);

/// Until the first answer is asked for again.
const RETRY: Duration = Duration::from_secs(1);

/// The namespace of the plugins.
pub(crate) struct Rule {
    pub(crate) client: Client,
    pub(crate) namespace: String,
    pub(crate) host: PluginHost,
}

impl Rule {
    /// Returns when the rule is known, so that nothing is loaded before; then follows it until `stop`.
    pub(crate) async fn follow(self, stop: CancellationToken) {
        let api = Api::<Namespace>::all(self.client.clone());
        let mut object = OneObject::new(api, &self.namespace, PAUSE);
        let mut last_problem = String::new();
        let known = async {
            while !self.is_known_by(object.read().await, &mut last_problem).await {
                tokio::time::sleep(RETRY).await;
            }
        };
        if stop.run_until_cancelled(known).await.is_none() {
            return;
        }
        tokio::spawn(async move {
            let again = async {
                loop {
                    let answer = object.next(DefaultBackoff::default).await;
                    let _known = self.is_known_by(answer, &mut last_problem).await;
                }
            };
            stop.run_until_cancelled(again).await;
        });
    }

    /// Notes an answer about the Namespace. Returns false if it does not say which rule counts. Where the host may not
    /// read it, or it is not there, only the flags count.
    async fn is_known_by(
        &self,
        answer: Result<Option<Namespace>, ActError>,
        last_problem: &mut String,
    ) -> bool {
        let (wants, is_known, trouble) = match answer {
            Ok(Some(namespace)) => (Some(wants(namespace.metadata.labels.as_ref())), true, String::new()),
            Ok(None) => (None, true, "it does not exist".to_owned()),
            Err(ActError::Denied { message }) => (None, true, message),
            Err(error) => (None, false, error.to_string()),
        };
        if *last_problem != trouble {
            if !trouble.is_empty() {
                let (namespace, rights) = (&self.namespace, "get on this namespace");
                warn!(namespace, trouble, rights, "not known whether its label asks for signatures");
            }
            *last_problem = trouble;
        }
        // An unknown rule changes nothing.
        if let Some(wants) = wants.filter(|wants| self.host.require_signatures(*wants)) {
            info!(namespace = self.namespace, signed = wants, "label of the namespace about signatures");
            self.declare_again().await;
        }
        is_known
    }

    /// Declares all plugins again. Versions that serve continue; the host decides again about their sources.
    async fn declare_again(&self) {
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), &self.namespace);
        let mut page = ListParams::default().labels(PLUGIN).limit(10);
        loop {
            let maps = match api.list(&page).await {
                Ok(maps) => maps,
                Err(error) => {
                    warn!(error = %error, "plugins are checked by the label when they change, or the host starts");
                    return;
                }
            };
            page.continue_token = maps.metadata.continue_.filter(|token| !token.is_empty());
            for map in maps.items {
                self.host.declare(raw(map)).await;
            }
            if page.continue_token.is_none() {
                return;
            }
        }
    }
}

/// Any value but `false` requires signatures.
fn wants(labels: Option<&BTreeMap<String, String>>) -> bool {
    labels.and_then(|labels| labels.get(LABEL)).is_some_and(|value| value != "false")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_wanted_by_any_value_but_false() {
        let labelled = |value: &str| wants(Some(&[(LABEL.to_owned(), value.to_owned())].into()));
        assert!(labelled("true") && labelled("yes") && labelled(""));
        assert!(!labelled("false"));
        assert!(!wants(None) && !wants(Some(&BTreeMap::new())));
    }
}
