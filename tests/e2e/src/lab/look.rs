//! Queries and waits of a user.

use anyhow::Result;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Api;
use kube::api::ListParams;
use serde_json::Value;

use super::Lab;
use crate::cloud::Cloud;
use crate::manifests::NAMESPACE;
use crate::wait::{eventually, or_show};

impl<C: Cloud> Lab<C> {
    /// Waits until so many Machines are in a phase. The error shows the Machines.
    pub async fn machines_in_phase(&self, phase: &str, count: usize) -> Result<()> {
        let what = format!("{count} Machines are {phase}");
        let waited = eventually(&what, async || {
            let machines = self.machines().list(&ListParams::default()).await?;
            let there = machines.items.iter().filter(|machine| machine.phase().as_str() == phase).count();
            Ok((there == count).then_some(()))
        });
        or_show(waited, async || self.describe_machines().await).await
    }

    /// Waits until so many Machines are in this phase. Real services on few processors take minutes for many VMs, so
    /// only a wait in which none is added fails. The error shows the Machines.
    pub async fn machines_reach_phase(&self, phase: &str, count: usize) -> Result<()> {
        let mut seen = 0;
        while seen < count {
            let what = format!("more than {seen} of {count} Machines are {phase}");
            let more = eventually(&what, async || {
                let machines = self.machines().list(&ListParams::default()).await?;
                let there = machines.items.iter().filter(|machine| machine.phase().as_str() == phase).count();
                Ok((there > seen).then_some(there))
            });
            seen = or_show(more, async || self.describe_machines().await).await?;
        }
        Ok(())
    }

    /// Waits until no Machine is left. The error shows the Machines.
    pub async fn no_machines(&self) -> Result<()> {
        let waited = eventually("no Machine is left", async || {
            Ok(self.machines().list(&ListParams::default()).await?.items.is_empty().then_some(()))
        });
        or_show(waited, async || self.describe_machines().await).await
    }

    /// Waits until the host has written this state onto a plugin's ConfigMap. The error shows what it wrote instead.
    pub async fn plugin_state(&self, name: &str, state: &str) -> Result<()> {
        let what = format!("plugin {name} is {state}");
        let waited = eventually(&what, async || {
            Ok(self.plugin_status(name).await?.filter(|status| status["state"] == state).map(drop))
        });
        or_show(waited, async || format!("its status is {:?}", self.plugin_status(name).await)).await
    }

    /// The status that the host wrote onto a plugin's ConfigMap.
    pub async fn plugin_status(&self, name: &str) -> Result<Option<Value>> {
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), NAMESPACE);
        let map = api.get_metadata(name).await?;
        let annotation = map.metadata.annotations.and_then(|all| all.get("machinist.dev/status").cloned());
        Ok(annotation.map(|text| serde_json::from_str(&text)).transpose()?)
    }

    /// Names of the Nodes, and of the bootstrap tokens.
    pub async fn left_in_target(&self) -> Result<(Vec<String>, Vec<String>)> {
        let name = |meta: kube::core::ObjectMeta| meta.name.unwrap_or_default();
        let nodes = Api::<Node>::all(self.client.clone()).list_metadata(&ListParams::default()).await?;
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), "kube-system");
        let secrets = secrets.list_metadata(&ListParams::default()).await?;
        let tokens = secrets.items.into_iter().map(|secret| name(secret.metadata));
        Ok((
            nodes.items.into_iter().map(|node| name(node.metadata)).collect(),
            tokens.filter(|name| name.starts_with("bootstrap-token-")).collect(),
        ))
    }

    /// Events on an object, as `reason: note`.
    pub async fn events(&self, kind: &str, name: &str) -> Result<Vec<String>> {
        let api: Api<k8s_openapi::api::core::v1::Event> = Api::namespaced(self.client.clone(), NAMESPACE);
        let fields = format!("involvedObject.kind={kind},involvedObject.name={name}");
        let events = api.list(&ListParams::default().fields(&fields)).await?;
        let line = |event: k8s_openapi::api::core::v1::Event| {
            format!("{}: {}", event.reason.unwrap_or_default(), event.message.unwrap_or_default())
        };
        Ok(events.items.into_iter().map(line).collect())
    }

    /// Waits until an Event of this reason is on an object whose note contains `part`.
    /// The error shows those that came.
    pub async fn event(&self, kind: &str, name: &str, reason: &str, part: &str) -> Result<()> {
        let what = format!("{kind} {name} has an Event {reason} with {part:?}");
        let start = format!("{reason}: ");
        let waited = eventually(&what, async || {
            let events = self.events(kind, name).await?;
            Ok(events.iter().any(|event| event.starts_with(&start) && event.contains(part)).then_some(()))
        });
        or_show(waited, async || format!("it has {:#?}", self.events(kind, name).await)).await
    }

    /// Waits until the condition Ready of a Machine has this reason and its message contains `part`.
    /// The error shows the Machines.
    pub async fn machine_reason(&self, name: &str, reason: &str, part: &str) -> Result<Condition> {
        let what = format!("Machine {name} is {reason} with {part:?}");
        let waited = eventually(&what, async || {
            let machine = self.machines().get(name).await?;
            let own = machine.status.and_then(|status| status.machinist).unwrap_or_default();
            let mut conditions = own.conditions.into_iter();
            Ok(conditions.find(|condition| condition.reason == reason && condition.message.contains(part)))
        });
        or_show(waited, async || self.describe_machines().await).await
    }

    async fn describe_machines(&self) -> String {
        let Ok(machines) = self.machines().list(&ListParams::default()).await else {
            return "the Machines cannot be listed".to_owned();
        };
        let lines = machines.items.iter().take(20).map(|machine| {
            let name = machine.metadata.name.as_deref().unwrap_or_default();
            format!("  {name}: {}", serde_json::to_string(&machine.status).unwrap_or_default())
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}
