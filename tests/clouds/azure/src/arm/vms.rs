//! Virtual machines: creation, changes, deletion, looks.

use serde_json::{Value, json};

use super::{Call, absent, json_of, parts, rules, tags, time, visible};
use crate::cloud::Cloud;
use crate::faults::Effect;
use crate::state::{Action, Key, Kind, Resource, State, id};
use crate::wire::{Response, error, error_at};

/// Properties that never change in the life of a VM.
const IMMUTABLE: [&str; 7] = [
    "/properties/osProfile/computerName",
    "/properties/osProfile/adminUsername",
    "/properties/osProfile/customData",
    "/properties/storageProfile/imageReference",
    "/properties/availabilitySet",
    "/properties/priority",
    "/zones",
];

pub(super) fn put(cloud: &mut Cloud, call: &Call<'_>) -> Response {
    create(cloud, call).unwrap_or_else(|refused| refused)
}

fn create(cloud: &mut Cloud, call: &Call<'_>) -> Result<Response, Response> {
    let body = call.request.json()?;
    let (group, name) = call.group_and_name();
    let key = call.key(Kind::Vm);
    if let Some(before) = cloud.resources.get(&key).cloned() {
        if call.request.header_value("if-none-match") == Some("*") {
            let message = "The condition specified using HTTP conditional header(s) is not met.";
            return Err(error(412, "PreconditionFailed", message));
        }
        return update(cloud, call, &key, &before, &body);
    }
    rules::place(cloud, &body, name, 64)?;
    rules::vm(cloud, &body, &key)?;
    let tags = tags(&body)?;
    cloud.remember(call.now_ms);
    let resource = Resource {
        location: body["location"].as_str().unwrap_or_default().to_owned(),
        tags,
        zones: rules::zones(cloud, &body)?,
        body: kept(cloud, call, &body, &key),
        ..parts::resource(Kind::Vm, group, name, call.now_ms)
    };
    cloud.resources.insert(key.clone(), resource);
    cloud.vms_created += 1;
    if !matches!(call.fault, Some(Effect::FailLater { .. })) {
        cloud.count_created(&key);
    }
    attach(cloud, &key, &body, call.now_ms);
    let shown = cloud.resources.get(&key).map(|resource| shown(cloud, resource)).unwrap_or_default();
    let ms = cloud.options.create_ms;
    let headers = cloud.begin(call, &key, Action::Create, ms);
    let mut answer = Response::json(201, &shown);
    answer.headers.extend(headers);
    Ok(answer)
}

/// A second PUT changes what can be changed.
fn update(
    cloud: &mut Cloud,
    call: &Call<'_>,
    key: &Key,
    before: &Resource,
    body: &Value,
) -> Result<Response, Response> {
    let mut known = before.body.clone();
    known["zones"] = json!(before.zones);
    for pointer in IMMUTABLE {
        if let Some(sent) = body.pointer(pointer)
            && known.pointer(pointer) != Some(sent)
        {
            let target = pointer.rsplit('/').next().unwrap_or_default();
            let message = format!("Changing property '{target}' is not allowed.");
            return Err(error_at(409, "PropertyChangeNotAllowed", target, &message));
        }
    }
    let tags = tags(body)?;
    cloud.remember(call.now_ms);
    if let Some(resource) = cloud.resources.get_mut(key) {
        resource.tags = tags;
    }
    let headers = cloud.begin(call, key, Action::Update, 0);
    let shown = cloud.resources.get(key).map(|resource| shown(cloud, resource)).unwrap_or_default();
    let mut answer = Response::json(200, &shown);
    answer.headers.extend(headers);
    Ok(answer)
}

/// The VM as Azure keeps it, with its additions.
fn kept(cloud: &mut Cloud, call: &Call<'_>, body: &Value, key: &Key) -> Value {
    let mut kept = body.clone();
    for name in ["location", "tags", "zones"] {
        if let Some(fields) = kept.as_object_mut() {
            fields.remove(name);
        }
    }
    let subscription = cloud.options.subscription.clone();
    let group = call.argument(1).to_owned();
    let properties = &mut kept["properties"];
    properties["vmId"] = json!(cloud.next("vm"));
    properties["timeCreated"] = json!(time(call.now_ms));
    let storage = &mut properties["storageProfile"];
    let disk_id = |name: &str| id(&subscription, &group, Kind::Disk, name);
    let os_name =
        storage["osDisk"]["name"].as_str().map_or_else(|| format!("{}_OsDisk_1", key.name), str::to_owned);
    storage["osDisk"]["name"] = json!(os_name);
    storage["osDisk"]["managedDisk"]["id"] = json!(disk_id(&os_name));
    storage["osDisk"]["osType"] = json!("Linux");
    let disks = storage.get_mut("dataDisks").and_then(Value::as_array_mut);
    for disk in disks.into_iter().flatten() {
        let name = disk["name"].as_str().unwrap_or_default().to_owned();
        if disk["managedDisk"]["id"].is_null() {
            disk["managedDisk"]["id"] = json!(disk_id(&name));
        }
    }
    kept
}

/// Attaches the parts. Disks that come with the VM get its tags.
fn attach(cloud: &mut Cloud, key: &Key, body: &Value, now_ms: u64) {
    let vm = cloud.id_of(key);
    let Some(made) = cloud.resources.get(key).cloned() else { return };
    for nic in body["properties"]["networkProfile"]["networkInterfaces"].as_array().into_iter().flatten() {
        let nic = nic["id"].as_str().and_then(|id| Key::of_id(Kind::Nic, id));
        if let Some(nic) = nic.and_then(|key| cloud.resources.get_mut(&key)) {
            nic.attached_to = Some(vm.clone());
        }
    }
    let storage = &made.body["properties"]["storageProfile"];
    let data = storage["dataDisks"].as_array().cloned().unwrap_or_default();
    for disk in std::iter::once(&storage["osDisk"]).chain(&data) {
        let name = disk["name"].as_str().unwrap_or_default();
        let disk_key = Key::new(Kind::Disk, &key.group, name);
        match cloud.resources.get_mut(&disk_key) {
            Some(known) => known.attached_to = Some(vm.clone()),
            None => {
                let mut properties = json!({
                    "timeCreated": time(now_ms),
                    "creationData": { "createOption": disk["createOption"] },
                });
                if !disk["diskSizeGB"].is_null() {
                    properties["diskSizeGB"] = disk["diskSizeGB"].clone();
                }
                let implicit = Resource {
                    location: made.location.clone(),
                    tags: made.tags.clone(),
                    zones: made.zones.clone(),
                    body: json!({ "properties": properties }),
                    attached_to: Some(vm.clone()),
                    ..parts::resource(Kind::Disk, &made.group, name, now_ms)
                };
                cloud.resources.insert(disk_key, implicit);
            }
        }
    }
}

/// True if the VM says that Azure deletes this part with it.
pub(super) fn goes_with_vm(vm: &Resource, part: &str) -> bool {
    let storage = &vm.body["properties"]["storageProfile"];
    let nics = vm.body["properties"]["networkProfile"]["networkInterfaces"].as_array().into_iter().flatten();
    let disks =
        std::iter::once(&storage["osDisk"]).chain(storage["dataDisks"].as_array().into_iter().flatten());
    let is_it = |id: &Value| id.as_str().is_some_and(|id| id.eq_ignore_ascii_case(part));
    nics.filter(|nic| is_it(&nic["id"])).any(|nic| nic["properties"]["deleteOption"] == "Delete")
        || disks.filter(|disk| is_it(&disk["managedDisk"]["id"])).any(|disk| disk["deleteOption"] == "Delete")
}

pub(super) fn patch(cloud: &mut Cloud, call: &Call<'_>) -> Response {
    change(cloud, call).unwrap_or_else(|refused| refused)
}

fn change(cloud: &mut Cloud, call: &Call<'_>) -> Result<Response, Response> {
    let body = call.request.json()?;
    let key = call.key(Kind::Vm);
    let Some(before) = cloud.resources.get(&key).cloned() else { return Err(absent(call, Kind::Vm)) };
    if before.state == State::Failed && !body["properties"].is_null() {
        let message = "The VM is in a failed provisioning state.";
        return Err(error(409, "OperationNotAllowed", message));
    }
    if before.state == State::Deleting {
        let message = format!("The VM '{}' is being deleted.", before.name);
        return Err(error(409, "OperationNotAllowed", &message));
    }
    let mut changed = before.clone();
    if body["tags"].is_object() {
        changed.tags = tags(&body)?;
    }
    let own = &mut changed.body["properties"];
    let nics = &body["properties"]["networkProfile"]["networkInterfaces"];
    if nics.is_array() {
        same_parts(&own["networkProfile"]["networkInterfaces"], nics, |nic| nic["id"].as_str())?;
        own["networkProfile"]["networkInterfaces"] = nics.clone();
    }
    let disks = &body["properties"]["storageProfile"]["dataDisks"];
    if disks.is_array() {
        same_parts(&own["storageProfile"]["dataDisks"], disks, |disk| disk["managedDisk"]["id"].as_str())?;
        own["storageProfile"]["dataDisks"] = disks.clone();
    }
    let option = &body["properties"]["storageProfile"]["osDisk"]["deleteOption"];
    if option.is_string() {
        own["storageProfile"]["osDisk"]["deleteOption"] = option.clone();
    }
    changed.state = State::Updating;
    cloud.remember(call.now_ms);
    cloud.resources.insert(key.clone(), changed);
    let ms = if body["properties"].is_null() { 0 } else { cloud.options.part_ms };
    let headers = cloud.begin(call, &key, Action::Update, ms);
    let shown = cloud.resources.get(&key).map(|resource| shown(cloud, resource)).unwrap_or_default();
    let mut answer = Response::json(200, &shown);
    answer.headers.extend(headers);
    Ok(answer)
}

/// A list that is sent replaces the list that is there: what it lacks would be detached, which this cloud does not do.
fn same_parts(before: &Value, sent: &Value, id: fn(&Value) -> Option<&str>) -> Result<(), Response> {
    let ids = |list: &Value| {
        let mut ids: Vec<String> =
            list.as_array().into_iter().flatten().filter_map(id).map(str::to_lowercase).collect();
        ids.sort();
        ids
    };
    if ids(before) == ids(sent) {
        Ok(())
    } else {
        Err(error(409, "OperationNotAllowed", "A part would be detached."))
    }
}

pub(super) fn delete(cloud: &mut Cloud, call: &Call<'_>) -> Response {
    let key = call.key(Kind::Vm);
    if !cloud.resources.contains_key(&key) {
        return Response::empty(204);
    }
    cloud.remember(call.now_ms);
    cloud.set_state(&key, State::Deleting);
    let ms = cloud.options.delete_ms;
    let leaves_parts = call.fault == Some(&Effect::LeaveParts);
    let headers = cloud.begin(call, &key, Action::Delete { leaves_parts }, ms);
    let mut answer = Response::empty(202);
    answer.headers.extend(headers);
    answer
}

pub(super) fn restart(cloud: &mut Cloud, call: &Call<'_>) -> Response {
    let key = call.key(Kind::Vm);
    let Some(vm) = cloud.resources.get_mut(&key) else { return absent(call, Kind::Vm) };
    vm.restarts += 1;
    let headers = cloud.begin(call, &key, Action::Restart, 0);
    let mut answer = Response::empty(202);
    answer.headers.extend(headers);
    answer
}

pub(super) fn get(cloud: &Cloud, call: &Call<'_>) -> Response {
    let Some(resource) = visible(cloud, &call.key(Kind::Vm), call.now_ms) else {
        return absent(call, Kind::Vm);
    };
    let mut value = shown(cloud, resource);
    match call.request.query_value("$expand") {
        None | Some("userData") => {}
        Some("instanceView") => value["properties"]["instanceView"] = view(resource),
        Some(other) => {
            return error(400, "BadRequest", &format!("The value '{other}' of $expand is not allowed."));
        }
    }
    Response::json(200, &value)
}

pub(super) fn instance_view(cloud: &Cloud, call: &Call<'_>) -> Response {
    match visible(cloud, &call.key(Kind::Vm), call.now_ms) {
        Some(resource) => Response::json(200, &view(resource)),
        None => absent(call, Kind::Vm),
    }
}

/// A VM without what Azure never returns.
fn shown(cloud: &Cloud, resource: &Resource) -> Value {
    let mut value = json_of(cloud, resource);
    for name in ["customData", "adminPassword"] {
        if let Some(os) = value.pointer_mut("/properties/osProfile").and_then(Value::as_object_mut) {
            os.remove(name);
        }
    }
    value
}

fn view(resource: &Resource) -> Value {
    let mut provisioning = json!({
        "code": format!("ProvisioningState/{}", resource.state.name().to_lowercase()), "level": "Info",
        "displayStatus": "Provisioning",
    });
    if let Some((code, message)) = &resource.failure {
        provisioning["code"] = json!(format!("ProvisioningState/failed/{code}"));
        provisioning["message"] = json!(message);
        provisioning["level"] = json!("Error");
    }
    let mut statuses = vec![provisioning];
    if resource.is_running {
        statuses
            .push(json!({ "code": "PowerState/running", "level": "Info", "displayStatus": "VM running" }));
    } else if resource.state == State::Succeeded {
        let stopped =
            json!({ "code": "PowerState/deallocated", "level": "Info", "displayStatus": "VM deallocated" });
        statuses.push(stopped);
    }
    json!({ "statuses": statuses })
}

/// Makes a VM at once, without any rule, as another program has made it before.
pub(crate) fn planted(cloud: &mut Cloud, group: &str, name: &str, tags: &[(String, String)], now_ms: u64) {
    let subscription = cloud.options.subscription.clone();
    let location = cloud.options.location.clone();
    let own = |kind: Kind, name: &str| Resource {
        location: location.clone(),
        tags: tags.iter().cloned().collect(),
        state: State::Succeeded,
        ..parts::resource(kind, group, name, now_ms)
    };
    let (nic, disk) = (format!("{name}-nic"), format!("{name}-os-disk"));
    let vm_id = id(&subscription, group, Kind::Vm, name);
    let properties = json!({
        "vmId": cloud.next("vm"),
        "timeCreated": time(now_ms),
        "hardwareProfile": { "vmSize": "Standard_D2s_v5" },
        "networkProfile": { "networkInterfaces": [
            { "id": id(&subscription, group, Kind::Nic, &nic), "properties": { "primary": true, "deleteOption": "Delete" } },
        ] },
        "storageProfile": { "osDisk": {
            "name": disk, "createOption": "FromImage", "deleteOption": "Delete",
            "managedDisk": { "id": id(&subscription, group, Kind::Disk, &disk) },
        }, "dataDisks": [] },
    });
    let vm = Resource { body: json!({ "properties": properties }), is_running: true, ..own(Kind::Vm, name) };
    cloud.remember(now_ms);
    for (key, resource) in [
        (
            Key::new(Kind::Nic, group, &nic),
            Resource { attached_to: Some(vm_id.clone()), ..own(Kind::Nic, &nic) },
        ),
        (
            Key::new(Kind::Disk, group, &disk),
            Resource {
                attached_to: Some(vm_id),
                body: json!({ "properties": { "timeCreated": time(now_ms), "creationData": { "createOption": "FromImage" } } }),
                ..own(Kind::Disk, &disk)
            },
        ),
        (Key::new(Kind::Vm, group, name), vm),
    ] {
        cloud.resources.insert(key, resource);
    }
}
