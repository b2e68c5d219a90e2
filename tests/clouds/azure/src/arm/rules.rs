//! The rules by which Azure refuses a VM.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::cloud::Cloud;
use crate::options::{ImageOffer, Size};
use crate::state::{Key, Kind, Resource, State};
use crate::wire::{Response, error, error_at};

/// Custom data: 64 KiB, before base64.
const MOST_CUSTOM_DATA: usize = 65_535;

/// The location, and the name.
pub(super) fn place(cloud: &Cloud, body: &Value, name: &str, most: usize) -> Result<(), Response> {
    let location = body["location"].as_str().unwrap_or_default();
    if location.is_empty() {
        return Err(error(400, "LocationRequired", "The location property is required for this definition."));
    }
    if !same_location(location, &cloud.options.location) {
        let message = format!(
            "The provided location '{location}' is not available for resource type. List of available regions for the resource type is '{}'.",
            cloud.options.location
        );
        return Err(error(400, "LocationNotAvailableForResourceType", &message));
    }
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_.".contains(char);
    if name.is_empty() || name.len() > most || !name.chars().all(is_plain) {
        let message =
            format!("Resource name {name} is invalid. The name can be up to {most} characters long.");
        return Err(error(400, "InvalidResourceName", &message));
    }
    Ok(())
}

/// `West Europe` is `westeurope`.
fn same_location(one: &str, other: &str) -> bool {
    let plain = |text: &str| text.replace(' ', "").to_ascii_lowercase();
    plain(one) == plain(other)
}

pub(super) fn zones(cloud: &Cloud, body: &Value) -> Result<Vec<String>, Response> {
    let zones: Vec<String> =
        body["zones"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    if let Some(zone) = zones.iter().find(|zone| !cloud.options.zones.contains(zone)) {
        let message = format!(
            "The zone(s) '{zone}' for resource is not supported. The supported zones for location '{}' are '{}'",
            cloud.options.location,
            cloud.options.zones.join(",")
        );
        return Err(error(400, "AvailabilityZoneNotSupported", &message));
    }
    Ok(zones)
}

/// The rules for a VM, in the order of its parts.
pub(super) fn vm(cloud: &Cloud, body: &Value, key: &Key) -> Result<(), Response> {
    let properties = &body["properties"];
    let size = size(cloud, properties)?;
    zone(body, properties, &size, &zones(cloud, body)?)?;
    os(properties)?;
    image(cloud, body)?;
    nics(cloud, properties, key)?;
    disks(cloud, body, key)?;
    market(properties)?;
    quota(cloud, &size)
}

fn size(cloud: &Cloud, properties: &Value) -> Result<Size, Response> {
    let name = properties["hardwareProfile"]["vmSize"].as_str().unwrap_or_default();
    let found = cloud.options.sizes.iter().find(|size| size.name.eq_ignore_ascii_case(name)).cloned();
    found.ok_or_else(|| {
        let message = format!("The value {name} provided for the VM size is not valid. The valid sizes in the current region are: Standard_D2s_v5.");
        error_at(400, "InvalidParameter", "vmSize", &message)
    })
}

fn zone(body: &Value, properties: &Value, size: &Size, zones: &[String]) -> Result<(), Response> {
    if zones.len() > 1 {
        return Err(error_at(400, "InvalidParameter", "zones", "A virtual machine can be in one zone only."));
    }
    if !zones.is_empty() && !properties["availabilitySet"].is_null() {
        let message = "Virtual Machine cannot be in an availability set and in an availability zone.";
        return Err(error(400, "BadRequest", message));
    }
    if let Some(zone) = zones.iter().find(|zone| !size.zones.contains(zone)) {
        let message = format!(
            "The requested VM size '{}' is currently not available in location '{}' zones '{zone}' for subscription. Please try another size or deploy to a different location or zones.",
            size.name, body["location"]
        );
        return Err(error(409, "SkuNotAvailable", &message));
    }
    Ok(())
}

fn os(properties: &Value) -> Result<(), Response> {
    let os = &properties["osProfile"];
    let wrong = |target: &str, message: &str| Err(error_at(400, "InvalidParameter", target, message));
    let user = os["adminUsername"].as_str().unwrap_or_default();
    if user.is_empty() || matches!(user, "root" | "admin" | "administrator") {
        return wrong("adminUsername", "The Username specified for this Virtual Machine is not allowed.");
    }
    if os["computerName"].as_str().is_none_or(|name| name.is_empty() || name.len() > 64) {
        return wrong("computerName", "Linux host name cannot exceed 64 characters in length or be empty.");
    }
    if let Some(data) = os["customData"].as_str() {
        match STANDARD.decode(data) {
            Ok(data) if data.len() <= MOST_CUSTOM_DATA => {}
            Ok(_) => {
                return wrong(
                    "customData",
                    "Custom data in OSProfile must be in Base64 encoding and with a maximum length of 87380 characters.",
                );
            }
            Err(_) => return wrong("customData", "Custom data in OSProfile must be in Base64 encoding."),
        }
    }
    let linux = &os["linuxConfiguration"];
    let keys = linux["ssh"]["publicKeys"].as_array().cloned().unwrap_or_default();
    for key in &keys {
        let path = key["path"].as_str().unwrap_or_default();
        if path != format!("/home/{user}/.ssh/authorized_keys") {
            return wrong(
                "linuxConfiguration.ssh.publicKeys.path",
                "Destination path for SSH public keys is currently limited to its default value /home/USER/.ssh/authorized_keys.",
            );
        }
        let data = key["keyData"].as_str().unwrap_or_default();
        let mut words = data.split_whitespace();
        let is_key = matches!(words.next(), Some("ssh-rsa" | "ssh-ed25519"))
            && words.next().is_some_and(|text| STANDARD.decode(text).is_ok_and(|key| key.len() > 32));
        if !is_key {
            return wrong(
                "linuxConfiguration.ssh.publicKeys.keyData",
                "The value of parameter linuxConfiguration.ssh.publicKeys.keyData is invalid.",
            );
        }
    }
    let refuses_passwords = linux["disablePasswordAuthentication"] == true;
    let has_password = os["adminPassword"].as_str().is_some_and(|text| !text.is_empty());
    if keys.is_empty() && (refuses_passwords || !has_password) {
        let message =
            "Authentication using either SSH or by user name and password must be enabled in Linux profile.";
        return wrong("linuxConfiguration", message);
    }
    Ok(())
}

fn image(cloud: &Cloud, body: &Value) -> Result<(), Response> {
    let image = &body["properties"]["storageProfile"]["imageReference"];
    let text = |name: &str| image[name].as_str().map(str::to_owned);
    let by_id =
        ["id", "communityGalleryImageId", "sharedGalleryImageId"].iter().filter(|name| text(name).is_some());
    let urn = [text("publisher"), text("offer"), text("sku"), text("version")];
    let (ids, parts) = (by_id.count(), urn.iter().flatten().count());
    if !matches!((ids, parts), (1, 0) | (0, 4)) {
        return Err(error_at(
            400,
            "InvalidParameter",
            "imageReference",
            "The image reference must have either an id or publisher, offer, sku and version.",
        ));
    }
    if ids == 1 {
        return Ok(());
    }
    let urn = urn.into_iter().flatten().collect::<Vec<_>>().join(":");
    let Some(offer) = offer(cloud, &urn) else {
        let message = format!(
            "The platform image '{urn}' is not available. Verify that all fields in the storage profile are correct."
        );
        return Err(error_at(404, "PlatformImageNotFound", "imageReference", &message));
    };
    let sent = ["name", "product", "publisher"].map(|name| body["plan"][name].as_str().map(str::to_owned));
    match (&offer.plan, body["plan"].is_object()) {
        (None, false) => Ok(()),
        (None, true) => Err(error(
            400,
            "VMMarketplaceInvalidInput",
            "Creating a virtual machine from a non Marketplace image does not need Plan information.",
        )),
        (Some(_), false) => Err(error(
            400,
            "VMMarketplaceInvalidInput",
            "Creating a virtual machine from Marketplace image requires Plan information in the request.",
        )),
        (Some(plan), true) if plan.clone().map(Some) != sent => {
            Err(error(400, "VMMarketplaceInvalidInput", "The plan information does not match the image."))
        }
        (Some(plan), true) => {
            let agreed =
                cloud.options.agreements.iter().any(|known| known.plan == *plan && known.is_accepted);
            if agreed {
                Ok(())
            } else {
                Err(error(
                    400,
                    "ResourcePurchaseValidationFailed",
                    "User failed validation to purchase resources. Error message: 'You have not accepted the legal terms on this subscription.'",
                ))
            }
        }
    }
}

pub(super) fn offer<'a>(cloud: &'a Cloud, urn: &str) -> Option<&'a ImageOffer> {
    cloud.options.images.iter().find(|image| image.urn.eq_ignore_ascii_case(urn))
}

fn nics(cloud: &Cloud, properties: &Value, key: &Key) -> Result<(), Response> {
    let nics = properties["networkProfile"]["networkInterfaces"].as_array().cloned().unwrap_or_default();
    if nics.is_empty() {
        return Err(error(
            400,
            "NetworkInterfacesRequired",
            "Network interfaces are required for a virtual machine.",
        ));
    }
    for nic in &nics {
        let id = nic["id"].as_str().unwrap_or_default();
        let found = Key::of_id(Kind::Nic, id).and_then(|key| cloud.resources.get(&key));
        let Some(found) = found else {
            let message = format!("Resource {id} referenced by resource {} was not found.", key.name);
            return Err(error(404, "NotFound", &message));
        };
        if let Some(vm) =
            found.attached_to.as_deref().filter(|vm| !vm.eq_ignore_ascii_case(&cloud.id_of(key)))
        {
            let message = format!("Network Interface {id} is used by existing resource {vm}.");
            return Err(error(400, "NicInUse", &message));
        }
        if found.state != State::Succeeded {
            let message = format!("The referenced resource {id} is not in Succeeded state.");
            return Err(error(409, "ReferencedResourceNotProvisioned", &message));
        }
    }
    Ok(())
}

fn disks(cloud: &Cloud, body: &Value, key: &Key) -> Result<(), Response> {
    let storage = &body["properties"]["storageProfile"];
    let os = &storage["osDisk"];
    if os["createOption"] != "Attach" {
        free_name(cloud, key, os["name"].as_str().unwrap_or_default())?;
    }
    let mut luns = Vec::new();
    for disk in storage["dataDisks"].as_array().into_iter().flatten() {
        let lun = disk["lun"].as_i64().unwrap_or(-1);
        if luns.contains(&lun) || !(0..64).contains(&lun) {
            return Err(error_at(
                400,
                "InvalidParameter",
                "dataDisk.lun",
                "The LUN of a data disk is used twice or out of range.",
            ));
        }
        luns.push(lun);
        match disk["createOption"].as_str().unwrap_or_default() {
            "Empty" => {
                if disk["diskSizeGB"].as_i64().is_none_or(|size| size <= 0) {
                    return Err(error_at(
                        400,
                        "InvalidParameter",
                        "dataDisk.diskSizeGB",
                        "Required parameter 'dataDisk.diskSizeGB' is missing (null).",
                    ));
                }
                free_name(cloud, key, disk["name"].as_str().unwrap_or_default())?;
            }
            "Attach" => attachable(cloud, body, disk)?,
            other => {
                return Err(error_at(
                    400,
                    "InvalidParameter",
                    "dataDisk.createOption",
                    &format!("{other} is not supported here."),
                ));
            }
        }
    }
    Ok(())
}

fn free_name(cloud: &Cloud, key: &Key, name: &str) -> Result<(), Response> {
    if cloud.resources.contains_key(&Key::new(Kind::Disk, &key.group, name)) {
        let message = format!(
            "Disk {name} already exists in resource group {}. Only CreateOption.Attach is supported.",
            key.group.to_uppercase()
        );
        return Err(error_at(409, "ConflictingUserInput", "dataDisk.name", &message));
    }
    Ok(())
}

fn attachable(cloud: &Cloud, body: &Value, disk: &Value) -> Result<(), Response> {
    let id = disk["managedDisk"]["id"].as_str().unwrap_or_default();
    let found: Option<&Resource> = Key::of_id(Kind::Disk, id).and_then(|key| cloud.resources.get(&key));
    let Some(found) = found else {
        return Err(error(404, "NotFound", &format!("Disk {id} is not found.")));
    };
    if found.attached_to.is_some() {
        return Err(error(409, "AttachDiskWhileAttached", &format!("Disk {id} is attached to another VM.")));
    }
    if found.state != State::Succeeded {
        return Err(error(
            409,
            "ReferencedResourceNotProvisioned",
            &format!("Disk {id} is not in Succeeded state."),
        ));
    }
    let zone = body["zones"][0].as_str();
    if found.zones.first().map(String::as_str) != zone {
        return Err(error(
            400,
            "BadRequest",
            &format!("Disk {id} cannot be attached to the VM because it is not in zone {zone:?}."),
        ));
    }
    Ok(())
}

fn market(properties: &Value) -> Result<(), Response> {
    let is_spot = properties["priority"] == "Spot" || properties["priority"] == "Low";
    if !is_spot && (!properties["evictionPolicy"].is_null() || !properties["billingProfile"].is_null()) {
        let message = "Eviction policy and billing profile can be set on Azure Spot Virtual Machines only.";
        return Err(error(409, "OperationNotAllowed", message));
    }
    if is_spot && !properties["availabilitySet"].is_null() {
        let message = "Azure Spot Virtual Machine is not supported in Availability Set. For more information, see http://aka.ms/AzureSpot/errormessages.";
        return Err(error(409, "OperationNotAllowed", message));
    }
    Ok(())
}

fn quota(cloud: &Cloud, size: &Size) -> Result<(), Response> {
    let cores = |vm: &Resource| {
        let name = vm.body["properties"]["hardwareProfile"]["vmSize"].as_str().unwrap_or_default();
        cloud
            .options
            .sizes
            .iter()
            .find(|size| size.name.eq_ignore_ascii_case(name))
            .map_or(0, |size| size.cores)
    };
    let used: u32 = cloud.vms().into_iter().map(cores).sum();
    let most = cloud.options.quota_cores;
    if used + size.cores > most {
        let message = format!(
            "Operation could not be completed as it results in exceeding approved standardDSv5Family Cores quota. Additional details - Deployment Model: Resource Manager, Location: {}, Current Limit: {most}, Current Usage: {used}, Additional Required: {}.",
            cloud.options.location, size.cores
        );
        return Err(error(409, "OperationNotAllowed", &message));
    }
    Ok(())
}
