//! The JSON of VMs and their parts.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::arm::names::{self, Kind, ResourceId};
use crate::class::spec::{Place, Spec};
use crate::class::storage::{DataDisk, Image};

/// A public key without a private one, for classes without a key: Azure wants one if passwords are off. Its modulus
/// comes from a hash of a sentence, and a test computes it again, so that nobody can have chosen its factors.
pub(crate) const NOBODYS_KEY: &str = include_str!("nobodys-key.txt");

/// The subscription to a marketplace image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) name: String,
    pub(crate) product: String,
    pub(crate) publisher: String,
}

/// The parts of a VM that the class does not say.
pub(crate) struct Launch<'a> {
    pub(crate) id: &'a ResourceId,
    pub(crate) tags: &'a BTreeMap<String, String>,
    /// The placeholder of the user data's base64.
    pub(crate) user_data: &'a str,
    pub(crate) plan: Option<&'a Plan>,
}

pub(crate) fn nic(spec: &Spec, id: &ResourceId, subnet: &str, tags: &BTreeMap<String, String>) -> Value {
    let mut properties = json!({
        "enableIPForwarding": true,
        "nicType": "Standard",
        "ipConfigurations": [{
            "name": id.name,
            "properties": { "privateIPAllocationMethod": "Dynamic", "subnet": { "id": subnet } },
        }],
    });
    set(&mut properties, "enableAcceleratedNetworking", spec.accelerated);
    json!({ "location": spec.location, "tags": tags, "properties": properties })
}

/// Returns a disk with an image. `image` is the id of a marketplace image that the class names by its urn.
pub(crate) fn disk(
    spec: &Spec,
    disk: &DataDisk,
    image: Option<&str>,
    tags: &BTreeMap<String, String>,
) -> Value {
    let mut source = json!({ "createOption": "FromImage" });
    match (&disk.image, image) {
        (Some(Image::CommunityGallery(id)), _) => {
            source["galleryImageReference"] = json!({ "communityGalleryImageId": id });
        }
        (Some(Image::SharedGallery(id)), _) => {
            source["galleryImageReference"] = json!({ "sharedGalleryImageId": id });
        }
        (Some(Image::Id(id)), _) => source["imageReference"] = json!({ "id": id }),
        (_, Some(id)) => source["imageReference"] = json!({ "id": id }),
        (Some(Image::Urn(_)) | None, None) => {}
    }
    let mut body = json!({
        "location": spec.location,
        "tags": tags,
        "sku": { "name": disk.storage },
        "properties": { "creationData": source, "diskSizeGB": disk.size_gib, "osType": "Linux" },
    });
    set(&mut body, "zones", zones(spec));
    body
}

pub(crate) fn vm(spec: &Spec, launch: &Launch<'_>) -> Value {
    let Launch { id, tags, user_data, plan } = *launch;
    let nic = id.beside(Kind::Nic, &names::nic(&id.name)).text();
    let mut properties = json!({
        "hardwareProfile": { "vmSize": spec.size },
        "networkProfile": {
            "networkInterfaces": [{ "id": nic, "properties": { "primary": true, "deleteOption": "Delete" } }],
        },
        "osProfile": os_profile(spec, &id.name, user_data),
        "storageProfile": storage_profile(spec, id),
    });
    match &spec.place {
        Place::AvailabilitySet(set) => properties["availabilitySet"] = json!({ "id": set }),
        Place::ScaleSet(set) => properties["virtualMachineScaleSet"] = json!({ "id": set }),
        Place::Zone(_) | Place::Unknown => {}
    }
    if let Some(storage) = &spec.diagnostics {
        let mut boot = json!({ "enabled": true });
        set(&mut boot, "storageUri", storage.clone());
        properties["diagnosticsProfile"] = json!({ "bootDiagnostics": boot });
    }
    if let Some(security) = &spec.security {
        let mut profile = json!({});
        set(&mut profile, "securityType", security.kind.clone());
        let mut uefi = json!({});
        set(&mut uefi, "vTpmEnabled", security.vtpm);
        set(&mut uefi, "secureBootEnabled", security.secure_boot);
        if uefi != json!({}) {
            profile["uefiSettings"] = uefi;
        }
        properties["securityProfile"] = profile;
    }
    if let Some(group) = &spec.reservation {
        properties["capacityReservation"] = json!({ "capacityReservationGroup": { "id": group } });
    }
    market(spec, &mut properties);
    let mut body = json!({ "location": spec.location, "tags": tags, "properties": properties });
    set(&mut body, "zones", zones(spec));
    if let Some(identity) = &spec.identity {
        body["identity"] = json!({ "type": "UserAssigned", "userAssignedIdentities": { identity: {} } });
    }
    if let Some(Plan { name, product, publisher }) = plan {
        body["plan"] = json!({ "name": name, "product": product, "publisher": publisher });
    }
    body
}

/// A spot VM that Azure takes away is deleted, unless the class says otherwise: a stopped one would keep its Node's
/// place and its disks' price.
fn market(spec: &Spec, properties: &mut Value) {
    if !spec.market.is_spot() {
        return;
    }
    properties["priority"] = json!("Spot");
    properties["evictionPolicy"] = json!(spec.market.eviction.as_deref().unwrap_or("Delete"));
    let price = spec.market.max_price.as_deref().and_then(|price| serde_json::from_str::<Value>(price).ok());
    if let Some(price) = price {
        properties["billingProfile"] = json!({ "maxPrice": price });
    }
}

fn os_profile(spec: &Spec, name: &str, user_data: &str) -> Value {
    let login = &spec.login;
    let path = match &login.key_path {
        Some(path) => path.clone(),
        None => format!("/home/{}/.ssh/authorized_keys", login.user),
    };
    let key = login.key.as_deref().unwrap_or_else(|| NOBODYS_KEY.trim());
    json!({
        "adminUsername": login.user,
        "computerName": name,
        "customData": user_data,
        "linuxConfiguration": {
            "disablePasswordAuthentication": login.refuses_passwords,
            "ssh": { "publicKeys": [{ "path": path, "keyData": key }] },
        },
    })
}

fn storage_profile(spec: &Spec, id: &ResourceId) -> Value {
    let mut managed = json!({});
    set(&mut managed, "storageAccountType", spec.os_disk.storage.clone());
    if let Some(encryption) = &spec.os_disk.encryption {
        managed["securityProfile"] = json!({ "securityEncryptionType": encryption });
    }
    let mut os_disk = json!({
        "name": names::os_disk(&id.name),
        "createOption": spec.os_disk.create_option,
        "deleteOption": "Delete",
        "diskSizeGB": spec.os_disk.size_gib,
        "managedDisk": managed,
    });
    set(&mut os_disk, "caching", spec.os_disk.caching.clone());
    let disks: Vec<Value> = spec.data_disks.iter().map(|disk| data_disk(disk, id)).collect();
    let mut profile = json!({ "osDisk": os_disk, "dataDisks": disks });
    set(&mut profile, "diskControllerType", spec.disk_controller.clone());
    set(&mut profile, "imageReference", spec.image.as_ref().map(image));
    profile
}

fn image(image: &Image) -> Value {
    match image {
        Image::Id(id) => json!({ "id": id }),
        Image::CommunityGallery(id) => json!({ "communityGalleryImageId": id }),
        Image::SharedGallery(id) => json!({ "sharedGalleryImageId": id }),
        Image::Urn(urn) => json!({
            "publisher": urn.publisher, "offer": urn.offer, "sku": urn.sku, "version": urn.version,
        }),
    }
}

fn data_disk(disk: &DataDisk, id: &ResourceId) -> Value {
    let name = names::data_disk(&id.name, disk);
    let mut managed = json!({ "storageAccountType": disk.storage });
    let mut create = "Empty";
    if disk.image.is_some() {
        managed["id"] = json!(id.beside(Kind::Disk, &name).text());
        create = "Attach";
    }
    let mut body = json!({
        "name": name,
        "lun": disk.lun,
        "caching": disk.caching,
        "deleteOption": "Delete",
        "createOption": create,
        "managedDisk": managed,
    });
    body["diskSizeGB"] = json!(disk.size_gib);
    body
}

fn zones(spec: &Spec) -> Option<Vec<String>> {
    spec.zone().map(|zone| vec![zone])
}

/// Sets a field, if there is a value.
fn set(object: &mut Value, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        object[name] = value.into();
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use sha2::{Digest, Sha512};

    use super::NOBODYS_KEY;

    /// The sentence whose hashes are the modulus. Its number is the first one without a small factor.
    const SENTENCE: &str =
        "This key has no private half: its modulus is the hash of this sentence, number 8.";

    #[test]
    fn nobody_chose_the_key_of_nobody() {
        let mut modulus: Vec<u8> =
            (0_u8..8).flat_map(|block| Sha512::digest([SENTENCE.as_bytes(), &[block]].concat())).collect();
        // 4,096 bits, and unusual.
        *modulus.first_mut().unwrap() |= 0x80;
        *modulus.last_mut().unwrap() |= 1;
        let mut key = Vec::new();
        // A number whose first bit is set has a zero before it.
        modulus.insert(0, 0);
        for part in [b"ssh-rsa".as_slice(), &[1, 0, 1], &modulus] {
            key.extend(u32::try_from(part.len()).unwrap().to_be_bytes());
            key.extend(part);
        }
        assert_eq!(NOBODYS_KEY.trim(), format!("ssh-rsa {} nobody", STANDARD.encode(key)));
    }
}
