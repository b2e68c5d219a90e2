//! Images, agreements, sizes, subnets, resource groups, operations.

use serde_json::{Value, json};

use super::{Call, graph, rules};
use crate::cloud::Cloud;
use crate::options::{Agreement, Subnet};
use crate::wire::{Request, Response, error};

/// Versions of the interfaces that Microsoft's two clients do not describe.
const MARKETPLACE: &str = "2021-01-01";
const GROUPS: &str = "2021-04-01";
const GRAPH: &str = "2021-03-01";

pub(super) fn image(cloud: &Cloud, call: &Call<'_>) -> Response {
    let parts: Vec<&str> = (2..6).map(|index| call.argument(index)).collect();
    let urn = parts.join(":");
    let location = call.argument(1);
    let Some(offer) = rules::offer(cloud, &urn) else {
        let message = format!("Artifact: VMImage was not found. {urn}");
        return error(404, "NotFound", &message);
    };
    let id = format!(
        "/Subscriptions/{}/Providers/Microsoft.Compute/Locations/{location}/Publishers/{}/ArtifactTypes/VMImage/Offers/{}/Skus/{}/Versions/{}",
        cloud.options.subscription,
        parts.first().unwrap_or(&""),
        parts.get(1).unwrap_or(&""),
        parts.get(2).unwrap_or(&""),
        parts.get(3).unwrap_or(&"")
    );
    let mut properties = json!({ "osDiskImage": { "operatingSystem": "Linux" }, "hyperVGeneration": "V2" });
    if let Some([name, product, publisher]) = &offer.plan {
        properties["plan"] = json!({ "name": name, "product": product, "publisher": publisher });
    }
    let name = parts.get(3).copied().unwrap_or_default();
    Response::json(200, &json!({ "id": id, "name": name, "location": location, "properties": properties }))
}

pub(super) fn sizes(cloud: &Cloud, call: &Call<'_>) -> Response {
    let location = call.argument(1);
    if !location.eq_ignore_ascii_case(&cloud.options.location) {
        let message = format!("The provided location '{location}' is not available.");
        return error(400, "NoRegisteredProviderFound", &message);
    }
    let size = |size: &crate::options::Size| {
        json!({
            "name": size.name, "numberOfCores": size.cores, "memoryInMB": size.memory_mib,
            "osDiskSizeInMB": 1_047_552, "resourceDiskSizeInMB": 0, "maxDataDiskCount": 8,
        })
    };
    let value: Vec<Value> = cloud.options.sizes.iter().map(size).collect();
    Response::json(200, &json!({ "value": value }))
}

pub(super) fn subnet(cloud: &Cloud, call: &Call<'_>) -> Response {
    let [group, vnet, name] = [1, 2, 3].map(|index| call.argument(index));
    let is_it = |subnet: &&Subnet| {
        subnet.group.eq_ignore_ascii_case(group)
            && subnet.vnet.eq_ignore_ascii_case(vnet)
            && subnet.name.eq_ignore_ascii_case(name)
    };
    match cloud.options.subnets.iter().find(is_it) {
        Some(subnet) => {
            let id = format!(
                "/subscriptions/{}/resourceGroups/{}/providers/Microsoft.Network/virtualNetworks/{}/subnets/{}",
                cloud.options.subscription, subnet.group, subnet.vnet, subnet.name
            );
            let properties = json!({ "addressPrefix": "10.0.0.0/20", "provisioningState": "Succeeded" });
            Response::json(200, &json!({ "id": id, "name": subnet.name, "properties": properties }))
        }
        None => error(404, "NotFound", &format!("Resource {name} not found.")),
    }
}

/// Answers what Microsoft's two clients do not describe.
pub(crate) fn other(cloud: &mut Cloud, request: &Request, segments: &[String], now_ms: u64) -> Response {
    let lower: Vec<String> = segments.iter().map(|segment| segment.to_lowercase()).collect();
    let path: Vec<&str> = lower.iter().map(String::as_str).collect();
    let (name, version) = match (request.method.as_str(), path.as_slice()) {
        ("HEAD" | "GET", ["subscriptions", _, "resourcegroups", _]) => ("resourceGroups", Some(GROUPS)),
        ("POST", ["providers", "microsoft.resourcegraph", "resources"]) => ("resourceGraph", Some(GRAPH)),
        (
            "GET" | "PUT",
            [
                "subscriptions",
                _,
                "providers",
                "microsoft.marketplaceordering",
                "offertypes",
                "virtualmachine",
                "publishers",
                _,
                "offers",
                _,
                "plans",
                _,
                "agreements",
                "current",
            ],
        ) => ("agreements", Some(MARKETPLACE)),
        (
            "GET",
            ["subscriptions", _, "providers", _, "locations", _, "operations" | "operationresults", _],
        ) => ("operations", None),
        _ => {
            let message = format!("The cloud for tests has no {} {}.", request.method, request.path);
            return error(404, "InvalidResourceType", &message);
        }
    };
    *cloud.counts.entry(format!("{name}.{}", request.method.to_lowercase())).or_default() += 1;
    if version.is_some_and(|version| request.query_value("api-version") != Some(version)) {
        return error(
            400,
            "InvalidApiVersionParameter",
            &format!("The api-version of {name} is {version:?}."),
        );
    }
    match name {
        "resourceGroups" => {
            let found = cloud
                .options
                .groups
                .iter()
                .any(|group| group.to_lowercase() == path.get(3).copied().unwrap_or_default());
            // The answer to HEAD has no body.
            Response::empty(if found { 204 } else { 404 })
        }
        "resourceGraph" => graph::answer(cloud, request, now_ms),
        "agreements" => agreement(cloud, request, segments),
        _ => operation(cloud, segments),
    }
}

fn agreement(cloud: &mut Cloud, request: &Request, segments: &[String]) -> Response {
    let at = |index: usize| segments.get(index).cloned().unwrap_or_default();
    let plan = [at(11), at(9), at(7)];
    let Some(known) = cloud.options.agreements.iter_mut().find(|known| known.plan == plan) else {
        return error(404, "NotFound", "Legal terms not found for this subscription.");
    };
    if request.method == "PUT" {
        let body = match request.json() {
            Ok(body) => body,
            Err(refused) => return refused,
        };
        match body["properties"]["accepted"].as_bool() {
            Some(accepted) if body["properties"]["signature"] == "tests" => known.is_accepted = accepted,
            _ => return error(400, "BadRequest", "The signature of the terms is missing or wrong."),
        }
    }
    let Agreement { plan: [name, product, publisher], is_accepted } = known;
    let body = json!({
        "id": format!("/{}", segments.join("/")), "name": name, "type": "Microsoft.MarketplaceOrdering/offertypes",
        "properties": { "plan": name, "product": product, "publisher": publisher, "accepted": is_accepted, "signature": "tests" },
    });
    Response::json(200, &body)
}

/// How an operation goes: a status, or 202 until it is done.
fn operation(cloud: &Cloud, segments: &[String]) -> Response {
    let id = segments.last().cloned().unwrap_or_default();
    let Some(operation) = cloud.operations.iter().find(|operation| operation.id == id) else {
        return error(404, "NotFound", &format!("The operation {id} was not found."));
    };
    let is_by_status = segments.iter().any(|segment| segment.eq_ignore_ascii_case("operations"));
    let mut answer = match (&operation.failure, operation.is_finished) {
        _ if is_by_status => Response::json(200, &operation.status()),
        (_, false) => Response::empty(202),
        (Some((code, message)), true) => error(409, code, message),
        (None, true) => Response::empty(200),
    };
    if let Some(seconds) = cloud.options.retry_after_s.filter(|_| !operation.is_finished) {
        answer = answer.with("retry-after", seconds.to_string());
    }
    answer
}
