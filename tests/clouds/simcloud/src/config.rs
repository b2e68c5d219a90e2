//! The parts of the cloud: accounts, regions, types, images, latencies.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};

use serde::{Deserialize, Serialize};

/// Settings of a cloud and its server. [`Config::default`] is a small cloud that answers fast.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the server listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The token of the admin API and of the node simulator.
    pub admin_token: String,
    /// The accounts; none sees what another one has.
    pub accounts: Vec<AccountConfig>,
    /// Regions and their zones.
    pub regions: BTreeMap<String, Vec<String>>,
    /// The machine types by name.
    pub types: BTreeMap<String, InstanceType>,
    /// The images that exist.
    pub images: Vec<String>,
    /// How long things take, unless the faults say otherwise.
    pub latency: Latency,
    /// How long a terminated VM can still be read, in milliseconds.
    pub terminated_visible_ms: u64,
    /// Live VMs of an account that carry the same value in this tag count as duplicates.
    pub machine_tag: String,
    /// The events that the journal keeps for readers that lag behind.
    pub journal_events: usize,
    /// Where ids, jitter and probabilities start from.
    pub seed: u64,
    /// Threads of the server.
    pub threads: usize,
}

impl Default for Config {
    fn default() -> Self {
        let zones = |region: &str| ["a", "b", "c"].map(|zone| format!("{region}{zone}")).to_vec();
        let kind = |cpus, memory_gib| InstanceType { cpus, memory_gib, gpus: 0 };
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            admin_token: "sim-admin".to_owned(),
            accounts: vec![AccountConfig {
                name: "default".to_owned(),
                tokens: vec![
                    Token { token: "sim-token".to_owned(), role: Role::ReadWrite },
                    Token { token: "sim-read-token".to_owned(), role: Role::ReadOnly },
                ],
                quota: None,
            }],
            regions: ["sim-1", "sim-2"].iter().map(|name| ((*name).to_owned(), zones(name))).collect(),
            types: [
                ("sim.small", kind(2, 4)),
                ("sim.medium", kind(4, 16)),
                ("sim.large", kind(8, 32)),
                ("sim.gpu", InstanceType { cpus: 8, memory_gib: 64, gpus: 1 }),
            ]
            .map(|(name, kind)| (name.to_owned(), kind))
            .into(),
            images: vec!["linux-1".to_owned(), "linux-2".to_owned()],
            latency: Latency::default(),
            terminated_visible_ms: 30_000,
            machine_tag: "machine-uid".to_owned(),
            journal_events: 65_536,
            seed: 0,
            threads: 2,
        }
    }
}

/// An account: who may call, and how much it may have.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AccountConfig {
    #[serde(default)]
    pub name: String,
    pub tokens: Vec<Token>,
    /// The most VMs that it may have at a time.
    #[serde(default)]
    pub quota: Option<usize>,
}

/// A bearer token of an account.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Token {
    pub token: String,
    /// The permissions of the token.
    pub role: Role,
}

/// A permission of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Everything within its account.
    ReadWrite,
    /// Reads only; each change is answered by 403.
    ReadOnly,
}

/// The size of a machine type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InstanceType {
    pub cpus: u32,
    pub memory_gib: u32,
    pub gpus: u32,
}

/// How long things take, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Latency {
    /// The answer to a create of a VM or volume.
    pub create_ms: u64,
    /// The answer to a read of one object.
    pub get_ms: u64,
    /// The answer to a list.
    pub list_ms: u64,
    /// The answer to a delete.
    pub delete_ms: u64,
    /// The answer to any other change.
    pub change_ms: u64,
    /// From the create to `running`; also the length of a reboot.
    pub boot_ms: u64,
    /// From the delete to `terminated`.
    pub terminate_ms: u64,
    /// By how many percent each of these varies, in both directions.
    pub jitter_percent: u8,
}

impl Default for Latency {
    fn default() -> Self {
        Self {
            create_ms: 20,
            get_ms: 0,
            list_ms: 0,
            delete_ms: 0,
            change_ms: 0,
            boot_ms: 500,
            terminate_ms: 200,
            jitter_percent: 0,
        }
    }
}

impl Latency {
    /// Nothing takes any time.
    pub const ZERO: Self = Self {
        create_ms: 0,
        get_ms: 0,
        list_ms: 0,
        delete_ms: 0,
        change_ms: 0,
        boot_ms: 0,
        terminate_ms: 0,
        jitter_percent: 0,
    };
}
