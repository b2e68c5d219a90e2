//! EC2's objects, with the fields that the driver needs.

use std::collections::BTreeMap;

use roxmltree::Node;

use crate::ec2::xml::{child, items, text, verbatim};

/// The state of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InstanceState {
    Pending,
    Running,
    /// Becomes `Stopped`, from which it can start again.
    Stopping,
    Stopped,
    /// Becomes `Terminated`, which is final.
    ShuttingDown,
    /// Only its record is left.
    Terminated,
    /// A state that this driver does not know.
    Other,
}

impl InstanceState {
    fn parse(name: &str) -> Self {
        match name {
            "pending" => Self::Pending,
            "running" => Self::Running,
            "stopping" => Self::Stopping,
            "stopped" => Self::Stopped,
            "shutting-down" => Self::ShuttingDown,
            "terminated" => Self::Terminated,
            _ => Self::Other,
        }
    }
}

/// An instance of EC2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Instance {
    pub(crate) id: String,
    pub(crate) state: InstanceState,
    /// The private DNS name; empty until it has one.
    pub(crate) node_name: String,
    pub(crate) tags: BTreeMap<String, String>,
    pub(crate) interfaces: Vec<Nic>,
    pub(crate) zone: Option<String>,
    /// Pairs of kind and address.
    pub(crate) addresses: Vec<(&'static str, String)>,
    /// The time as EC2 writes it.
    pub(crate) launched: Option<String>,
    pub(crate) client_token: Option<String>,
}

/// The size of an instance type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct InstanceType {
    pub(crate) cpus: i64,
    pub(crate) memory_mib: i64,
    pub(crate) architectures: Vec<String>,
    pub(crate) nvidia_gpus: i64,
    pub(crate) amd_gpus: i64,
}

/// Parses the types of an answer, by name.
pub(crate) fn instance_types(root: Node<'_, '_>) -> Option<Vec<(String, InstanceType)>> {
    child(root, "instanceTypeSet")?;
    items(root, "instanceTypeSet").into_iter().map(instance_type).collect()
}

fn instance_type(item: Node<'_, '_>) -> Option<(String, InstanceType)> {
    let number = |node: Node<'_, '_>, path: &[&str]| text(node, path)?.parse::<i64>().ok();
    let architectures = child(item, "processorInfo").map(|info| items(info, "supportedArchitectures"));
    let mut size = InstanceType {
        cpus: number(item, &["vCpuInfo", "defaultVCpus"])?,
        memory_mib: number(item, &["memoryInfo", "sizeInMiB"])?,
        architectures: architectures
            .unwrap_or_default()
            .into_iter()
            .filter_map(|name| Some(name.text()?.trim().to_owned()))
            .collect(),
        ..InstanceType::default()
    };
    let gpus = child(item, "gpuInfo").map(|info| items(info, "gpus")).unwrap_or_default();
    for gpu in gpus {
        let count = number(gpu, &["count"])?;
        match text(gpu, &["manufacturer"]) {
            Some("NVIDIA") => size.nvidia_gpus += count,
            Some("AMD") => size.amd_gpus += count,
            Some(_) | None => {}
        }
    }
    Some((text(item, &["instanceType"])?.to_owned(), size))
}

/// An attached network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Nic {
    pub(crate) id: String,
    pub(crate) kind: String,
    /// True if the source/destination check is on.
    pub(crate) checks: bool,
    pub(crate) card: i32,
    pub(crate) device: i32,
    pub(crate) ipv6_prefixes: i32,
}

impl Nic {
    /// True for fabric adapters, which have no such check.
    pub(crate) fn is_fabric(&self) -> bool {
        matches!(self.kind.as_str(), "efa" | "efa-only")
    }
}

/// The elements of an instance's addresses, and their Kubernetes types.
const ADDRESSES: [(&str, &str); 5] = [
    ("privateIpAddress", "InternalIP"),
    ("ipv6Address", "InternalIP"),
    ("privateDnsName", "InternalDNS"),
    ("ipAddress", "ExternalIP"),
    ("dnsName", "ExternalDNS"),
];

impl Instance {
    /// Parses an instance. `None` if it has no id.
    pub(crate) fn parse(node: Node<'_, '_>) -> Option<Self> {
        let own = |name: &str| text(node, &[name]).map(str::to_owned);
        let tag = |item: Node<'_, '_>| {
            let value = verbatim(item, "value").unwrap_or_default();
            Some((verbatim(item, "key")?.to_owned(), value.to_owned()))
        };
        let mut tags = BTreeMap::new();
        tags.extend(items(node, "tagSet").into_iter().filter_map(tag));
        let checks = own("sourceDestCheck").as_deref() == Some("true");
        Some(Self {
            id: own("instanceId")?,
            state: text(node, &["instanceState", "name"]).map_or(InstanceState::Other, InstanceState::parse),
            node_name: own("privateDnsName").unwrap_or_default(),
            tags,
            interfaces: items(node, "networkInterfaceSet")
                .into_iter()
                .filter_map(|item| nic(item, checks))
                .collect(),
            zone: text(node, &["placement", "availabilityZone"]).map(str::to_owned),
            addresses: ADDRESSES.iter().filter_map(|(name, kind)| Some((*kind, own(name)?))).collect(),
            launched: own("launchTime"),
            client_token: own("clientToken"),
        })
    }

    /// Returns the value of a tag.
    pub(crate) fn tag(&self, key: &str) -> Option<&str> {
        self.tags.get(key).map(String::as_str)
    }

    /// True until its termination has begun, which EC2 never reverts.
    pub(crate) fn is_there(&self) -> bool {
        !matches!(self.state, InstanceState::ShuttingDown | InstanceState::Terminated)
    }
}

/// Parses an interface. Without a check of its own it has its instance's.
fn nic(item: Node<'_, '_>, instance_checks: bool) -> Option<Nic> {
    let number = |path: &[&str]| text(item, path).and_then(|text| text.parse().ok()).unwrap_or(0);
    Some(Nic {
        id: text(item, &["networkInterfaceId"])?.to_owned(),
        kind: text(item, &["interfaceType"]).unwrap_or("interface").to_owned(),
        checks: text(item, &["sourceDestCheck"]).map_or(instance_checks, |text| text == "true"),
        card: number(&["attachment", "networkCardIndex"]),
        device: number(&["attachment", "deviceIndex"]),
        ipv6_prefixes: i32::try_from(items(item, "ipv6PrefixSet").len()).unwrap_or(i32::MAX),
    })
}

/// Parses the instances of `RunInstances`. `None` if one has no id.
pub(crate) fn launched(root: Node<'_, '_>) -> Option<Vec<Instance>> {
    child(root, "instancesSet")?;
    items(root, "instancesSet").into_iter().map(Instance::parse).collect()
}

/// One page of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) instances: Vec<Instance>,
    pub(crate) next: Option<String>,
}

/// Parses a page of `DescribeInstances`. `None` if an entry is invalid: an incomplete listing is worse than an error.
pub(crate) fn page(root: Node<'_, '_>) -> Option<Page> {
    child(root, "reservationSet")?;
    let reservations = items(root, "reservationSet").into_iter();
    let instances = reservations.flat_map(|reservation| items(reservation, "instancesSet"));
    Some(Page {
        instances: instances.map(Instance::parse).collect::<Option<_>>()?,
        next: text(root, &["nextToken"]).map(str::to_owned),
    })
}

/// Parses the root devices of the images of `DescribeImages`.
pub(crate) fn root_devices(root: Node<'_, '_>) -> Option<Vec<Option<String>>> {
    child(root, "imagesSet")?;
    let device = |image| text(image, &["rootDeviceName"]).map(str::to_owned);
    Some(items(root, "imagesSet").into_iter().map(device).collect())
}

/// Parses the answer of a call without a result: `Some` if it was done.
pub(crate) fn is_done(root: Node<'_, '_>) -> Option<()> {
    text(root, &["return"]).is_none_or(|text| text == "true").then_some(())
}
