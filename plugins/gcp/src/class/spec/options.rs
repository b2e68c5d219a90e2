//! Scheduling, metadata, labels, tags, accelerators, service accounts, shielded VMs.

use std::collections::BTreeMap;

use machinist_sdk::driver::quoted_up_to as quoted;

use super::{needed, one_of};
use crate::class::lenient::{Findings, Object};
use crate::names::{CLUSTER_LABEL, CLUSTER_TAG, ROLE_TAG, UID_LABEL, is_name};

/// Google takes 64 labels, and the driver needs two.
const MOST_LABELS: usize = 64 - 2;
/// A machine has 16 of them at most; the rest is for machines to come.
const MOST_ACCELERATORS: i64 = 1_000;
const LABEL_CHARACTERS: usize = 63;
/// The key of metadata under which the driver puts user data.
const USER_DATA: &str = "user-data";

/// How an instance is scheduled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scheduling {
    pub(crate) on_host_maintenance: String,
    pub(crate) automatic_restart: bool,
    pub(crate) preemptible: bool,
    pub(crate) provisioning_model: Option<String>,
    /// The end of a spot VM that is taken away: stopped or deleted.
    pub(crate) termination_action: Option<String>,
}

impl Scheduling {
    /// Whether Google may take the instance away at any time.
    pub(crate) fn is_spot(&self) -> bool {
        self.preemptible || self.provisioning_model.as_deref() == Some("SPOT")
    }
}

/// Accelerators that are attached to an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Accelerator {
    pub(crate) kind: String,
    pub(crate) count: i64,
}

/// A service account of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServiceAccount {
    pub(crate) email: String,
    pub(crate) scopes: Vec<String>,
}

/// A shielded VM. `None`: Google's default, which is not false for all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shielded {
    pub(crate) integrity_monitoring: Option<bool>,
    pub(crate) secure_boot: Option<bool>,
    pub(crate) vtpm: Option<bool>,
}

pub(super) fn scheduling(
    root: &mut Object<'_>,
    has_accelerator: bool,
    findings: &mut Findings,
) -> Scheduling {
    let Some(mut object) = root.object("scheduling", findings) else {
        findings.problem("scheduling is missing: set at least onHostMaintenance");
        return Scheduling::default();
    };
    let before = findings.problems.len();
    let wanted = one_of(&mut object, "onHostMaintenance", &["MIGRATE", "TERMINATE"], findings);
    if wanted.is_none() && findings.problems.len() == before {
        findings.problem("scheduling.onHostMaintenance is missing: set MIGRATE or TERMINATE");
    }
    let mut scheduling = Scheduling {
        on_host_maintenance: wanted.unwrap_or_default(),
        automatic_restart: object.flag("automaticRestart", findings),
        preemptible: object.flag("preemptible", findings),
        provisioning_model: one_of(&mut object, "provisioningModel", &["STANDARD", "SPOT"], findings),
        termination_action: one_of(&mut object, "instanceTerminationAction", &["STOP", "DELETE"], findings),
    };
    if scheduling.preemptible && scheduling.provisioning_model.as_deref() == Some("STANDARD") {
        findings.problem("scheduling.provisioningModel STANDARD contradicts preemptible: remove one of them");
    }
    if scheduling.termination_action.is_some() && !scheduling.is_spot() {
        findings.problem("scheduling.instanceTerminationAction needs provisioningModel SPOT");
    }
    if scheduling.is_spot() && scheduling.automatic_restart {
        findings.warning("scheduling.automaticRestart has no effect: Google does not restart spot VMs");
        scheduling.automatic_restart = false;
    }
    if (scheduling.is_spot() || has_accelerator) && scheduling.on_host_maintenance == "MIGRATE" {
        findings.warning("scheduling.onHostMaintenance MIGRATE counts as TERMINATE: Google migrates neither spot VMs nor VMs with accelerators");
        "TERMINATE".clone_into(&mut scheduling.on_host_maintenance);
    }
    object.finish(findings);
    scheduling
}

pub(super) fn accelerator(root: &mut Object<'_>, findings: &mut Findings) -> Option<Accelerator> {
    let mut object = root.object("gpu", findings)?;
    let accelerator = Accelerator {
        kind: needed(&mut object, "acceleratorType", findings),
        count: object.number("count", findings),
    };
    if !(1..=MOST_ACCELERATORS).contains(&accelerator.count) {
        findings.problem(format!("gpu.count must be 1 to {MOST_ACCELERATORS}, got {}", accelerator.count));
    }
    object.finish(findings);
    Some(accelerator)
}

pub(super) fn service_accounts(root: &mut Object<'_>, findings: &mut Findings) -> Vec<ServiceAccount> {
    let mut accounts = Vec::new();
    for (at, entry) in root.list("serviceAccounts", findings) {
        let mut object = Object::entry(at, entry, findings);
        let scopes = object.texts("scopes", findings);
        accounts.push(ServiceAccount {
            email: object.text("email", findings),
            scopes: scopes.into_iter().map(|(_, scope)| scope).collect(),
        });
        object.finish(findings);
    }
    accounts
}

pub(super) fn metadata(root: &mut Object<'_>, findings: &mut Findings) -> Vec<(String, Option<String>)> {
    let mut items: Vec<(String, Option<String>)> = Vec::new();
    for (at, entry) in root.list("metadata", findings) {
        let mut object = Object::entry(at, entry, findings);
        let key = needed(&mut object, "key", findings);
        let path = object.path("key");
        if key == USER_DATA {
            findings
                .problem(format!("{path} must not be {USER_DATA}: put the data into userData of the Secret"));
        } else if items.iter().any(|(known, _)| *known == key) {
            findings.problem(format!("{path} {} is there twice", quoted(&key, 40)));
        }
        items.push((key, object.optional_text("value", findings)));
        object.finish(findings);
    }
    items
}

pub(super) fn shielded(root: &mut Object<'_>, findings: &mut Findings) -> Shielded {
    let Some(mut object) = root.object("shieldedInstanceConfiguration", findings) else {
        return Shielded::default();
    };
    let shielded = Shielded {
        integrity_monitoring: object.optional_flag("integrityMonitoring", findings),
        secure_boot: object.optional_flag("secureBoot", findings),
        vtpm: object.optional_flag("vtpm", findings),
    };
    object.finish(findings);
    shielded
}

pub(super) fn nested_virtualization(root: &mut Object<'_>, findings: &mut Findings) -> Option<bool> {
    let mut object = root.object("advancedMachineFeatures", findings)?;
    let flag = object.optional_flag("enableNestedVirtualization", findings);
    object.finish(findings);
    flag
}

/// Reads labels, with the rules of Google, so that the class is refused and not each of its instances.
pub(super) fn labels(object: &mut Object<'_>, findings: &mut Findings) -> BTreeMap<String, String> {
    let mut labels = object.map("labels", findings);
    let path = object.path("labels");
    for own in [CLUSTER_LABEL, UID_LABEL] {
        if labels.remove(own).is_some() {
            findings.warning(format!("{path}[{own:?}] belongs to the driver and is ignored"));
        }
    }
    if labels.len() > MOST_LABELS {
        findings.problem(format!("{path} has {} entries, at most {MOST_LABELS} are possible", labels.len()));
    }
    for (key, value) in &labels {
        let starts = key.chars().next().is_some_and(|char| char.is_alphabetic() && !char.is_uppercase());
        if !starts || !is_label(key) || !is_label(value) {
            let (key, value) = (quoted(key, 70), quoted(value, 70));
            findings.problem(format!(
                "{path}[{key:?}] with the value {value:?} is no label of Google: lower-case letters, digits, - and _, at \
                 most {LABEL_CHARACTERS} characters, and the key begins with a letter"
            ));
        }
    }
    labels
}

fn is_label(text: &str) -> bool {
    let fits = |char: char| (char.is_alphanumeric() && !char.is_uppercase()) || char == '-' || char == '_';
    text.chars().count() <= LABEL_CHARACTERS && text.chars().all(fits)
}

/// Reads network tags. Without the tags of cluster and role the class works, since the driver's marks are labels.
pub(super) fn tags(root: &mut Object<'_>, findings: &mut Findings) -> Vec<String> {
    let mut tags = Vec::new();
    for (at, tag) in root.texts("tags", findings) {
        if is_name(&tag) {
            tags.push(tag);
        } else {
            let shown = quoted(&tag, 70);
            findings.problem(format!(
                "{at} {shown:?} is no network tag: lower-case letters, digits and hyphens, at most 63 characters"
            ));
        }
    }
    for part in [CLUSTER_TAG, ROLE_TAG] {
        if !tags.iter().any(|tag| tag.contains(part)) {
            findings
                .warning(format!("no tag contains {part}: firewall rules and other programs may need it"));
        }
    }
    tags
}
