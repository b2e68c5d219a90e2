//! From method and path to the work.

use hcloud::models;

use super::page::{Filter, cut};
use super::{Answer, Request, decode};
use crate::project::catalog::{Image, Key};
use crate::project::{
    Outcome, Project, Refusal, show_action, show_firewall, show_group, show_image, show_key,
};

/// Does the work of a request that was admitted.
pub(crate) fn work(project: &mut Project, request: &Request) -> Outcome<Answer> {
    project.complete_due();
    let path: Vec<&str> = request.path.trim_start_matches('/').split('/').collect();
    match (request.method.as_str(), path.as_slice()) {
        ("GET", ["v1", "servers"]) => servers(project, request),
        ("POST", ["v1", "servers"]) => create_server(project, request),
        ("GET", ["v1", "servers", id]) => server(project, number(id)?),
        ("PUT", ["v1", "servers", id]) => update_server(project, number(id)?, request),
        ("DELETE", ["v1", "servers", id]) => {
            let action = project.delete_server(number(id)?)?;
            Ok(Answer::of(
                200,
                &models::DeleteServerResponse { action: Some(Box::new(action_of(project, action)?)) },
            ))
        }
        ("POST", ["v1", "servers", id, "actions", name]) => {
            let action = project.act(number(id)?, name)?;
            Ok(Answer::of(
                201,
                &models::PowerOnServerResponse { action: Box::new(action_of(project, action)?) },
            ))
        }
        ("GET", ["v1", "actions"]) => actions(project, request),
        ("GET", ["v1", "actions", id]) => {
            let action = Box::new(action_of(project, number(id)?)?);
            Ok(Answer::of(200, &models::GetActionResponse { action }))
        }
        ("GET", ["v1", "servers", id, "actions"]) => {
            let id = number(id)?;
            let found = project.actions.values().filter(|action| action.concerns("server", id));
            let (actions, meta) = cut(request, found.map(show_action).collect())?;
            Ok(Answer::of(200, &models::ListActionsResponse { actions, meta }))
        }
        ("GET", ["v1", "floating_ips"]) => floating_ips(project, request),
        ("POST", ["v1", "floating_ips"]) => {
            let (id, action) = project.create_floating_ip(decode::body(&request.body)?)?;
            project.complete_due();
            let action = action.map(|action| action_of(project, action).map(Box::new)).transpose()?;
            let floating_ip = Box::new(floating_ip_of(project, id)?);
            Ok(Answer::of(201, &models::CreateFloatingIpResponse { action, floating_ip }))
        }
        ("GET", ["v1", "floating_ips", id]) => {
            let floating_ip = Box::new(floating_ip_of(project, number(id)?)?);
            Ok(Answer::of(200, &models::GetFloatingIpResponse { floating_ip }))
        }
        ("PUT", ["v1", "floating_ips", id]) => {
            let asked: models::ReplaceFloatingIpRequest = decode::body(&request.body)?;
            project.label_floating_ip(number(id)?, asked.labels.unwrap_or_default())?;
            let floating_ip = Box::new(floating_ip_of(project, number(id)?)?);
            Ok(Answer::of(200, &models::ReplaceFloatingIpResponse { floating_ip }))
        }
        ("DELETE", ["v1", "floating_ips", id]) => {
            project.delete_floating_ip(number(id)?)?;
            Ok(Answer::empty())
        }
        ("POST", ["v1", "floating_ips", id, "actions", name]) => {
            act_on_floating_ip(project, number(id)?, name, request)
        }
        ("GET", ["v1", kind]) => catalog(project, kind, request),
        ("GET", ["v1", "datacenters", ..]) => {
            Err(Refusal::new(410, "deprecated_api_endpoint", "datacenters were removed on 2026-10-01"))
        }
        _ => Err(Refusal::new(404, "not_found", "there is no such path")),
    }
}

fn number(text: &str) -> Outcome<i64> {
    text.parse().map_err(|_| Refusal::absent("object", text))
}

fn action_of(project: &Project, id: i64) -> Outcome<models::Action> {
    project.actions.get(&id).map(show_action).ok_or_else(|| Refusal::absent("action", id))
}

fn servers(project: &Project, request: &Request) -> Outcome<Answer> {
    let filter = Filter::of(request)?;
    let status = request.all("status");
    let shown: Vec<models::Server> = project
        .shown_servers()
        .filter(|server| filter.fits(&server.name, &server.labels))
        .map(|server| project.show_server(server))
        .filter(|server| {
            let text = serde_json::to_value(server.status).unwrap_or_default();
            status.is_empty() || status.iter().any(|wanted| text == wanted.as_str())
        })
        .collect();
    let (servers, meta) = cut(request, shown)?;
    Ok(Answer::of(200, &models::ListServersResponse { meta, servers }))
}

fn server(project: &Project, id: i64) -> Outcome<Answer> {
    let found = project.shown_servers().find(|server| server.id == id);
    let found = found.ok_or_else(|| Refusal::absent("server", id))?;
    Ok(Answer::of(200, &models::GetServerResponse { server: Some(Box::new(project.show_server(found))) }))
}

fn create_server(project: &mut Project, request: &Request) -> Outcome<Answer> {
    let (id, actions) = project.create_server(decode::body(&request.body)?)?;
    let mut actions =
        actions.into_iter().map(|id| action_of(project, id)).collect::<Outcome<Vec<_>>>()?.into_iter();
    let server = project.servers.get(&id).ok_or_else(|| Refusal::absent("server", id))?;
    let response = models::CreateServerResponse {
        action: Box::new(actions.next().unwrap_or_default()),
        next_actions: actions.collect(),
        root_password: None,
        server: Box::new(project.show_server(server)),
    };
    Ok(Answer::of(201, &response))
}

fn update_server(project: &mut Project, id: i64, request: &Request) -> Outcome<Answer> {
    let asked: models::ReplaceServerRequest = decode::body(&request.body)?;
    project.update_server(id, asked.name, asked.labels)?;
    let server = project.servers.get(&id).map(|server| Box::new(project.show_server(server)));
    Ok(Answer::of(200, &models::ReplaceServerResponse { server }))
}

fn actions(project: &Project, request: &Request) -> Outcome<Answer> {
    let ids = request.all("id");
    if ids.is_empty() {
        return Err(Refusal::new(410, "deprecated_api_endpoint", "the parameter id is required"));
    }
    let found = project.actions.values().filter(|action| ids.contains(&action.id.to_string()));
    Ok(Answer::of(200, &models::GetMultipleActionsResponse { actions: found.map(show_action).collect() }))
}

fn floating_ips(project: &Project, request: &Request) -> Outcome<Answer> {
    let filter = Filter::of(request)?;
    let found = project.shown_floating_ips().filter(|address| filter.fits(&address.name, &address.labels));
    let (floating_ips, meta) =
        cut(request, found.map(|address| project.show_floating_ip(address)).collect())?;
    Ok(Answer::of(200, &models::ListFloatingIpsResponse { floating_ips, meta }))
}

fn floating_ip_of(project: &Project, id: i64) -> Outcome<models::FloatingIp> {
    let found = project.floating_ips.get(&id).ok_or_else(|| Refusal::absent("floating IP", id))?;
    Ok(project.show_floating_ip(found))
}

fn act_on_floating_ip(project: &mut Project, id: i64, name: &str, request: &Request) -> Outcome<Answer> {
    let action = match name {
        "assign" => {
            let asked: models::AssignFloatingIpToServerRequest = decode::body(&request.body)?;
            let server = asked.server.ok_or_else(|| Refusal::invalid("server", "server is required"))?;
            project.assign_floating_ip(id, server)?
        }
        "unassign" => project.unassign_floating_ip(id)?,
        _ => return Err(Refusal::new(404, "not_found", "there is no such action")),
    };
    project.complete_due();
    Ok(Answer::of(
        201,
        &models::AssignFloatingIpToServerResponse { action: Box::new(action_of(project, action)?) },
    ))
}

fn catalog(project: &Project, kind: &str, request: &Request) -> Outcome<Answer> {
    let filter = Filter::of(request)?;
    let catalog = &project.catalog;
    Ok(match kind {
        "server_types" => {
            let found = catalog.kinds.iter().filter(|kind| filter.is_named(kind.name));
            let (server_types, meta) = cut(request, found.map(|kind| catalog.show_kind(kind)).collect())?;
            Answer::of(200, &models::ListServerTypesResponse { meta, server_types })
        }
        "images" => {
            let architectures = request.all("architecture");
            let is_asked = |image: &&Image| {
                let text = serde_json::to_value(image.architecture).unwrap_or_default();
                let is_shown = !image.is_deprecated || request.one("include_deprecated") == Some("true");
                let is_built =
                    architectures.is_empty() || architectures.iter().any(|wanted| text == wanted.as_str());
                filter.is_named(image.name) && is_shown && is_built
            };
            let found = catalog.images.iter().filter(is_asked);
            let (images, meta) = cut(request, found.map(show_image).collect())?;
            Answer::of(200, &models::ListImagesResponse { images, meta })
        }
        "ssh_keys" => {
            let wanted = request.one("fingerprint");
            let is_asked = |key: &&Key| {
                filter.is_named(key.name) && wanted.is_none_or(|wanted| wanted == key.fingerprint)
            };
            let found = catalog.keys.iter().filter(is_asked);
            let (ssh_keys, meta) = cut(request, found.map(show_key).collect())?;
            Answer::of(200, &models::ListSshKeysResponse { meta, ssh_keys })
        }
        "networks" => {
            let found = catalog.networks.iter().filter(|network| filter.is_named(network.name));
            let (networks, meta) =
                cut(request, found.map(|network| project.show_network(network)).collect())?;
            Answer::of(200, &models::ListNetworksResponse { meta, networks })
        }
        "firewalls" => {
            let found = catalog.firewalls.iter().filter(|firewall| filter.is_named(firewall.name));
            let (firewalls, meta) = cut(request, found.map(show_firewall).collect())?;
            Answer::of(200, &models::ListFirewallsResponse { firewalls, meta })
        }
        "placement_groups" => {
            let found = catalog.placement_groups.iter().filter(|group| filter.is_named(group.name));
            let (placement_groups, meta) = cut(request, found.map(show_group).collect())?;
            Answer::of(200, &models::ListPlacementGroupsResponse { meta, placement_groups })
        }
        "locations" => {
            let found = catalog.locations.iter().filter(|location| filter.is_named(&location.name));
            let (locations, meta) =
                cut(request, found.map(|found| catalog.show_location(&found.name)).collect())?;
            Answer::of(200, &models::ListLocationsResponse { locations, meta })
        }
        "datacenters" => {
            return Err(Refusal::new(
                410, "deprecated_api_endpoint", "datacenters were removed on 2026-10-01",
            ));
        }
        _ => return Err(Refusal::new(404, "not_found", "there is no such path")),
    })
}
