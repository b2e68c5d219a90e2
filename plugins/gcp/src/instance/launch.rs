//! The body of a new instance.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::class::spec::{ClassDisk, DiskKind, Interface, Spec};
use crate::gce::credentials::UserData;
use crate::instance::marks::Marks;

/// Returns the body. User data is the first item of the metadata: the grants name its place.
pub(crate) fn body(spec: &Spec, project: &str, zone: &str, marks: &Marks<'_>, user_data: &UserData) -> Value {
    let mut labels = spec.labels.clone();
    add_marks(&mut labels, marks);
    let mut body = json!({
        "name": marks.name,
        "machineType": format!("zones/{zone}/machineTypes/{}", spec.machine_type),
        "canIpForward": spec.can_ip_forward,
        "deletionProtection": spec.deletion_protection,
        "labels": labels,
        "scheduling": scheduling(spec),
        "disks": spec.disks.iter().map(|entry| disk(entry, zone, marks)).collect::<Vec<_>>(),
        "networkInterfaces": spec.interfaces.iter().map(|entry| interface(entry, project, &spec.region)).collect::<Vec<_>>(),
    });
    let mut set = |name: &str, value: Value| body[name] = value;
    if let Some(description) = &spec.description {
        set("description", json!(description));
    }
    if !spec.min_cpu_platform.is_empty() {
        set("minCpuPlatform", json!(spec.min_cpu_platform));
    }
    if !spec.tags.is_empty() {
        set("tags", json!({ "items": spec.tags }));
    }
    let items = metadata(spec, user_data);
    if !items.is_empty() {
        set("metadata", json!({ "items": items }));
    }
    if !spec.service_accounts.is_empty() {
        let accounts = spec.service_accounts.iter();
        let accounts = accounts.map(|account| json!({ "email": account.email, "scopes": account.scopes }));
        set("serviceAccounts", accounts.collect());
    }
    if let Some(gpu) = &spec.accelerator {
        let kind = format!("projects/{project}/zones/{zone}/acceleratorTypes/{}", gpu.kind);
        set("guestAccelerators", json!([{ "acceleratorType": kind, "acceleratorCount": gpu.count }]));
    }
    // An explicit false turns off what Google turns on by default.
    let shielded = flags(&[
        ("enableIntegrityMonitoring", spec.shielded.integrity_monitoring),
        ("enableSecureBoot", spec.shielded.secure_boot),
        ("enableVtpm", spec.shielded.vtpm),
    ]);
    for (name, value) in [
        ("shieldedInstanceConfig", shielded),
        ("advancedMachineFeatures", flags(&[("enableNestedVirtualization", spec.nested_virtualization)])),
    ] {
        if value.as_object().is_some_and(|fields| !fields.is_empty()) {
            set(name, value);
        }
    }
    body
}

/// Whether user data and a field of the class have the same key of the metadata.
pub(crate) fn has_key_twice(spec: &Spec, user_data: &UserData) -> bool {
    !user_data.placeholder.is_empty() && spec.metadata.iter().any(|(key, _)| key == user_data.key)
}

fn metadata(spec: &Spec, user_data: &UserData) -> Vec<Value> {
    let mut items = Vec::new();
    if !user_data.placeholder.is_empty() {
        items.push(json!({ "key": user_data.key, "value": user_data.placeholder }));
    }
    items.extend(
        spec.metadata
            .iter()
            .map(|(key, value)| json!({ "key": key, "value": value.as_deref().unwrap_or_default() })),
    );
    items
}

fn scheduling(spec: &Spec) -> Value {
    let scheduling = &spec.scheduling;
    let mut value = json!({
        "automaticRestart": scheduling.automatic_restart,
        "onHostMaintenance": scheduling.on_host_maintenance,
        "preemptible": scheduling.is_spot(),
    });
    if let Some(model) = &scheduling.provisioning_model {
        value["provisioningModel"] = json!(model);
    }
    if let Some(action) = &scheduling.termination_action {
        value["instanceTerminationAction"] = json!(action);
    }
    value
}

fn disk(disk: &ClassDisk, zone: &str, marks: &Marks<'_>) -> Value {
    let mut parameters = json!({});
    let mut value = json!({ "autoDelete": disk.goes_with_instance(), "boot": disk.is_boot });
    match &disk.kind {
        DiskKind::Scratch { interface } => {
            value["type"] = json!("SCRATCH");
            value["interface"] = json!(interface);
            parameters["diskType"] = json!(format!("zones/{zone}/diskTypes/local-ssd"));
        }
        DiskKind::Persistent { disk_type } => {
            value["type"] = json!("PERSISTENT");
            if !disk_type.is_empty() {
                parameters["diskType"] = json!(format!("zones/{zone}/diskTypes/{disk_type}"));
            }
            for (name, number) in [
                ("diskSizeGb", disk.size_gb),
                ("provisionedIops", disk.iops),
                ("provisionedThroughput", disk.throughput),
            ] {
                if number > 0 {
                    // Google writes numbers of 64 bits as texts.
                    parameters[name] = json!(number.to_string());
                }
            }
            if !disk.image.is_empty() {
                parameters["sourceImage"] = json!(disk.image);
            }
            if let Some(pool) = &disk.storage_pool {
                parameters["storagePool"] = json!(pool);
            }
            let mut labels = disk.labels.clone();
            // Only disks that go with the instance have its marks, so that remains are known and kept disks stay.
            if disk.goes_with_instance() {
                add_marks(&mut labels, marks);
            }
            if !labels.is_empty() {
                parameters["labels"] = json!(labels);
            }
        }
    }
    value["initializeParams"] = parameters;
    if let Some((key, account)) = &disk.kms {
        value["diskEncryptionKey"] = json!({ "kmsKeyName": key });
        if !account.is_empty() {
            value["diskEncryptionKey"]["kmsKeyServiceAccount"] = json!(account);
        }
    }
    value
}

fn interface(interface: &Interface, project: &str, region: &str) -> Value {
    let mut value = json!({});
    for (name, resource, folder) in [
        ("network", &interface.network, "global/networks".to_owned()),
        ("subnetwork", &interface.subnetwork, format!("regions/{region}/subnetworks")),
    ] {
        if resource.contains('/') {
            // A path, such as that of a shared network of another project.
            value[name] = json!(resource);
        } else if !resource.is_empty() {
            value[name] = json!(format!("projects/{project}/{folder}/{resource}"));
        }
    }
    if interface.has_external_ip {
        value["accessConfigs"] = json!([{}]);
    }
    if interface.is_dual_stack || interface.has_alias {
        if let Some(stack) = &interface.stack_type {
            value["stackType"] = json!(stack);
        }
        if !interface.cidr_range.is_empty() {
            let mut range = json!({ "ipCidrRange": interface.cidr_range });
            if !interface.range_name.is_empty() {
                range["subnetworkRangeName"] = json!(interface.range_name);
            }
            value["aliasIpRanges"] = json!([range]);
        }
    }
    // The access type itself is inherited from the subnetwork, and Google only shows it. An address outside needs this.
    if interface.is_dual_stack && interface.has_external_ipv6 {
        value["ipv6AccessConfigs"] = json!([{ "type": "DIRECT_IPV6", "networkTier": "PREMIUM" }]);
    }
    value
}

fn add_marks(labels: &mut BTreeMap<String, String>, marks: &Marks<'_>) {
    for (key, value) in marks.own_labels() {
        labels.insert(key.to_owned(), value.to_owned());
    }
}

fn flags(flags: &[(&str, Option<bool>)]) -> Value {
    let mut value = json!({});
    for (name, flag) in flags {
        if let Some(flag) = flag {
            value[*name] = json!(flag);
        }
    }
    value
}
