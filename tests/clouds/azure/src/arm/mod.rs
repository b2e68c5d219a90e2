//! Azure Resource Manager: virtual machines, network interfaces, disks, the catalogue, Resource Graph.
//!
//! | module | what it does |
//! | --- | --- |
//! | `vms` | virtual machines |
//! | `rules` | the rules by which Azure refuses a VM |
//! | `parts` | network interfaces and disks |
//! | `operations` | begins operations, and ends those that are due |
//! | `ending` | the effect of an operation at its end |
//! | `catalogue` | images, agreements, sizes, subnets, resource groups, operations |
//! | `graph` | Resource Graph, as far as drivers query it |

mod catalogue;
mod ending;
mod graph;
mod operations;
mod parts;
mod rules;
mod vms;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::cloud::Cloud;
use crate::faults::Effect;
use crate::models;
use crate::state::{Key, Kind, Resource};
use crate::wire::{Request, Response, error};

pub(crate) use catalogue::other;
pub(crate) use ending::delete;
pub(crate) use vms::planted;

/// A request whose form was checked.
pub(crate) struct Call<'a> {
    pub(crate) request: &'a Request,
    pub(crate) operation: &'a models::PublishedOperation,
    pub(crate) now_ms: u64,
    pub(crate) fault: Option<&'a Effect>,
}

impl Call<'_> {
    /// A parameter of the path, counted from the subscription.
    fn argument(&self, index: usize) -> &str {
        self.operation.arguments.get(index).map(String::as_str).unwrap_or_default()
    }

    /// The resource of the path. Its name is as it was sent.
    fn key(&self, kind: Kind) -> Key {
        let (group, name) = self.group_and_name();
        Key::new(kind, group, name)
    }

    /// Parameters of a path: subscription, group, name.
    fn group_and_name(&self) -> (&str, &str) {
        (self.argument(1), self.argument(2))
    }
}

pub(crate) fn answer(cloud: &mut Cloud, call: &Call<'_>) -> Response {
    let is_in_group =
        call.operation.arguments.len() > 2 && !call.operation.name.starts_with("virtualMachineImages");
    let group = call.argument(1);
    if is_in_group && !cloud.options.groups.iter().any(|known| known.eq_ignore_ascii_case(group)) {
        return error(404, "ResourceGroupNotFound", &format!("Resource group '{group}' could not be found."));
    }
    match call.operation.name.as_str() {
        "virtualMachines.createOrUpdate" => vms::put(cloud, call),
        "virtualMachines.update" => vms::patch(cloud, call),
        "virtualMachines.delete" => vms::delete(cloud, call),
        "virtualMachines.get" => vms::get(cloud, call),
        "virtualMachines.instanceView" => vms::instance_view(cloud, call),
        "virtualMachines.restart" => vms::restart(cloud, call),
        "virtualMachines.list" => list(cloud, call, Kind::Vm),
        "networkInterfaces.createOrUpdate" => parts::put_nic(cloud, call),
        "networkInterfaces.updateTags" => parts::patch(cloud, call, Kind::Nic),
        "networkInterfaces.get" => get(cloud, call, Kind::Nic),
        "networkInterfaces.delete" => parts::delete(cloud, call, Kind::Nic),
        "networkInterfaces.list" => list(cloud, call, Kind::Nic),
        "disks.createOrUpdate" => parts::put_disk(cloud, call),
        "disks.update" => parts::patch(cloud, call, Kind::Disk),
        "disks.get" => get(cloud, call, Kind::Disk),
        "disks.delete" => parts::delete(cloud, call, Kind::Disk),
        "disks.listByResourceGroup" => list(cloud, call, Kind::Disk),
        "virtualMachineImages.get" => catalogue::image(cloud, call),
        "virtualMachineSizes.list" => catalogue::sizes(cloud, call),
        "subnets.get" => catalogue::subnet(cloud, call),
        name => error(501, "NotImplemented", &format!("The cloud for tests lacks {name}.")),
    }
}

/// An answer that Microsoft's client could not read is a bug of this cloud.
pub(crate) fn checked(answer: Response, operation: &models::PublishedOperation) -> Response {
    let model = match operation.name.split_once('.') {
        Some(("virtualMachines", "createOrUpdate" | "update" | "get")) => "VirtualMachine",
        Some(("networkInterfaces", "createOrUpdate" | "updateTags" | "get")) => "NetworkInterface",
        Some(("disks", "get")) => "Disk",
        Some(("subnets", "get")) => "Subnet",
        Some(("virtualMachineImages", "get")) => "VirtualMachineImage",
        _ => return answer,
    };
    if answer.status >= 300 || answer.body.is_empty() {
        return answer;
    }
    match models::problems_of_answer(operation.family, model, &answer.value()).first() {
        None => answer,
        Some(problem) => error(500, "CloudForTestsIsWrong", problem),
    }
}

fn get(cloud: &Cloud, call: &Call<'_>, kind: Kind) -> Response {
    let key = call.key(kind);
    match visible(cloud, &key, call.now_ms) {
        Some(resource) => Response::json(200, &json_of(cloud, resource)),
        None => absent(call, kind),
    }
}

/// The resource, unless reads do not show it yet.
fn visible<'a>(cloud: &'a Cloud, key: &Key, now_ms: u64) -> Option<&'a Resource> {
    let lag = cloud.options.read_lag_ms;
    cloud.resources.get(key).filter(|resource| resource.created_ms + lag <= now_ms || lag == 0)
}

fn absent(call: &Call<'_>, kind: Kind) -> Response {
    let (group, name) = call.group_and_name();
    let message =
        format!("The Resource '{}/{name}' under resource group '{group}' was not found.", kind.name());
    error(404, "ResourceNotFound", &message)
}

fn list(cloud: &Cloud, call: &Call<'_>, kind: Kind) -> Response {
    let group = call.argument(1).to_lowercase();
    let own = cloud.resources.iter().filter(|(key, _)| key.kind == kind && key.group == group);
    let value: Vec<Value> = own.map(|(_, resource)| json_of(cloud, resource)).collect();
    Response::json(200, &json!({ "value": value }))
}

/// A resource as Azure shows it.
fn json_of(cloud: &Cloud, resource: &Resource) -> Value {
    let mut value = resource.body.clone();
    value["id"] = json!(resource.id(&cloud.options.subscription));
    value["name"] = json!(resource.name);
    value["type"] = json!(resource.kind.name());
    value["location"] = json!(resource.location);
    value["tags"] = json!(resource.tags);
    if !resource.zones.is_empty() {
        value["zones"] = json!(resource.zones);
    }
    value["properties"]["provisioningState"] = json!(resource.state.name());
    match (resource.kind, &resource.attached_to) {
        (Kind::Nic, Some(vm)) => value["properties"]["virtualMachine"] = json!({ "id": vm }),
        (Kind::Disk, Some(vm)) => {
            value["managedBy"] = json!(vm);
            value["properties"]["diskState"] = json!("Attached");
        }
        (Kind::Disk, None) => value["properties"]["diskState"] = json!("Unattached"),
        _ => {}
    }
    value
}

/// The tags of a body, or what Azure says of them.
fn tags(body: &Value) -> Result<BTreeMap<String, String>, Response> {
    let mut tags = BTreeMap::new();
    for (key, value) in body["tags"].as_object().into_iter().flatten() {
        if key.contains(['<', '>', '%', '&', '\\', '?', '/']) {
            let message = format!(
                "The tag names '{key}' have reserved characters '<,>,%,&,\\,?,/' or control characters."
            );
            return Err(error(400, "InvalidTagNameCharacters", &message));
        }
        let value = value.as_str().unwrap_or_default();
        if key.len() > 512 || value.len() > 256 {
            return Err(error(400, "TagSizeExceeded", "The tag name or value is too long."));
        }
        tags.insert(key.clone(), value.to_owned());
    }
    if tags.len() > 50 {
        return Err(error(400, "TagCountExceeded", "The number of tags is larger than 50."));
    }
    Ok(tags)
}

/// The time as Azure writes it.
fn time(ms: u64) -> String {
    let (days, of_day) = (ms / 86_400_000, ms % 86_400_000);
    // Years begin in March here, so that the leap day is their last; an era has 400 of them.
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = era * 400 + year + next;
    let (seconds, ms) = (of_day / 1_000, of_day % 1_000);
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}+00:00")
}

#[cfg(test)]
mod tests {
    use super::time;

    #[test]
    fn times_are_those_of_the_calendar() {
        assert_eq!(time(0), "1970-01-01T00:00:00.000+00:00");
        assert_eq!(time(1_767_323_045_678), "2026-01-02T03:04:05.678+00:00");
        assert_eq!(time(1_709_251_199_900), "2024-02-29T23:59:59.900+00:00");
        assert_eq!(time(951_868_800_123), "2000-03-01T00:00:00.123+00:00");
    }
}
