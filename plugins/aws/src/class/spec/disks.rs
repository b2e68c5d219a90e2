//! The volumes of a launch.

use std::collections::BTreeSet;

use machinist_sdk::driver::quoted_up_to as quoted;

use super::{needed, one_of};
use crate::class::lenient::{Findings, Object};

/// The name that means the image's own root device.
const ROOT: &str = "/root";
const VOLUME_TYPES: [&str; 7] = ["gp2", "gp3", "io1", "io2", "st1", "sc1", "standard"];
/// Volume types that need `iops`.
const PROVISIONED: [&str; 2] = ["io1", "io2"];

/// A volume of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Disk {
    /// `None`: the image's root device.
    pub(crate) device: Option<String>,
    pub(crate) kind: String,
    pub(crate) size_gib: i32,
    pub(crate) iops: i32,
    pub(crate) throughput: Option<i32>,
    pub(crate) is_encrypted: bool,
    pub(crate) goes_with_instance: bool,
    pub(crate) snapshot: Option<String>,
    /// Only for an encrypted volume.
    pub(crate) kms_key: Option<String>,
}

pub(super) fn read(root: &mut Object<'_>, findings: &mut Findings) -> Vec<Disk> {
    let before = findings.problems.len();
    let entries = root.list("blockDevices", findings);
    if entries.is_empty() && findings.problems.len() == before {
        findings.problem("blockDevices is missing");
    }
    let is_only = entries.len() == 1;
    let mut names = BTreeSet::new();
    let mut roots = 0;
    let mut disks = Vec::new();
    for (at, entry) in entries {
        let mut object = Object::entry(at, entry, findings);
        let name = object.text("deviceName", findings);
        for unused in ["noDevice", "virtualName"] {
            if !object.text(unused, findings).is_empty() {
                findings.warning(format!("{} has no effect", object.path(unused)));
            }
        }
        let is_root = is_only || name == ROOT;
        if !is_only {
            let path = object.path("deviceName");
            if !is_root && !is_device(&name) {
                let got = quoted(&name, 40);
                findings.problem(format!(
                    "{path} must be {ROOT}, /dev/sd[a-z] or /dev/xvd[a-c][a-z], got {got:?}"
                ));
            } else if !names.insert(name.clone()) {
                findings.problem(format!("{path} {name} is there twice"));
            }
            roots += usize::from(name == ROOT);
        }
        let mut ebs = object.object("ebs", findings);
        let path = object.path("ebs");
        match &mut ebs {
            Some(ebs) => disks.push(disk(ebs, (!is_root).then_some(name), findings)),
            None => findings.problem(format!("{path} is missing")),
        }
        if let Some(ebs) = ebs {
            ebs.finish(findings);
        }
        object.finish(findings);
    }
    if !is_only && !names.is_empty() && roots == 0 {
        findings
            .problem(format!("blockDevices has no deviceName {ROOT}: with several devices, one is the root"));
    }
    disks
}

fn disk(ebs: &mut Object<'_>, device: Option<String>, findings: &mut Findings) -> Disk {
    let kind = needed(ebs, "volumeType", findings);
    if !kind.is_empty() {
        one_of(ebs, "volumeType", &VOLUME_TYPES, findings);
    }
    let size_gib = ebs.number("volumeSize", findings);
    if size_gib <= 0 {
        findings.problem(format!("{} must be more than 0 (GiB), got {size_gib}", ebs.path("volumeSize")));
    }
    let iops = ebs.number("iops", findings);
    if iops < 0 {
        findings.problem(format!("{} must not be negative, got {iops}", ebs.path("iops")));
    } else if iops == 0 && PROVISIONED.contains(&kind.as_str()) {
        findings.problem(format!("{} is missing: volumeType {kind} needs it", ebs.path("iops")));
    }
    let throughput = ebs.optional_number("throughput", findings);
    if let Some(wrong) = throughput.filter(|throughput| *throughput <= 0) {
        findings.problem(format!("{} must be more than 0, got {wrong}", ebs.path("throughput")));
    }
    let is_encrypted = ebs.flag("encrypted", findings);
    let set = |text: Option<String>| text.filter(|text| !text.is_empty());
    let kms_key = set(ebs.optional_text("kmsKeyID", findings));
    if kms_key.is_some() && !is_encrypted {
        findings.warning(format!("{} has no effect unless encrypted is true", ebs.path("kmsKeyID")));
    }
    Disk {
        device,
        kind,
        size_gib,
        iops,
        throughput,
        is_encrypted,
        goes_with_instance: ebs.optional_flag("deleteOnTermination", findings).unwrap_or(true),
        snapshot: set(ebs.optional_text("snapshotID", findings)),
        kms_key: kms_key.filter(|_| is_encrypted),
    }
}

/// True for `/dev/sd[a-z]` and `/dev/xvd[a-c][a-z]?`.
fn is_device(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("/dev/") else { return false };
    let letters = |text: &str| text.bytes().all(|byte| byte.is_ascii_lowercase());
    if let Some(letter) = rest.strip_prefix("sd") {
        return letter.len() == 1 && letters(letter);
    }
    rest.strip_prefix("xvd").is_some_and(|rest| {
        (1..=2).contains(&rest.len()) && letters(rest) && rest.starts_with(['a', 'b', 'c'])
    })
}

#[cfg(test)]
mod tests {
    use super::is_device;

    #[test]
    fn device_names_are_those_that_ec2_takes() {
        for name in ["/dev/sda", "/dev/sdz", "/dev/xvda", "/dev/xvdc", "/dev/xvdba", "/dev/xvdcz"] {
            assert!(is_device(name), "{name}");
        }
        for name in [
            "", "sda", "/dev/sd", "/dev/sd1", "/dev/sdaa", "/dev/sdA", "/dev/xvd", "/dev/xvdd",
            "/dev/xvdaaa", "/dev/nvme0",
        ] {
            assert!(!is_device(name), "{name}");
        }
    }
}
