//! The contract's files, compiled in, and its worlds.

use wit_parser::{Resolve, UnresolvedPackageGroup, WorldId};

/// Files of a package that others depend on: name and text.
type Sources = &'static [(&'static str, &'static str)];

macro_rules! sources {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../../../wit/", $path)))),*]
    };
}

const PROVIDER: Sources = sources![
    "provider/0.1.0/provider.wit", "provider/0.1.0/deps/cli.wit", "provider/0.1.0/deps/clocks.wit",
    "provider/0.1.0/deps/filesystem.wit", "provider/0.1.0/deps/http.wit", "provider/0.1.0/deps/io.wit",
    "provider/0.1.0/deps/machinist-host.wit", "provider/0.1.0/deps/random.wit",
    "provider/0.1.0/deps/sockets.wit",
];
const POLICY: Sources = sources!["policy/0.1.0/policy.wit", "policy/0.1.0/deps/machinist-host.wit"];

/// The world of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum World {
    /// A driver without optional interfaces.
    Provider,
    /// A driver that can restart VMs.
    FullProvider,
    HealthPolicy,
}

impl World {
    /// Returns the world's name in the contract.
    pub fn name(self) -> &'static str {
        match self {
            Self::Provider => "provider",
            Self::FullProvider => "full-provider",
            Self::HealthPolicy => "health-policy",
        }
    }

    /// Parses the contract of this world. Fails only if the contract's files do not fit together.
    pub(crate) fn resolve(self) -> anyhow::Result<(Resolve, WorldId)> {
        let sources = match self {
            Self::Provider | Self::FullProvider => PROVIDER,
            Self::HealthPolicy => POLICY,
        };
        let mut packages = Vec::new();
        for (name, text) in sources {
            packages.push(
                UnresolvedPackageGroup::parse(name, text).map_err(|(map, error)| {
                    anyhow::anyhow!("{name} is not in order: {}", error.render(&map))
                })?,
            );
        }
        let main = packages.remove(0);
        let mut resolve = Resolve::default();
        let package = resolve.push_groups(main, packages)?;
        let world = resolve.select_world(&[package], Some(self.name()))?;
        Ok((resolve, world))
    }
}
