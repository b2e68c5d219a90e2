//! The fields of a class: MCM's providerSpec for Azure.

use std::collections::BTreeMap;

use machinist_sdk::driver::{Class, Failure, invalid};
use serde_json::Value;

use crate::class::azure_cloud::AzureCloud;
use crate::class::lenient::{Findings, Object};
use crate::class::storage::{self, DataDisk, Image, OsDisk};
use crate::tags::{CLUSTER_KEY, OWN_TAGS, ROLE_KEY, TagKeys};

/// JSON Schema of `providerSpec`, for `describe`.
pub(crate) const SCHEMA: &str = include_str!("../class-schema.json");

/// Azure allows 50 tags on a resource; the driver needs three.
const MOST_TAGS: usize = 50 - OWN_TAGS.len();
/// Azure refuses these characters in names of tags.
const REFUSED_IN_TAGS: [char; 7] = ['<', '>', '%', '&', '\\', '?', '/'];
/// The maximum number of problems in one message.
const REPORTED_PROBLEMS: usize = 20;

/// The fault domain of a VM, or its zone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Place {
    #[default]
    Unknown,
    Zone(i32),
    AvailabilitySet(String),
    ScaleSet(String),
}

/// How a VM is paid for. Azure may take spot VMs away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Market {
    pub(crate) priority: Option<String>,
    pub(crate) eviction: Option<String>,
    pub(crate) max_price: Option<String>,
}

impl Market {
    pub(crate) fn is_spot(&self) -> bool {
        self.priority.as_deref().is_some_and(|name| name != "Regular")
    }
}

/// The user of the operating system, and the way in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Login {
    pub(crate) user: String,
    pub(crate) refuses_passwords: bool,
    pub(crate) key_path: Option<String>,
    pub(crate) key: Option<String>,
}

/// Options of secure boot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Security {
    pub(crate) kind: Option<String>,
    pub(crate) vtpm: Option<bool>,
    pub(crate) secure_boot: Option<bool>,
}

/// The fields of a class. Absent texts are empty; the class is then invalid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spec {
    pub(crate) location: String,
    pub(crate) group: String,
    pub(crate) tags: BTreeMap<String, String>,
    pub(crate) vnet: String,
    pub(crate) subnet: String,
    /// The resource group of the network, if it is another one.
    pub(crate) vnet_group: Option<String>,
    pub(crate) cloud: AzureCloud,
    pub(crate) size: String,
    pub(crate) login: Login,
    pub(crate) accelerated: Option<bool>,
    pub(crate) image: Option<Image>,
    pub(crate) disk_controller: Option<String>,
    pub(crate) os_disk: OsDisk,
    pub(crate) data_disks: Vec<DataDisk>,
    pub(crate) place: Place,
    pub(crate) identity: Option<String>,
    /// `Some` if boot diagnostics are on, with the storage of the class if it names one.
    pub(crate) diagnostics: Option<Option<String>>,
    pub(crate) security: Option<Security>,
    pub(crate) reservation: Option<String>,
    pub(crate) market: Market,
}

/// Reads a class and checks every rule. Ok includes warnings about ignored fields.
pub(crate) fn read(class: &Class) -> Result<(Spec, Vec<String>), Failure> {
    let (spec, findings) = parse(&class.spec);
    if findings.problems.is_empty() {
        return Ok((spec, findings.warnings));
    }
    let more = findings.problems.len().saturating_sub(REPORTED_PROBLEMS);
    let mut reported: Vec<String> = findings.problems.into_iter().take(REPORTED_PROBLEMS).collect();
    if more > 0 {
        reported.push(format!("and {more} more"));
    }
    Err(invalid(format!("the MachineClass's providerSpec is invalid: {}", reported.join("; "))))
}

/// Reads the readable fields of a class, and ignores problems. For calls that need only some fields.
pub(crate) fn read_in_part(class: &Class) -> Spec {
    parse(&class.spec).0
}

impl Spec {
    /// Returns the keys of the two tags that the class sets. `None` if it has no such tags.
    pub(crate) fn tag_keys(&self) -> Option<TagKeys> {
        let key = |prefix: &str| self.tags.keys().find(|key| key.starts_with(prefix)).cloned();
        Some(TagKeys { cluster: key(CLUSTER_KEY)?, role: key(ROLE_KEY)? })
    }

    /// Returns the zone of the VM and its disks, as Azure writes it. `None`: the class names a set instead.
    pub(crate) fn zone(&self) -> Option<String> {
        match &self.place {
            Place::Zone(zone) => Some(zone.to_string()),
            Place::AvailabilitySet(_) | Place::ScaleSet(_) | Place::Unknown => None,
        }
    }

    /// Returns the resource group, if there is one.
    pub(crate) fn usable_group(&self) -> Option<&str> {
        Some(self.group.as_str()).filter(|group| is_name(group))
    }
}

/// True if a text can be the name of a resource group or of a location: it becomes a segment of a path.
pub(crate) fn is_name(text: &str) -> bool {
    let is_plain = |char: char| char.is_alphanumeric() || "-_.()".contains(char);
    !text.is_empty() && text.chars().count() <= 90 && text.chars().all(is_plain) && !text.ends_with('.')
}

/// Returns the text unless it is blank.
pub(crate) fn present(text: String) -> Option<String> {
    Some(text).filter(|text| !text.trim().is_empty())
}

/// Returns a text of which only some values are allowed, as Azure writes it: case does not matter. A blank text is
/// absent.
pub(crate) fn one_of(
    fields: &mut Object<'_>,
    name: &'static str,
    known: &[&str],
    findings: &mut Findings,
) -> Option<String> {
    let text = present(fields.text(name, findings))?;
    let found = known.iter().find(|known| known.eq_ignore_ascii_case(&text));
    if found.is_none() {
        findings.problem(format!("{} must be one of {}, got {text:?}", fields.path(name), known.join(", ")));
    }
    found.map(|known| (*known).to_owned())
}

fn parse(text: &str) -> (Spec, Findings) {
    let mut findings = Findings::default();
    let value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => {
            let (line, column) = (error.line(), error.column());
            findings.problem(format!("it is not JSON (line {line}, column {column})"));
            return (Spec::default(), findings);
        }
    };
    let mut root = Object::root(&value, &mut findings);
    let spec = fields(&mut root, &mut findings);
    root.finish(&mut findings);
    (spec, findings)
}

fn fields(root: &mut Object<'_>, findings: &mut Findings) -> Spec {
    let mut spec = Spec {
        location: needed(root, "location", findings),
        group: named(root, "resourceGroup", findings),
        tags: tags(root, findings),
        cloud: cloud(root, findings),
        ..Spec::default()
    };
    // Fields of Kubernetes objects that some generators write.
    for name in ["apiVersion", "kind"] {
        root.text(name, findings);
    }
    match root.object("subnetInfo", findings) {
        None => findings.problem("subnetInfo is missing"),
        Some(mut subnet) => {
            spec.vnet = named(&mut subnet, "vnetName", findings);
            spec.subnet = named(&mut subnet, "subnetName", findings);
            spec.vnet_group = subnet.optional_text("vnetResourceGroup", findings).and_then(present);
            subnet.finish(findings);
        }
    }
    match root.object("properties", findings) {
        None => findings.problem("properties is missing"),
        Some(mut properties) => {
            of_properties(&mut properties, &mut spec, findings);
            properties.finish(findings);
        }
    }
    spec
}

fn named(fields: &mut Object<'_>, name: &'static str, findings: &mut Findings) -> String {
    let text = fields.text(name, findings);
    let at = fields.path(name);
    if text.trim().is_empty() {
        findings.problem(format!("{at} is missing"));
    } else if !is_name(&text) {
        findings.problem(format!("{at} must be of letters, digits, -, _, . and parentheses, got {text:?}"));
    }
    text
}

fn needed(fields: &mut Object<'_>, name: &'static str, findings: &mut Findings) -> String {
    let text = fields.text(name, findings);
    if text.trim().is_empty() {
        findings.problem(format!("{} is missing", fields.path(name)));
    }
    text
}

fn tags(root: &mut Object<'_>, findings: &mut Findings) -> BTreeMap<String, String> {
    let mut tags = root.map("tags", findings);
    for prefix in [CLUSTER_KEY, ROLE_KEY] {
        if !tags.keys().any(|key| key.starts_with(prefix)) {
            findings.problem(format!("tags needs a key that begins with {prefix}"));
        }
    }
    for own in OWN_TAGS {
        // Azure ignores the case of names of tags.
        let before = tags.len();
        tags.retain(|key, _| !key.eq_ignore_ascii_case(own));
        if tags.len() < before {
            findings.warning(format!("tags[{own:?}] is the driver's own and is ignored"));
        }
    }
    if tags.len() > MOST_TAGS {
        findings.problem(format!(
            "tags has {} entries, and Azure takes {MOST_TAGS} beside the driver's",
            tags.len()
        ));
    }
    for (key, value) in &tags {
        if key.chars().count() > 512 || value.chars().count() > 256 || key.contains(REFUSED_IN_TAGS) {
            findings.problem(format!(
                "tags[{key:?}] must have at most 512 characters without < > % & \\ ? /, and a value of at most 256"
            ));
        }
    }
    tags
}

fn cloud(root: &mut Object<'_>, findings: &mut Findings) -> AzureCloud {
    let Some(mut fields) = root.object("cloudConfiguration", findings) else { return AzureCloud::default() };
    let name = fields.text("name", findings);
    fields.finish(findings);
    AzureCloud::named(&name).unwrap_or_else(|| {
        let known = AzureCloud::NAMES.join(", ");
        findings.problem(format!("cloudConfiguration.name must be one of {known}, got {name:?}"));
        AzureCloud::default()
    })
}

fn of_properties(fields: &mut Object<'_>, spec: &mut Spec, findings: &mut Findings) {
    match fields.object("hardwareProfile", findings) {
        None => findings.problem("properties.hardwareProfile.vmSize is missing"),
        Some(mut hardware) => {
            spec.size = needed(&mut hardware, "vmSize", findings);
            hardware.finish(findings);
        }
    }
    spec.login = login(fields, findings);
    if let Some(mut network) = fields.object("networkProfile", findings) {
        spec.accelerated = network.optional_flag("acceleratedNetworking", findings);
        if network.object("networkInterfaces", findings).is_some() {
            findings.warning("properties.networkProfile.networkInterfaces has no effect");
        }
        network.finish(findings);
    }
    match fields.object("storageProfile", findings) {
        None => findings.problem("properties.storageProfile is missing"),
        Some(mut all) => {
            spec.image = match all.object("imageReference", findings) {
                Some(image) => storage::image(image, findings),
                None => {
                    findings.problem("properties.storageProfile.imageReference is missing");
                    None
                }
            };
            spec.disk_controller = one_of(&mut all, "diskControllerType", &["SCSI", "NVMe"], findings);
            let at = all.path("osDisk");
            let os_disk = all.object("osDisk", findings);
            spec.os_disk = storage::os_disk(os_disk, &at, findings);
            spec.data_disks = storage::data_disks(&mut all, findings);
            all.finish(findings);
        }
    }
    spec.place = place(fields, findings);
    spec.identity = fields.optional_text("identityID", findings).and_then(present);
    if let Some(mut diagnostics) = fields.object("diagnosticsProfile", findings) {
        let is_on = diagnostics.flag("enabled", findings);
        let storage = diagnostics.optional_text("storageURI", findings).and_then(present);
        spec.diagnostics = is_on.then_some(storage);
        diagnostics.finish(findings);
    }
    spec.security = security(fields, findings);
    if let Some(mut reservation) = fields.object("capacityReservation", findings) {
        let id = reservation.optional_text("capacityReservationGroupID", findings).and_then(present);
        let at = reservation.path("capacityReservationGroupID");
        if id.as_deref().is_some_and(|id| !is_reservation_group(id)) {
            findings.problem(format!("{at} must be the id of a Microsoft.Compute/capacityReservationGroups"));
        }
        spec.reservation = id;
        reservation.finish(findings);
    }
    spec.market = market(fields, findings);
}

fn is_reservation_group(id: &str) -> bool {
    let segments: Vec<&str> = id.split('/').collect();
    let kind = segments.len().checked_sub(2).and_then(|index| segments.get(index));
    let is_kind = kind.is_some_and(|kind| kind.eq_ignore_ascii_case("capacityReservationGroups"));
    id.starts_with('/') && is_kind && segments.last().is_some_and(|name| !name.is_empty())
}

fn login(fields: &mut Object<'_>, findings: &mut Findings) -> Login {
    let Some(mut os) = fields.object("osProfile", findings) else {
        findings.problem("properties.osProfile.adminUsername is missing");
        return Login::default();
    };
    let mut login = Login { user: needed(&mut os, "adminUsername", findings), ..Login::default() };
    for name in ["computerName", "adminPassword", "customData"] {
        if !os.text(name, findings).is_empty() {
            findings.warning(format!("properties.osProfile.{name} has no effect"));
        }
    }
    if let Some(mut linux) = os.object("linuxConfiguration", findings) {
        login.refuses_passwords = linux.flag("disablePasswordAuthentication", findings);
        if let Some(mut ssh) = linux.object("ssh", findings) {
            if let Some(mut key) = ssh.object("publicKeys", findings) {
                login.key_path = present(key.text("path", findings));
                login.key = present(key.text("keyData", findings));
                key.finish(findings);
            }
            ssh.finish(findings);
        }
        linux.finish(findings);
    }
    os.finish(findings);
    login
}

fn place(fields: &mut Object<'_>, findings: &mut Findings) -> Place {
    let id = |object: Option<Object<'_>>, findings: &mut Findings| {
        let mut object = object?;
        let id = present(object.text("id", findings));
        object.finish(findings);
        id
    };
    let zone = fields.optional_number("zone", findings);
    let object = fields.object("availabilitySet", findings);
    let mut set = id(object, findings);
    let object = fields.object("virtualMachineScaleSet", findings);
    let mut scale_set = id(object, findings);
    if let Some(mut old) = fields.object("machineSet", findings) {
        let id = present(old.text("id", findings));
        let kind = old.text("kind", findings);
        match kind.to_ascii_lowercase().as_str() {
            _ if id.is_none() => {}
            "vmo" => scale_set = scale_set.or(id),
            "availabilityset" => set = set.or(id),
            _ => findings
                .problem(format!("properties.machineSet.kind must be vmo or availabilityset, got {kind:?}")),
        }
        old.finish(findings);
    }
    let given = [zone.map(Place::Zone), set.map(Place::AvailabilitySet), scale_set.map(Place::ScaleSet)];
    let mut given = given.into_iter().flatten();
    match (given.next(), given.next()) {
        (Some(place), None) => place,
        _ => {
            findings.problem(
                "properties needs exactly one of zone, availabilitySet.id and virtualMachineScaleSet.id",
            );
            Place::Unknown
        }
    }
}

fn security(fields: &mut Object<'_>, findings: &mut Findings) -> Option<Security> {
    let mut profile = fields.object("securityProfile", findings)?;
    let kind = one_of(&mut profile, "securityType", &["TrustedLaunch", "ConfidentialVM"], findings);
    let mut security = Security { kind, ..Security::default() };
    if let Some(mut uefi) = profile.object("uefiSettings", findings) {
        security.vtpm = uefi.optional_flag("vtpmEnabled", findings);
        security.secure_boot = uefi.optional_flag("secureBootEnabled", findings);
        uefi.finish(findings);
    }
    profile.finish(findings);
    Some(security).filter(|security| *security != Security::default())
}

fn market(fields: &mut Object<'_>, findings: &mut Findings) -> Market {
    let mut market = Market {
        priority: one_of(fields, "priority", &["Regular", "Spot"], findings),
        eviction: one_of(fields, "evictionPolicy", &["Deallocate", "Delete"], findings),
        max_price: None,
    };
    if let Some(mut billing) = fields.object("billingProfile", findings) {
        market.max_price = billing.decimal("maxPrice", findings);
        billing.finish(findings);
    }
    if !market.is_spot() && (market.eviction.is_some() || market.max_price.is_some()) {
        findings.problem("properties.evictionPolicy and billingProfile.maxPrice need priority Spot");
    }
    market
}
