//! Checks a new instance as Google does, and creates it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::operations::Work;
use super::{Cloud, Instance, Key, Outcome, ROOT, timestamp};
use crate::discovery::{Call, full_match};
use crate::wire::ApiError;

const LABEL_KEY: &str = "[\\p{Ll}\\p{Lo}][\\p{Ll}\\p{Lo}\\p{N}_-]{0,62}";
const LABEL_VALUE: &str = "[\\p{Ll}\\p{Lo}\\p{N}_-]{0,63}";
const METADATA_KEY: &str = "[a-zA-Z0-9-_]{1,128}";
const MOST_VALUE_BYTES: usize = 262_144;
const MOST_METADATA_BYTES: usize = 524_288;
const NO_CAPACITY: &str = "ZONE_RESOURCE_POOL_EXHAUSTED";

impl Cloud {
    pub(super) fn insert(&mut self, call: &Call<'_>, body: &Value) -> Outcome {
        if let Some(known) = self.repeated(call, body)? {
            return Ok(known);
        }
        let zone = &call.parameters["zone"];
        let name = body["name"].as_str().unwrap_or_default();
        let key: Key = (zone.clone(), name.to_owned());
        if self.instances.contains_key(&key) {
            let resource = format!("projects/{}/zones/{zone}/instances/{name}", self.config.project);
            return Err(ApiError::new(
                409,
                "alreadyExists",
                format!("The resource '{resource}' already exists"),
            ));
        }
        self.check_instance(zone, body)?;
        let resource = self.resource(zone, body);
        let target_id = resource["id"].as_str().and_then(|id| id.parse().ok()).unwrap_or_default();
        let disks = self.make_disks(zone, name, body);
        let instance = Instance { resource, insert: key.clone(), delete: None, disks, resets: 0 };
        let taken = self.taken_disk(&instance);
        let is_over_quota = self.instances.len() >= self.config.most_instances;
        let uid = body["labels"]["machinist-machine-uid"].as_str().unwrap_or_default().to_owned();
        self.instances.insert(key.clone(), instance);
        let answer = self.begin(call, body, Work::Insert(key.clone()), ("instances", name, target_id));
        let operation: Key = (zone.clone(), answer["name"].as_str().unwrap_or_default().to_owned());
        if let Some(instance) = self.instances.get_mut(&key) {
            instance.insert = operation.clone();
        }
        let failure = self.failing.take().or_else(|| {
            if let Some(disk) = taken {
                return Some(("RESOURCE_ALREADY_EXISTS".to_owned(), format!("The resource 'projects/{}/zones/{zone}/disks/{disk}' already exists", self.config.project)));
            }
            if is_over_quota {
                return Some((
                    "QUOTA_EXCEEDED".to_owned(),
                    format!("Quota 'INSTANCES' exceeded.  Limit: {}.0 in region europe-west1.", self.config.most_instances),
                ));
            }
            self.full_zones.contains(zone).then(|| {
                let text = format!(
                    "The zone 'projects/{}/zones/{zone}' does not have enough resources available to fulfill the \
                     request.  Try a different zone, or try again later.",
                    self.config.project
                );
                (NO_CAPACITY.to_owned(), text)
            })
        });
        match failure {
            Some((code, message)) => self.fail(&operation, &code, &message),
            None => self.count(&uid),
        }
        // An operation without time has ended before it could fail.
        let known = self.operations[&operation].clone();
        if known.is_done && known.error.is_some() {
            self.remove_instance(&key, true);
        }
        Ok(self.operations[&operation].resource(self))
    }

    fn taken_disk(&mut self, instance: &Instance) -> Option<String> {
        let prefix = |key: &Key| key.1.trim_end_matches("+new").to_owned();
        let taken =
            instance.disks.iter().find(|(key, _)| key.1.ends_with("+new")).map(|(key, _)| prefix(key));
        if taken.is_some() {
            for (key, _) in &instance.disks {
                if key.1.ends_with("+new") {
                    self.disks.remove(key);
                }
            }
        }
        taken
    }

    fn check_instance(&self, zone: &str, body: &Value) -> Result<(), ApiError> {
        self.check_machine_type(zone, body)?;
        self.check_disks(zone, body)?;
        self.check_interfaces(zone, body)?;
        check_scheduling(body)?;
        check_labels(&body["labels"], "resource.labels")?;
        check_metadata(body)?;
        for (index, accelerator) in list(&body["guestAccelerators"]).iter().enumerate() {
            let kind = text(&accelerator["acceleratorType"]);
            let name = kind.rsplit('/').next().unwrap_or_default();
            if !kind.ends_with(&format!("zones/{zone}/acceleratorTypes/{name}"))
                || !self.config.accelerator_types.iter().any(|known| known == name)
            {
                return Err(invalid(
                    &format!("guestAccelerators[{index}].acceleratorType"),
                    kind,
                    "The referenced resource does not exist.",
                ));
            }
        }
        Ok(())
    }

    fn check_machine_type(&self, zone: &str, body: &Value) -> Result<(), ApiError> {
        let url = text(&body["machineType"]);
        if url.is_empty() {
            return Err(invalid("machineType", url, "The field is required."));
        }
        let name = url.rsplit('/').next().unwrap_or_default();
        if !url.ends_with(&format!("zones/{zone}/machineTypes/{name}")) {
            return Err(invalid("machineType", url, "The URL is malformed, or of another zone."));
        }
        if self.config.machine_type(zone, name).is_none() {
            return Err(ApiError::invalid(format!(
                "Invalid value for field 'resource.machineType': '{url}'. Machine type with name '{name}' does not exist in zone '{zone}'."
            )));
        }
        Ok(())
    }

    fn check_disks(&self, zone: &str, body: &Value) -> Result<(), ApiError> {
        let disks = list(&body["disks"]);
        if disks.is_empty() {
            return Err(ApiError::invalid(
                "Invalid value for field 'resource.disks': ''. At least one disk is required.",
            ));
        }
        for (index, disk) in disks.iter().enumerate() {
            let at = |name: &str| format!("disks[{index}].{name}");
            let parameters = &disk["initializeParams"];
            let is_boot = disk["boot"] == true;
            if is_boot != (index == 0) {
                return Err(invalid(
                    &at("boot"),
                    &is_boot.to_string(),
                    "Boot disk must be the first disk attached to the instance.",
                ));
            }
            let kind = text(&parameters["diskType"]);
            let name = kind.rsplit('/').next().unwrap_or_default();
            let is_scratch = disk["type"] == "SCRATCH";
            if !kind.is_empty() {
                let is_known = self.config.disk_types.iter().any(|known| known == name)
                    && (name == "local-ssd") == is_scratch;
                if !kind.ends_with(&format!("zones/{zone}/diskTypes/{name}")) || !is_known {
                    return Err(invalid(
                        &at("initializeParams.diskType"),
                        kind,
                        "The referenced diskType resource cannot be found.",
                    ));
                }
            }
            if is_scratch {
                if disk["interface"].is_null() || disk["autoDelete"] != true || is_boot {
                    return Err(invalid(
                        &at("type"),
                        "SCRATCH",
                        "A local SSD needs an interface and autoDelete, and cannot be the boot disk.",
                    ));
                }
                continue;
            }
            let image = text(&parameters["sourceImage"]);
            if is_boot && image.is_empty() {
                return Err(invalid(
                    &at("initializeParams.sourceImage"),
                    "",
                    "The boot disk needs an image.",
                ));
            }
            let path = image.split_once("/compute/v1/").map_or(image, |(_, path)| path);
            if !image.is_empty() && !self.config.images.iter().any(|known| known == path) {
                return Err(ApiError::not_found(path));
            }
            check_labels(&parameters["labels"], &format!("resource.{}", at("initializeParams.labels")))?;
        }
        Ok(())
    }

    fn check_interfaces(&self, zone: &str, body: &Value) -> Result<(), ApiError> {
        let interfaces = list(&body["networkInterfaces"]);
        if interfaces.is_empty() {
            return Err(ApiError::invalid(
                "Invalid value for field 'resource.networkInterfaces': ''. At least one network interface is required.",
            ));
        }
        let region = zone.rsplit_once('-').map_or(zone, |(region, _)| region);
        for (index, interface) in interfaces.iter().enumerate() {
            let at = |name: &str| format!("networkInterfaces[{index}].{name}");
            let (network, subnetwork) = (text(&interface["network"]), text(&interface["subnetwork"]));
            let name = |url: &str| url.rsplit('/').next().unwrap_or_default().to_owned();
            if !network.is_empty()
                && (!network.contains("global/networks/") || !self.config.networks.contains(&name(network)))
            {
                return Err(invalid(
                    &at("network"),
                    network,
                    "The referenced network resource cannot be found.",
                ));
            }
            if !subnetwork.is_empty()
                && (!subnetwork.contains(&format!("regions/{region}/subnetworks/"))
                    || !self.config.subnetworks.contains(&name(subnetwork)))
            {
                return Err(invalid(
                    &at("subnetwork"),
                    subnetwork,
                    "The referenced subnetwork resource cannot be found.",
                ));
            }
            if network.is_empty() && subnetwork.is_empty() {
                return Err(invalid(
                    &at("network"),
                    "",
                    "At least one of network and subnetwork must be specified.",
                ));
            }
            for (range, alias) in list(&interface["aliasIpRanges"]).iter().enumerate() {
                let cidr = text(&alias["ipCidrRange"]);
                if !full_match("(?:[0-9.]+)?/[0-9]{1,2}|[0-9.]+", cidr) {
                    return Err(invalid(
                        &at(&format!("aliasIpRanges[{range}].ipCidrRange")),
                        cidr,
                        "Invalid IP CIDR range.",
                    ));
                }
            }
            for (number, access) in list(&interface["ipv6AccessConfigs"]).iter().enumerate() {
                if access["type"] != "DIRECT_IPV6" || interface["stackType"] != "IPV4_IPV6" {
                    return Err(invalid(
                        &at(&format!("ipv6AccessConfigs[{number}]")),
                        "",
                        "It needs type DIRECT_IPV6 and stackType IPV4_IPV6.",
                    ));
                }
            }
        }
        Ok(())
    }

    fn resource(&mut self, zone: &str, body: &Value) -> Value {
        let id = self.number();
        let name = text(&body["name"]).to_owned();
        let mut resource = body.clone();
        let project = self.config.project.clone();
        let own = json!({
            "kind": "compute#instance",
            "id": id.to_string(),
            "creationTimestamp": timestamp(self.now_ms()),
            "zone": format!("{ROOT}projects/{project}/zones/{zone}"),
            "machineType": format!("{ROOT}projects/{project}/zones/{zone}/machineTypes/{}", text(&body["machineType"]).rsplit('/').next().unwrap_or_default()),
            "selfLink": self.url(zone, "instances", &name),
            "status": "PROVISIONING",
            "cpuPlatform": "Intel Haswell",
            "labelFingerprint": fingerprint(&body["labels"]),
            "startRestricted": false,
        });
        for (name, value) in own.as_object().into_iter().flatten() {
            resource[name.as_str()] = value.clone();
        }
        for part in ["metadata", "tags"] {
            let fingerprint = fingerprint(&resource[part]);
            if resource[part].is_null() {
                resource[part] = json!({});
            }
            resource[part]["fingerprint"] = json!(fingerprint);
        }
        resource["metadata"]["kind"] = json!("compute#metadata");
        let third = self.serial % 250 + 2;
        if let Some(interfaces) = resource["networkInterfaces"].as_array_mut() {
            for (index, interface) in interfaces.iter_mut().enumerate() {
                interface["kind"] = json!("compute#networkInterface");
                interface["name"] = json!(format!("nic{index}"));
                interface["networkIP"] = json!(format!("10.{index}.{}.{third}", self.serial / 250 % 250));
                for access in entries(interface, "accessConfigs") {
                    access["kind"] = json!("compute#accessConfig");
                    access["type"] = json!("ONE_TO_ONE_NAT");
                    access["natIP"] = json!(format!("203.0.113.{third}"));
                }
                for access in entries(interface, "ipv6AccessConfigs") {
                    access["externalIpv6"] = json!(format!("2001:db8:{third:x}::1"));
                }
            }
        }
        resource
    }

    /// Creates the disks, and writes into the resource where they are.
    fn make_disks(&mut self, zone: &str, name: &str, body: &Value) -> Vec<(Key, bool)> {
        let mut made = Vec::new();
        for (index, disk) in list(&body["disks"]).iter().enumerate() {
            if disk["type"] == "SCRATCH" {
                continue;
            }
            let parameters = &disk["initializeParams"];
            let own = if index == 0 { name.to_owned() } else { format!("{name}-{index}") };
            let disk_name = parameters["diskName"].as_str().map_or(own, str::to_owned);
            let id = self.number();
            let resource = json!({
                "kind": "compute#disk",
                "id": id.to_string(),
                "name": disk_name,
                "zone": format!("{ROOT}projects/{}/zones/{zone}", self.config.project),
                "status": "READY",
                "sizeGb": parameters["diskSizeGb"].as_str().map_or("10".to_owned(), str::to_owned),
                "labels": if parameters["labels"].is_null() { json!({}) } else { parameters["labels"].clone() },
                "labelFingerprint": fingerprint(&parameters["labels"]),
                "creationTimestamp": timestamp(self.now_ms()),
                "selfLink": self.url(zone, "disks", &disk_name),
                "users": [self.url(zone, "instances", name)],
            });
            let mut key = (zone.to_owned(), disk_name);
            if self.disks.contains_key(&key) {
                key.1.push_str("+new");
            }
            self.disks.insert(key.clone(), resource);
            made.push((key, disk["autoDelete"] == true));
        }
        made
    }
}

fn check_scheduling(body: &Value) -> Result<(), ApiError> {
    let scheduling = &body["scheduling"];
    let is_spot = scheduling["preemptible"] == true || scheduling["provisioningModel"] == "SPOT";
    // Google restarts automatically unless the request says otherwise.
    if is_spot && scheduling["automaticRestart"] != false {
        return Err(ApiError::invalid(
            "Invalid value for field 'resource.scheduling': ''. Scheduling must have preemptible be false when AutomaticRestart is true.",
        ));
    }
    if is_spot && scheduling["onHostMaintenance"] == "MIGRATE" {
        return Err(ApiError::invalid(
            "Invalid value for field 'resource.scheduling.onHostMaintenance': 'MIGRATE'. Scheduling must have preemptible be false when OnHostMaintenance isn't TERMINATE.",
        ));
    }
    if !list(&body["guestAccelerators"]).is_empty() && scheduling["onHostMaintenance"] != "TERMINATE" {
        return Err(ApiError::invalid("Instances with guest accelerators do not support live migration."));
    }
    Ok(())
}

pub(super) fn check_labels(labels: &Value, at: &str) -> Result<(), ApiError> {
    let labels = labels.as_object();
    if labels.is_some_and(|labels| labels.len() > 64) {
        return Err(ApiError::invalid(format!(
            "Invalid value for field '{at}': ''. At most 64 labels are allowed."
        )));
    }
    for (key, value) in labels.into_iter().flatten() {
        let value = text(value);
        if !full_match(LABEL_KEY, key) || !full_match(LABEL_VALUE, value) {
            return Err(ApiError::invalid(format!(
                "Invalid value for field '{at}': ''. Label key '{key}' or value '{value}' violates format constraints. The key must start with a lowercase character, can only contain lowercase letters, numeric characters, underscores and dashes. The key can be at most 63 characters long."
            )));
        }
    }
    Ok(())
}

fn check_metadata(body: &Value) -> Result<(), ApiError> {
    let mut keys = BTreeSet::new();
    let mut bytes = 0;
    for (index, item) in list(&body["metadata"]["items"]).iter().enumerate() {
        let (key, value) = (text(&item["key"]), text(&item["value"]));
        let at = format!("metadata.items[{index}].key");
        if !full_match(METADATA_KEY, key) {
            return Err(invalid(&at, key, "Must be a match of regex '[a-zA-Z0-9-_]{1,128}'"));
        }
        if !keys.insert(key.to_owned()) {
            return Err(invalid(&at, key, "Duplicate metadata key."));
        }
        if value.len() > MOST_VALUE_BYTES {
            return Err(ApiError::invalid(format!(
                "Invalid value for field 'resource.metadata.items[{index}].value': 'PART OF IT'. Value is too large: maximum size is {MOST_VALUE_BYTES} bytes."
            )));
        }
        bytes += key.len() + value.len();
    }
    if bytes > MOST_METADATA_BYTES {
        return Err(ApiError::invalid(
            "Invalid value for field 'resource.metadata': ''. The metadata is too large.",
        ));
    }
    Ok(())
}

pub(super) fn fingerprint(value: &Value) -> String {
    use base64::Engine as _;
    use sha2::Digest as _;
    let digest = sha2::Sha256::digest(value.to_string().as_bytes());
    base64::engine::general_purpose::STANDARD.encode(&digest[..8])
}

fn invalid(field: &str, value: &str, what: &str) -> ApiError {
    ApiError::invalid(format!("Invalid value for field 'resource.{field}': '{value}'. {what}"))
}

/// Returns the entries of a list, if it is there: an index would create it.
fn entries<'a>(value: &'a mut Value, name: &str) -> impl Iterator<Item = &'a mut Value> {
    value.get_mut(name).and_then(Value::as_array_mut).into_iter().flatten()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
