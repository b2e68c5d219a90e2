//! Work that takes time, and its effects.

use std::time::Instant;

use hcloud::models::action::Status;
use jiff::Timestamp;

use super::servers::{Power, Server};
use super::{CLUSTER_LABEL, Project};

/// An action of the API. Its effect comes at its end.
#[derive(Clone, Debug)]
pub(crate) struct Action {
    pub(crate) id: i64,
    pub(crate) command: &'static str,
    pub(crate) started: Timestamp,
    pub(crate) ends: Instant,
    pub(crate) ended: Option<Timestamp>,
    /// The kind and the id of each object that it concerns.
    pub(crate) resources: Vec<(&'static str, i64)>,
    /// Its failure, with the API's code and message.
    pub(crate) failure: Option<(String, String)>,
    pub(crate) completion: Completion,
}

/// The effect of an action at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Completion {
    Created(i64),
    Started(i64),
    Stopped(i64),
    Deleted(i64),
    Assigned { address: i64, server: i64 },
    Unassigned(i64),
    Nothing,
}

impl Action {
    pub(crate) fn status(&self) -> Status {
        match (&self.ended, &self.failure) {
            (None, _) => Status::Running,
            (Some(_), None) => Status::Success,
            (Some(_), Some(_)) => Status::Error,
        }
    }

    pub(crate) fn concerns(&self, kind: &str, id: i64) -> bool {
        self.resources.contains(&(kind, id))
    }
}

impl Project {
    /// Begins an action. The next one on the same object ends after it.
    pub(crate) fn begin(
        &mut self,
        command: &'static str,
        resources: Vec<(&'static str, i64)>,
        completion: Completion,
    ) -> i64 {
        let id = self.next_id();
        let is_before = |action: &&Action| {
            action.ended.is_none() && resources.iter().any(|(kind, id)| action.concerns(kind, *id))
        };
        let begins = self
            .actions
            .values()
            .filter(is_before)
            .map(|action| action.ends)
            .max()
            .unwrap_or_else(Instant::now);
        let action = Action {
            id,
            command,
            started: Timestamp::now(),
            ends: begins + self.options.action_time,
            ended: None,
            resources,
            failure: None,
            completion,
        };
        self.actions.insert(id, action);
        id
    }

    /// Lets the actions end whose time has come, in the order of their ends.
    pub(crate) fn complete_due(&mut self) {
        let now = Instant::now();
        let is_due = |action: &&Action| action.ended.is_none() && action.ends <= now;
        let mut due: Vec<(Instant, i64)> =
            self.actions.values().filter(is_due).map(|action| (action.ends, action.id)).collect();
        due.sort_unstable();
        for (_, id) in due {
            self.end(id);
        }
    }

    fn end(&mut self, id: i64) {
        let Some(action) = self.actions.get(&id).cloned() else { return };
        let failure = match action.completion {
            Completion::Started(server) => self.start_failure(server),
            _ => None,
        };
        if failure.is_none() {
            self.take_effect(action.completion);
        }
        if let Some(action) = self.actions.get_mut(&id) {
            action.ended = Some(Timestamp::now());
            action.failure = failure;
        }
    }

    /// A location can be full after it has accepted a server: the server stays off then.
    fn start_failure(&self, server: i64) -> Option<(String, String)> {
        let server = self.servers.get(&server)?;
        self.catalog.cannot_start.contains(&server.location).then(|| {
            ("resource_unavailable".to_owned(), "Cannot start server because of missing resources".to_owned())
        })
    }

    fn take_effect(&mut self, completion: Completion) {
        let power = |server: &mut Server, power| {
            if server.power != Power::Deleting {
                server.power = power;
            }
        };
        match completion {
            Completion::Created(id) => {
                if let Some(server) = self.servers.get_mut(&id) {
                    power(server, Power::Off);
                }
            }
            Completion::Started(id) => {
                if let Some(server) = self.servers.get_mut(&id) {
                    power(server, Power::Running);
                }
            }
            Completion::Stopped(id) => {
                if let Some(server) = self.servers.get_mut(&id) {
                    power(server, Power::Off);
                }
            }
            Completion::Deleted(id) => {
                self.servers.remove(&id);
                for address in self.floating_ips.values_mut().filter(|address| address.server == Some(id)) {
                    address.server = None;
                }
                for group in &mut self.catalog.placement_groups {
                    group.servers.retain(|server| *server != id);
                }
            }
            Completion::Assigned { address, server } => {
                if let Some(address) = self.floating_ips.get_mut(&address) {
                    address.server = Some(server);
                }
            }
            Completion::Unassigned(id) => {
                if let Some(address) = self.floating_ips.get_mut(&id) {
                    address.server = None;
                }
            }
            Completion::Nothing => {}
        }
    }

    /// True while an action works on the object.
    pub(crate) fn is_locked(&self, kind: &str, id: i64) -> bool {
        self.actions.values().any(|action| action.ended.is_none() && action.concerns(kind, id))
    }
}

/// Two servers with one name, unless each cluster has a project of its own.
pub(crate) fn are_in_one_project(
    is_for_each_cluster: bool,
    one: &Server,
    other_cluster: Option<&str>,
) -> bool {
    !is_for_each_cluster || one.label(CLUSTER_LABEL) == other_cluster
}
