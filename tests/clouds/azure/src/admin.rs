//! A back door for tests, without tokens: it looks at VMs, and makes some.

use serde_json::json;

use crate::arm::planted;
use crate::cloud::Cloud;
use crate::state::{Kind, State};
use crate::wire::{Request, Response, error};

/// `GET /admin/vms?TAG=VALUE…` lists VMs with these tags that are not being deleted; `POST
/// /admin/vms/NAME?TAG=VALUE…` makes one whose name begins with this. `group` is the resource group.
pub(crate) fn answer(cloud: &mut Cloud, request: &Request, segments: &[String], now_ms: u64) -> Response {
    let path: Vec<&str> = segments.iter().map(String::as_str).collect();
    let tags: Vec<(String, String)> =
        request.query.iter().filter(|(name, _)| name != "group").cloned().collect();
    match (request.method.as_str(), path.as_slice()) {
        ("GET", ["admin", "vms"]) => {
            let fits = |vm: &&crate::state::Resource| {
                vm.kind == Kind::Vm
                    && vm.state != State::Deleting
                    && tags.iter().all(|(key, value)| vm.tag(key) == Some(value.as_str()))
            };
            let found: Vec<_> =
                cloud.resources.values().filter(fits).map(|vm| json!({ "vm": vm.name })).collect();
            Response::json(200, &json!(found))
        }
        ("GET", ["admin", "counts"]) => Response::json(200, &json!(cloud.counts)),
        ("GET", ["admin", "resources"]) => {
            let ids: Vec<String> =
                cloud.resources.values().map(|resource| resource.id(&cloud.options.subscription)).collect();
            Response::json(200, &json!(ids))
        }
        ("POST", ["admin", "vms", name]) => {
            let group = request.query_value("group").map(str::to_owned);
            let group = group.or_else(|| cloud.options.groups.first().cloned()).unwrap_or_default();
            let unique = cloud.next("p");
            let name = format!("{}-{unique}", name.chars().take(40).collect::<String>());
            planted(cloud, &group, &name, &tags, now_ms);
            Response::json(201, &json!({ "vm": name }))
        }
        _ => error(404, "NotFound", "The back door leads nowhere."),
    }
}
