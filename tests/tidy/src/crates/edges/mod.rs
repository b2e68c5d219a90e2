//! Which crate may know which.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::{Complaint, tree};

/// The kind of a dependency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Becomes part of the shipped code.
    Normal,
    /// Runs when it is built.
    Build,
    /// Used by tests and examples alone.
    Dev,
}

/// All packages of a build and the edges between them.
#[derive(Debug, Default)]
pub struct Graph {
    packages: BTreeMap<String, Package>,
}

#[derive(Debug)]
struct Package {
    name: String,
    /// The folder of a member of the workspace.
    folder: Option<String>,
    edges: BTreeSet<(Kind, String)>,
}

/// A rule of the architecture for the crates of some folders.
struct Rule {
    /// A folder, or a prefix that ends with `/*`.
    who: &'static str,
    /// Names, `*` at the end for any ending.
    never: &'static [&'static str],
    reach: Reach,
    why: &'static str,
}

enum Reach {
    /// Forbidden also through other crates.
    Shipped,
    /// Forbidden as a dependency of its own, allowed through others.
    Direct,
    /// Forbidden also in its tests.
    DirectAndTests,
}

const RULES: [Rule; 11] = [
    Rule {
        who: "host/core",
        never: &[
            "machinist-*", "tokio*", "futures*", "kube*", "k8s-openapi", "tracing*", "rand*", "wasmtime*",
        ],
        reach: Reach::Shipped,
        why: "the core decides from facts",
    },
    Rule {
        who: "host/api",
        never: &[
            "kube", "kube-client", "kube-runtime", "tokio", "machinist-runtime", "machinist-plugin-host",
        ],
        reach: Reach::Shipped,
        why: "the API is types, not a client",
    },
    Rule {
        who: "host/api",
        never: &["wasmtime*", "reqwest", "hyper"],
        reach: Reach::Shipped,
        why: "the API is types, not a client",
    },
    Rule {
        who: "host/runtime",
        never: &["wasmtime*", "cranelift*", "machinist-plugin-host"],
        reach: Reach::Shipped,
        why: "runtime and plugin host do not know each other",
    },
    Rule {
        who: "host/plugin-host",
        never: &["kube*", "k8s-openapi", "machinist-api", "machinist-runtime"],
        reach: Reach::Shipped,
        why: "the plugin host knows no Kubernetes",
    },
    Rule {
        who: "host/autoscaler",
        never: &["kube", "k8s-openapi", "machinist-api", "wasmtime*", "machinist-plugin-host"],
        reach: Reach::Direct,
        why: "the gRPC interface translates, and the runtime answers",
    },
    Rule {
        who: "host/runtime",
        never: &["tonic*", "prost*", "machinist-autoscaler"],
        reach: Reach::Shipped,
        why: "the runtime knows no gRPC",
    },
    Rule {
        who: "host/artifacts",
        never: &[
            "kube*", "k8s-openapi", "wasmtime*", "machinist-api", "machinist-runtime",
            "machinist-plugin-host",
        ],
        reach: Reach::Shipped,
        why: "artifacts are bytes and signatures",
    },
    Rule {
        who: "host/app",
        never: &["wasmtime*", "cranelift*"],
        reach: Reach::Direct,
        why: "only the plugin host links wasmtime",
    },
    Rule {
        who: "plugins/*",
        never: &[
            "machinist", "machinist-api", "machinist-core", "machinist-runtime", "machinist-plugin-host",
        ],
        reach: Reach::DirectAndTests,
        why: "a driver is written against the contract, like anyone's",
    },
    Rule {
        who: "sdk/*",
        never: &[
            "machinist", "machinist-api", "machinist-core", "machinist-runtime", "machinist-plugin-host",
        ],
        reach: Reach::DirectAndTests,
        why: "an SDK is written against the contract, like anyone's",
    },
];

/// The one crate of the tests that ships, and its user: the binary has the conformance kit as a command, for authors of
/// drivers.
const SHIPPED_OF_TESTS: (&str, &str) = ("machinist", "machinist-conformance");

/// The only dependencies that the core itself may have.
const CORE_DEPENDENCIES: [&str; 2] = ["jiff", "thiserror"];

/// Every forbidden edge, with the way that leads there.
pub fn check(graph: &Graph) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for (id, package) in &graph.packages {
        let Some(folder) = package.folder.as_deref() else { continue };
        for rule in RULES.iter().filter(|rule| matches(rule.who, folder)) {
            complaints.extend(graph.broken(id, rule));
        }
        for (kind, to) in &package.edges {
            let to = &graph.packages[to];
            let name = &to.name;
            if folder == "host/core" && *kind != Kind::Dev && !CORE_DEPENDENCIES.contains(&name.as_str()) {
                complaints
                    .push(format!("{} → {name}: the core depends on jiff and thiserror only", package.name));
            }
            let of_tests = to.folder.as_deref().is_some_and(|folder| folder.starts_with("tests/"));
            let is_shipped = SHIPPED_OF_TESTS == (package.name.as_str(), name.as_str());
            if !folder.starts_with("tests/") && *kind != Kind::Dev && of_tests && !is_shipped {
                complaints.push(format!("{} → {name}: what is shipped needs no tests", package.name));
            }
        }
    }
    complaints
}

impl Graph {
    fn broken(&self, start: &str, rule: &Rule) -> Vec<Complaint> {
        let forbidden = |id: &String| rule.never.iter().any(|never| matches(never, &self.packages[id].name));
        // The start itself may match: the core is one of `machinist-*`.
        let forbidden_between = |way: &[String]| way.iter().skip(1).any(forbidden);
        let ways = match rule.reach {
            Reach::Shipped => self.ways_from(start),
            Reach::Direct => self.direct(start, &[Kind::Normal, Kind::Build]),
            Reach::DirectAndTests => self.direct(start, &[Kind::Normal, Kind::Build, Kind::Dev]),
        };
        let mut complaints: Vec<Complaint> = ways
            .iter()
            .filter(|(id, way)| forbidden(id) && !forbidden_between(way))
            .map(|(id, way)| {
                let names: Vec<&str> =
                    way.iter().chain([id]).map(|id| self.packages[id].name.as_str()).collect();
                format!("{}: {}", names.join(" → "), rule.why)
            })
            .collect();
        complaints.sort();
        complaints
    }

    /// Everything that ships with a package, each with the shortest way there (the start included, the end not).
    fn ways_from(&self, start: &str) -> BTreeMap<String, Vec<String>> {
        let mut ways: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut open = VecDeque::from([(start.to_owned(), Vec::new())]);
        while let Some((id, way)) = open.pop_front() {
            let mut way: Vec<String> = way;
            way.push(id.clone());
            for (_, to) in self.packages[&id].edges.iter().filter(|(kind, _)| *kind == Kind::Normal) {
                if to != start && !ways.contains_key(to) {
                    ways.insert(to.clone(), way.clone());
                    open.push_back((to.clone(), way.clone()));
                }
            }
        }
        ways
    }

    fn direct(&self, start: &str, kinds: &[Kind]) -> BTreeMap<String, Vec<String>> {
        let edges = self.packages[start].edges.iter().filter(|(kind, _)| kinds.contains(kind));
        edges.map(|(_, to)| (to.clone(), vec![start.to_owned()])).collect()
    }
}

/// A name against a pattern that may end with `*`.
fn matches(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |prefix| name.starts_with(prefix))
}

/// The graph of this workspace, from `cargo metadata`.
pub fn graph() -> Result<Graph> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1"])
        .current_dir(tree::root())
        .output()
        .context("failed to start cargo")?;
    ensure!(output.status.success(), "cargo failed: {}", String::from_utf8_lossy(&output.stderr));
    parse(&output.stdout)
}

#[derive(Deserialize)]
struct RawMetadata {
    packages: Vec<RawPackage>,
    resolve: RawResolve,
    workspace_root: String,
    workspace_members: Vec<String>,
}

#[derive(Deserialize)]
struct RawPackage {
    id: String,
    name: String,
    manifest_path: String,
}

#[derive(Deserialize)]
struct RawResolve {
    nodes: Vec<RawNode>,
}

#[derive(Deserialize)]
struct RawNode {
    id: String,
    deps: Vec<RawEdge>,
}

#[derive(Deserialize)]
struct RawEdge {
    pkg: String,
    dep_kinds: Vec<RawKind>,
}

#[derive(Deserialize)]
struct RawKind {
    kind: Option<String>,
}

/// From what `cargo metadata` prints.
pub fn parse(json: &[u8]) -> Result<Graph> {
    let raw: RawMetadata = serde_json::from_slice(json).context("cargo metadata is not as expected")?;
    let members: BTreeSet<String> = raw.workspace_members.into_iter().collect();
    let mut graph = Graph::default();
    for package in raw.packages {
        let folder = members.contains(&package.id).then(|| {
            let path =
                package.manifest_path.strip_prefix(&raw.workspace_root).unwrap_or(&package.manifest_path);
            path.trim_start_matches('/').trim_end_matches("/Cargo.toml").to_owned()
        });
        graph.packages.insert(package.id, Package { name: package.name, folder, edges: BTreeSet::new() });
    }
    for node in raw.resolve.nodes {
        let package = graph.packages.get_mut(&node.id).with_context(|| format!("no package {}", node.id))?;
        for edge in node.deps {
            for kind in &edge.dep_kinds {
                let kind = match kind.kind.as_deref() {
                    Some("build") => Kind::Build,
                    Some("dev") => Kind::Dev,
                    Some(_) | None => Kind::Normal,
                };
                package.edges.insert((kind, edge.pkg.clone()));
            }
        }
    }
    for package in graph.packages.values() {
        for (_, to) in &package.edges {
            ensure!(graph.packages.contains_key(to), "no package {to}");
        }
    }
    Ok(graph)
}

#[cfg(test)]
mod tests;
