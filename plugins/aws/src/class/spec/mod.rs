//! The fields of a class: MCM's providerSpec for AWS.
//!
//! | module | content |
//! | --- | --- |
//! | `disks` | the volumes of a launch |
//! | `interfaces` | the network interfaces of a launch |
//! | `options` | market, capacity reservation, metadata service, processor, placement |

use machinist_sdk::driver::{Class, Code, DriverError, Failure, quoted_up_to as quoted};

mod disks;
mod interfaces;
mod options;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::class::lenient::{Findings, Object};
use crate::class::zone::{SUBNETS, ZONE};
use crate::ec2::errors::error;
use crate::ec2::region;
use crate::tags::{CLUSTER_KEY, CLUSTER_TAG, NAME_TAG, ROLE_KEY, TagKeys, UID_TAG};

pub(crate) use disks::Disk;
pub(crate) use interfaces::Interface;
pub(crate) use options::{Cpu, Market, Metadata, Placement, Reservation};

/// JSON Schema of `providerSpec`, for `describe`.
pub(crate) const SCHEMA: &str = include_str!("../../class-schema.json");

/// EC2 allows 50 tags; the driver needs the name, the uid and the cluster's mark.
const MOST_TAGS: usize = 50 - 3;
/// The maximum number of problems in one message.
const REPORTED_PROBLEMS: usize = 20;

/// The instance profile, by which an instance gets its IAM role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Iam {
    Name(String),
    Arn(String),
}

/// The fields of a class. Absent texts are empty; the class is then invalid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spec {
    pub(crate) region: String,
    pub(crate) ami: String,
    pub(crate) machine_type: String,
    pub(crate) iam: Option<Iam>,
    pub(crate) key_name: Option<String>,
    pub(crate) disks: Vec<Disk>,
    pub(crate) interfaces: Vec<Interface>,
    /// The class's tags without a `Name`.
    pub(crate) tags: BTreeMap<String, String>,
    pub(crate) market: Market,
    pub(crate) reservation: Option<Reservation>,
    /// True if the source/destination check is to be turned off.
    pub(crate) is_forwarding: bool,
    pub(crate) metadata: Option<Metadata>,
    pub(crate) cpu: Option<Cpu>,
    pub(crate) placement: Option<Placement>,
    /// The one zone of the instance, where the class names it.
    pub(crate) zone: Option<String>,
    /// A subnet for each zone.
    pub(crate) subnets_by_zone: BTreeMap<String, String>,
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
    let message = format!("the MachineClass's providerSpec is invalid: {}", reported.join("; "));
    Err(Failure::from(DriverError { terminal: true, ..error(Code::InvalidArgument, message) }))
}

/// Reads the readable fields of a class, and ignores problems. For calls that need only some fields.
pub(crate) fn read_in_part(class: &Class) -> Spec {
    parse(&class.spec).0
}

impl Spec {
    /// Returns the subnet of an interface: that of the zone, where the class has one.
    pub(crate) fn subnet<'a>(&'a self, interface: &'a Interface) -> &'a str {
        let of_zone = self.zone.as_ref().and_then(|zone| self.subnets_by_zone.get(zone));
        of_zone.unwrap_or(&interface.subnet)
    }

    /// Returns the region, if it is a valid one.
    pub(crate) fn usable_region(&self) -> Option<&str> {
        Some(self.region.as_str()).filter(|region| region::is_region(region))
    }

    /// Returns the keys of the two tags that the class sets on each instance. `None` if it has no such tags.
    pub(crate) fn tag_keys(&self) -> Option<TagKeys> {
        let key = |part: &str| self.tags.keys().find(|key| key.contains(part)).cloned();
        Some(TagKeys { cluster: key(CLUSTER_KEY)?, role: key(ROLE_KEY)? })
    }

    /// True if EC2 may take the instance away at any time. A capacity block ends at a known time.
    pub(crate) fn is_interruptible(&self) -> bool {
        match &self.market {
            Market::OnDemand => false,
            Market::Named(kind) => kind != "capacity-block",
            Market::Spot { .. } => true,
        }
    }

    /// True if the class needs steps after the launch.
    pub(crate) fn needs_initialize(&self) -> bool {
        self.is_forwarding || self.interfaces.iter().any(|interface| interface.ipv6_prefixes > 0)
    }
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
    root.text("apiVersion", findings);
    for name in ["ebsOptimized", "monitoring"] {
        if root.flag(name, findings) {
            findings.warning(format!("{name} has no effect"));
        }
    }
    let (zone, subnets_by_zone) = zones(root, findings);
    Spec {
        zone,
        subnets_by_zone,
        ami: needed(root, "ami", findings),
        region: region(root, findings),
        machine_type: needed(root, "machineType", findings),
        iam: iam(root, findings),
        key_name: root.optional_text("keyName", findings).filter(|name| !name.is_empty()),
        disks: disks::read(root, findings),
        interfaces: interfaces::read(root, findings),
        tags: tags(root, findings),
        market: options::market(root, findings),
        reservation: options::reservation(root, findings),
        is_forwarding: root.optional_flag("srcAndDstChecksEnabled", findings) == Some(false),
        metadata: options::metadata(root, findings),
        cpu: options::cpu(root, findings),
        placement: options::placement(root, findings),
    }
}

/// Returns a required text.
fn needed(object: &mut Object<'_>, name: &'static str, findings: &mut Findings) -> String {
    let before = findings.problems.len();
    let text = object.text(name, findings);
    if text.is_empty() && findings.problems.len() == before {
        findings.problem(format!("{} is missing", object.path(name)));
    }
    text
}

/// Returns an optional text that must be one of a list.
fn one_of(
    object: &mut Object<'_>,
    name: &'static str,
    allowed: &[&str],
    findings: &mut Findings,
) -> Option<String> {
    let text = object.optional_text(name, findings).filter(|text| !text.is_empty())?;
    if !allowed.contains(&text.as_str()) {
        let path = object.path(name);
        findings.problem(format!(
            "{path} must be one of {}, got {:?}",
            allowed.join(", "),
            quoted(&text, 40)
        ));
    }
    Some(text)
}

fn region(root: &mut Object<'_>, findings: &mut Findings) -> String {
    let region = needed(root, "region", findings);
    if !region.is_empty() && !region::is_region(&region) {
        let got = quoted(&region, 40);
        findings.problem(format!("region must be of lower-case letters, digits and hyphens, got {got:?}"));
    }
    region
}

fn zones(root: &mut Object<'_>, findings: &mut Findings) -> (Option<String>, BTreeMap<String, String>) {
    let subnets = root.map(SUBNETS, findings);
    for (name, subnet) in &subnets {
        if name.is_empty() || subnet.trim().is_empty() {
            findings.problem(format!("{SUBNETS}[{:?}] must be a subnet of a zone", quoted(name, 40)));
        }
    }
    let zone = root.optional_text(ZONE, findings).filter(|zone| !zone.is_empty());
    if let Some(zone) = zone.as_ref().filter(|zone| !subnets.is_empty() && !subnets.contains_key(*zone)) {
        findings.problem(format!("{SUBNETS} has no subnet for {ZONE} {}", quoted(zone, 40)));
    }
    (zone, subnets)
}

fn iam(root: &mut Object<'_>, findings: &mut Findings) -> Option<Iam> {
    let (name, arn) = match root.object("iam", findings) {
        Some(mut iam) => {
            let both = (iam.text("name", findings), iam.text("arn", findings));
            iam.finish(findings);
            both
        }
        None => (String::new(), String::new()),
    };
    match (name.is_empty(), arn.is_empty()) {
        (false, true) => Some(Iam::Name(name)),
        (true, false) => Some(Iam::Arn(arn)),
        (true, true) => {
            findings.problem("iam.name or iam.arn is missing");
            None
        }
        (false, false) => {
            findings.problem("iam.name and iam.arn exclude each other");
            None
        }
    }
}

fn tags(root: &mut Object<'_>, findings: &mut Findings) -> BTreeMap<String, String> {
    let mut tags = root.map("tags", findings);
    for part in [CLUSTER_KEY, ROLE_KEY] {
        if !tags.keys().any(|key| key.contains(part)) {
            findings.problem(format!("tags has no key that contains {part}"));
        }
    }
    for own in [NAME_TAG, UID_TAG, CLUSTER_TAG] {
        if tags.remove(own).is_some() {
            findings.warning(format!("tags[{own:?}] is set by the driver, the class's value is ignored"));
        }
    }
    if tags.len() > MOST_TAGS {
        findings.problem(format!(
            "tags has {} entries: at most {MOST_TAGS} fit beside the driver's own",
            tags.len()
        ));
    }
    tags
}
