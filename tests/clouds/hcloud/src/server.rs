//! A server as tests and kubelets see it.

use crate::project::servers::{Power, Server};
use crate::project::{Project, UID_LABEL};

/// A server that lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveServer {
    pub id: i64,
    pub name: String,
    /// The uid of its Machine; empty if it has none.
    pub uid: String,
    pub location: String,
    pub server_type: String,
    pub cores: u32,
    pub memory_gib: u32,
    /// The address that it has in its private network.
    pub address: String,
    pub is_running: bool,
    /// How often it was reset: tells one boot from another.
    pub resets: u32,
}

impl LiveServer {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few GiB")]
    pub(crate) fn of(project: &Project, server: &Server) -> Self {
        let kind = project.catalog.kind(&server.kind).ok();
        let (high, low) = (server.id / 256 % 256, server.id % 256);
        Self {
            id: server.id,
            name: server.name.clone(),
            uid: server.label(UID_LABEL).unwrap_or_default().to_owned(),
            location: server.location.clone(),
            server_type: server.kind.clone(),
            cores: kind.and_then(|kind| u32::try_from(kind.cores).ok()).unwrap_or(1),
            memory_gib: kind.map_or(1, |kind| kind.memory as u32),
            address: format!("10.0.{high}.{low}"),
            is_running: server.power == Power::Running,
            resets: server.resets,
        }
    }
}
