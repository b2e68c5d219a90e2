//! The fields of a class: MCM's providerSpec for GCP.
//!
//! | module | content |
//! | --- | --- |
//! | `disks` | the disks of an instance |
//! | `interfaces` | the network interfaces of an instance |
//! | `options` | scheduling, metadata, labels, tags, accelerators, service accounts, shielded VMs |

use machinist_sdk::driver::{Class, Code, Failure, quoted_up_to as quoted};
use serde_json::Value;

mod disks;
mod interfaces;
mod options;

use std::collections::BTreeMap;

use crate::class::lenient::{Findings, Object};
use crate::names::{CLUSTER_TAG, ROLE_TAG, is_place, is_project};

pub(crate) use disks::{ClassDisk, DiskKind};
pub(crate) use interfaces::Interface;
pub(crate) use options::{Accelerator, Scheduling, ServiceAccount, Shielded};

/// The field of a class with its zone.
pub(crate) const ZONE: &str = "zone";
/// The field of a class with the zones that are tried after it.
pub(crate) const ZONES: &str = "zones";

/// JSON Schema of `providerSpec`, for `describe`.
pub(crate) const SCHEMA: &str = include_str!("../../class-schema.json");

/// The maximum number of problems in one message.
const REPORTED_PROBLEMS: usize = 20;

/// The fields of a class. Absent texts are empty; the class is then invalid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spec {
    /// The project of the instances, if the class names one.
    pub(crate) project: Option<String>,
    pub(crate) region: String,
    pub(crate) zone: String,
    /// Zones that are tried after `zone`, best first.
    pub(crate) zones: Vec<String>,
    pub(crate) machine_type: String,
    pub(crate) min_cpu_platform: String,
    pub(crate) can_ip_forward: bool,
    pub(crate) deletion_protection: bool,
    pub(crate) description: Option<String>,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) tags: Vec<String>,
    pub(crate) disks: Vec<ClassDisk>,
    pub(crate) interfaces: Vec<Interface>,
    pub(crate) scheduling: Scheduling,
    pub(crate) service_accounts: Vec<ServiceAccount>,
    pub(crate) metadata: Vec<(String, Option<String>)>,
    pub(crate) accelerator: Option<Accelerator>,
    pub(crate) shielded: Shielded,
    pub(crate) nested_virtualization: Option<bool>,
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
    Err(invalid(reported.join("; ")))
}

/// Reads the readable fields of a class, and ignores problems. For calls that need only some fields.
pub(crate) fn read_in_part(class: &Class) -> Spec {
    parse(&class.spec).0
}

/// The failure for a class that can never work.
pub(crate) fn invalid(problem: impl std::fmt::Display) -> Failure {
    Failure::new(Code::InvalidArgument, format!("the MachineClass's providerSpec is invalid: {problem}"))
        .terminal()
}

impl Spec {
    /// Returns the two network tags that machine-controller-manager's provider takes for the marks of cluster and role.
    pub(crate) fn tag_pair(&self) -> Option<(&str, &str)> {
        let tag = |part: &str| self.tags.iter().rev().find(|tag| tag.contains(part)).map(String::as_str);
        Some((tag(CLUSTER_TAG)?, tag(ROLE_TAG)?))
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
    let accelerator = options::accelerator(root, findings);
    Spec {
        project: project(root, findings),
        region: place(root, "region", findings),
        zone: place(root, ZONE, findings),
        zones: zones(root, findings),
        machine_type: needed(root, "machineType", findings),
        min_cpu_platform: root.text("minCpuPlatform", findings),
        can_ip_forward: root.flag("canIpForward", findings),
        deletion_protection: root.flag("deletionProtection", findings),
        description: root.optional_text("description", findings),
        labels: options::labels(root, findings),
        tags: options::tags(root, findings),
        disks: disks::read(root, findings),
        interfaces: interfaces::read(root, findings),
        scheduling: options::scheduling(root, accelerator.is_some(), findings),
        service_accounts: options::service_accounts(root, findings),
        metadata: options::metadata(root, findings),
        accelerator,
        shielded: options::shielded(root, findings),
        nested_virtualization: options::nested_virtualization(root, findings),
    }
}

fn project(root: &mut Object<'_>, findings: &mut Findings) -> Option<String> {
    let project = root.optional_text("project", findings).filter(|project| !project.is_empty())?;
    if is_project(&project) {
        return Some(project);
    }
    let shown = quoted(&project, 40);
    findings.problem(format!("project must be the id of a project, got {shown:?}"));
    None
}

/// Reads a region or zone, which becomes part of URLs.
fn place(root: &mut Object<'_>, name: &'static str, findings: &mut Findings) -> String {
    let text = needed(root, name, findings);
    if text.is_empty() || is_place(&text) {
        return text;
    }
    let shown = quoted(&text, 40);
    findings.problem(format!("{name} must consist of lower-case letters, digits and hyphens, got {shown:?}"));
    String::new()
}

fn zones(root: &mut Object<'_>, findings: &mut Findings) -> Vec<String> {
    let mut zones = Vec::new();
    for (at, zone) in root.texts(ZONES, findings) {
        if is_place(&zone) {
            zones.push(zone);
        } else {
            let shown = quoted(&zone, 40);
            findings.problem(format!("{at} must be a zone, got {shown:?}"));
        }
    }
    zones
}

/// Reads a text that must not be blank.
fn needed(object: &mut Object<'_>, name: &'static str, findings: &mut Findings) -> String {
    let before = findings.problems.len();
    let text = object.text(name, findings).trim().to_owned();
    if text.is_empty() && findings.problems.len() == before {
        findings.problem(format!("{} is missing", object.path(name)));
    }
    text
}

/// Reads one of some words; empty and absent are none.
fn one_of(
    object: &mut Object<'_>,
    name: &'static str,
    words: &[&str],
    findings: &mut Findings,
) -> Option<String> {
    let text = object.optional_text(name, findings).filter(|text| !text.is_empty())?;
    if !words.contains(&text.as_str()) {
        let shown = quoted(&text, 40);
        findings.problem(format!("{} must be one of {}, got {shown:?}", object.path(name), words.join(", ")));
    }
    Some(text)
}
