//! The answers of an EC2, read.

use std::collections::BTreeMap;

use anyhow::Context as _;
use roxmltree::{Document, Node};

use crate::vm::{Address, Vm};

const MIB_IN_GIB: u32 = 1024;

/// The resources of an instance type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    cpus: u32,
    memory_gib: u32,
    gpus: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) id: String,
    pub(super) instance_type: String,
    pub(super) tags: BTreeMap<String, String>,
    node_name: String,
    zone: String,
    address: String,
    launched: String,
}

impl Found {
    pub(super) fn vm(&self, region: &str, size: Size) -> Vm {
        let address =
            |kind: &str, address: &str| Address { kind: kind.to_owned(), address: address.to_owned() };
        Vm {
            id: self.id.clone(),
            node_name: self.node_name.clone(),
            // As the cloud's own controller writes it, where the driver has the region.
            provider_id: format!("aws:///{}/{}", self.zone, self.id),
            region: region.to_owned(),
            zone: self.zone.clone(),
            instance_type: self.instance_type.clone(),
            cpus: size.cpus,
            memory_gib: size.memory_gib,
            gpus: size.gpus,
            addresses: vec![
                address("InternalIP", &self.address),
                address("InternalDNS", &self.node_name),
                address("Hostname", &self.node_name),
            ],
            boot_id: format!("{}-{}", self.id, self.launched),
        }
    }
}

/// The ids of `DescribeInstanceStatus`, which are of instances that run unless one asks for others, and the next page.
pub(super) fn running(answer: &str) -> anyhow::Result<(Vec<String>, Option<String>)> {
    let document = parse(answer)?;
    let root = document.root_element();
    let statuses = items(root, "instanceStatusSet");
    let running = statuses.filter(|status| text(*status, &["instanceState", "name"]) == "running");
    let ids = running.map(|status| text(status, &["instanceId"]).to_owned()).collect();
    let next = text(root, &["nextToken"]);
    Ok((ids, (!next.is_empty()).then(|| next.to_owned())))
}

/// The instances of `DescribeInstances` that run.
pub(super) fn instances(answer: &str) -> anyhow::Result<Vec<Found>> {
    let document = parse(answer)?;
    let reservations = items(document.root_element(), "reservationSet");
    let instances = reservations.flat_map(|reservation| items(reservation, "instancesSet"));
    let running = instances.filter(|item| text(*item, &["instanceState", "name"]) == "running");
    let found = running.map(|item| Found {
        id: text(item, &["instanceId"]).to_owned(),
        instance_type: text(item, &["instanceType"]).to_owned(),
        tags: items(item, "tagSet")
            .map(|tag| (text(tag, &["key"]).to_owned(), text(tag, &["value"]).to_owned()))
            .collect(),
        node_name: text(item, &["privateDnsName"]).to_owned(),
        zone: text(item, &["placement", "availabilityZone"]).to_owned(),
        address: text(item, &["privateIpAddress"]).to_owned(),
        launched: text(item, &["launchTime"]).to_owned(),
    });
    Ok(found.collect())
}

/// The only type of `DescribeInstanceTypes`.
pub(super) fn size(answer: &str) -> anyhow::Result<Size> {
    let document = parse(answer)?;
    let kind =
        items(document.root_element(), "instanceTypeSet").next().context("the type is not described")?;
    let number = |way: &[&str]| text(kind, way).parse::<u32>().ok();
    let gpus = child(kind, "gpuInfo").into_iter().flat_map(|info| items(info, "gpus"));
    Ok(Size {
        cpus: number(&["vCpuInfo", "defaultVCpus"]).context("the type has no count of cores")?,
        memory_gib: number(&["memoryInfo", "sizeInMiB"])
            .context("the type has no memory")?
            .div_ceil(MIB_IN_GIB),
        gpus: gpus.filter_map(|gpu| text(gpu, &["count"]).parse::<u32>().ok()).sum(),
    })
}

/// The user data of `DescribeInstanceAttribute`, encoded; empty if there is none.
pub(super) fn user_data(answer: &str) -> anyhow::Result<String> {
    let document = parse(answer)?;
    Ok(text(document.root_element(), &["userData", "value"]).to_owned())
}

fn parse(answer: &str) -> anyhow::Result<Document<'_>> {
    Document::parse(answer).context("failed to parse an answer of the cloud")
}

fn child<'a, 'd>(node: Node<'a, 'd>, name: &str) -> Option<Node<'a, 'd>> {
    node.children().find(|child| child.tag_name().name() == name)
}

fn items<'a, 'd>(node: Node<'a, 'd>, list: &str) -> impl Iterator<Item = Node<'a, 'd>> + use<'a, 'd> {
    let items = child(node, list).into_iter().flat_map(|list| list.children());
    items.filter(|item| item.tag_name().name() == "item")
}

fn text<'a>(node: Node<'a, '_>, way: &[&str]) -> &'a str {
    let end = way.iter().try_fold(node, |node, name| child(node, name));
    end.and_then(|node| node.text()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_running_instances_and_the_next_page_are_returned() {
        let answer = "<R><instanceStatusSet><item><instanceId>i-1</instanceId><instanceState><name>running</name>\
                      </instanceState></item><item><instanceId>i-2</instanceId><instanceState><name>pending</name>\
                      </instanceState></item></instanceStatusSet><nextToken>t</nextToken></R>";
        assert_eq!(running(answer).unwrap(), (vec!["i-1".to_owned()], Some("t".to_owned())));
        assert_eq!(running("<R/>").unwrap(), (vec![], None));
        assert!(running("<html>").is_err());
    }

    #[test]
    fn a_type_without_graphics_has_none() {
        let answer = "<R><instanceTypeSet><item><vCpuInfo><defaultVCpus>2</defaultVCpus></vCpuInfo><memoryInfo>\
                      <sizeInMiB>8192</sizeInMiB></memoryInfo></item></instanceTypeSet></R>";
        assert_eq!(size(answer).unwrap(), Size { cpus: 2, memory_gib: 8, gpus: 0 });
    }
}
