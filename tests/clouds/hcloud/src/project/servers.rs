//! Servers, from the request to the end of their deletion.

use std::time::Instant;

use hcloud::models::CreateServerRequest;
use jiff::Timestamp;

use super::actions::{Completion, are_in_one_project};
use super::catalog::GROUP_SERVERS;
use super::labels::{self, Labels};
use super::{CLUSTER_LABEL, Outcome, Project, Refusal, UID_LABEL};

const USER_DATA_BYTES: usize = 32 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Power {
    Initializing,
    Starting,
    Running,
    Stopping,
    Off,
    Deleting,
}

#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) power: Power,
    pub(crate) kind: String,
    pub(crate) image: i64,
    pub(crate) location: String,
    pub(crate) labels: Labels,
    pub(crate) networks: Vec<i64>,
    pub(crate) firewalls: Vec<i64>,
    pub(crate) group: Option<i64>,
    pub(crate) has_ipv4: bool,
    pub(crate) has_ipv6: bool,
    pub(crate) user_data: Option<String>,
    pub(crate) is_protected: bool,
    pub(crate) resets: u32,
    pub(crate) created: Timestamp,
    pub(crate) shown_from: Instant,
}

impl Server {
    pub(crate) fn label(&self, key: &str) -> Option<&str> {
        self.labels.get(key).map(String::as_str)
    }
}

impl Project {
    /// Creates a server, and returns its id and those of the actions on it.
    pub(crate) fn create_server(&mut self, asked: CreateServerRequest) -> Outcome<(i64, Vec<i64>)> {
        check_name(&asked.name)?;
        let labels = asked.labels.clone().unwrap_or_default();
        labels::check(&labels)?;
        self.check_objects(&asked)?;
        let cluster = labels.get(CLUSTER_LABEL).map(String::as_str);
        let is_for_each = self.options.is_project_for_each_cluster;
        let is_taken =
            |server: &Server| server.name == asked.name && are_in_one_project(is_for_each, server, cluster);
        if self.servers.values().any(is_taken) {
            return Err(Refusal::taken("server"));
        }
        if self.servers.len() >= self.options.most_servers {
            return Err(Refusal::new(403, "resource_limit_exceeded", "server limit exceeded"));
        }
        let location = self.location_of(&asked)?;
        let id = self.next_id();
        let kind = self.catalog.kind(&asked.server_type)?.clone();
        let image = self.catalog.image(&asked.image, kind.architecture)?.id;
        let public = asked.public_net.as_deref();
        let server = Server {
            id,
            name: asked.name,
            power: Power::Initializing,
            kind: kind.name.to_owned(),
            image,
            location,
            labels,
            networks: asked.networks.unwrap_or_default(),
            firewalls: asked.firewalls.unwrap_or_default().iter().map(|firewall| firewall.firewall).collect(),
            group: asked.placement_group,
            has_ipv4: public.and_then(|public| public.enable_ipv4).unwrap_or(true),
            has_ipv6: public.and_then(|public| public.enable_ipv6).unwrap_or(true),
            user_data: asked.user_data,
            is_protected: false,
            resets: 0,
            created: Timestamp::now(),
            shown_from: Instant::now() + self.options.creation_lag,
        };
        if let Some(group) =
            self.catalog.placement_groups.iter_mut().find(|group| Some(group.id) == server.group)
        {
            group.servers.push(id);
        }
        Ok((id, self.launch(server, asked.start_after_create != Some(false))))
    }

    fn launch(&mut self, server: Server, is_started: bool) -> Vec<i64> {
        let id = server.id;
        let uid = server.label(UID_LABEL).map(str::to_owned);
        self.servers.insert(id, server);
        if let Some(uid) = uid {
            *self.created.entry(uid.clone()).or_default() += 1;
            self.count_of(&uid);
        }
        let mut actions = vec![self.begin("create_server", vec![("server", id)], Completion::Created(id))];
        if is_started {
            actions.push(self.begin("start_server", vec![("server", id)], Completion::Started(id)));
        }
        self.complete_due();
        actions
    }

    /// Creates a server as another program or a person does: with any name, and any labels.
    pub(crate) fn plant(&mut self, name: &str, labels: Labels) -> i64 {
        let id = self.next_id();
        let server = Server {
            id,
            name: name.to_owned(),
            power: Power::Running,
            kind: "cx23".to_owned(),
            image: 161_547_269,
            location: "hel1".to_owned(),
            labels,
            networks: Vec::new(),
            firewalls: Vec::new(),
            group: None,
            has_ipv4: true,
            has_ipv6: true,
            user_data: None,
            is_protected: false,
            resets: 0,
            created: Timestamp::now(),
            shown_from: Instant::now(),
        };
        self.servers.insert(id, server);
        id
    }

    fn check_objects(&self, asked: &CreateServerRequest) -> Outcome<()> {
        let kind = self.catalog.kind(&asked.server_type)?;
        if kind.is_gone {
            return Err(Refusal::new(
                422,
                "invalid_server_type",
                format!("server type '{}' is deprecated", kind.name),
            ));
        }
        self.catalog.image(&asked.image, kind.architecture)?;
        for key in asked.ssh_keys.iter().flatten() {
            let is_it = |known: &&super::catalog::Key| known.name == key || known.id.to_string() == *key;
            self.catalog.keys.iter().find(is_it).ok_or_else(|| Refusal::absent("SSH key", key))?;
        }
        if asked.user_data.as_ref().is_some_and(|data| data.len() > USER_DATA_BYTES) {
            return Err(Refusal::invalid("user_data", "user data is limited to 32 KiB"));
        }
        let public = asked.public_net.as_deref();
        let is_private = public
            .is_some_and(|public| public.enable_ipv4 == Some(false) && public.enable_ipv6 == Some(false));
        if is_private && asked.networks.as_ref().is_none_or(Vec::is_empty) {
            return Err(Refusal::invalid("public_net", "a server needs a public or a private network"));
        }
        for firewall in asked.firewalls.iter().flatten() {
            let is_known = self.catalog.firewalls.iter().any(|known| known.id == firewall.firewall);
            if !is_known {
                return Err(Refusal::absent("firewall", firewall.firewall));
            }
            if is_private {
                return Err(Refusal::new(
                    422, "private_net_only_server", "the server has no public interface",
                ));
            }
        }
        Ok(())
    }

    /// The location, after all that depends on it.
    fn location_of(&self, asked: &CreateServerRequest) -> Outcome<String> {
        let kind = self.catalog.kind(&asked.server_type)?;
        let location = self.catalog.location(asked.location.as_deref().unwrap_or("fsn1"))?;
        if !kind.locations.contains(&location.name.as_str()) {
            return Err(Refusal::invalid("server_type", "unsupported location for server type"));
        }
        for network in asked.networks.iter().flatten() {
            let known = self.catalog.networks.iter().find(|known| known.id == *network);
            let known = known.ok_or_else(|| Refusal::absent("network", network))?;
            if known.zone != location.zone {
                return Err(Refusal::invalid(
                    "networks",
                    "network and location are in different network zones",
                ));
            }
            let used = self.servers.values().filter(|server| server.networks.contains(network)).count();
            if used >= known.room {
                return Err(Refusal::new(409, "no_subnet_available", "network has no free addresses"));
            }
        }
        if let Some(group) = asked.placement_group {
            let known = self.catalog.placement_groups.iter().find(|known| known.id == group);
            let known = known.ok_or_else(|| Refusal::absent("placement group", group))?;
            if known.servers.len() >= GROUP_SERVERS {
                return Err(Refusal::new(412, "placement_error", "placement group is full"));
            }
        }
        if self.catalog.full.contains(&location.name) {
            return Err(Refusal::new(412, "resource_unavailable", "error during placement"));
        }
        Ok(location.name.clone())
    }

    /// A server on which no action works.
    pub(crate) fn unlocked_server(&self, id: i64) -> Outcome<&Server> {
        let server = self.servers.get(&id).ok_or_else(|| Refusal::absent("server", id))?;
        if self.is_locked("server", id) {
            return Err(Refusal::new(423, "locked", "server is locked"));
        }
        Ok(server)
    }

    pub(crate) fn delete_server(&mut self, id: i64) -> Outcome<i64> {
        if self.unlocked_server(id)?.is_protected {
            return Err(Refusal::new(423, "protected", "server deletion is protected"));
        }
        if let Some(server) = self.servers.get_mut(&id) {
            server.power = Power::Deleting;
        }
        let action = self.begin("delete_server", vec![("server", id)], Completion::Deleted(id));
        self.complete_due();
        Ok(action)
    }

    pub(crate) fn update_server(
        &mut self,
        id: i64,
        name: Option<String>,
        labels: Option<Labels>,
    ) -> Outcome<()> {
        if let Some(labels) = &labels {
            labels::check(labels)?;
        }
        if let Some(name) = &name {
            check_name(name)?;
            if self.servers.values().any(|server| server.id != id && server.name == *name) {
                return Err(Refusal::taken("server"));
            }
        }
        let server = self.servers.get_mut(&id).ok_or_else(|| Refusal::absent("server", id))?;
        server.name = name.unwrap_or_else(|| server.name.clone());
        server.labels = labels.unwrap_or_else(|| server.labels.clone());
        Ok(())
    }

    /// Begins an action on a server by its name in the URL.
    pub(crate) fn act(&mut self, id: i64, name: &str) -> Outcome<i64> {
        let power = self.unlocked_server(id)?.power;
        let (command, next, effect) = match name {
            "poweron" => ("start_server", Some(Power::Starting), Completion::Started(id)),
            "poweroff" => ("stop_server", Some(Power::Stopping), Completion::Stopped(id)),
            "reset" => ("reset_server", None, Completion::Nothing),
            "reboot" => ("reboot_server", None, Completion::Nothing),
            _ => return Err(Refusal::new(404, "not_found", "there is no such action")),
        };
        if let (Some(server), Some(next)) = (self.servers.get_mut(&id), next)
            && !(power == Power::Running && next == Power::Starting)
        {
            server.power = next;
        }
        if let (Some(server), "reset") = (self.servers.get_mut(&id), name) {
            server.resets += 1;
        }
        let action = self.begin(command, vec![("server", id)], effect);
        self.complete_due();
        Ok(action)
    }
}

/// A host name by RFC 1123.
fn check_name(name: &str) -> Outcome<()> {
    let is_label = |label: &str| {
        let is_edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
        let bytes = label.as_bytes();
        bytes.len() <= 63
            && is_edge(bytes.first())
            && is_edge(bytes.last())
            && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
    };
    if name.len() <= 253 && name.split('.').all(is_label) {
        Ok(())
    } else {
        Err(Refusal::invalid("name", "invalid input in field 'name'"))
    }
}
