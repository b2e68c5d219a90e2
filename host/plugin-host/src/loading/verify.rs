//! Reads the imports and exports of a component before it is compiled.

use semver::Version;
use wasmparser::{Encoding, Parser, Payload};

use crate::output_limits as bounds;
use crate::sources::Contract;

/// The imports and exports of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// Imports that do something.
    pub granted: Vec<String>,
    /// Imports that exist for language runtimes and lead nowhere.
    pub inert: Vec<String>,
    /// The version of the contract that it exports.
    pub contract: Version,
}

/// Why bytes are no plugin of this kind for this host.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("it is not WebAssembly: it starts with {start}")]
    NotWasm {
        /// The first bytes, in hex.
        start: String,
    },
    #[error("it is a core module, not a component: build it for wasm32-wasip2 or wrap it with an adapter")]
    CoreModule,
    #[error("it is damaged or truncated")]
    Damaged(#[source] wasmparser::BinaryReaderError),
    #[error("it imports what this host does not offer: {}", shown(names))]
    UnknownImports { names: Vec<String> },
    #[error("it exports no {}; it exports {}", contract.export(), shown(exports))]
    OtherWorld { contract: Contract, exports: Vec<String> },
    #[error("it is built for {}@{version}; this host serves {OLDEST} up to, not including, {BEYOND}", contract.export())]
    Version {
        contract: Contract,
        /// The version it exports.
        version: Version,
    },
    /// More than one version of the contract, none of which can be chosen.
    #[error("it exports {} more than once", .0.export())]
    Twice(Contract),
}

impl Contract {
    /// Interfaces that do something, with the version below which they are known.
    fn granted(self) -> &'static [(&'static str, Version)] {
        match self {
            Self::Driver => &GRANTED,
            Self::HealthPolicy => &GRANTED_TO_POLICIES,
        }
    }

    /// Packages and interfaces that are linked inert.
    fn inert(self) -> &'static [&'static str] {
        match self {
            Self::Driver => &INERT,
            Self::HealthPolicy => &INERT_FOR_POLICIES,
        }
    }

    /// Returns the contract that the exports belong to; a driver's if they belong to none.
    pub fn of(component: &[u8]) -> Self {
        let is_policy = names(component).is_ok_and(|names| {
            names.exports.iter().any(|name| name.starts_with(Self::HealthPolicy.export()))
                && !names.exports.iter().any(|name| name.starts_with(Self::Driver.export()))
        });
        if is_policy { Self::HealthPolicy } else { Self::Driver }
    }
}

/// The contracts that this host speaks: semantic versions that are compatible with it.
const OLDEST: Version = Version::new(0, 1, 0);
const BEYOND: Version = Version::new(0, 2, 0);

/// Interfaces that do something, with the version below which they are known.
static GRANTED: [(&str, Version); 10] = [
    // Nouns only.
    ("machinist:provider/types", BEYOND),
    ("machinist:host/log", BEYOND),
    ("machinist:host/settings", BEYOND),
    ("machinist:host/deadline", BEYOND),
    ("machinist:host/secrets", BEYOND),
    ("wasi:clocks/wall-clock", WASI_BEYOND),
    ("wasi:clocks/monotonic-clock", WASI_BEYOND),
    ("wasi:random/random", WASI_BEYOND),
    ("wasi:http/types", WASI_BEYOND),
    ("wasi:http/outgoing-handler", WASI_BEYOND),
];
const WASI_BEYOND: Version = Version::new(0, 3, 0);
const WASI_OLDEST: Version = Version::new(0, 2, 0);

static GRANTED_TO_POLICIES: [(&str, Version); 2] =
    [("machinist:policy/types", BEYOND), ("machinist:host/log", BEYOND)];

/// Packages and interfaces that are linked inert. `wasi:io` is what the others hand out streams with.
const INERT: [&str; 6] = [
    "wasi:cli/", "wasi:io/", "wasi:filesystem/", "wasi:sockets/", "wasi:random/insecure",
    "wasi:random/insecure-seed",
];

/// For policies clocks do not move and random numbers are always the same, so these are inert too.
const INERT_FOR_POLICIES: [&str; 6] =
    ["wasi:cli/", "wasi:io/", "wasi:filesystem/", "wasi:sockets/", "wasi:random/", "wasi:clocks/"];

/// The imports and exports of a component, whether this host accepts it or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outside {
    /// Imports that do something.
    pub granted: Vec<String>,
    /// Imports that exist for language runtimes and lead nowhere.
    pub inert: Vec<String>,
    /// Imports that this host does not have.
    pub unknown: Vec<String>,
    pub exports: Vec<String>,
}

impl Outside {
    pub(crate) fn of(names: Names, contract: Contract) -> Self {
        let Names { imports, exports } = names;
        let mut outside = Self { granted: Vec::new(), inert: Vec::new(), unknown: Vec::new(), exports };
        for name in imports {
            match kind_of_import(&name, contract) {
                Some(Import::Granted) => outside.granted.push(name),
                Some(Import::Inert) => outside.inert.push(name),
                None => outside.unknown.push(name),
            }
        }
        outside
    }

    /// Whether this host takes it.
    ///
    /// # Errors
    /// When it does not, with the reason.
    pub fn verify(self, contract: Contract) -> Result<Inspection, Error> {
        // A component of another world imports other things, too; its world is the better reason.
        let contract = version(contract, self.exports)?;
        if !self.unknown.is_empty() {
            return Err(Error::UnknownImports { names: self.unknown });
        }
        Ok(Inspection { granted: self.granted, inert: self.inert, contract })
    }
}

/// Looks at a component. Reads it once, compiles and runs nothing.
///
/// # Errors
/// When this host does not take it.
pub fn inspect(component: &[u8], contract: Contract) -> Result<Inspection, Error> {
    outside(component, contract)?.verify(contract)
}

/// Reads what a component imports and exports.
///
/// # Errors
/// When it is no component, or cannot be read to its end.
pub fn outside(component: &[u8], contract: Contract) -> Result<Outside, Error> {
    Ok(Outside::of(names(component)?, contract))
}

enum Import {
    Granted,
    Inert,
}

fn kind_of_import(name: &str, contract: Contract) -> Option<Import> {
    let (interface, version) = name.split_once('@')?;
    let version: Version = version.parse().ok()?;
    if let Some((_, beyond)) = contract.granted().iter().find(|(granted, _)| *granted == interface) {
        let oldest = if interface.starts_with("wasi:") { WASI_OLDEST } else { OLDEST };
        return (oldest <= version && version < *beyond).then_some(Import::Granted);
    }
    let is_inert = contract.inert().iter().any(|inert| match inert.strip_suffix('/') {
        Some(_) => interface.starts_with(inert),
        None => interface == *inert,
    });
    (is_inert && WASI_OLDEST <= version && version < WASI_BEYOND).then_some(Import::Inert)
}

fn version(contract: Contract, exports: Vec<String>) -> Result<Version, Error> {
    let mut versions = exports.iter().filter_map(|name| {
        let version = name.strip_prefix(contract.export())?.strip_prefix('@')?;
        version.parse::<Version>().ok()
    });
    let (first, second) = (versions.next(), versions.next());
    match (first, second) {
        (None, _) => Err(Error::OtherWorld { contract, exports }),
        (Some(version), None) if OLDEST <= version && version < BEYOND => Ok(version),
        (Some(version), None) => Err(Error::Version { contract, version }),
        (Some(_), Some(_)) => Err(Error::Twice(contract)),
    }
}

/// Enough to find what is wrong: a driver of a language runtime imports some forty interfaces.
const MOST_SHOWN: usize = 10;

/// The imports and exports of a component, in its own order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Names {
    pub(crate) imports: Vec<String>,
    pub(crate) exports: Vec<String>,
}

/// Reads a component once.
pub(crate) fn names(component: &[u8]) -> Result<Names, Error> {
    if !component.starts_with(b"\0asm") {
        let start = component.get(..component.len().min(8)).unwrap_or_default();
        return Err(Error::NotWasm { start: bounds::hex(start) });
    }
    let mut names = Names { imports: Vec::new(), exports: Vec::new() };
    // Components and modules nest; only the outermost one's imports and exports are the host's business.
    let mut depth = 0_u32;
    for payload in Parser::new(0).parse_all(component) {
        match payload.map_err(Error::Damaged)? {
            Payload::Version { encoding: Encoding::Module, .. } if depth == 0 => {
                return Err(Error::CoreModule);
            }
            Payload::Version { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(imports) if depth == 1 => {
                for import in imports {
                    names.imports.push(import.map_err(Error::Damaged)?.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(exports) if depth == 1 => {
                for export in exports {
                    names.exports.push(export.map_err(Error::Damaged)?.name.name.to_owned());
                }
            }
            _ => {}
        }
    }
    Ok(names)
}

/// Makes unchecked names of a component readable for people: some of them, each short and on one line.
fn shown(names: &[String]) -> String {
    if names.is_empty() {
        return "nothing".to_owned();
    }
    let some = names.iter().take(MOST_SHOWN).map(|name| bounds::text(name, bounds::WORD_BYTES));
    let mut shown = some.collect::<Vec<_>>().join(", ");
    if let Some(more) = names.len().checked_sub(MOST_SHOWN).filter(|more| *more > 0) {
        shown.push_str(&format!(" and {more} more"));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], expected: &str) {
        let outcome = match inspect(bytes, Contract::Driver) {
            Ok(inspection) => inspection.contract.to_string(),
            Err(error) => error.to_string(),
        };
        assert_eq!(outcome, expected);
    }

    #[test]
    fn a_text_that_is_no_component_is_named() {
        check(b"", "it is not WebAssembly: it starts with ");
        check(b"\x7fELF code", "it is not WebAssembly: it starts with 7f454c4620636f64");
        check(
            b"\0asm\x01\0\0\0",
            "it is a core module, not a component: build it for wasm32-wasip2 or wrap it with an adapter",
        );
        check(b"\0asm\x0d\0\x01\0\x07\xff", "it is damaged or truncated");
        check(b"\0asm\x0d\0\x01\0", "it exports no machinist:provider/driver; it exports nothing");
    }

    #[test]
    fn imports_are_granted_inert_or_unknown() {
        let kind = |name| match kind_of_import(name, Contract::Driver) {
            Some(Import::Granted) => "granted",
            Some(Import::Inert) => "inert",
            None => "unknown",
        };
        assert_eq!(kind("wasi:http/outgoing-handler@0.2.6"), "granted");
        assert_eq!(kind("machinist:host/log@0.1.7"), "granted");
        assert_eq!(kind("wasi:sockets/tcp@0.2.0"), "inert");
        assert_eq!(kind("wasi:random/insecure-seed@0.2.12"), "inert");
        for name in [
            "machinist:host/log@0.2.0", "machinist:host/lag@0.1.0", "wasi:http/incoming-handler@0.2.0",
            "wasi:http/types@0.3.0", "wasi:random/insecurity@0.2.0", "wasi:clipboard/x@0.2.0",
            "wasi:cli/exit", "print",
        ] {
            assert_eq!(kind(name), "unknown", "{name}");
        }
    }

    #[test]
    fn the_contract_is_chosen_by_version() {
        let contract = |names: &[&str]| {
            version(Contract::Driver, names.iter().map(|&name| name.to_owned()).collect())
                .map_err(|error| error.to_string())
        };
        assert_eq!(contract(&["machinist:provider/driver@0.1.9"]), Ok(Version::new(0, 1, 9)));
        let too_new = "it is built for machinist:provider/driver@0.2.0; this host serves 0.1.0 up to, not including, 0.2.0";
        assert_eq!(contract(&["machinist:provider/driver@0.2.0"]), Err(too_new.to_owned()));
        let other = "it exports no machinist:provider/driver; it exports wasi:cli/run@0.2.0";
        assert_eq!(contract(&["wasi:cli/run@0.2.0"]), Err(other.to_owned()));
    }

    #[test]
    fn a_policy_is_granted_a_log_and_nothing_else() {
        let kind = |name| match kind_of_import(name, Contract::HealthPolicy) {
            Some(Import::Granted) => "granted",
            Some(Import::Inert) => "inert",
            None => "unknown",
        };
        assert_eq!(kind("machinist:host/log@0.1.0"), "granted");
        assert_eq!(kind("wasi:clocks/wall-clock@0.2.6"), "inert");
        assert_eq!(kind("wasi:random/random@0.2.6"), "inert");
        for name in [
            "wasi:http/outgoing-handler@0.2.6", "wasi:http/types@0.2.6", "machinist:host/secrets@0.1.0",
            "machinist:host/settings@0.1.0", "machinist:host/deadline@0.1.0",
        ] {
            assert_eq!(kind(name), "unknown", "{name}");
        }
    }
}
