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

const DELETE_BY_ID: Sources = sources!["delete-by-id/0.1.0/delete-by-id.wit"];
const NODE_ID: Sources = sources!["node-id/0.1.0/node-id.wit"];
const PLACEMENT: Sources = sources!["placement/0.1.0/placement.wit"];
const INTERRUPTION: Sources = sources!["interruption/0.1.0/interruption.wit"];
const CAPACITY: Sources = sources!["capacity/0.1.0/capacity.wit"];

/// An interface that a driver may leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Optional {
    Reboot,
    DeleteById,
    NodeId,
    Placement,
    Interruption,
    Capacity,
}

impl Optional {
    /// All of them, in the order of a world's exports.
    pub const ALL: [Self; 6] =
        [Self::Reboot, Self::DeleteById, Self::NodeId, Self::Placement, Self::Interruption, Self::Capacity];

    /// Returns the interface's name in the contract.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reboot => "reboot",
            Self::DeleteById => "delete-by-id",
            Self::NodeId => "node-id",
            Self::Placement => "placement",
            Self::Interruption => "interruption",
            Self::Capacity => "capacity",
        }
    }

    /// Returns the name of its package, and the files of that unless every driver has them.
    fn package(self) -> (&'static str, Sources) {
        match self {
            Self::Reboot => ("provider", &[]),
            Self::DeleteById => ("delete-by-id", DELETE_BY_ID),
            Self::NodeId => ("node-id", NODE_ID),
            Self::Placement => ("placement", PLACEMENT),
            Self::Interruption => ("interruption", INTERRUPTION),
            Self::Capacity => ("capacity", CAPACITY),
        }
    }
}

/// The world of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum World {
    /// A driver with these optional interfaces.
    Driver(Vec<Optional>),
    HealthPolicy,
}

impl World {
    /// Returns the world's name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Driver(_) => "driver",
            Self::HealthPolicy => "health-policy",
        }
    }

    /// Parses the contract of this world. Fails only if the contract's files do not fit together.
    pub(crate) fn resolve(&self) -> anyhow::Result<(Resolve, WorldId)> {
        let parsed = |(name, text): &(&str, &str)| {
            UnresolvedPackageGroup::parse(name, text)
                .map_err(|(map, error)| anyhow::anyhow!("{name} is not in order: {}", error.render(&map)))
        };
        let mut packages = match self {
            Self::Driver(optional) => {
                let text = driver(optional);
                let own = parsed(&("driver.wit", &text))?;
                let files = optional.iter().flat_map(|one| one.package().1).chain(PROVIDER);
                let mut packages = vec![own];
                for file in files {
                    packages.push(parsed(file)?);
                }
                packages
            }
            Self::HealthPolicy => POLICY.iter().map(parsed).collect::<anyhow::Result<_>>()?,
        };
        let main = packages.remove(0);
        let mut resolve = Resolve::default();
        let package = resolve.push_groups(main, packages)?;
        let world = resolve.select_world(&[package], Some(self.name()))?;
        Ok((resolve, world))
    }
}

/// Returns the text of the world of a driver with these interfaces.
fn driver(optional: &[Optional]) -> String {
    let export = |one: &Optional| format!("  export machinist:{}/{}@0.1.0;\n", one.package().0, one.name());
    let exports: String = optional.iter().map(export).collect();
    format!(
        "package machinist:author@0.1.0;\n\nworld driver {{\n  include machinist:provider/provider@0.1.0;\n{exports}}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_choice_of_interfaces_is_a_world() {
        for chosen in 0_usize..64 {
            let of = |(index, one): (usize, Optional)| (chosen & (1 << index) != 0).then_some(one);
            let optional: Vec<Optional> = Optional::ALL.into_iter().enumerate().filter_map(of).collect();
            let (resolve, world) = World::Driver(optional.clone()).resolve().unwrap();
            assert_eq!(resolve.worlds[world].exports.len(), 1 + optional.len(), "{optional:?}");
        }
        assert!(World::HealthPolicy.resolve().is_ok());
    }
}
