//! How a cloud is started.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// The times and limits of a cloud.
#[derive(Clone, Debug)]
pub struct Options {
    pub listen: SocketAddr,
    /// The token that may do everything.
    pub token: String,
    /// The token that may only read.
    pub read_only_token: String,
    /// How long an action takes.
    pub action_time: Duration,
    /// How long reads do not show a new server or Floating IP.
    pub creation_lag: Duration,
    /// Requests an hour, for all tokens of the project together.
    pub requests_per_hour: u32,
    /// Servers of the project.
    pub most_servers: usize,
    /// Floating IPs of the project.
    pub most_floating_ips: usize,
    /// If true, names of servers are unique for each value of the cluster's label, as if each cluster had a project of
    /// its own. The conformance kit uses each name in several clusters.
    pub is_project_for_each_cluster: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            token: "hcloud-tests-token-0123456789".to_owned(),
            read_only_token: "hcloud-tests-reads-0123456789".to_owned(),
            action_time: Duration::ZERO,
            creation_lag: Duration::ZERO,
            requests_per_hour: 3_600,
            most_servers: 1_000,
            most_floating_ips: 100,
            is_project_for_each_cluster: false,
        }
    }
}
