//! The objects as the API shows them, built from its own types.

use std::collections::HashMap;
use std::time::Instant;

use hcloud::models::{self, server, server_type};

use super::actions::Action;
use super::catalog::{self, Catalog};
use super::floating::FloatingIp;
use super::servers::{Power, Server};
use super::{Project, labels::Labels};

const CREATED: &str = "2026-01-30T23:50:00+00:00";

impl Project {
    /// Servers that reads show already.
    pub(crate) fn shown_servers(&self) -> impl Iterator<Item = &Server> {
        let now = Instant::now();
        self.servers.values().filter(move |server| server.shown_from <= now)
    }

    /// Floating IPs that reads show already.
    pub(crate) fn shown_floating_ips(&self) -> impl Iterator<Item = &FloatingIp> {
        let now = Instant::now();
        self.floating_ips.values().filter(move |address| address.shown_from <= now)
    }

    pub(crate) fn show_server(&self, of: &Server) -> models::Server {
        let kind = self
            .catalog
            .kinds
            .iter()
            .find(|kind| kind.name == of.kind)
            .map(|kind| self.catalog.show_kind(kind));
        let image = self.catalog.images.iter().find(|image| image.id == of.image).map(show_image);
        let (high, low) = ((of.id / 256) % 256, of.id % 256);
        let floating = self.floating_ips.values().filter(|address| address.server == Some(of.id));
        let public = models::ServerPublicNet {
            firewalls: Some(
                of.firewalls
                    .iter()
                    .map(|id| models::ServerPublicNetFirewall {
                        id: Some(*id),
                        status: Some(models::server_public_net_firewall::Status::Applied),
                    })
                    .collect(),
            ),
            floating_ips: floating.map(|address| address.id).collect(),
            ipv4: of.has_ipv4.then(|| {
                Box::new(models::Ipv4 {
                    blocked: false,
                    dns_ptr: format!("static.{low}.{high}.clients.test"),
                    id: Some(of.id + 1_000_000),
                    ip: format!("203.0.{high}.{low}"),
                })
            }),
            ipv6: of.has_ipv6.then(|| {
                Box::new(models::Ipv6 {
                    blocked: false,
                    dns_ptr: Some(Vec::new()),
                    id: Some(of.id + 2_000_000),
                    ip: format!("2001:db8:{:x}::/64", of.id),
                })
            }),
        };
        let private = of.networks.iter().map(|network| models::ServerPrivateNet {
            alias_ips: Some(Vec::new()),
            ip: Some(format!("10.0.{high}.{low}")),
            mac_address: Some(format!("86:00:00:00:{high:02x}:{low:02x}")),
            network: Some(*network),
        });
        let group =
            self.catalog.placement_groups.iter().find(|group| Some(group.id) == of.group).map(show_group);
        models::Server {
            load_balancers: Some(Vec::new()),
            placement_group: Some(group.map(Box::new)),
            volumes: Some(Vec::new()),
            ..models::Server::new(
                None,
                of.created.to_string(),
                of.id,
                image,
                Some(21_990_232_555_520),
                None,
                None,
                of.labels.clone(),
                self.catalog.show_location(&of.location),
                self.is_locked("server", of.id),
                of.name.clone(),
                None,
                40,
                private.collect(),
                models::ServerProtection { delete: of.is_protected, rebuild: of.is_protected },
                public,
                false,
                kind.unwrap_or_default(),
                status(of.power),
            )
        }
    }

    pub(crate) fn show_floating_ip(&self, of: &FloatingIp) -> models::FloatingIp {
        models::FloatingIp {
            blocked: false,
            created: of.created.to_string(),
            description: None,
            dns_ptr: Vec::new(),
            home_location: Box::new(self.catalog.show_location(&of.location)),
            id: of.id,
            ip: of.address.clone(),
            labels: of.labels.clone(),
            name: of.name.clone(),
            protection: Box::new(models::Protection { delete: false }),
            server: of.server,
            r#type: models::IpType::Ipv4,
        }
    }

    pub(crate) fn show_network(&self, of: &catalog::Network) -> models::Network {
        let servers = self.servers.values().filter(|server| server.networks.contains(&of.id));
        models::Network {
            created: CREATED.to_owned(),
            expose_routes_to_vswitch: false,
            id: of.id,
            ip_range: "10.0.0.0/16".to_owned(),
            labels: HashMap::new(),
            load_balancers: Some(Vec::new()),
            name: of.name.to_owned(),
            protection: Box::new(models::Protection { delete: false }),
            routes: Vec::new(),
            servers: servers.map(|server| server.id).collect(),
            subnets: Vec::new(),
        }
    }
}

impl Catalog {
    pub(crate) fn show_location(&self, name: &str) -> models::Location {
        let Some(known) = self.locations.iter().find(|location| location.name == name) else {
            return models::Location::default();
        };
        models::Location {
            city: known.city.to_owned(),
            country: if known.zone == "us-east" { "US" } else { "DE" }.to_owned(),
            description: format!("{} DC Park 1", known.city),
            id: known.id,
            latitude: 50.5,
            longitude: 12.4,
            name: known.name.clone(),
            network_zone: known.zone.to_owned(),
        }
    }

    pub(crate) fn show_kind(&self, of: &catalog::Kind) -> models::ServerType {
        let deprecation = of.is_gone.then(|| models::DeprecationInfo {
            announced: "2026-02-05T00:00:00+00:00".to_owned(),
            unavailable_after: "2026-05-05T00:00:00+00:00".to_owned(),
        });
        let locations =
            self.locations.iter().filter(|location| of.locations.contains(&location.name.as_str()));
        models::ServerType {
            architecture: of.architecture,
            category: Some("Shared vCPU".to_owned()),
            cores: of.cores,
            cpu_type: server_type::CpuType::Shared,
            deprecated: Some(of.is_gone),
            deprecation: Some(deprecation.clone().map(Box::new)),
            description: of.name.to_uppercase(),
            disk: of.disk,
            id: of.id,
            locations: locations
                .map(|location| models::ServerTypeLocation {
                    deprecation: deprecation.clone().map(Box::new),
                    id: location.id,
                    name: location.name.clone(),
                })
                .collect(),
            memory: of.memory,
            name: of.name.to_owned(),
            prices: Vec::new(),
            storage_type: server_type::StorageType::Local,
        }
    }
}

fn status(power: Power) -> server::Status {
    match power {
        Power::Initializing => server::Status::Initializing,
        Power::Starting => server::Status::Starting,
        Power::Running => server::Status::Running,
        Power::Stopping => server::Status::Stopping,
        Power::Off => server::Status::Off,
        Power::Deleting => server::Status::Deleting,
    }
}

pub(crate) fn show_action(of: &Action) -> models::Action {
    models::Action {
        command: of.command.to_owned(),
        error: of.failure.clone().map(|(code, message)| Box::new(models::Error { code, message })),
        finished: of.ended.map(|ended| ended.to_string()),
        id: of.id,
        progress: if of.ended.is_some() { 100 } else { 10 },
        resources: of
            .resources
            .iter()
            .map(|(kind, id)| models::Resource { id: *id, r#type: (*kind).to_owned() })
            .collect(),
        started: of.started.to_string(),
        status: of.status(),
    }
}

pub(crate) fn show_image(of: &catalog::Image) -> models::Image {
    use models::image::{OsFlavor, Status, Type};
    models::Image {
        architecture: of.architecture,
        bound_to: None,
        created: CREATED.to_owned(),
        created_from: None,
        deleted: None,
        deprecated: of.is_deprecated.then(|| CREATED.to_owned()),
        description: of.name.to_owned(),
        disk_size: 5.0,
        id: of.id,
        image_size: None,
        labels: Labels::new(),
        name: Some(of.name.to_owned()),
        os_flavor: if of.name.starts_with("debian") { OsFlavor::Debian } else { OsFlavor::Ubuntu },
        os_version: of.name.split_once('-').map(|(_, version)| version.to_owned()),
        protection: Box::new(models::Protection { delete: false }),
        rapid_deploy: Some(true),
        status: Status::Available,
        r#type: Type::System,
    }
}

pub(crate) fn show_key(of: &catalog::Key) -> models::SshKey {
    models::SshKey {
        created: CREATED.to_owned(),
        fingerprint: of.fingerprint.to_owned(),
        id: of.id,
        labels: Labels::new(),
        name: of.name.to_owned(),
        public_key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGVzdHM machines@example.com".to_owned(),
    }
}

pub(crate) fn show_firewall(of: &catalog::Named) -> models::Firewall {
    models::Firewall {
        applied_to: Vec::new(),
        created: CREATED.to_owned(),
        id: of.id,
        labels: Some(Labels::new()),
        name: of.name.to_owned(),
        rules: Vec::new(),
    }
}

pub(crate) fn show_group(of: &catalog::Group) -> models::PlacementGroup {
    models::PlacementGroup {
        created: CREATED.to_owned(),
        id: of.id,
        labels: Labels::new(),
        name: of.name.to_owned(),
        servers: of.servers.clone(),
        r#type: models::placement_group::Type::Spread,
    }
}
