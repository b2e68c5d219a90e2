//! Objects that are there from the beginning: locations, server types, images, keys, networks and so on.

use std::collections::BTreeSet;

use hcloud::models::Architecture;

use super::{Outcome, Refusal};

/// The most servers of a placement group.
pub(crate) const GROUP_SERVERS: usize = 10;

#[derive(Clone, Debug)]
pub(crate) struct Location {
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) city: &'static str,
    pub(crate) zone: &'static str,
}

#[derive(Clone, Debug)]
pub(crate) struct Kind {
    pub(crate) id: i64,
    pub(crate) name: &'static str,
    pub(crate) architecture: Architecture,
    pub(crate) cores: i32,
    pub(crate) memory: f64,
    pub(crate) disk: f64,
    /// Locations that have it.
    pub(crate) locations: &'static [&'static str],
    /// A type that is deprecated can be shown and not be had any more.
    pub(crate) is_gone: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Image {
    pub(crate) id: i64,
    pub(crate) name: &'static str,
    pub(crate) architecture: Architecture,
    pub(crate) is_deprecated: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) id: i64,
    pub(crate) name: &'static str,
}

#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) id: i64,
    pub(crate) name: &'static str,
    pub(crate) fingerprint: &'static str,
}

#[derive(Clone, Debug)]
pub(crate) struct Network {
    pub(crate) id: i64,
    pub(crate) name: &'static str,
    pub(crate) zone: &'static str,
    /// Servers that its subnet has room for.
    pub(crate) room: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) id: i64,
    pub(crate) name: &'static str,
    pub(crate) servers: Vec<i64>,
}

#[derive(Clone, Debug)]
pub(crate) struct Catalog {
    pub(crate) locations: Vec<Location>,
    pub(crate) kinds: Vec<Kind>,
    pub(crate) images: Vec<Image>,
    pub(crate) keys: Vec<Key>,
    pub(crate) networks: Vec<Network>,
    pub(crate) firewalls: Vec<Named>,
    pub(crate) placement_groups: Vec<Group>,
    /// Locations without room, for a create.
    pub(crate) full: BTreeSet<String>,
    /// Locations that accept a server and then have no room to start it.
    pub(crate) cannot_start: BTreeSet<String>,
}

impl Catalog {
    pub(crate) fn new() -> Self {
        let location = |id, name: &str, city, zone| Location { id, name: name.to_owned(), city, zone };
        let kind = |id, name, architecture, cores, memory: f64, disk: f64, locations| Kind {
            id,
            name,
            architecture,
            cores,
            memory,
            disk,
            locations,
            is_gone: false,
        };
        let image = |id, name, architecture| Image { id, name, architecture, is_deprecated: false };
        Self {
            locations: vec![
                location(1, "fsn1", "Falkenstein", "eu-central"),
                location(2, "nbg1", "Nuremberg", "eu-central"),
                location(3, "hel1", "Helsinki", "eu-central"),
                location(4, "ash", "Ashburn, VA", "us-east"),
            ],
            kinds: vec![
                kind(114, "cx23", Architecture::X86, 2, 4.0, 40.0, &["fsn1", "nbg1", "hel1"]),
                kind(115, "cx33", Architecture::X86, 4, 8.0, 80.0, &["fsn1", "nbg1", "hel1"]),
                kind(45, "cax11", Architecture::Arm, 2, 4.0, 40.0, &["fsn1", "nbg1", "hel1"]),
                kind(109, "cpx22", Architecture::X86, 2, 4.0, 80.0, &["fsn1", "nbg1", "hel1", "ash"]),
                Kind {
                    is_gone: true,
                    ..kind(104, "cx22", Architecture::X86, 2, 4.0, 40.0, &["fsn1", "nbg1", "hel1"])
                },
            ],
            images: vec![
                image(161_547_269, "ubuntu-24.04", Architecture::X86),
                image(161_547_270, "ubuntu-24.04", Architecture::Arm),
                image(114_690_387, "debian-12", Architecture::X86),
                Image { is_deprecated: true, ..image(67_794_396, "ubuntu-20.04", Architecture::X86) },
            ],
            keys: vec![Key {
                id: 2_323,
                name: "machines",
                fingerprint: "b0:62:0f:6f:0c:ab:79:0f:b7:5b:00:c0:ad:d6:4c:3d",
            }],
            networks: vec![
                Network { id: 3_001, name: "nodes", zone: "eu-central", room: 1_000 },
                Network { id: 3_002, name: "small", zone: "eu-central", room: 1 },
            ],
            firewalls: vec![Named { id: 38_001, name: "nodes" }, Named { id: 38_002, name: "other" }],
            placement_groups: vec![Group { id: 897, name: "spread", servers: Vec::new() }],
            full: BTreeSet::new(),
            cannot_start: BTreeSet::new(),
        }
    }

    /// A location, by id or name.
    pub(crate) fn location(&self, text: &str) -> Outcome<&Location> {
        let found =
            self.locations.iter().find(|location| location.name == text || location.id.to_string() == text);
        found.ok_or_else(|| Refusal::invalid("location", format!("location '{text}' not found")))
    }

    /// A server type, by id or name.
    pub(crate) fn kind(&self, text: &str) -> Outcome<&Kind> {
        let found = self.kinds.iter().find(|kind| kind.name == text || kind.id.to_string() == text);
        found.ok_or_else(|| Refusal::invalid("server_type", format!("server type '{text}' not found")))
    }

    /// An image, by id, or by name for an architecture.
    pub(crate) fn image(&self, text: &str, architecture: Architecture) -> Outcome<&Image> {
        let by_name = |image: &&Image| image.name == text && image.architecture == architecture;
        let found = self.images.iter().find(|image| image.id.to_string() == text || by_name(image));
        let image = found.ok_or_else(|| Refusal::invalid("image", format!("image '{text}' not found")))?;
        if image.architecture != architecture {
            return Err(Refusal::invalid("image", "image and server type have different architectures"));
        }
        Ok(image)
    }
}
