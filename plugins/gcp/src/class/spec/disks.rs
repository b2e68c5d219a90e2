//! The disks of an instance.

use std::collections::BTreeMap;

use super::{needed, one_of, options};
use crate::class::lenient::{Findings, Object};

const SCRATCH: &str = "SCRATCH";

/// The two kinds of disks that Google knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DiskKind {
    /// A local SSD with its interface. It goes with the instance.
    Scratch {
        interface: String,
    },
    Persistent {
        disk_type: String,
    },
}

/// A disk of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClassDisk {
    pub(crate) kind: DiskKind,
    pub(crate) is_boot: bool,
    pub(crate) image: String,
    /// 0: the size of the image.
    pub(crate) size_gb: i64,
    /// `None`: the class says nothing, and the disk goes with the instance.
    pub(crate) auto_delete: Option<bool>,
    pub(crate) labels: BTreeMap<String, String>,
    /// 0: the default of the type.
    pub(crate) iops: i64,
    pub(crate) throughput: i64,
    pub(crate) storage_pool: Option<String>,
    /// Key and its service account, which may be empty.
    pub(crate) kms: Option<(String, String)>,
}

impl ClassDisk {
    /// Whether the disk is removed with its instance.
    pub(crate) fn goes_with_instance(&self) -> bool {
        self.auto_delete.unwrap_or(true)
    }
}

/// Reads the disks, the boot disk first: Google takes them in this order only.
pub(super) fn read(root: &mut Object<'_>, findings: &mut Findings) -> Vec<ClassDisk> {
    let before = findings.problems.len();
    let entries = root.list("disks", findings);
    if entries.is_empty() && findings.problems.len() == before {
        findings.problem("disks is missing");
    }
    let is_given = !entries.is_empty();
    let mut disks = Vec::new();
    for (at, entry) in entries {
        let mut object = Object::entry(at, entry, findings);
        disks.push(disk(&mut object, findings));
        object.finish(findings);
    }
    match disks.iter().filter(|disk| disk.is_boot).count() {
        0 if is_given => findings.problem("disks has no boot disk: set boot: true on one"),
        0 | 1 => {}
        _ => findings.problem("disks has several boot disks: set boot: true on one only"),
    }
    disks.sort_by_key(|disk| !disk.is_boot);
    disks
}

fn disk(object: &mut Object<'_>, findings: &mut Findings) -> ClassDisk {
    let disk_type = object.text("type", findings);
    let is_scratch = disk_type == SCRATCH;
    let interface = one_of(object, "interface", &["NVME", "SCSI"], findings);
    if is_scratch && interface.is_none() {
        findings.problem(format!("{} is missing: a local SSD needs NVME or SCSI", object.path("interface")));
    }
    let wants_boot = object.flag("boot", findings);
    if is_scratch && wants_boot {
        findings.warning(format!("{} has no effect on a local SSD", object.path("boot")));
    }
    let is_boot = wants_boot && !is_scratch;
    let image = object.text("image", findings).trim().to_owned();
    if is_boot && image.is_empty() {
        findings.problem(format!("{} is missing: the boot disk needs an image", object.path("image")));
    }
    let size_gb = not_negative(object, "sizeGb", findings);
    let auto_delete = object.optional_flag("autoDelete", findings);
    if is_scratch && auto_delete == Some(false) {
        findings.warning(format!("{} has no effect on a local SSD", object.path("autoDelete")));
    }
    ClassDisk {
        kind: match is_scratch {
            true => DiskKind::Scratch { interface: interface.unwrap_or_default() },
            false => DiskKind::Persistent { disk_type },
        },
        is_boot,
        image,
        size_gb,
        auto_delete: auto_delete.filter(|_| !is_scratch),
        labels: options::labels(object, findings),
        iops: not_negative(object, "provisionedIops", findings),
        throughput: not_negative(object, "provisionedThroughput", findings),
        storage_pool: object.optional_text("storagePool", findings).filter(|pool| !pool.is_empty()),
        kms: encryption(object, findings),
    }
}

fn encryption(object: &mut Object<'_>, findings: &mut Findings) -> Option<(String, String)> {
    let mut encryption = object.object("encryption", findings)?;
    let key = needed(&mut encryption, "kmsKeyName", findings);
    let account = encryption.text("kmsKeyServiceAccount", findings);
    if !account.is_empty() && account.trim().is_empty() {
        findings.problem(format!("{} is blank", encryption.path("kmsKeyServiceAccount")));
    }
    encryption.finish(findings);
    Some((key, account))
}

fn not_negative(object: &mut Object<'_>, name: &'static str, findings: &mut Findings) -> i64 {
    let number = object.number(name, findings);
    if number < 0 {
        findings.problem(format!("{} must not be negative, got {number}", object.path(name)));
    }
    number
}
