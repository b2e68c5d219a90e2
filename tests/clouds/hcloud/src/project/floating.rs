//! Floating IPs: addresses that outlive their servers.

use std::time::Instant;

use hcloud::models::{CreateFloatingIpRequest, IpType};
use jiff::Timestamp;

use super::actions::Completion;
use super::labels::{self, Labels};
use super::{Outcome, Project, Refusal};

#[derive(Clone, Debug)]
pub(crate) struct FloatingIp {
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) address: String,
    pub(crate) location: String,
    pub(crate) server: Option<i64>,
    pub(crate) labels: Labels,
    pub(crate) created: Timestamp,
    pub(crate) shown_from: Instant,
}

impl Project {
    /// Creates an address, and returns its id and that of the action that assigns it.
    pub(crate) fn create_floating_ip(
        &mut self,
        asked: CreateFloatingIpRequest,
    ) -> Outcome<(i64, Option<i64>)> {
        if asked.r#type != IpType::Ipv4 {
            return Err(Refusal::invalid("type", "the tests have IPv4 only"));
        }
        let labels = asked.labels.unwrap_or_default();
        labels::check(&labels)?;
        let id = self.last_id + 1;
        let name = asked.name.unwrap_or_else(|| format!("floating-ip-{id}"));
        if self.floating_ips.values().any(|address| address.name == name) {
            return Err(Refusal::taken("floating IP"));
        }
        let server = asked.server.flatten();
        let location = match (server, asked.home_location) {
            (Some(server), _) => {
                let known = self.servers.get(&server).ok_or_else(|| Refusal::absent("server", server))?;
                known.location.clone()
            }
            (None, Some(location)) => self.catalog.location(&location)?.name.clone(),
            (None, None) => {
                return Err(Refusal::invalid("home_location", "home_location or server is required"));
            }
        };
        if let Some(server) = server {
            self.unlocked_server(server)?;
        }
        if self.floating_ips.len() >= self.options.most_floating_ips {
            return Err(Refusal::new(403, "resource_limit_exceeded", "floating IP limit exceeded"));
        }
        let id = self.next_id();
        let address = FloatingIp {
            id,
            name,
            address: format!("131.232.{}.{}", (id / 256) % 256, id % 256),
            location,
            server: None,
            labels,
            created: Timestamp::now(),
            shown_from: Instant::now() + self.options.creation_lag,
        };
        self.floating_ips.insert(id, address);
        let action = server.map(|server| self.begin_assignment(id, server));
        Ok((id, action))
    }

    pub(crate) fn assign_floating_ip(&mut self, address: i64, server: i64) -> Outcome<i64> {
        self.unlocked_floating_ip(address)?;
        self.unlocked_server(server)?;
        Ok(self.begin_assignment(address, server))
    }

    fn begin_assignment(&mut self, address: i64, server: i64) -> i64 {
        let resources = vec![("floating_ip", address), ("server", server)];
        self.begin("assign_floating_ip", resources, Completion::Assigned { address, server })
    }

    pub(crate) fn unassign_floating_ip(&mut self, address: i64) -> Outcome<i64> {
        self.unlocked_floating_ip(address)?;
        Ok(self.begin(
            "unassign_floating_ip",
            vec![("floating_ip", address)],
            Completion::Unassigned(address),
        ))
    }

    pub(crate) fn label_floating_ip(&mut self, id: i64, labels: Labels) -> Outcome<()> {
        labels::check(&labels)?;
        let address = self.floating_ips.get_mut(&id).ok_or_else(|| Refusal::absent("floating IP", id))?;
        address.labels = labels;
        Ok(())
    }

    pub(crate) fn delete_floating_ip(&mut self, id: i64) -> Outcome<()> {
        self.unlocked_floating_ip(id)?;
        self.floating_ips.remove(&id);
        Ok(())
    }

    fn unlocked_floating_ip(&self, id: i64) -> Outcome<()> {
        if !self.floating_ips.contains_key(&id) {
            return Err(Refusal::absent("floating IP", id));
        }
        if self.is_locked("floating_ip", id) {
            return Err(Refusal::new(423, "locked", "floating IP is locked"));
        }
        Ok(())
    }
}
