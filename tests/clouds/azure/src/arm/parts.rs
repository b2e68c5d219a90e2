//! Network interfaces and disks.

use serde_json::{Value, json};

use super::{Call, absent, json_of, rules, tags};
use crate::cloud::Cloud;
use crate::faults::Effect;
use crate::state::{Action, Key, Kind, Resource, State};
use crate::wire::{Response, error, error_at};

pub(super) fn put_nic(cloud: &mut Cloud, call: &Call<'_>) -> Response {
    nic(cloud, call).unwrap_or_else(|refused| refused)
}

fn nic(cloud: &mut Cloud, call: &Call<'_>) -> Result<Response, Response> {
    let body = call.request.json()?;
    let (group, name) = call.group_and_name();
    let key = call.key(Kind::Nic);
    rules::place(cloud, &body, name, 80)?;
    let configurations = body["properties"]["ipConfigurations"].as_array().cloned().unwrap_or_default();
    if configurations.is_empty() {
        let message = "At least one IP configuration is required.";
        return Err(error(400, "NetworkInterfaceMustHaveIpConfiguration", message));
    }
    let before = cloud.resources.get(&key).cloned();
    let mut properties = body["properties"].clone();
    for (index, configuration) in configurations.iter().enumerate() {
        let subnet = configuration["properties"]["subnet"]["id"].as_str().unwrap_or_default().to_owned();
        let address = address(cloud, &subnet, before.as_ref(), &key)?;
        let own = &mut properties["ipConfigurations"][index]["properties"];
        own["privateIPAddress"] = json!(address);
        own["provisioningState"] = json!("Succeeded");
        own["primary"] = json!(index == 0);
    }
    let tags = tags(&body)?;
    cloud.remember(call.now_ms);
    let is_new = before.is_none();
    let before = before.unwrap_or_else(|| resource(Kind::Nic, group, name, call.now_ms));
    let resource = Resource {
        location: body["location"].as_str().unwrap_or_default().to_owned(),
        tags,
        body: json!({ "properties": properties }),
        state: if is_new { State::Creating } else { State::Updating },
        ..before
    };
    cloud.resources.insert(key.clone(), resource);
    let ms = cloud.options.part_ms;
    let action = if is_new { Action::Create } else { Action::Update };
    let headers = cloud.begin(call, &key, action, ms);
    let shown = cloud.resources.get(&key).map(|resource| json_of(cloud, resource)).unwrap_or_default();
    let mut answer = Response::json(if is_new { 201 } else { 200 }, &shown);
    answer.headers.extend(headers);
    Ok(answer)
}

fn address(cloud: &Cloud, id: &str, before: Option<&Resource>, key: &Key) -> Result<String, Response> {
    let subscription = &cloud.options.subscription;
    let is_it = |subnet: &crate::options::Subnet| {
        let crate::options::Subnet { group, vnet, name, .. } = subnet;
        let own = format!(
            "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Network/virtualNetworks/{vnet}/subnets/{name}"
        );
        own.eq_ignore_ascii_case(id)
    };
    let Some(index) = cloud.options.subnets.iter().position(is_it) else {
        let message = format!(
            "Resource {id} referenced by resource {} was not found. Please make sure that the referenced resource exists.",
            key.name
        );
        return Err(error(400, "InvalidResourceReference", &message));
    };
    let at = "/properties/ipConfigurations/0/properties";
    let text = |resource: &Resource, name: &str| {
        resource.body.pointer(&format!("{at}/{name}")).and_then(Value::as_str).map(str::to_owned)
    };
    let in_subnet = |resource: &&Resource| {
        resource
            .body
            .pointer(&format!("{at}/subnet/id"))
            .and_then(Value::as_str)
            .is_some_and(|own| own.eq_ignore_ascii_case(id))
    };
    if let Some(kept) = before.filter(in_subnet).and_then(|nic| text(nic, "privateIPAddress")) {
        return Ok(kept);
    }
    let used: Vec<String> =
        cloud.resources().filter(in_subnet).filter_map(|nic| text(nic, "privateIPAddress")).collect();
    let most = cloud.options.subnets.get(index).map_or(0, |subnet| subnet.addresses);
    let free = (0..most)
        .map(|number| format!("10.{index}.{}.{}", (number + 4) / 250, (number + 4) % 250))
        .find(|address| !used.contains(address));
    free.ok_or_else(|| {
        let message = format!("Subnet {id} with address prefix 10.{index}.0.0/20 does not have enough capacity for 1 IP addresses.");
        error(400, "SubnetIsFull", &message)
    })
}

pub(super) fn put_disk(cloud: &mut Cloud, call: &Call<'_>) -> Response {
    disk(cloud, call).unwrap_or_else(|refused| refused)
}

fn disk(cloud: &mut Cloud, call: &Call<'_>) -> Result<Response, Response> {
    let body = call.request.json()?;
    let (group, name) = call.group_and_name();
    let key = call.key(Kind::Disk);
    rules::place(cloud, &body, name, 80)?;
    let source = &body["properties"]["creationData"];
    let image = source["imageReference"]["id"].as_str();
    let gallery = source["galleryImageReference"].as_object();
    if source["createOption"] == "FromImage" && image.is_none() && gallery.is_none() {
        let message = "Disk creation from image requires an image reference.";
        return Err(error_at(400, "InvalidParameter", "disk.creationData.imageReference", message));
    }
    if source["createOption"] == "Empty" && body["properties"]["diskSizeGB"].is_null() {
        return Err(error_at(
            400,
            "InvalidParameter",
            "diskSizeGB",
            "Required parameter 'diskSizeGB' is missing (null).",
        ));
    }
    let zones = rules::zones(cloud, &body)?;
    let tags = tags(&body)?;
    cloud.remember(call.now_ms);
    let mut shown = body.clone();
    for name in ["location", "tags", "zones"] {
        if let Some(fields) = shown.as_object_mut() {
            fields.remove(name);
        }
    }
    shown["properties"]["timeCreated"] = json!(super::time(call.now_ms));
    let before = cloud.resources.get(&key).cloned();
    let is_new = before.is_none();
    let resource = Resource {
        location: body["location"].as_str().unwrap_or_default().to_owned(),
        tags,
        zones,
        body: shown,
        state: if is_new { State::Creating } else { State::Updating },
        ..before.unwrap_or_else(|| resource(Kind::Disk, group, name, call.now_ms))
    };
    cloud.resources.insert(key.clone(), resource);
    let ms = cloud.options.part_ms;
    let headers = cloud.begin(call, &key, Action::Create, ms);
    let shown = cloud.resources.get(&key).map(|resource| json_of(cloud, resource)).unwrap_or_default();
    let mut answer = Response::json(202, &shown);
    answer.headers.extend(headers);
    Ok(answer)
}

pub(super) fn patch(cloud: &mut Cloud, call: &Call<'_>, kind: Kind) -> Response {
    let key = call.key(kind);
    let change = call.request.json().and_then(|body| tags(&body));
    let tags = match change {
        Ok(tags) => tags,
        Err(refused) => return refused,
    };
    if !cloud.resources.contains_key(&key) {
        return absent(call, kind);
    }
    cloud.remember(call.now_ms);
    if let Some(resource) = cloud.resources.get_mut(&key) {
        resource.tags = tags;
    }
    super::get(cloud, call, kind)
}

pub(super) fn delete(cloud: &mut Cloud, call: &Call<'_>, kind: Kind) -> Response {
    let key = call.key(kind);
    let Some(resource) = cloud.resources.get(&key).cloned() else { return Response::empty(204) };
    if let Some(vm) = &resource.attached_to {
        return match kind {
            Kind::Nic => error(
                400,
                "NicInUse",
                &format!(
                    "Network Interface {} is used by existing resource {vm}. In order to delete the network interface, it must be dissociated from the resource.",
                    resource.name
                ),
            ),
            Kind::Disk | Kind::Vm => {
                error(409, "OperationNotAllowed", &format!("Disk {} is attached to VM {vm}.", resource.name))
            }
        };
    }
    if kind == Kind::Nic && resource.reserved_until_ms > call.now_ms {
        let message = format!(
            "Nic(s) in request is reserved for another Virtual Machine for 180 seconds. Please provide another nic(s) or retry after 180 seconds: {}",
            resource.name
        );
        return error(400, "NicReservedForAnotherVm", &message);
    }
    cloud.remember(call.now_ms);
    cloud.set_state(&key, State::Deleting);
    let ms = cloud.options.part_ms;
    let leaves_parts = call.fault == Some(&Effect::LeaveParts);
    let headers = cloud.begin(call, &key, Action::Delete { leaves_parts }, ms);
    let mut answer = Response::empty(202);
    answer.headers.extend(headers);
    answer
}

pub(super) fn resource(kind: Kind, group: &str, name: &str, now_ms: u64) -> Resource {
    Resource {
        kind,
        group: group.to_owned(),
        name: name.to_owned(),
        location: String::new(),
        tags: std::collections::BTreeMap::new(),
        zones: Vec::new(),
        body: json!({ "properties": {} }),
        state: State::Creating,
        failure: None,
        created_ms: now_ms,
        attached_to: None,
        is_running: false,
        reserved_until_ms: 0,
        restarts: 0,
    }
}
