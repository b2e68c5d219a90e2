//! An instance as moto describes it.

use std::collections::BTreeMap;

use anyhow::Context;
use roxmltree::{Document, Node};

use crate::xml::{child, instances, items, text};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    pub id: String,
    /// `pending`, `running`, `shutting-down`, `terminated`, `stopping` or `stopped`.
    pub state: String,
    /// Its private DNS name.
    pub private_dns_name: String,
    /// The token that it was created with.
    pub client_token: String,
    pub instance_type: String,
    /// The image that it was made from.
    pub image_id: String,
    pub subnet_id: String,
    pub zone: String,
    pub tags: BTreeMap<String, String>,
    /// Its network interfaces, with whether source and destination are checked.
    pub interfaces: BTreeMap<String, bool>,
}

impl Instance {
    pub fn name(&self) -> Option<&str> {
        self.tags.get("Name").map(String::as_str)
    }

    /// Whether it costs money.
    pub fn is_live(&self) -> bool {
        !matches!(self.state.as_str(), "shutting-down" | "terminated")
    }

    fn read(item: Node<'_, '_>) -> Self {
        let word = |way: &[&str]| text(item, way).unwrap_or_default().to_owned();
        let pair = |tag: Node<'_, '_>| {
            let part = |name: &str| text(tag, &[name]).unwrap_or_default().to_owned();
            (part("key"), part("value"))
        };
        let interface = |nic: Node<'_, '_>| {
            let id = text(nic, &["networkInterfaceId"]).unwrap_or_default().to_owned();
            (id, text(nic, &["sourceDestCheck"]) == Some("true"))
        };
        Self {
            id: word(&["instanceId"]),
            state: word(&["instanceState", "name"]),
            private_dns_name: word(&["privateDnsName"]),
            client_token: word(&["clientToken"]),
            instance_type: word(&["instanceType"]),
            image_id: word(&["imageId"]),
            subnet_id: word(&["subnetId"]),
            zone: word(&["placement", "availabilityZone"]),
            tags: items(item, "tagSet").map(pair).collect(),
            interfaces: items(item, "networkInterfaceSet").map(interface).collect(),
        }
    }
}

/// A page of instances, and the token of the next one.
pub(crate) fn read_page(answer: &str) -> anyhow::Result<(Vec<Instance>, Option<String>)> {
    let document = Document::parse(answer).context("failed to parse an answer about instances")?;
    let root = document.root_element();
    let next = child(root, "nextToken").and_then(|token| token.text()).map(str::to_owned);
    Ok((instances(root).into_iter().map(Instance::read).collect(), next))
}
