//! Paths and names of resources. Azure ignores the case of both.

use machinist_sdk::driver::escaped;

use crate::class::spec::{Spec, is_name};
use crate::class::storage::{DataDisk, Urn};

/// The kinds of resources of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Vm,
    Nic,
    Disk,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Vm, Self::Nic, Self::Disk];

    /// Returns namespace and type.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Vm => "Microsoft.Compute/virtualMachines",
            Self::Nic => "Microsoft.Network/networkInterfaces",
            Self::Disk => "Microsoft.Compute/disks",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(name))
    }
}

/// The id of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResourceId {
    pub(crate) subscription: String,
    pub(crate) group: String,
    pub(crate) kind: Kind,
    pub(crate) name: String,
}

impl ResourceId {
    /// Parses an id as Azure writes it. `None` for anything that would lead elsewhere in a path.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let segments: Vec<&str> = text.strip_prefix('/')?.split('/').collect();
        let [first, subscription, second, group, third, namespace, kind, name] = *segments.as_slice() else {
            return None;
        };
        let is = |text: &str, word: &str| text.eq_ignore_ascii_case(word);
        let is_id = is(first, "subscriptions") && is(second, "resourceGroups") && is(third, "providers");
        let kind = Kind::named(&format!("{namespace}/{kind}"))?;
        let is_plain = is_name(subscription) && is_name(group) && is_name(name);
        (is_id && is_plain).then(|| Self {
            subscription: subscription.to_owned(),
            group: group.to_owned(),
            kind,
            name: name.to_owned(),
        })
    }

    pub(crate) fn path(&self) -> String {
        let Self { subscription, group, kind, name } = self;
        format!(
            "/subscriptions/{subscription}/resourceGroups/{}/providers/{}/{}",
            escaped(group),
            kind.name(),
            escaped(name)
        )
    }

    /// Returns the id of another resource beside it.
    pub(crate) fn beside(&self, kind: Kind, name: &str) -> Self {
        Self { kind, name: name.to_owned(), ..self.clone() }
    }

    /// True if an id of Azure is this one. Azure does not keep the case of ids.
    pub(crate) fn is(&self, id: &str) -> bool {
        self.text().eq_ignore_ascii_case(id)
    }

    /// Returns the id without escapes, as bodies have it.
    pub(crate) fn text(&self) -> String {
        let Self { subscription, group, kind, name } = self;
        format!("/subscriptions/{subscription}/resourceGroups/{group}/providers/{}/{name}", kind.name())
    }
}

const NIC: &str = "-nic";
const OS_DISK: &str = "-os-disk";
const DATA_DISK: &str = "-data-disk";

pub(crate) fn nic(vm: &str) -> String {
    format!("{vm}{NIC}")
}

pub(crate) fn os_disk(vm: &str) -> String {
    format!("{vm}{OS_DISK}")
}

pub(crate) fn data_disk(vm: &str, disk: &DataDisk) -> String {
    match &disk.name {
        Some(name) => format!("{vm}-{name}-{}{DATA_DISK}", disk.lun),
        None => format!("{vm}-{}{DATA_DISK}", disk.lun),
    }
}

/// True if a disk of this name can be one of the VM's.
pub(crate) fn is_disk_of(vm: &str, disk: &str) -> bool {
    let rest = disk.get(..vm.len()).filter(|start| start.eq_ignore_ascii_case(vm)).and(disk.get(vm.len()..));
    let ends = |rest: &str, end: &str| rest.to_ascii_lowercase().ends_with(end);
    rest.is_some_and(|rest| {
        rest.eq_ignore_ascii_case(OS_DISK) || (rest.starts_with('-') && ends(rest, DATA_DISK))
    })
}

/// Returns the VM's name for a network interface or a disk. Data disks do not tell it.
pub(crate) fn vm_of(kind: Kind, name: &str) -> Option<&str> {
    match kind {
        Kind::Vm => Some(name),
        Kind::Nic => name.strip_suffix(NIC),
        Kind::Disk => name.strip_suffix(OS_DISK),
    }
}

/// The problem of a machine's name, if Azure refuses it for a VM with Linux.
pub(crate) fn problem(name: &str) -> Option<String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    let fits = !name.is_empty() && name.len() <= 64 && name.bytes().all(is_plain);
    (!fits).then(|| {
        format!("the name of a VM has at most 64 letters, digits and hyphens in Azure, got {name:?}")
    })
}

pub(crate) fn segment(text: &str) -> String {
    escaped(text)
}

pub(crate) fn subnet(subscription: &str, spec: &Spec) -> String {
    let group = spec.vnet_group.as_deref().unwrap_or(&spec.group);
    let (vnet, subnet) = (&spec.vnet, &spec.subnet);
    format!(
        "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Network/virtualNetworks/{vnet}/subnets/{subnet}"
    )
}

pub(crate) fn image(subscription: &str, location: &str, urn: &Urn) -> String {
    let Urn { publisher, offer, sku, version, .. } = urn;
    let [location, publisher, offer, sku, version] = [location, publisher, offer, sku, version].map(escaped);
    format!(
        "/subscriptions/{subscription}/providers/Microsoft.Compute/locations/{location}/publishers/{publisher}/artifacttypes/vmimage/offers/{offer}/skus/{sku}/versions/{version}"
    )
}

pub(crate) fn agreement(subscription: &str, publisher: &str, product: &str, plan: &str) -> String {
    let [publisher, product, plan] = [publisher, product, plan].map(escaped);
    format!(
        "/subscriptions/{subscription}/providers/Microsoft.MarketplaceOrdering/offerTypes/virtualmachine/publishers/{publisher}/offers/{product}/plans/{plan}/agreements/current"
    )
}

pub(crate) fn sizes(subscription: &str, location: &str) -> String {
    format!(
        "/subscriptions/{subscription}/providers/Microsoft.Compute/locations/{}/vmSizes",
        escaped(location)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_equal_in_any_case_and_as_a_whole() {
        let text =
            "/subscriptions/s-1/resourceGroups/Group/providers/Microsoft.Network/networkInterfaces/vm-nic";
        let id = ResourceId::parse(text).unwrap();
        assert_eq!((id.kind, id.text().as_str()), (Kind::Nic, text));
        assert!(id.is(&text.to_uppercase()));
        assert!(!id.is("vm-nic") && !id.is(&text.replace("Group/", "Other/")));
        for other in ["", "vm-nic", "/subscriptions/s/resourceGroups/g", &format!("{text}/more"), "/a/../b"] {
            assert_eq!(ResourceId::parse(other), None, "{other}");
        }
        let unusual = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/a%2Fb";
        assert_eq!(ResourceId::parse(unusual), None);
    }

    #[test]
    fn a_disk_belongs_to_the_vm_whose_name_it_begins_with() {
        assert!(is_disk_of("vm-1", "vm-1-os-disk") && is_disk_of("vm-1", "VM-1-logs-0-data-disk"));
        for other in
            ["vm-1", "vm-11-os-disk", "vm-1-os-disk-2", "pvc-1", "x-vm-1-os-disk", "vm-1x-0-data-disk"]
        {
            assert!(!is_disk_of("vm-1", other), "{other}");
        }
        assert_eq!(vm_of(Kind::Nic, "vm-1-nic"), Some("vm-1"));
        assert_eq!(vm_of(Kind::Disk, "vm-1-0-data-disk"), None);
    }

    #[test]
    fn a_name_that_azure_refuses_is_named() {
        assert_eq!(problem("shoot--a--b-worker-1.x"), None);
        for name in ["", "a/b", "ü", &"a".repeat(65)] {
            assert!(problem(name).is_some(), "{name}");
        }
    }
}
